//! The configuration of the practice chain against the node's types.

use milepost_practice::config::protocol_config;

use milepost_interop::oracle;

/// Boundaries of twelve shards, so that the map key 10 comes before 2
const MANY_BOUNDARIES: &[&str] =
    &["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0"];

#[test]
fn a_node_reads_the_practice_configuration_and_writes_the_same_text() {
    for version in [87, 88] {
        for boundaries in [&[][..], &["m.near"], MANY_BOUNDARIES] {
            let text = protocol_config("practice", 1_000, version, boundaries);
            assert_eq!(oracle::rewritten(&text), text);
        }
    }
}

#[test]
fn the_practice_chain_has_the_runtime_parameters_of_mainnet() {
    for version in [87, 88] {
        let text = protocol_config("practice", 1_000, version, &[]);
        let practice: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mainnet = oracle::NETWORKS[0].protocol_config(version);
        let mainnet = serde_json::to_value(&mainnet.runtime_config).unwrap();
        assert_eq!(practice["runtime_config"], mainnet);
    }
}
