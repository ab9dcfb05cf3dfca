//! What a stop owes to requests that are under way and not yet taken in.

use serde_json::json;

use crate::support::{Server, post, request};

#[test]
#[cfg(unix)]
fn a_stop_answers_what_was_sent_before_it() {
    let server = Server::quiet(&["--wait-timeout", "1h"]);
    let mut known = server.connect();
    known.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(known.answer().status, 200);
    // While the program is held, the system takes connections and requests for it.
    server.signal("STOP");
    let params = json!({
        "tx_hash": "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T",
        "sender_account_id": "alice.near",
        "wait_until": "INCLUDED",
    });
    let mut clients: Vec<_> = (0..50).map(|_| server.connect()).collect();
    clients.push(known);
    for client in &mut clients {
        client.send(&post("/", &request("EXPERIMENTAL_tx_status", &params)));
    }
    server.signal("TERM");
    server.signal("CONT");
    for client in &mut clients {
        assert!(client.answer().json()["error"].is_object());
        assert_eq!(client.rest(), "");
    }
    assert_eq!(server.ended().code(), Some(0));
}
