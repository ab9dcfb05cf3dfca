//! The whole protocol configuration: the answer of `EXPERIMENTAL_protocol_config`.
//!
//! The set of members changes with every release of the node, and its published interface
//! requires none of them. So a member that is absent reads as `None` and stays absent when
//! written, an unknown one is kept, and a configuration of any age comes out as it came in.
//! Only the three members that tell configurations apart are required.

use alloc::string::String;

use super::{RuntimeConfigView, ShardLayout};
use crate::primitives::{AccountId, Balance, BlockHeight, Gas, Rational};
use crate::views::wire::wire_struct;

wire_struct! {
    /// Economics, validators, runtime parameters and shards of a chain in one epoch
    ///
    /// Amounts are in yoctoNEAR (10^-24 NEAR), gas in units of which 10^12 are called one Tgas.
    ///
    /// ```
    /// use milepost_protocol::config::ProtocolConfigView;
    /// use milepost_protocol::primitives::Rational;
    ///
    /// let text = r#"{"chain_id":"dev","genesis_height":0,"gas_price_adjustment_rate":[10,1000],"protocol_version":88}"#;
    /// let config: ProtocolConfigView = milepost_protocol::codec::json::read(text).unwrap();
    /// assert_eq!(config.gas_price_adjustment_rate, Some(Rational(10, 1000)));
    /// assert_eq!(config.epoch_length, None);
    /// ```
    pub struct ProtocolConfigView {
        /// Percent of its blocks below which a block producer is kicked out
        pub block_producer_kickout_threshold: Option<u8> = absent,
        /// Name of the chain, such as `mainnet`
        pub chain_id: String,
        /// Percent of its chunks below which a chunk producer is kicked out
        pub chunk_producer_kickout_threshold: Option<u8> = absent,
        /// Percent of its endorsements below which a mere chunk validator is kicked out
        pub chunk_validator_only_kickout_threshold: Option<u8> = absent,
        /// Whether the genesis asks for dynamic resharding; nodes leave it as it was there
        pub dynamic_resharding: Option<bool> = absent,
        /// Blocks of one epoch
        pub epoch_length: Option<u64> = absent,
        /// Stake from which an account may be a fisherman, in yoctoNEAR
        pub fishermen_threshold: Option<Balance> = absent,
        /// Gas of one chunk, at genesis
        pub gas_limit: Option<Gas> = absent,
        /// Most that the gas price moves per block, as a share of it
        pub gas_price_adjustment_rate: Option<Rational> = absent,
        /// Height of the first block
        pub genesis_height: BlockHeight,
        /// When the chain began, in RFC 3339
        pub genesis_time: Option<String> = absent,
        /// Highest price, in yoctoNEAR per gas
        pub max_gas_price: Option<Balance> = absent,
        /// Most that the supply grows per year, as a share of it
        pub max_inflation_rate: Option<Rational> = absent,
        /// Most that may be kicked out in one epoch, in percent of the stake
        pub max_kickout_stake_perc: Option<u8> = absent,
        /// Lowest price, in yoctoNEAR per gas
        pub min_gas_price: Option<Balance> = absent,
        /// The last seat price divided by this is the least stake that may be proposed
        pub minimum_stake_divisor: Option<u64> = absent,
        /// Least share of all stake that a block producer can have
        pub minimum_stake_ratio: Option<Rational> = absent,
        /// Validators that each shard has at least
        pub minimum_validators_per_shard: Option<u64> = absent,
        /// Seats of block producers
        pub num_block_producer_seats: Option<u64> = absent,
        /// Blocks expected in one year
        pub num_blocks_per_year: Option<u64> = absent,
        /// Share of the time online from which a validator is rewarded in full
        pub online_max_threshold: Option<Rational> = absent,
        /// Share of the time online from which a validator is rewarded
        pub online_min_threshold: Option<Rational> = absent,
        /// Share of the rewards that goes to the treasury
        pub protocol_reward_rate: Option<Rational> = absent,
        /// The treasury
        pub protocol_treasury_account: Option<AccountId> = absent,
        /// Share of the stake that must vote for an upgrade
        pub protocol_upgrade_stake_threshold: Option<Rational> = absent,
        /// Version of the protocol in the epoch of the block
        pub protocol_version: u32,
        /// What the runtime charges and allows
        pub runtime_config: Option<RuntimeConfigView> = absent,
        /// How the accounts are divided into shards
        pub shard_layout: Option<ShardLayout> = absent,
        /// Whether chunk producers change shards at random between epochs
        pub shuffle_shard_assignment_for_chunk_producers: Option<bool> = absent,
        /// Mandates of chunk validators that each shard should have
        pub target_validator_mandates_per_shard: Option<u64> = absent,
        /// Blocks for which a transaction may refer to its block hash
        pub transaction_validity_period: Option<u64> = absent,
    }
}
