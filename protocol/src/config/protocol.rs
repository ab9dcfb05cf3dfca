//! The result of `EXPERIMENTAL_protocol_config`.
//!
//! The set of members changes with every release of the node, and its published interface requires
//! none of them. So an absent member is read as `None` and stays absent when written, an unknown
//! one is kept, and configurations of all versions are lossless. Only the three members that
//! identify a configuration are required.

use alloc::string::String;

use super::{RuntimeConfigView, ShardLayout};
use crate::primitives::{AccountId, Balance, BlockHeight, Gas, Rational};
use crate::views::wire::wire_struct;

wire_struct! {
    /// Economics, validators, runtime parameters and shards of a chain in one epoch
    ///
    /// Amounts are in yoctoNEAR (10^-24 NEAR), gas in units of which 10^12 are one Tgas.
    ///
    /// ```
    /// use milepost_protocol::config::ProtocolConfigView;
    /// use milepost_protocol::primitives::Rational;
    ///
    /// let text = r#"{"chain_id":"dev","genesis_height":0,"gas_price_adjustment_rate":[10,1000],
    ///     "protocol_version":88}"#;
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
        /// Percent of its endorsements below which an account that is only a chunk validator is
        /// kicked out
        pub chunk_validator_only_kickout_threshold: Option<u8> = absent,
        /// Whether dynamic resharding is on; nodes keep the value of the genesis
        pub dynamic_resharding: Option<bool> = absent,
        /// Number of blocks per epoch
        pub epoch_length: Option<u64> = absent,
        /// Stake from which an account may be a fisherman, in yoctoNEAR
        pub fishermen_threshold: Option<Balance> = absent,
        /// Gas limit of a chunk, at genesis
        pub gas_limit: Option<Gas> = absent,
        /// Maximum change of the gas price per block, as a fraction of it
        pub gas_price_adjustment_rate: Option<Rational> = absent,
        /// Height of the first block
        pub genesis_height: BlockHeight,
        /// When the chain began, in RFC 3339
        pub genesis_time: Option<String> = absent,
        /// Maximum gas price, in yoctoNEAR per gas
        pub max_gas_price: Option<Balance> = absent,
        /// Maximum growth of the supply per year, as a fraction of it
        pub max_inflation_rate: Option<Rational> = absent,
        /// Maximum stake that is kicked out in one epoch, in percent of all stake
        pub max_kickout_stake_perc: Option<u8> = absent,
        /// Minimum gas price, in yoctoNEAR per gas
        pub min_gas_price: Option<Balance> = absent,
        /// The minimum stake of a proposal is the last seat price divided by this
        pub minimum_stake_divisor: Option<u64> = absent,
        /// Minimum stake of a block producer, as a fraction of all stake
        pub minimum_stake_ratio: Option<Rational> = absent,
        /// Minimum number of validators of each shard
        pub minimum_validators_per_shard: Option<u64> = absent,
        /// Number of block producer seats
        pub num_block_producer_seats: Option<u64> = absent,
        /// Expected number of blocks per year
        pub num_blocks_per_year: Option<u64> = absent,
        /// Fraction of time online from which a validator gets the full reward
        pub online_max_threshold: Option<Rational> = absent,
        /// Fraction of time online from which a validator gets a reward
        pub online_min_threshold: Option<Rational> = absent,
        /// Fraction of the rewards that goes to the treasury
        pub protocol_reward_rate: Option<Rational> = absent,
        /// Account of the treasury
        pub protocol_treasury_account: Option<AccountId> = absent,
        /// Fraction of the stake that must vote for an upgrade
        pub protocol_upgrade_stake_threshold: Option<Rational> = absent,
        /// Version of the protocol in the epoch of the block
        pub protocol_version: u32,
        /// Fees and limits of the runtime
        pub runtime_config: Option<RuntimeConfigView> = absent,
        /// Assignment of accounts to shards
        pub shard_layout: Option<ShardLayout> = absent,
        /// Whether chunk producers change shards at random between epochs
        pub shuffle_shard_assignment_for_chunk_producers: Option<bool> = absent,
        /// Target number of chunk validator mandates per shard
        pub target_validator_mandates_per_shard: Option<u64> = absent,
        /// Number of blocks for which a transaction's block hash is valid
        pub transaction_validity_period: Option<u64> = absent,
    }
}
