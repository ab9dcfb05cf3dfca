//! `GET /tx/<hash>` and `GET /receipt/<id>`, compared with the responses to JSON-RPC requests.

use std::fs;

use milepost::proof::{KnownHashes, verify_answer};
use serde_json::{Value, json};

use crate::fixture;
use crate::support::{Response, Server, request};

const UNKNOWN: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

/// The `result` of a request for a transaction
fn result_of(server: &Server, hash: &str) -> Value {
    let params =
        json!({ "tx_hash": hash, "sender_account_id": "alice.near", "wait_until": "NONE" });
    server.post("/", &request("EXPERIMENTAL_tx_status", &params)).json()["result"].clone()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The outcomes of a result, that of the transaction first
fn outcomes(result: &Value) -> Vec<Value> {
    let own = result.get("transaction_outcome").cloned();
    own.into_iter().chain(items(&result["receipts_outcome"]).iter().cloned()).collect()
}

/// The receipts that a result proves to be generated
fn generated(result: &Value) -> Vec<String> {
    let outcomes = outcomes(result);
    let mut ids: Vec<String> = outcomes
        .iter()
        .flat_map(|outcome| items(&outcome["outcome"]["receipt_ids"]))
        .map(|id| id.as_str().expect("an id").to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

fn header<'response>(response: &'response Response, name: &str) -> &'response str {
    response.header(name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_compact_status_agrees_with_the_result_of_a_request() {
    let server = Server::with_blocks(&[]);
    let (mut milestones, mut masked_failures) = (Vec::new(), 0);
    for transaction in fixture::transactions() {
        let hash = transaction.hash.to_string();
        let result = result_of(&server, &hash);
        let response =
            server.get(&format!("/tx/{hash}?sender_account_id={}", transaction.signer_id));
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(response.body.len() < 400, "{}", response.text());
        let status = response.json();
        assert_eq!(status["transaction_hash"], hash);
        assert_eq!(status["final_execution_status"], result["final_execution_status"]);
        let kind = match &result["status"] {
            Value::Object(status) => status.keys().next().cloned().unwrap_or_default(),
            Value::String(status) => status.clone(),
            _ => "NotStarted".to_owned(),
        };
        assert_eq!(status["status"], kind);
        assert_eq!(status["receipts_known"], generated(&result).len());
        let outcomes = items(&result["receipts_outcome"]);
        assert_eq!(status["receipts_executed"], outcomes.len());
        let failed =
            outcomes.iter().filter(|one| one["outcome"]["status"].get("Failure").is_some()).count();
        assert_eq!(status["receipts_failed"], failed);
        masked_failures += usize::from(failed > 0 && kind == "SuccessValue");
        let block = fixture::messages()
            .iter()
            .find(|message| message.transactions.iter().any(|one| one.hash == transaction.hash))
            .expect("a block includes it");
        let block = json!({ "hash": block.hash.to_string(), "height": block.height });
        assert_eq!(status["block"], block);
        let is_final = result["final_execution_status"] == "FINAL";
        assert_eq!(status["finalized"], is_final);
        let caching = header(&response, "cache-control");
        let expected = if is_final { "public, max-age=3600, must-revalidate" } else { "no-cache" };
        assert_eq!(caching, expected);
        milestones.push(status["final_execution_status"].as_str().unwrap().to_owned());
    }
    milestones.sort();
    milestones.dedup();
    assert!(milestones.len() > 3, "only {milestones:?}");
    assert!(masked_failures > 0, "no failure is beside the receipt that decides");
}

#[test]
fn a_refusal_is_cached_for_a_minute() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors");
    let blocks = tempfile::tempdir().expect("a directory");
    for height in 100..=103 {
        let name = format!("double-{height}.json");
        let to = blocks.path().join(format!("{height}.json"));
        fs::copy(format!("{vectors}/blocks/{name}"), to).expect("a block");
    }
    let server = Server::start(&["--blocks", fixture::text(blocks.path())]);
    let request = fs::read(format!("{vectors}/requests/double-refused.json")).expect("a request");
    let request: Value = serde_json::from_slice(&request).expect("JSON");
    let hash = request["params"]["tx_hash"].as_str().expect("a hash");
    let response = server.get(&format!("/tx/{hash}"));
    let status = response.json();
    assert_eq!([&status["final_execution_status"], &status["status"]], ["FINAL", "Failure"]);
    // It can be included again, and be executed.
    assert_eq!(header(&response, "cache-control"), "public, max-age=60, must-revalidate");
}

#[test]
fn parts_are_included_as_the_result_has_them() {
    let server = Server::with_blocks(&[]);
    let mut with_logs = 0;
    for transaction in fixture::transactions() {
        let hash = transaction.hash.to_string();
        let result = result_of(&server, &hash);
        let all = "?include=receipts%2Coutcomes,logs,gas,status";
        let response = server.get(&format!("/tx/{hash}{all}"));
        let status = response.json();
        if let Some(value) = result.get("status") {
            assert_eq!(status["status"], *value);
        }
        assert_eq!(items(&status["receipts"]), items(&result["receipts"]));
        let outcomes = outcomes(&result);
        assert_eq!(items(&status["outcomes"]), outcomes);
        let gas: u64 = outcomes.iter().filter_map(|one| one["outcome"]["gas_burnt"].as_u64()).sum();
        assert_eq!(status["gas_burnt"], gas);
        let tokens = outcomes.iter().map(|one| one["outcome"]["tokens_burnt"].as_str().unwrap());
        let tokens: u128 = tokens.map(|text| text.parse::<u128>().unwrap()).sum();
        assert_eq!(status["tokens_burnt"], tokens.to_string());
        let logs: Vec<Value> = outcomes
            .iter()
            .filter(|one| !items(&one["outcome"]["logs"]).is_empty())
            .map(|one| json!({ "id": one["id"], "logs": one["outcome"]["logs"] }))
            .collect();
        with_logs += logs.len();
        assert_eq!(items(&status["logs"]), logs);
        // The texts are those of the result, byte for byte.
        assert!(response.text().contains(&format!(
            "\"receipts\":{}",
            result.get("receipts").map_or_else(|| "[]".into(), Value::to_string)
        )));
    }
    assert!(with_logs > 0, "no transaction has logs");
    let hash = fixture::transactions().next().unwrap().hash;
    let gas = server.get(&format!("/tx/{hash}?include=gas")).json();
    assert!(gas.get("gas_burnt").is_some() && gas.get("outcomes").is_none());
}

#[test]
fn a_client_that_has_the_current_status_gets_304() {
    let server = Server::with_blocks(&[]);
    let (mut tags, mut finalized) = (Vec::new(), 0);
    for transaction in fixture::transactions() {
        for query in ["", "?include=gas"] {
            let path = format!("/tx/{}{query}", transaction.hash);
            let first = server.get(&path);
            let tag = header(&first, "etag").to_owned();
            let again = server.get_with(&path, &format!("if-none-match: W/\"x\", {tag}"));
            assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
            for name in ["etag", "cache-control", "x-milepost-head", "access-control-allow-origin"]
            {
                assert_eq!(again.header(name), first.header(name), "{name}");
            }
            assert_eq!(server.get_with(&path, "if-none-match: \"x\"").status, 200);
            finalized += usize::from(header(&again, "cache-control").contains("max-age"));
            tags.push(tag);
        }
    }
    let count = tags.len();
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), count, "two representations have one tag");
    assert!(finalized > 0 && finalized < count);
}

