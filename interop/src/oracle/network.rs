//! The protocol configuration of the public networks, in the node's own types and assembled as a
//! node does.
//!
//! The genesis settings are defined here; everything that depends on the protocol version comes
//! from the parameter files of the node's crates.

use std::sync::LazyLock;

use near_chain_configs::{GenesisConfig, ProtocolConfig, ProtocolConfigView};
use near_parameters::RuntimeConfigStore;
use near_primitives::epoch_manager::EpochConfigStore;
use near_primitives::shard_layout::ShardLayout;
use serde_json::{Value, json};

/// The first protocol version for which the node's crates have epoch settings
pub const OLDEST: u32 = 29;
/// A version above the newest protocol version that they know, including unreleased features
pub const NEWEST: u32 = 160;

/// Mainnet and testnet
pub static NETWORKS: LazyLock<[Network; 2]> = LazyLock::new(|| {
    [
        Network::new("mainnet", 9_820_210, "2020-07-21T16:55:51.591948Z"),
        Network::new("testnet", 42_376_888, "2020-07-31T03:39:42.911378Z"),
    ]
});

/// The settings of a network for all protocol versions
pub struct Network {
    genesis: GenesisConfig,
    epochs: EpochConfigStore,
    runtime: RuntimeConfigStore,
}

impl core::fmt::Debug for Network {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Network {
    fn new(chain_id: &str, genesis_height: u64, genesis_time: &str) -> Self {
        let genesis = json!({
            "protocol_version": OLDEST,
            "genesis_time": genesis_time,
            "chain_id": chain_id,
            "genesis_height": genesis_height,
            "num_block_producer_seats": 100,
            "num_block_producer_seats_per_shard": [100],
            "avg_hidden_validator_seats_per_shard": [0],
            "dynamic_resharding": false,
            "epoch_length": 43_200,
            "gas_limit": 1_000_000_000_000_000_u64,
            "min_gas_price": "1000000000",
            "max_gas_price": "10000000000000000000000",
            "block_producer_kickout_threshold": 90,
            "chunk_producer_kickout_threshold": 90,
            "gas_price_adjustment_rate": [1, 100],
            "validators": [],
            "transaction_validity_period": 86_400,
            "protocol_reward_rate": [0, 1],
            "max_inflation_rate": [1, 20],
            "total_supply": "1000000000000000000000000000000000",
            "num_blocks_per_year": 31_536_000,
            "protocol_treasury_account": "treasury.near",
            "fishermen_threshold": "340282366920938463463374607431768211455",
        });
        Self {
            genesis: serde_json::from_value(genesis).expect("a genesis configuration"),
            epochs: EpochConfigStore::for_chain_id(chain_id, None).expect("a public network"),
            runtime: RuntimeConfigStore::for_chain_id(chain_id),
        }
    }

    /// The genesis height of the network
    pub const fn genesis_height(&self) -> u64 {
        self.genesis.genesis_height
    }

    /// The configuration that a node of this network returns in an epoch of this protocol version
    ///
    /// Assembled with each call, as a node does for each request.
    ///
    /// # Panics
    ///
    /// When the node's crates have no settings for this version.
    pub fn protocol_config(&self, protocol_version: u32) -> ProtocolConfigView {
        let epoch = self.epochs.get_config(protocol_version);
        let genesis_config = GenesisConfig {
            protocol_version,
            num_block_producer_seats: epoch.num_block_producer_seats,
            protocol_upgrade_stake_threshold: epoch.protocol_upgrade_stake_threshold,
            epoch_length: epoch.epoch_length,
            block_producer_kickout_threshold: epoch.block_producer_kickout_threshold,
            chunk_producer_kickout_threshold: epoch.chunk_producer_kickout_threshold,
            chunk_validator_only_kickout_threshold: epoch.chunk_validator_only_kickout_threshold,
            target_validator_mandates_per_shard: epoch.target_validator_mandates_per_shard,
            online_min_threshold: epoch.online_min_threshold,
            online_max_threshold: epoch.online_max_threshold,
            max_inflation_rate: epoch.max_inflation_rate,
            fishermen_threshold: epoch.fishermen_threshold,
            minimum_stake_divisor: epoch.minimum_stake_divisor,
            shard_layout: epoch.static_shard_layout().unwrap_or_else(|| self.split_layout()),
            minimum_validators_per_shard: epoch.minimum_validators_per_shard,
            max_kickout_stake_perc: epoch.validator_max_kickout_stake_perc,
            minimum_stake_ratio: epoch.minimum_stake_ratio,
            shuffle_shard_assignment_for_chunk_producers: epoch
                .shuffle_shard_assignment_for_chunk_producers,
            ..self.genesis.clone()
        };
        let runtime_config = self.runtime.get_config(protocol_version).as_ref().clone();
        ProtocolConfig { genesis_config, runtime_config }.into()
    }

    /// A layout of version 3: the last static one after a split, as with dynamic resharding
    fn split_layout(&self) -> ShardLayout {
        let before = self.epochs.get_config(81).static_shard_layout().expect("static until 84");
        ShardLayout::derive_v3(&before, "m.near".parse().unwrap(), Vec::new)
            .expect("a new boundary")
    }
}

/// The JSON text with the members of every object sorted, as a node sends it
///
/// Does not rely on `serde_json`, whose maps keep the order of insertion if any crate of the build
/// enables that feature.
pub fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|&(name, _)| name);
            let members: Vec<_> = members
                .into_iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), sorted(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(sorted).collect();
            format!("[{}]", items.join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// Reads this text as the node's view and writes it with sorted members
///
/// # Panics
///
/// When the node's types cannot read the text.
pub fn rewritten(text: &str) -> String {
    let view: ProtocolConfigView = serde_json::from_str(text).expect("the node reads it");
    sorted(&serde_json::to_value(&view).expect("the node writes it"))
}
