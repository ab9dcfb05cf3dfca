//! Pending requests: until a block arrives, they time out, the client disconnects, or a shutdown.

use milepost_practice::{Kind, Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};

use crate::support::{Server, post, request};

/// A request that waits until it times out
fn unanswerable() -> String {
    let hash = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";
    let params =
        json!({ "tx_hash": hash, "sender_account_id": "alice.near", "wait_until": "INCLUDED" });
    request("tx", &params)
}

#[test]
fn a_disconnect_cancels_the_pending_request() {
    let server = Server::with_blocks(&["--timeout", "1h"]);
    let mut client = server.connect();
    client.send(&post("/", &unanswerable()));
    server.until_metric("milepost_requests_pending", 1);
    assert_eq!(server.get("/status").json()["waiting"], 1);
    drop(client);
    server.until_metric("milepost_requests_pending", 0);
    assert_eq!(server.metric("milepost_waits_total{end=\"disconnected\"}"), Some(1));
}

#[test]
fn a_timeout_is_a_response_and_the_connection_stays_open() {
    let server = Server::with_blocks(&["--timeout", "20ms"]);
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&post("/", &unanswerable()));
        let response = client.response();
        assert_eq!((response.status, response.cause().as_str()), (408, "TIMEOUT_ERROR"));
        assert_eq!(response.json().pointer("/error/cause/info"), None);
    }
    assert_eq!(server.metric("milepost_waits_total{end=\"timeout\"}"), Some(2));
}

#[test]
fn pending_requests_are_limited() {
    let server = Server::with_blocks(&["--timeout", "1h", "--max-waiting", "2"]);
    let mut clients = [server.connect(), server.connect()];
    clients.iter_mut().for_each(|client| client.send(&post("/", &unanswerable())));
    server.until_metric("milepost_requests_pending", 2);
    let rejected = server.post("/", &unanswerable());
    assert_eq!((rejected.status, rejected.cause().as_str()), (503, "INTERNAL_ERROR"));
    let text = rejected.text();
    assert!(text.contains("too many pending requests: 2 of 2"), "{text}");
    // Requests that do not wait are not limited.
    let immediate = server.post("/", &unanswerable().replace("\"INCLUDED\"", "\"NONE\""));
    assert_eq!(immediate.cause(), "UNKNOWN_TRANSACTION");
    // A disconnect frees the entry for another request.
    let [leaving, _staying] = clients;
    drop(leaving);
    server.until_metric("milepost_requests_pending", 1);
    let mut next = server.connect();
    next.send(&post("/", &unanswerable()));
    server.until_metric("milepost_requests_pending", 2);
}

#[test]
fn unknown_immediate_answers_at_once() {
    let server = Server::with_blocks(&["--timeout", "1h", "--unknown", "immediate"]);
    let response = server.post("/", &unanswerable());
    assert_eq!((response.status, response.cause().as_str()), (200, "UNKNOWN_TRANSACTION"));
}

#[test]
fn timeout_cause_adds_the_cause_of_a_timeout() {
    let server = Server::with_blocks(&["--timeout", "20ms", "--timeout-cause"]);
    let response = server.post("/", &unanswerable()).json();
    assert_eq!(
        response.pointer("/error/cause/info/cause").and_then(Value::as_str),
        Some("NOT_OBSERVED")
    );
}

#[test]
#[cfg(unix)]
fn a_shutdown_answers_pending_requests_and_exits_with_0() {
    for signal in ["TERM", "INT"] {
        let server = Server::with_blocks(&["--timeout", "1h"]);
        let mut waiting = server.connect();
        waiting.send(&post("/", &unanswerable()));
        // An idle connection must not delay the end.
        let mut idle = server.connect();
        idle.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!(idle.response().status, 200);
        server.until_metric("milepost_requests_pending", 1);
        server.signal(signal);
        let response = waiting.response();
        assert_eq!((response.status, response.cause().as_str()), (503, "INTERNAL_ERROR"));
        assert!(response.text().contains("the service stops"), "{}", response.text());
        assert_eq!(server.ended().code(), Some(0));
    }
}

#[test]
fn a_block_answers_requests_whose_milestone_it_reaches() {
    let server = Server::start(&["--timeout", "1h"]);
    // On a slow machine the block may be imported before the request is sent, which then does not
    // wait; the next request is for a later block.
    let waited = [8, 16, 32].into_iter().any(|blocks| {
        let height = server.get("/status").json()["head"]["height"].as_u64().expect("a head");
        let transaction = transfer_after(height + blocks);
        let params = json!({
            "tx_hash": transaction.hash.to_string(),
            "sender_account_id": transaction.signer_id.to_string(),
            "wait_until": "FINAL",
        });
        let response = server.post("/", &request("EXPERIMENTAL_tx_status", &params));
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json()["result"]["final_execution_status"], "FINAL");
        server.metric("milepost_waits_total{end=\"reached\"}") == Some(1)
    });
    assert!(waited);
    server.until_metric("milepost_commit_to_last_response_seconds_count", 1);
}

/// A transfer in a block after this height; the chain follows from its seed, so it is known before
/// the server has the block
fn transfer_after(height: u64) -> PracticeTransaction {
    let mut chain = Practice::new(Settings::demo(1));
    loop {
        let message = chain.next_message();
        let transfer = |transaction: &PracticeTransaction| transaction.kind == Kind::Transfer;
        if message.height > height
            && let Some(transaction) = message.transactions.into_iter().find(transfer)
        {
            return transaction;
        }
    }
}

#[test]
fn a_practice_transaction_is_found_by_its_milestone() {
    // Longer than the timeout of the test's client, so a request without a response fails the test.
    let server = Server::start(&["--timeout", "1h"]);
    for milestone in ["INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"] {
        let response = server.get(&format!("/practice/{milestone}"));
        assert_eq!(response.status, 200, "{milestone}");
        assert_eq!(response.json()["result"]["final_execution_status"], milestone);
    }
    assert_eq!(server.get("/practice/included").status, 404);
    // No transaction is ever at `NONE`.
    assert_eq!(server.get("/practice/NONE").status, 404);
    assert_eq!(server.post("/practice/FINAL", "{}").status, 405);
    assert_eq!(server.post("/practice/recent", "{}").status, 405);
}