#[test]
fn a_receipt_has_its_transaction_and_its_outcome() {
    let server = Server::with_blocks(&[]);
    let (mut count, mut pending) = (0, 0);
    for transaction in fixture::transactions() {
        let hash = transaction.hash.to_string();
        let result = result_of(&server, &hash);
        let is_final = result["final_execution_status"] == "FINAL";
        for id in generated(&result) {
            let outcomes = items(&result["receipts_outcome"]);
            let outcome = outcomes.iter().find(|outcome| outcome["id"] == id);
            pending += usize::from(outcome.is_none());
            let response = server.get(&format!("/receipt/{id}"));
            assert_eq!(response.status, 200, "{}", response.text());
            let expected =
                json!({ "receipt_id": id, "transaction_hash": hash, "outcome": outcome });
            assert_eq!(response.json(), expected);
            assert_eq!(header(&response, "cache-control").contains("max-age=3600"), is_final);
            count += 1;
        }
    }
    assert!(count > 30 && pending > 0, "{count} receipts, {pending} are not executed");
}

#[test]
fn a_status_is_proven_by_what_is_included() {
    let server = Server::with_blocks(&["--verify", "strict"]);
    let mut complete = 0;
    for transaction in fixture::transactions() {
        let hash = transaction.hash;
        let path = format!("/tx/{hash}?include=outcomes,status,proof");
        let response = server.get(&path);
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(header(&response, "cache-control"), "no-cache");
        let proof = response.json()["proof"].clone();
        let Some(block) = proof["block_hash"].as_str() else {
            assert_eq!(proof, Value::Null);
            continue;
        };
        let known = KnownHashes { transaction: hash, block: block.parse().unwrap() };
        let proven = verify_answer(&response.body, &response.body, known).unwrap();
        complete += usize::from(proven.is_complete());
        // The result of a request is proven as well.
        let result = result_of(&server, &hash.to_string()).to_string();
        let of_result = verify_answer(result.as_bytes(), &response.body, known).unwrap();
        assert_eq!(of_result.outcomes, proven.outcomes);

        let longer =
            server.get(&format!("{path}&block={}", fixture::messages().last().unwrap().hash));
        let block = fixture::messages().last().unwrap().hash;
        let proven = verify_answer(&longer.body, &longer.body, KnownHashes { block, ..known });
        assert!(proven.unwrap().outcomes.len() >= of_result.outcomes.len());
        let last_final = server.get(&format!("{path}&block=final"));
        assert_eq!(last_final.status, 200, "{}", last_final.text());
    }
    assert!(complete > 5, "{complete}");

    let known = fixture::transactions().next().unwrap().hash;
    for (block, expected) in [(UNKNOWN, "is no block of the stored chain"), ("last", "block: ")] {
        let response = server.get(&format!("/tx/{known}?include=proof&block={block}"));
        assert_eq!(response.status, 400);
        assert!(response.text().contains(expected), "{}", response.text());
    }
    let unchecked = Server::with_blocks(&[]);
    let response = unchecked.get(&format!("/tx/{known}?include=proof"));
    assert_eq!(response.status, 501);
    assert!(response.text().contains("without a check against its hash"), "{}", response.text());
}

