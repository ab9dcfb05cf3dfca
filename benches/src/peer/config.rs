//! The protocol configuration as a node answers it: assembled anew for each request.
//!
//! The genesis settings come from here, everything that a protocol version decides from the
//! parameter files of the node's crates.

use near_chain_configs::{GenesisConfig, ProtocolConfig, ProtocolConfigView};
use near_jsonrpc_primitives::message::Message;
use near_jsonrpc_primitives::types::config::RpcProtocolConfigRequest;
use near_parameters::RuntimeConfigStore;
use near_primitives::epoch_manager::EpochConfigStore;
use serde_json::{Value, json};

/// A network's settings, all versions of them
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
    /// Height at which mainnet began
    pub const GENESIS_HEIGHT: u64 = 9_820_210;
    /// A version with a shard layout that does not depend on the chain's own decisions
    pub const VERSION: u32 = 83;

    /// Mainnet, but for the list of validators at its start, which no answer shows
    ///
    /// # Panics
    ///
    /// When the node's types refuse it.
    pub fn mainnet() -> Self {
        let genesis = json!({
            "protocol_version": 29,
            "genesis_time": "2020-07-21T16:55:51.591948Z",
            "chain_id": "mainnet",
            "genesis_height": Self::GENESIS_HEIGHT,
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
            epochs: EpochConfigStore::for_chain_id("mainnet", None).expect("a public network"),
            runtime: RuntimeConfigStore::for_chain_id("mainnet"),
        }
    }

    /// What is in force with this version
    fn config(&self, version: u32) -> ProtocolConfig {
        let epoch = self.epochs.get_config(version);
        let mut genesis_config = self.genesis.clone();
        genesis_config.protocol_version = version;
        genesis_config.num_block_producer_seats = epoch.num_block_producer_seats;
        genesis_config.protocol_upgrade_stake_threshold = epoch.protocol_upgrade_stake_threshold;
        genesis_config.epoch_length = epoch.epoch_length;
        genesis_config.block_producer_kickout_threshold = epoch.block_producer_kickout_threshold;
        genesis_config.chunk_producer_kickout_threshold = epoch.chunk_producer_kickout_threshold;
        genesis_config.chunk_validator_only_kickout_threshold =
            epoch.chunk_validator_only_kickout_threshold;
        genesis_config.target_validator_mandates_per_shard =
            epoch.target_validator_mandates_per_shard;
        genesis_config.online_min_threshold = epoch.online_min_threshold;
        genesis_config.online_max_threshold = epoch.online_max_threshold;
        genesis_config.max_inflation_rate = epoch.max_inflation_rate;
        genesis_config.fishermen_threshold = epoch.fishermen_threshold;
        genesis_config.minimum_stake_divisor = epoch.minimum_stake_divisor;
        genesis_config.shard_layout = epoch.static_shard_layout().expect("a static layout");
        genesis_config.minimum_validators_per_shard = epoch.minimum_validators_per_shard;
        genesis_config.max_kickout_stake_perc = epoch.validator_max_kickout_stake_perc;
        genesis_config.minimum_stake_ratio = epoch.minimum_stake_ratio;
        genesis_config.shuffle_shard_assignment_for_chunk_producers =
            epoch.shuffle_shard_assignment_for_chunk_producers;
        let runtime_config = self.runtime.get_config(version).as_ref().clone();
        ProtocolConfig { genesis_config, runtime_config }
    }

    /// The configuration as a text that can be put in force
    ///
    /// # Panics
    ///
    /// When it cannot be written, which does not happen.
    pub fn text(&self) -> String {
        let view = ProtocolConfigView::from(self.config(Self::VERSION));
        // By way of a value, whose members are in order.
        serde_json::to_value(view).expect("a configuration is a JSON value").to_string()
    }

    /// The body of the answer, with the configuration assembled for it
    ///
    /// # Panics
    ///
    /// When it cannot be written, which does not happen.
    pub fn response(&self, id: Value) -> Vec<u8> {
        let view = ProtocolConfigView::from(self.config(Self::VERSION));
        let result = serde_json::to_value(view).expect("a configuration is a JSON value");
        serde_json::to_vec(&Message::response(id, Ok(result))).expect("memory takes it")
    }

    /// The same from the bytes of a request; which block it names is not looked up
    ///
    /// # Panics
    ///
    /// When it is not a request for the protocol configuration.
    pub fn answer(&self, body: &[u8]) -> Vec<u8> {
        let (id, method, params) = super::read(body);
        assert_eq!(method, "EXPERIMENTAL_protocol_config");
        let request: RpcProtocolConfigRequest = serde_json::from_value(params).expect("params");
        core::hint::black_box(request);
        self.response(id)
    }
}

#[cfg(test)]
mod tests {
    use milepost::engine::{Engine, Reply};

    use super::*;
    use crate::{Workload, stored};

    #[test]
    fn both_sides_answer_the_same_configuration() {
        let network = Network::mainnet();
        let mut storage = stored(&Workload::calls(1).messages);
        let engine = Engine::default();
        engine.put_config(Network::GENESIS_HEIGHT, &network.text(), &mut storage).unwrap();
        for block in [r#"{"finality":"final"}"#, r#"{"block_id":100000001}"#] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"EXPERIMENTAL_protocol_config","params":{block}}}"#
            );
            let reply = engine.ask(body.as_bytes(), None, &storage);
            let Reply::Answer(ours) = reply else { panic!("a request that waits") };
            let node = network.answer(body.as_bytes());
            assert_eq!(ours.body.escape_ascii().to_string(), node.escape_ascii().to_string());
        }
    }
}
