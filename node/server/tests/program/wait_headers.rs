//! Headers that say how long a request waits, what it waited for, and at which head it is answered.

use serde_json::json;

use crate::fixture;
use crate::support::{Server, post, request};

const UNKNOWN: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

fn waiting_for(hash: &str) -> String {
    let params =
        json!({ "tx_hash": hash, "sender_account_id": "alice.near", "wait_until": "FINAL" });
    request("EXPERIMENTAL_tx_status", &params)
}

#[test]
fn a_client_chooses_its_wait_up_to_the_maximum() {
    // Only requests that choose their wait end before the test does.
    let server = Server::with_blocks(&["--timeout", "1h", "--max-wait", "20ms"]);
    for (prefer, applied) in [
        ("prefer: wait=0", "wait=0"),
        ("prefer: respond-async, Wait=\"0\"; x=y", "wait=0"),
        ("prefer: respond-async\r\nprefer: wait=3600", "wait=0"),
        ("prefer: wait=99999999999999999999", "wait=0"),
    ] {
        let response = server.post_with(&waiting_for(UNKNOWN), prefer);
        assert_eq!((response.status, response.cause().as_str()), (408, "TIMEOUT_ERROR"));
        assert_eq!(response.header("preference-applied"), Some(applied), "{prefer}");
    }
    // A response that does not wait says what would have applied.
    let known = fixture::transactions().next().expect("a transaction").hash.to_string();
    let quick = Server::with_blocks(&["--max-wait", "90s"]);
    for (wait, applied) in [("wait=9", "wait=9"), ("wait=91", "wait=90")] {
        let response = quick.post_with(&waiting_for(&known), &format!("prefer: {wait}"));
        assert_eq!((response.status, response.header("preference-applied")), (200, Some(applied)));
    }
    // What is no number of seconds is no preference.
    let mut client = server.connect();
    let text = post("/", &waiting_for(UNKNOWN)).replacen("\r\n", "\r\nprefer: wait=soon\r\n", 1);
    client.send(&text);
    server.until_metric("milepost_requests_pending", 1);
    let response = server.post_with(&waiting_for(&known), "prefer: wait=soon");
    assert_eq!(response.header("preference-applied"), None);
}

#[test]
fn a_request_that_ends_without_a_result_names_its_transactions() {
    let server = Server::with_blocks(&["--timeout", "20ms"]);
    let timeout = server.post("/", &waiting_for(UNKNOWN));
    assert_eq!(timeout.header("x-milepost-transaction"), Some(UNKNOWN));
    // The body is that of the interface.
    assert_eq!(timeout.json().pointer("/error/cause"), Some(&json!({ "name": "TIMEOUT_ERROR" })));
    let pending = fixture::transactions().last().expect("a transaction").hash.to_string();
    let known = fixture::transactions().next().expect("a transaction").hash.to_string();
    let batch = [&pending, &known, UNKNOWN].map(waiting_for).join(",");
    let response = server.post("/", &format!("[{batch}]"));
    let expected = format!("{pending}, {UNKNOWN}");
    assert_eq!(response.header("x-milepost-transaction"), Some(expected.as_str()));
    let found = server.post("/", &waiting_for(&known));
    assert_eq!((found.status, found.header("x-milepost-transaction")), (200, None));
}

#[test]
fn what_is_unknown_is_in_no_block_of_the_heights_that_the_answer_names() {
    let server = Server::with_blocks(&[]);
    let status = server.get("/status").json();
    let heights = format!("{}-{}", status["complete_from"], fixture::head());
    let params =
        json!({ "tx_hash": UNKNOWN, "sender_account_id": "alice.near", "wait_until": "NONE" });
    let unknown = server.post("/", &request("tx", &params));
    assert_eq!(unknown.cause(), "UNKNOWN_TRANSACTION");
    let known = fixture::transactions().next().expect("a transaction").hash.to_string();
    let header = "x-milepost-complete-heights";
    for path in [format!("/tx/{UNKNOWN}"), format!("/receipt/{UNKNOWN}")] {
        let response = server.get(&path);
        assert_eq!((response.status, response.header(header)), (404, Some(heights.as_str())));
    }
    assert_eq!(unknown.header(header), Some(heights.as_str()));
    assert_eq!(server.get(&format!("/tx/{known}")).header(header), None);
    assert_eq!(server.post("/", &waiting_for(&known)).header(header), None);
}

#[test]
#[cfg(unix)]
fn a_request_that_a_shutdown_ends_names_its_transaction() {
    let server = Server::with_blocks(&["--timeout", "1h"]);
    let mut waiting = server.connect();
    waiting.send(&post("/", &waiting_for(UNKNOWN)));
    server.until_metric("milepost_requests_pending", 1);
    server.signal("TERM");
    let response = waiting.response();
    assert_eq!((response.status, response.header("x-milepost-transaction")), (503, Some(UNKNOWN)));
}

#[test]
fn responses_carry_the_head_and_requests_demand_one() {
    let server = Server::with_blocks(&[]);
    let head = fixture::head().to_string();
    let known = fixture::transactions().next().expect("a transaction").hash.to_string();
    for response in [
        server.post("/", &waiting_for(&known)),
        server.post("/", "{"),
        server.get("/health"),
        server.get("/nothing"),
        server.get(&format!("/tx/{known}")),
        server.post_with(&waiting_for(&known), &format!("x-milepost-min-height: {head}")),
        server.get_with(&format!("/tx/{known}"), &format!("x-milepost-min-height: {head}")),
    ] {
        assert_eq!(response.header("x-milepost-head"), Some(head.as_str()));
    }
    for invalid in ["", "-1", "x", "1.0"] {
        let header = format!("x-milepost-min-height: {invalid}");
        let response = server.post_with(&waiting_for(&known), &header);
        assert_eq!((response.status, response.cause().as_str()), (400, "PARSE_ERROR"), "{invalid}");
        assert_eq!(server.get_with(&format!("/tx/{known}"), &header).status, 400);
    }
}

#[test]
#[cfg(unix)]
fn a_stop_ends_the_wait_for_a_head() {
    let server = Server::with_blocks(&[]);
    let next = fixture::head() + 1;
    let known = fixture::transactions().next().expect("a transaction").hash.to_string();
    let [mut rpc, mut lookup] = [server.connect(), server.connect()];
    let header = format!("x-milepost-min-height: {next}\r\n");
    let text = post("/", &waiting_for(&known));
    rpc.send(&text.replacen("\r\n", &format!("\r\n{header}"), 1));
    lookup.send(&format!("GET /tx/{known} HTTP/1.1\r\nhost: x\r\n{header}\r\n"));
    server.signal("TERM");
    let response = rpc.response();
    assert_eq!((response.status, response.cause().as_str()), (503, "INTERNAL_ERROR"));
    assert_eq!((response.header("retry-after"), &response.json()["id"]), (Some("1"), &json!("t")));
    assert!(response.text().contains("the service stops"), "{}", response.text());
    let response = lookup.response();
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
    assert_eq!(response.json()["error"], "the service stops");
}

#[test]
fn a_request_waits_for_the_head_that_it_demands() {
    // A block each 600 ms.
    let server = Server::start(&[]);
    let mut head = 0;
    for _ in 0..3 {
        let response = server.get_with("/tx/x", &format!("x-milepost-min-height: {}", head + 1));
        assert_eq!(response.status, 400, "the head was not reached: {}", response.text());
        let now: u64 = response.header("x-milepost-head").expect("a head").parse().unwrap();
        assert!(now > head, "{now} after {head}");
        head = now;
    }
}
