//! Typed views against the node's: each reads what the other writes, and both write the same.

use milepost::codec::json::{canonical, read, write};
use milepost::config::{ProtocolConfigView, ShardLayout, ShardMap, StorageGetMode, VMKind, check};
use milepost::primitives::{Balance, Fraction, Gas, Rational};
use milepost::views::UnknownFields;
use near_primitives::shard_layout::ShardLayout as NodeShardLayout;
use serde_json::Value;

use milepost_interop::oracle;

/// The text after reading and writing it
fn rewritten(text: &str) -> String {
    let view: ProtocolConfigView = read(text).unwrap_or_else(|error| panic!("{error}"));
    write(&view)
}

fn sorted_text(text: &str) -> String {
    oracle::sorted(&serde_json::from_str(text).unwrap())
}

#[test]
fn every_configuration_of_the_public_networks_round_trips() {
    let mut texts = std::collections::HashSet::new();
    let mut record = oracle::Record::new("configurations");
    for network in &*oracle::NETWORKS {
        for version in oracle::OLDEST..=oracle::NEWEST {
            let node = network.protocol_config(version);
            let declared_order = serde_json::to_string(&node).unwrap();
            let wire_text = sorted_text(&declared_order);
            let ours = rewritten(&declared_order);
            assert_eq!(ours, wire_text, "version {version}");
            assert_eq!(oracle::rewritten(&ours), wire_text, "version {version}");
            let checked = check(&declared_order, true).unwrap();
            assert_eq!(checked.text, wire_text);
            assert_eq!(checked.chain_id, node.chain_id);
            assert_eq!(checked.genesis_height, node.genesis_height);
            assert_eq!(checked.protocol_version, version);
            record.add(&serde_json::json!([version, wire_text]));
            texts.insert(wire_text);
        }
    }
    record.finish();
    // Two networks, and no two versions are equal.
    assert_eq!(texts.len() as u32, 2 * (oracle::NEWEST - oracle::OLDEST + 1));
}

#[test]
fn views_have_every_member_of_the_node() {
    for network in &*oracle::NETWORKS {
        for version in oracle::OLDEST..=oracle::NEWEST {
            let node = network.protocol_config(version);
            let view: ProtocolConfigView = read(&serde_json::to_string(&node).unwrap()).unwrap();
            for (path, unknown_fields) in unknown_fields_of(&view) {
                assert!(
                    unknown_fields.is_empty(),
                    "{path} of version {version}: {unknown_fields:?}"
                );
            }
        }
    }
}

/// The unknown members of every object of a whole configuration
fn unknown_fields_of(view: &ProtocolConfigView) -> Vec<(&'static str, &UnknownFields)> {
    let runtime = view.runtime_config.as_ref().unwrap();
    let costs = runtime.transaction_costs.as_ref().unwrap();
    let actions = costs.action_creation_config.as_ref().unwrap();
    let data = costs.data_receipt_creation_config.as_ref().unwrap();
    let wasm = runtime.wasm_config.as_ref().unwrap();
    let layout = match view.shard_layout.as_ref().unwrap() {
        ShardLayout::V0(layout) => &layout.unknown_fields,
        ShardLayout::V1(layout) => &layout.unknown_fields,
        ShardLayout::V2(layout) => &layout.unknown_fields,
        ShardLayout::V3(layout) => &layout.unknown_fields,
        other => panic!("unknown layout {other:?}"),
    };
    assert!(!matches!(wasm.vm_kind, None | Some(VMKind::Other(_))));
    assert!(!matches!(wasm.storage_get_mode, None | Some(StorageGetMode::Other(_))));
    vec![
        ("configuration", &view.unknown_fields),
        ("runtime_config", &runtime.unknown_fields),
        (
            "account_creation_config",
            &runtime.account_creation_config.as_ref().unwrap().unknown_fields,
        ),
        (
            "congestion_control_config",
            &runtime.congestion_control_config.as_ref().unwrap().unknown_fields,
        ),
        ("witness_config", &runtime.witness_config.as_ref().unwrap().unknown_fields),
        ("transaction_costs", &costs.unknown_fields),
        ("action_creation_config", &actions.unknown_fields),
        ("transfer_cost", &actions.transfer_cost.as_ref().unwrap().unknown_fields),
        ("add_key_cost", &actions.add_key_cost.as_ref().unwrap().unknown_fields),
        ("data_receipt_creation_config", &data.unknown_fields),
        ("storage_usage_config", &costs.storage_usage_config.as_ref().unwrap().unknown_fields),
        ("wasm_config", &wasm.unknown_fields),
        ("ext_costs", &wasm.ext_costs.as_ref().unwrap().unknown_fields),
        ("limit_config", &wasm.limit_config.as_ref().unwrap().unknown_fields),
        ("shard_layout", layout),
    ]
}

