//! Invalid configurations are rejected with the path and the offset of the error.

use milepost::ErrorKind;
use milepost::config::check;
use serde_json::{Value, json};

use milepost_interop::oracle;

fn configuration() -> Value {
    serde_json::to_value(oracle::NETWORKS[0].protocol_config(88)).unwrap()
}

#[test]
fn a_wrong_value_is_rejected_with_its_path() {
    let limits = "runtime_config.wasm_config.limit_config";
    let costs = "runtime_config.transaction_costs";
    let layout = "shard_layout.V3";
    let cases = [
        (format!("{limits}.max_gas_burnt"), json!(-1)),
        (format!("{limits}.max_gas_burnt"), json!("many")),
        (format!("{limits}.max_stack_height"), json!(1_u64 << 32)),
        (format!("{limits}.max_number_logs"), json!(1.5)),
        (format!("{limits}.max_number_logs"), Value::Null),
        ("runtime_config.wasm_config.ext_costs.base".into(), json!([])),
        ("runtime_config.wasm_config.vm_kind".into(), json!(7)),
        ("runtime_config.wasm_config.vm_kind".into(), json!([])),
        ("runtime_config.wasm_config.sha3_host_fns".into(), json!(0)),
        ("runtime_config.storage_amount_per_byte".into(), json!("0x10")),
        ("runtime_config.account_creation_config.registrar_account_id".into(), json!("A")),
        (format!("{costs}.burnt_gas_reward"), json!([3])),
        (format!("{costs}.burnt_gas_reward[1]"), json!(1_u64 << 31)),
        (format!("{costs}.action_creation_config.transfer_cost.execution"), json!(true)),
        (format!("{costs}.action_creation_config.transfer_cost"), json!({"execution": 1})),
        (format!("{layout}.boundary_accounts[0]"), json!("-")),
        (format!("{layout}.shards_split_map"), Value::Null),
        ("block_producer_kickout_threshold".into(), json!(256)),
        ("chain_id".into(), json!(1)),
        ("max_gas_price".into(), json!("340282366920938463463374607431768211456")),
    ];
    for (path, wrong) in cases {
        let mut value = configuration();
        let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
        *value.pointer_mut(&pointer).expect(&path) = wrong.clone();
        for (text, prefix) in [
            (value.to_string(), ""),
            (serde_json::to_string_pretty(&value).unwrap(), ""),
            (json!({"jsonrpc": "2.0", "result": value, "id": "x"}).to_string(), "result."),
        ] {
            let error = check(&text, true).expect_err(&path);
            assert_eq!(error.path(), format!("{prefix}{path}"), "{wrong}: {error}");
            assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
            let offset = error.offset().expect("an offset");
            assert!(offset > 0 && offset <= text.len());
        }
    }
}

#[test]
fn a_value_with_one_meaning_is_written_as_the_node_does() {
    let limits = "/runtime_config/wasm_config/limit_config";
    for (pointer, retyped) in [
        (format!("{limits}/max_tables_per_contract"), json!("1")),
        (format!("{limits}/max_gas_burnt"), json!("300000000000000")),
        ("/runtime_config/storage_amount_per_byte".into(), json!(10_000_000_000_000_000_000_u64)),
        (
            "/runtime_config/congestion_control_config/reject_tx_congestion_threshold".into(),
            json!("0.8"),
        ),
        ("/shard_layout/V3/id_to_index_map/10".into(), json!("1")),
        ("/genesis_height".into(), json!("9820210")),
    ] {
        let mut value = configuration();
        let member = value.pointer_mut(&pointer).expect(&pointer);
        // The text of the value that the node has there.
        let written = member.as_str().map_or_else(|| member.to_string(), ToOwned::to_owned);
        *member = if retyped.is_string() { json!(written) } else { retyped };
        let checked = check(&value.to_string(), true).expect(&pointer);
        assert_eq!(checked.text, oracle::sorted(&configuration()), "{pointer}");
    }
}

#[test]
fn the_message_has_path_reason_and_offset() {
    let mut value = configuration();
    value["runtime_config"]["wasm_config"]["limit_config"]["max_gas_burnt"] = json!(-1);
    let text = oracle::sorted(&value);
    let offset = text.find("\"max_gas_burnt\":-1").unwrap() + "\"max_gas_burnt\":-1".len();
    assert_eq!(
        check(&text, true).unwrap_err().to_string(),
        format!(
            "runtime_config.wasm_config.limit_config.max_gas_burnt: invalid value: integer `-1`, \
             expected an amount of gas, as a number or a decimal string (byte {offset})"
        )
    );
}

#[test]
fn other_texts_are_rejected() {
    let cases = [
        ("", ErrorKind::Syntax),
        ("{", ErrorKind::Syntax),
        ("{} {}", ErrorKind::Syntax),
        ("null", ErrorKind::Schema),
        ("[]", ErrorKind::Schema),
        ("88", ErrorKind::Schema),
        ("{}", ErrorKind::Schema),
        (r#"{"chain_id":"x","genesis_height":1}"#, ErrorKind::Schema),
        (r#"{"chain_id":"x","protocol_version":1}"#, ErrorKind::Schema),
        (r#"{"genesis_height":1,"protocol_version":1}"#, ErrorKind::Schema),
        (r#"{"jsonrpc":"2.0","id":"x","result":null}"#, ErrorKind::Schema),
        (r#"{"jsonrpc":"2.0","id":"x","result":[]}"#, ErrorKind::Schema),
        (r#"{"jsonrpc":"2.0","id":"x","result":{}}"#, ErrorKind::Schema),
        (
            r#"{"chain_id":"x","genesis_height":1,"protocol_version":1,"chain_id":"y"}"#,
            ErrorKind::Schema,
        ),
        (
            r#"{"chain_id":"x","genesis_height":1,"protocol_version":1,"new":{"a":1,"a":2}}"#,
            ErrorKind::Schema,
        ),
        (r#"{"chain_id":"x","genesis_height":1,"protocol_version":4294967296}"#, ErrorKind::Schema),
    ];
    for (text, kind) in cases {
        let error = check(text, true).expect_err(text);
        assert_eq!(error.kind(), kind, "{text}: {error}");
    }
    let deep = format!(r#"{{"chain_id":{}"#, "[".repeat(1_000_000));
    assert_eq!(check(&deep, true).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn the_error_of_a_node_is_quoted_and_truncated() {
    let response = r#"{"jsonrpc":"2.0","error":{"name":"HANDLER_ERROR","cause":{"name":"UNKNOWN_BLOCK"}},"id":"x"}"#;
    let error = check(response, true).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, "error"));
    assert!(error.detail().contains("UNKNOWN_BLOCK"), "{error}");
    let long = json!({"error": "é".repeat(10_000)}).to_string();
    assert!(check(&long, true).unwrap_err().detail().len() < 400);
}

#[test]
fn a_response_and_its_result_are_read_as_the_same_configuration() {
    let value = configuration();
    let alone = check(&value.to_string(), true).unwrap();
    let response = json!({"id": "dontcare", "jsonrpc": "2.0", "result": value});
    for text in [response.to_string(), serde_json::to_string_pretty(&response).unwrap()] {
        assert_eq!(check(&text, true).unwrap(), alone);
    }
    assert_eq!(alone.text, oracle::sorted(&value));
}
