//! Addresses, verbs, statuses, and what web pages are told.

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::TcpStream;

use crate::support::{Server, post, request};

const UNKNOWN: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

/// A request that is answered at once, whatever is in the store
fn at_once() -> String {
    let params =
        json!({ "tx_hash": UNKNOWN, "sender_account_id": "alice.near", "wait_until": "NONE" });
    request("EXPERIMENTAL_tx_status", &params)
}

/// A request that is not answered before its time is up
fn never() -> String {
    let params =
        json!({ "tx_hash": UNKNOWN, "sender_account_id": "alice.near", "wait_until": "FINAL" });
    request("EXPERIMENTAL_tx_status", &params)
}

#[test]
fn requests_are_answered_at_the_root_and_at_the_name_of_their_method() {
    let server = Server::quiet(&[]);
    for path in ["/", "/?x=1", "/EXPERIMENTAL_tx_status", "/EXPERIMENTAL_tx_status?x"] {
        let answer = server.post(path, &at_once());
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.cause(), "UNKNOWN_TRANSACTION");
        assert_eq!(answer.json()["id"], "t");
    }
}

#[test]
fn a_name_that_no_method_has_is_refused_in_words_of_json_rpc() {
    let server = Server::quiet(&[]);
    let answer = server.post("/broadcast_tx_async", &request("broadcast_tx_async", &json!([])));
    assert_eq!((answer.status, answer.cause().as_str()), (400, "METHOD_NOT_FOUND"));
    let other = server.post("/EXPERIMENTAL_protocol_config", &at_once());
    assert_eq!(other.status, 400, "{}", other.text());
}

#[test]
fn addresses_without_anything_are_404_and_empty() {
    let server = Server::quiet(&[]);
    for path in ["//", "/a/b", "/EXPERIMENTAL_tx_status/", "/health/x"] {
        let answer = server.post(path, &at_once());
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{path}");
    }
    for path in ["/nothing", "/favicon.ico", "/a/b"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.metric("milepost_refusals_total{status=\"404\"}"), Some(7));
}

#[test]
fn wrong_verbs_are_told_the_right_ones() {
    let server = Server::quiet(&[]);
    for (verb, path, allow) in [
        ("PUT", "/", "GET,HEAD,POST"),
        ("POST", "/blocks/x", "GET"),
        ("DELETE", "/tx", "POST"),
        ("GET", "/EXPERIMENTAL_protocol_config", "POST"),
        ("POST", "/health", "GET,HEAD"),
        ("PATCH", "/metrics", "GET,HEAD"),
    ] {
        let mut client = server.connect();
        client.send(&format!("{verb} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"));
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{verb} {path}");
        assert!(answer.body.is_empty());
    }
}

#[test]
fn statuses_say_what_a_node_says_or_always_200() {
    let (node, plain) = (
        Server::quiet(&["--wait-timeout", "50ms"]),
        Server::quiet(&["--wait-timeout", "50ms", "--http-status", "always-200"]),
    );
    let old_height = request("EXPERIMENTAL_protocol_config", &json!({ "block_id": 1 }));
    for (body, status, cause) in [
        (at_once(), 200, "UNKNOWN_TRANSACTION"),
        (never(), 408, "TIMEOUT_ERROR"),
        (request("tx", &json!(5)), 400, "PARSE_ERROR"),
        ("{".to_owned(), 400, "PARSE_ERROR"),
        (String::new(), 400, "PARSE_ERROR"),
        (old_height, 422, "UNKNOWN_BLOCK"),
    ] {
        for (server, status) in [(&node, status), (&plain, 200)] {
            let answer = server.post("/", &body);
            assert_eq!((answer.status, answer.cause().as_str()), (status, cause), "{body}");
        }
    }
}

#[test]
fn batches_are_answered_with_200() {
    let server = Server::quiet(&[]);
    let answer = server.post("/", &format!("[{},{}]", at_once(), request("tx", &json!(5))));
    assert_eq!(answer.status, 200);
    let answers = answer.json();
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
    assert_eq!(answers[1]["error"]["cause"]["name"], "PARSE_ERROR");
}

