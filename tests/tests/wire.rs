//! Recorded response bodies of the node, reproduced by the engine from blocks.
//!
//! Skipped without the recorded bodies. The recorded statuses have every variant of every type, but
//! their ids do not form a tree of receipts. They are linked here: the outcome gets the hash of the
//! transaction, and the transaction generates the listed receipts. All else must be equal byte for
//! byte. Errors that no request can cause here, such as `REQUEST_ROUTED`, are tested in `core`.

use milepost::endpoint::{Engine, RequestState, Settings};
use milepost::import::{FinalityRule, ImportSettings};
use milepost::primitives::CryptoHash;
use milepost::storage::MemoryStorage;
use milepost_tests::recorded;
use serde_json::{Value, json};

fn recorded(prefix: &str) -> Vec<(String, String)> {
    let files = recorded::files("wire", prefix).into_iter();
    files.map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap().trim_end().into())).collect()
}

fn respond(engine: &Engine, storage: &MemoryStorage, method: &str, params: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": "dontcare", "method": method, "params": params});
    match engine.respond(engine.parse(body.to_string().as_bytes(), None), storage) {
        RequestState::Ready(response) => String::from_utf8(response.body).unwrap(),
        RequestState::Pending(pending) => String::from_utf8(pending.expire(storage).body).unwrap(),
    }
}

/// A block of this height with the transaction, its outcome, and the receipts with theirs
fn block(height: u64, result: &Value, bodies: &[Value]) -> Vec<u8> {
    let executed: Vec<Value> = result["receipts_outcome"]
        .as_array()
        .unwrap()
        .iter()
        .zip(bodies)
        .map(|(outcome, body)| json!({"execution_outcome": outcome, "receipt": body}))
        .collect();
    let hash = &result["transaction_outcome"]["block_hash"];
    json!({
        "block": {"header": {
            "height": height, "hash": hash, "prev_hash": CryptoHash::ZERO, "epoch_id": CryptoHash::ZERO,
        }},
        "shards": [{"chunk": {"transactions": [{
            "transaction": result["transaction"],
            "outcome": {"execution_outcome": result["transaction_outcome"], "receipt": null},
        }], "receipts": []}, "receipt_execution_outcomes": executed}],
    })
    .to_string()
    .into_bytes()
}

/// Links the ids of a recorded result; returns a body for every executed receipt
fn link(result: &mut Value) -> Vec<Value> {
    result["transaction_outcome"]["id"] = result["transaction"]["hash"].clone();
    let block_hash = result["transaction_outcome"]["block_hash"].clone();
    let mut ids = Vec::new();
    for outcome in result["receipts_outcome"].as_array_mut().unwrap() {
        ids.push(outcome["id"].clone());
        outcome["block_hash"] = block_hash.clone();
        outcome["outcome"]["receipt_ids"] = json!([]);
        if outcome["outcome"]["status"].get("SuccessReceiptId").is_some() {
            outcome["outcome"]["status"] = json!({"SuccessValue": ""});
        }
    }
    result["transaction_outcome"]["outcome"]["receipt_ids"] = json!(ids);
    let status = &mut result["transaction_outcome"]["outcome"]["status"];
    *status = match ids.first() {
        Some(first) => json!({ "SuccessReceiptId": first }),
        None => json!({"SuccessValue": "AA=="}),
    };
    result["status"] = match result["receipts_outcome"].get(0) {
        Some(first) => first["outcome"]["status"].clone(),
        None => json!({"SuccessValue": "AA=="}),
    };
    if result["status"] == json!("Unknown") {
        result["status"] = json!("Started");
    }
    let recorded = result["receipts"].as_array().cloned().unwrap_or_default();
    let default_body = json!({
        "predecessor_id": "a.near", "priority": 0, "receiver_id": "b.near",
        "receipt": {"Data": {"data": null, "data_id": CryptoHash::ZERO, "is_promise_resume": false}},
    });
    let bodies = recorded.into_iter().chain(core::iter::repeat(default_body));
    ids.into_iter()
        .zip(bodies)
        .map(|(id, mut body)| {
            body["receipt_id"] = id;
            body
        })
        .collect()
}