#[test]
fn what_cannot_be_looked_up_is_said_with_its_place() {
    let server = Server::with_blocks(&[]);
    let known = fixture::transactions().next().unwrap().hash;
    for (path, status, expected) in [
        (format!("/tx/{UNKNOWN}"), 404, "is in no block that is stored"),
        (format!("/receipt/{UNKNOWN}"), 404, "comes from no transaction that is stored"),
        (format!("/receipt/{known}"), 404, "comes from no transaction that is stored"),
        ("/tx/0OIl".to_owned(), 400, "tx: "),
        (format!("/tx/{known}/x"), 400, "tx: "),
        ("/receipt/x".to_owned(), 400, "receipt: "),
        (format!("/tx/{known}?include=gas,x"), 400, "include: `x` is none of receipts, "),
        (format!("/tx/{known}?sender_account_id=A"), 400, "sender_account_id: "),
    ] {
        let response = server.get(&path);
        assert_eq!(response.status, status, "{path}: {}", response.text());
        let error = response.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(expected), "{path}: {error}");
        assert!(response.header("etag").is_none());
        assert!(!response.header("cache-control").is_some_and(|text| text.contains("max-age")));
    }
    for path in [format!("/tx/{known}"), format!("/receipt/{known}")] {
        let response = server.post(&path, "{}");
        assert_eq!((response.status, response.header("allow")), (405, Some("GET,HEAD")), "{path}");
    }
    let mut client = server.connect();
    client.send(&format!("HEAD /tx/{known} HTTP/1.1\r\nhost: x\r\n\r\n"));
    let head = client.response_to("HEAD");
    assert_eq!((head.status, head.header("content-length") != Some("0")), (200, true));
}