#[test]
fn a_connection_serves_many_requests_also_ahead_of_their_answers() {
    let server = Server::quiet(&[]);
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(&post("/", &at_once()));
        assert_eq!(client.answer().cause(), "UNKNOWN_TRANSACTION");
    }
    let ahead: String = (0..5)
        .map(|number| {
            let params =
                json!({ "tx_hash": UNKNOWN, "sender_account_id": "a.near", "wait_until": "NONE" });
            post("/", &request("tx", &params).replace("\"t\"", &number.to_string()))
        })
        .collect();
    client.send(&ahead);
    for number in 0..5 {
        assert_eq!(client.answer().json()["id"], number);
    }
}

#[test]
fn pages_of_any_origin_may_read_answers() {
    let server = Server::quiet(&[]);
    for path in ["/", "/nothing/here"] {
        let mut client = server.connect();
        client.send(&format!("OPTIONS {path} HTTP/1.1\r\nhost: x\r\norigin: https://a.example\r\naccess-control-request-method: POST\r\n\r\n"));
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("content-length")), (200, Some("0")));
        for name in ["origin", "methods", "headers"] {
            assert_eq!(answer.header(&format!("access-control-allow-{name}")), Some("*"));
        }
        let vary = "origin, access-control-request-method, access-control-request-headers";
        assert_eq!(answer.header("vary"), Some(vary));
    }
    for answer in [server.post("/", &at_once()), server.get("/nothing"), server.get("/")] {
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        assert_eq!(answer.header("access-control-expose-headers"), Some("*"));
        assert!(answer.header("vary").is_some());
    }
}

#[test]
fn pages_can_be_named_or_kept_out() {
    let named = Server::quiet(&["--cors", "https://a.example,https://b.example"]);
    let preflight = |server: &Server, origin: &str| {
        let mut client = server.connect();
        client.send(&format!("OPTIONS / HTTP/1.1\r\nhost: x\r\norigin: {origin}\r\n\r\n"));
        client.answer()
    };
    let answer = preflight(&named, "https://b.example");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://b.example"));
    assert_eq!(answer.header("access-control-max-age"), Some("3600"));
    assert_eq!(preflight(&named, "https://c.example").header("access-control-allow-origin"), None);
    let off = Server::quiet(&["--cors", "none"]);
    let answer = preflight(&off, "https://a.example");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET,HEAD,POST")));
    assert_eq!(off.post("/", &at_once()).header("access-control-allow-origin"), None);
}

#[test]
fn the_service_tells_of_itself() {
    let server = Server::quiet(&[]);
    let health = server.get("/health");
    assert_eq!((health.status, health.json()["status"].as_str()), (200, Some("ok")));
    let status = server.get("/status").json();
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    for name in ["chain_id", "protocol_version", "head", "final", "earliest", "blocks", "waiting"] {
        assert!(status.get(name).is_some(), "{name} in {status}");
    }
    for path in ["/health", "/metrics", "/status"] {
        let mut client = server.connect();
        client.send(&format!("HEAD {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
        let head = client.answer_to("HEAD");
        assert_eq!(head.status, 200);
        assert_ne!(head.header("content-length"), Some("0"));
        // Nothing of a body stands in the way of the next answer.
        client.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!(client.answer().status, 200);
    }
    server.post("/", &at_once());
    let count = "milepost_requests_total{method=\"EXPERIMENTAL_tx_status\",class=\"handler\"}";
    assert_eq!(server.metric(count), Some(1));
    assert_eq!(server.metric("milepost_request_duration_seconds_count"), Some(1));
}

#[tokio::test]
async fn http_2_is_spoken_without_being_asked_for() {
    let server = Server::quiet(&[]);
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for verb in ["POST", "HEAD"] {
        let path = if verb == "POST" { "/tx" } else { "/health" };
        let request = Request::builder()
            .method(verb)
            .uri(format!("{}{path}", server.url()))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(request("tx", &json!(5)))))
            .unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), if verb == "POST" { 400 } else { 200 });
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body.is_empty(), verb == "HEAD");
    }
}