#[test]
fn recorded_statuses_are_reproduced_byte_for_byte() {
    let mut compared = 0;
    for (name, text) in recorded("tx_status_") {
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        if expected["result"].get("transaction").is_none() {
            continue;
        }
        let result = &mut expected["result"];
        if result["receipts_outcome"] == json!([]) && result["receipts"] != json!([]) {
            // Receipts without outcomes would not be listed.
            let template = result["transaction_outcome"].clone();
            let outcomes = result["receipts"].as_array().into_iter().flatten().zip(0_u32..);
            let outcomes: Vec<Value> = outcomes
                .map(|(_, index)| {
                    let mut outcome = template.clone();
                    outcome["id"] = json!(CryptoHash::digest(&index.to_le_bytes()));
                    outcome
                })
                .collect();
            result["receipts_outcome"] = json!(outcomes);
        }
        let bodies = link(result);
        let local = result["transaction"]["signer_id"] == result["transaction"]["receiver_id"];
        let without_receipts = result.get("receipts").is_none();
        if !without_receipts {
            result["receipts"] = json!(&bodies[usize::from(local).min(bodies.len())..]);
        }
        let unknown = result["receipts_outcome"]
            .as_array()
            .unwrap()
            .iter()
            .any(|outcome| outcome["outcome"]["status"] == json!("Unknown"));
        result["final_execution_status"] = json!(if unknown { "INCLUDED_FINAL" } else { "FINAL" });

        let engine = Engine::default();
        let mut storage = MemoryStorage::new();
        let settings =
            ImportSettings::default().with_finality(FinalityRule::All).with_strict_types(true);
        engine
            .import_block(&block(7, result, &bodies), &settings, &mut storage)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let method = if without_receipts { "tx" } else { "EXPERIMENTAL_tx_status" };
        let hash = &result["transaction"]["hash"];
        let params =
            json!({"tx_hash": hash, "sender_account_id": "any.near", "wait_until": "NONE"});
        let result = &expected["result"];
        assert_eq!(
            respond(&engine, &storage, method, &params),
            format!(r#"{{"jsonrpc":"2.0","result":{result},"id":"dontcare"}}"#),
            "{name}"
        );
        compared += 1;
    }
    println!("{compared} statuses");
}

#[test]
fn recorded_configurations_are_reproduced_byte_for_byte() {
    for (name, text) in recorded("protocol_config_") {
        let engine = Engine::default();
        let mut storage = MemoryStorage::new();
        let settings = ImportSettings::default().with_strict_types(true);
        engine
            .put_config(0, &text, &settings, &mut storage)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let params = json!({"sync_checkpoint": "genesis"});
        let found = respond(&engine, &storage, "EXPERIMENTAL_protocol_config", &params);
        assert_eq!(found, text, "{name}");
    }
}

#[test]
fn recorded_errors_are_reproduced_byte_for_byte() {
    let bodies = recorded("error_");
    let assert_recorded = |name: &str, found: String| {
        if let Some((_, expected)) = bodies.iter().find(|(recorded, _)| recorded == name) {
            assert_eq!(&found, expected, "{name}");
        }
    };
    let unknown = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";
    let status_params = |wait_until: &str| json!({"tx_hash": unknown, "sender_account_id": "a.near", "wait_until": wait_until});
    let engine = Engine::default();
    let engine_with_causes = Engine::new(Settings::default().with_timeout_cause(true));
    let empty = MemoryStorage::new();
    let status = "EXPERIMENTAL_tx_status";

    assert_recorded(
        "error_tx_unknown_transaction",
        respond(&engine, &empty, status, &status_params("NONE")),
    );
    assert_recorded(
        "error_tx_timeout_not_observed",
        respond(&engine_with_causes, &empty, status, &status_params("FINAL")),
    );
    assert_recorded("error_method_not_found", respond(&engine, &empty, "nope", &json!({})));
    let block = json!({"block_id": 1});
    let config = "EXPERIMENTAL_protocol_config";
    assert_recorded("error_config_unknown_block", respond(&engine, &empty, config, &block));

    let mut storage = MemoryStorage::new();
    let message = json!({
        "block": {"header": {"height": 1, "hash": unknown, "prev_hash": CryptoHash::ZERO,
            "epoch_id": CryptoHash::ZERO}},
        "shards": [{"chunk": {"receipts": [], "transactions": [{"outcome": null, "transaction": {
            "signer_id": "a.near", "public_key": "ed25519:11111111111111111111111111111111",
            "nonce": 1, "receiver_id": "b.near", "actions": [], "priority_fee": 0, "hash": unknown,
            "signature": format!("ed25519:{}", "1".repeat(64)),
        }}]}, "receipt_execution_outcomes": []}],
    });
    let settings = ImportSettings::default();
    engine_with_causes
        .import_block(message.to_string().as_bytes(), &settings, &mut storage)
        .unwrap();
    assert_recorded(
        "error_tx_timeout_pending",
        respond(&engine_with_causes, &storage, status, &status_params("FINAL")),
    );
    let included = respond(&engine_with_causes, &storage, status, &status_params("INCLUDED"));
    assert_eq!(
        included,
        r#"{"jsonrpc":"2.0","result":{"final_execution_status":"INCLUDED"},"id":"dontcare"}"#
    );
}
