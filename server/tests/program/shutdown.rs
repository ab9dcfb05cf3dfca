//! A shutdown answers requests that were sent before it and not read yet.

use serde_json::json;

use crate::support::{Server, post, request};

#[test]
#[cfg(unix)]
fn a_shutdown_answers_requests_that_were_sent_before_it() {
    let server = Server::with_blocks(&["--timeout", "1h"]);
    let mut accepted = server.connect();
    accepted.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(accepted.response().status, 200);
    // While the process is stopped, the kernel queues connections and requests for it.
    server.signal("STOP");
    let params = json!({
        "tx_hash": "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T",
        "sender_account_id": "alice.near",
        "wait_until": "INCLUDED",
    });
    let mut clients: Vec<_> = (0..50).map(|_| server.connect()).collect();
    clients.push(accepted);
    for client in &mut clients {
        client.send(&post("/", &request("EXPERIMENTAL_tx_status", &params)));
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