#[test]
fn values_are_in_the_members_of_their_names() {
    let node = oracle::NETWORKS[0].protocol_config(88);
    let view: ProtocolConfigView = read(&serde_json::to_string(&node).unwrap()).unwrap();
    assert_eq!(view.gas_limit, Some(Gas(node.gas_limit.as_gas())));
    assert_eq!(view.fishermen_threshold, Some(Balance(u128::MAX)));
    // Not reduced, as in the node's files.
    assert_eq!(view.online_min_threshold, Some(Rational(90, 100)));
    let runtime = view.runtime_config.unwrap();
    let congestion = runtime.congestion_control_config.unwrap();
    assert_eq!(congestion.reject_tx_congestion_threshold, Some(Fraction(0.8)));
    let wasm = runtime.wasm_config.unwrap();
    assert_eq!(wasm.vm_kind, Some(VMKind::Wasmtime));
    let limits = wasm.limit_config.unwrap();
    assert_eq!(limits.max_tables_per_contract, Some(1));
    assert_eq!(limits.max_globals_per_contract, None);
    let costs = wasm.ext_costs.unwrap();
    assert_eq!(costs.sha3_384_byte, Some(Gas(36_649_701)));
    let Some(ShardLayout::V3(layout)) = view.shard_layout else { panic!("dynamic resharding") };
    assert_eq!(layout.id_to_index_map.0.len(), layout.shard_ids.len());
}

#[test]
fn an_absent_member_stays_absent() {
    let node = oracle::NETWORKS[1].protocol_config(88);
    let whole = serde_json::to_value(&node).unwrap();
    let required = ["chain_id", "genesis_height", "protocol_version"];
    let mut removed = 0;
    for pointer in pointers(&whole) {
        let mut value = whole.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        value.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
        let text = oracle::sorted(&value);
        if required.contains(&name) {
            let error = read::<ProtocolConfigView>(&text).unwrap_err();
            assert_eq!(error.detail(), format!("missing field `{name}`"));
            continue;
        }
        assert_eq!(rewritten(&text), text, "{pointer}");
        removed += 1;
    }
    // 100 of them are costs of host functions, 43 are limits.
    assert!(removed > 200, "{removed}");
}

/// The optional members of a configuration, as JSON pointers: all except those of fees, shard
/// layouts and arrays
fn pointers(whole: &Value) -> Vec<String> {
    let mut pointers = Vec::new();
    let mut objects = vec![String::new()];
    while let Some(parent) = objects.pop() {
        let members = whole.pointer(&parent).unwrap().as_object().unwrap();
        for (name, value) in members {
            let pointer = format!("{parent}/{name}");
            let is_fee = value.get("send_sir").is_some();
            if value.is_object() && !is_fee && name != "shard_layout" {
                objects.push(pointer.clone());
            }
            pointers.push(pointer);
        }
    }
    pointers
}

