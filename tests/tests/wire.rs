//! Whole response bodies as the node writes them, reproduced by the engine from facts.
//!
//! Runs where the recorded bodies are at hand. The recorded statuses show every variant of every
//! type, but their ids do not link: no tree of receipts has them. They are linked here (the outcome
//! gets the transaction's hash, the transaction generates the receipts that are listed) and
//! everything else must come out byte for byte. Error bodies that no request can cause here, such
//! as `REQUEST_ROUTED`, are compared where errors are written.

use milepost::engine::{Engine, Reply, Settings};
use milepost::facts::MemoryStorage;
use milepost::ingest::{Finality, IngestSettings};
use milepost::primitives::CryptoHash;
use milepost_tests::recorded;
use serde_json::{Value, json};

fn recorded(prefix: &str) -> Vec<(String, String)> {
    let files = recorded::files("wire", prefix).into_iter();
    files.map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap().trim_end().into())).collect()
}

fn answer(engine: &Engine, storage: &MemoryStorage, method: &str, params: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": "dontcare", "method": method, "params": params});
    match engine.ask(body.to_string().as_bytes(), None, storage) {
        Reply::Answer(answer) => String::from_utf8(answer.body).unwrap(),
        Reply::Wait(wait) => String::from_utf8(wait.expire(storage).body).unwrap(),
    }
}

/// A block of this height that holds the transaction, its outcome, and the receipts with theirs
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

/// Links the ids of a recorded result, and gives every executed receipt a body
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
    let spare = json!({
        "predecessor_id": "a.near", "priority": 0, "receiver_id": "b.near",
        "receipt": {"Data": {"data": null, "data_id": CryptoHash::ZERO, "is_promise_resume": false}},
    });
    let bodies = recorded.into_iter().chain(core::iter::repeat(spare));
    ids.into_iter()
        .zip(bodies)
        .map(|(id, mut body)| {
            body["receipt_id"] = id;
            body
        })
        .collect()
}

#[test]
fn recorded_statuses_come_out_byte_for_byte() {
    let mut compared = 0;
    for (name, text) in recorded("tx_status_") {
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        if expected["result"].get("transaction").is_none() {
            continue;
        }
        let result = &mut expected["result"];
        if result["receipts_outcome"] == json!([]) && result["receipts"] != json!([]) {
            // Receipts of every kind without outcomes: give them some, so that they are listed.
            let like = result["transaction_outcome"].clone();
            let outcomes = result["receipts"].as_array().into_iter().flatten().zip(0_u32..);
            let outcomes: Vec<Value> = outcomes
                .map(|(_, index)| {
                    let mut outcome = like.clone();
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
        let settings = IngestSettings::default().with_finality(Finality::All);
        engine
            .ingest(&block(7, result, &bodies), &settings, &mut storage)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let method = if without_receipts { "tx" } else { "EXPERIMENTAL_tx_status" };
        let hash = &result["transaction"]["hash"];
        let params =
            json!({"tx_hash": hash, "sender_account_id": "any.near", "wait_until": "NONE"});
        let result = &expected["result"];
        assert_eq!(
            answer(&engine, &storage, method, &params),
            format!(r#"{{"jsonrpc":"2.0","result":{result},"id":"dontcare"}}"#),
            "{name}"
        );
        compared += 1;
    }
    println!("{compared} statuses");
}

#[test]
fn recorded_configurations_come_out_byte_for_byte() {
    for (name, text) in recorded("protocol_config_") {
        let engine = Engine::default();
        let mut storage = MemoryStorage::new();
        engine.put_config(0, &text, &mut storage).unwrap_or_else(|error| panic!("{name}: {error}"));
        let params = json!({"sync_checkpoint": "genesis"});
        let found = answer(&engine, &storage, "EXPERIMENTAL_protocol_config", &params);
        assert_eq!(found, text, "{name}");
    }
}

#[test]
fn recorded_errors_come_out_byte_for_byte() {
    let bodies = recorded("error_");
    let expect = |name: &str, found: String| {
        if let Some((_, expected)) = bodies.iter().find(|(recorded, _)| recorded == name) {
            assert_eq!(&found, expected, "{name}");
        }
    };
    let unknown = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";
    let lookup = |wait_until: &str| json!({"tx_hash": unknown, "sender_account_id": "a.near", "wait_until": wait_until});
    let engine = Engine::default();
    let causes = Engine::new(Settings::default().with_timeout_cause(true));
    let empty = MemoryStorage::new();
    let status = "EXPERIMENTAL_tx_status";

    expect("error_tx_unknown_transaction", answer(&engine, &empty, status, &lookup("NONE")));
    expect("error_tx_timeout_not_observed", answer(&causes, &empty, status, &lookup("FINAL")));
    expect("error_method_not_found", answer(&engine, &empty, "nope", &json!({})));
    let block = json!({"block_id": 1});
    let config = "EXPERIMENTAL_protocol_config";
    expect("error_config_unknown_block", answer(&engine, &empty, config, &block));

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
    let settings = IngestSettings::default();
    causes.ingest(message.to_string().as_bytes(), &settings, &mut storage).unwrap();
    expect("error_tx_timeout_pending", answer(&causes, &storage, status, &lookup("FINAL")));
    let known = answer(&causes, &storage, status, &lookup("INCLUDED"));
    assert_eq!(
        known,
        r#"{"jsonrpc":"2.0","result":{"final_execution_status":"INCLUDED"},"id":"dontcare"}"#
    );
}
