//! A shutdown answers requests that were sent before it and not read yet, and those that come in
//! the time before it.

use serde_json::json;

use crate::fixture;
use crate::forward::{echo, forward};
use crate::support::{Server, post, request};
use crate::upstream::{Scripted, Upstream, error};

#[test]
#[cfg(unix)]
fn a_shutdown_answers_requests_that_were_sent_before_it() {
    let server = Server::with_blocks(&["--timeout", "1h"]);
    let mut accepted = server.connect();
    accepted.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(accepted.response().status, 200);
    // While the process is stopped, the kernel queues connections and requests for it.
    server.signal("STOP");
    let mut clients: Vec<_> = (0..50).map(|_| server.connect()).collect();
    clients.push(accepted);
    for client in &mut clients {
        client.send(&wait());
    }
    server.signal("TERM");
    server.signal("CONT");
    for client in &mut clients {
        let response = client.response();
        assert!(response.json()["error"].is_object());
        assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
        assert_eq!(client.rest(), "");
    }
    assert_eq!(server.ended().code(), Some(0));
}

/// A transaction that is in no block
#[cfg(unix)]
const UNKNOWN: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

/// A request that waits until the shutdown
#[cfg(unix)]
fn wait() -> String {
    post("/", &status("INCLUDED"))
}

#[cfg(unix)]
fn status(wait_until: &str) -> String {
    let params =
        json!({ "tx_hash": UNKNOWN, "sender_account_id": "a.near", "wait_until": wait_until });
    request("EXPERIMENTAL_tx_status", &params)
}

#[test]
#[cfg(unix)]
fn a_shutdown_answers_requests_that_are_with_an_upstream() {
    let upstream = Upstream::start(|call| match call["method"].as_str() {
        Some("query" | "block" | "EXPERIMENTAL_tx_status") => Scripted::Silence,
        _ => Scripted::Error(422, error("HANDLER_ERROR", "UNKNOWN_BLOCK", &json!(""))),
    });
    let args = ["--upstream-history", "--timeout", "1h", "--max-wait", "1h"];
    let server = forward(&[&upstream.url()], &args);
    let block = request("block", &json!({}));
    let bodies = [request("query", &json!({})), format!("[{block},{block}]"), status("NONE")];
    let mut clients = bodies.map(|body| {
        let mut client = server.connect();
        client.send(&post("/", &body));
        client
    });
    server.until("all are with the upstream", || {
        ["query", "block", "EXPERIMENTAL_tx_status"]
            .iter()
            .all(|method| !upstream.calls(method).is_empty())
    });
    server.signal("TERM");
    let responses = clients.each_mut().map(|client| client.response());
    for response in &responses {
        assert!(response.text().contains("the service stops"), "{}", response.text());
    }
    let [forwarded, batch, lookup] = responses;
    assert_eq!((forwarded.status, forwarded.header("retry-after")), (503, Some("1")));
    assert_eq!(batch.json().as_array().map(Vec::len), Some(2));
    assert_eq!((lookup.status, lookup.header("retry-after")), (503, Some("1")));
    assert_eq!(lookup.header("x-milepost-transaction"), Some(UNKNOWN));
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
#[cfg(unix)]
fn requests_are_answered_in_the_time_before_a_stop() {
    let server = Server::with_blocks(&["--timeout", "1h", "--drain", "1h"]);
    assert_eq!(server.get("/ready").status, 200);
    let mut waiting = server.connect();
    waiting.send(&wait());
    server.until_metric("milepost_requests_pending", 1);
    server.signal("TERM");
    server.until("not ready", || server.get("/ready").status == 503);
    assert_eq!(server.get("/ready").json()["status"], "stopping");
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.post("/", "{}").status, 400);
    let mut late = server.connect();
    late.send(&wait());
    server.until_metric("milepost_requests_pending", 2);
    // A second signal ends the time.
    server.signal("TERM");
    for client in [&mut waiting, &mut late] {
        assert_eq!(client.response().status, 503);
    }
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
#[cfg(unix)]
fn the_time_before_a_stop_ends() {
    let server = Server::with_blocks(&["--drain", "100ms"]);
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
#[cfg(unix)]
fn a_shutdown_answers_clients_that_wait_for_a_block_of_the_feed() {
    let server = forward(&[&echo().url()], &["--serve-feed", "64MiB"]);
    let mut client = server.connect();
    client.send(&format!("GET /v0/block_opt/{} HTTP/1.1\r\nhost: x\r\n\r\n", fixture::head() + 1));
    server.signal("TERM");
    let response = client.response();
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
}