#[test]
fn unknown_members_and_variants_round_trip() {
    let node = oracle::NETWORKS[0].protocol_config(88);
    let whole = serde_json::to_value(&node).unwrap();
    let mut objects: Vec<String> = vec![String::new()];
    objects.extend(
        pointers(&whole).into_iter().filter(|pointer| whole.pointer(pointer).unwrap().is_object()),
    );
    objects.retain(|pointer| pointer != "/shard_layout");
    objects.push("/shard_layout/V3".into());
    assert!(objects.len() > 25);
    for pointer in objects {
        let mut value = whole.clone();
        let members = value.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
        // Before, between and after the known names.
        for name in ["AAA", "grown_later", "zzz"] {
            let unknown = r#"{"a":[1,18446744073709551615,null],"b":{"c":"\u0001é"}}"#;
            members.insert(name.into(), serde_json::from_str(unknown).unwrap());
        }
        let text = oracle::sorted(&value);
        assert_eq!(rewritten(&text), text, "{pointer}");
    }
    for (pointer, unknown) in [
        ("/runtime_config/wasm_config/vm_kind", r#""Wasmer9""#),
        ("/runtime_config/wasm_config/vm_kind", r#"{"Custom":{"name":"x"}}"#),
        ("/runtime_config/wasm_config/storage_get_mode", r#""MemTrie""#),
        ("/shard_layout", r#"{"V4":{"tree":[[1,2],[3]]}}"#),
        ("/shard_layout", r#""Single""#),
    ] {
        let mut value = whole.clone();
        *value.pointer_mut(pointer).unwrap() = serde_json::from_str(unknown).unwrap();
        let text = oracle::sorted(&value);
        assert!(text.contains(unknown));
        assert_eq!(rewritten(&text), text, "{pointer}");
    }
}

#[test]
fn numbers_stay_exact() {
    for (member, text) in [
        ("genesis_height", "18446744073709551615"),
        ("gas_limit", "9007199254740993"),
        ("online_min_threshold", "[90,100]"),
        ("gas_price_adjustment_rate", "[-2147483648,2147483647]"),
        ("max_gas_price", r#""340282366920938463463374607431768211455""#),
        (
            "runtime_config",
            r#"{"congestion_control_config":{"reject_tx_congestion_threshold":0.30000000000000004}}"#,
        ),
        (
            "runtime_config",
            r#"{"congestion_control_config":{"reject_tx_congestion_threshold":1.0}}"#,
        ),
        (
            "runtime_config",
            r#"{"congestion_control_config":{"reject_tx_congestion_threshold":5e-324}}"#,
        ),
    ] {
        let mut members =
            vec![("chain_id", r#""x""#), ("genesis_height", "1"), ("protocol_version", "1")];
        members.retain(|(name, _)| *name != member);
        members.push((member, text));
        members.sort_unstable();
        let members: Vec<_> =
            members.iter().map(|(name, text)| format!("\"{name}\":{text}")).collect();
        let text = format!("{{{}}}", members.join(","));
        assert_eq!(rewritten(&text), text);
        let mut out = String::new();
        canonical(&text, &mut out).unwrap();
        assert_eq!(out, text);
    }
}

#[test]
#[expect(deprecated, reason = "old layouts have only deprecated constructors")]
fn layouts_of_every_version_round_trip() {
    let accounts = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
    let second = NodeShardLayout::v2(
        accounts(&["aurora", "kkuuue2akv_1630967379.near"]),
        [10, 2, 1].map(Into::into).to_vec(),
        None,
    );
    let third = second
        .derive_v3("m.near".parse().unwrap(), Vec::new)
        .and_then(|layout| layout.derive_v3("bb".parse().unwrap(), Vec::new))
        .unwrap();
    let single = NodeShardLayout::single_shard();
    let layouts = [
        NodeShardLayout::v0(4, 1),
        NodeShardLayout::v1(accounts(&["mm"]), None, 1),
        NodeShardLayout::v1(
            accounts(&["aa", "mm"]),
            Some(vec![vec![0.into()], vec![1.into(), 2.into()]]),
            2,
        ),
        NodeShardLayout::derive_shard_layout(&second, "tt".parse().unwrap()),
        second,
        third,
        single,
    ];
    let mut names = Vec::new();
    for node in layouts {
        let text = sorted_text(&serde_json::to_string(&node).unwrap());
        let ours: ShardLayout = read(&text).unwrap();
        assert_eq!(write(&ours), text);
        assert_eq!(serde_json::from_str::<NodeShardLayout>(&write(&ours)).unwrap(), node);
        names.push(ours.name().to_string());
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["V0", "V1", "V2", "V3"]);
}

#[test]
fn maps_of_shards_are_written_in_the_order_of_their_key_texts() {
    let map: ShardMap<u64> = read(r#"{"2":0,"10":1,"18446744073709551615":2}"#).unwrap();
    assert_eq!(map.0.keys().copied().collect::<Vec<_>>(), [2, 10, u64::MAX]);
    assert_eq!(write(&map), r#"{"10":1,"18446744073709551615":2,"2":0}"#);
    for invalid in
        [r#"{"x":1}"#, r#"{"-1":1}"#, r#"{"18446744073709551616":1}"#, r#"{"1":1,"01":2}"#]
    {
        assert!(read::<ShardMap<u64>>(invalid).is_err(), "{invalid}");
    }
}
