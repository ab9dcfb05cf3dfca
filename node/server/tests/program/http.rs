//! Paths, verbs, status codes and CORS headers.

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::TcpStream;

use crate::support::{Response, Server, post, request};

const UNKNOWN: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

/// A request that is answered immediately, whatever the store contains
fn immediate() -> String {
    let params =
        json!({ "tx_hash": UNKNOWN, "sender_account_id": "alice.near", "wait_until": "NONE" });
    request("EXPERIMENTAL_tx_status", &params)
}

/// A request that waits until it times out
fn unanswerable() -> String {
    let params =
        json!({ "tx_hash": UNKNOWN, "sender_account_id": "alice.near", "wait_until": "FINAL" });
    request("EXPERIMENTAL_tx_status", &params)
}

#[test]
fn requests_are_answered_at_the_root_and_at_the_path_of_their_method() {
    let server = Server::with_blocks(&[]);
    for path in [
        "/",
        "/?x=1",
        "/EXPERIMENTAL_tx_status",
        "/EXPERIMENTAL_tx_status?x",
        "/EXPERIMENTAL_tx_status/",
        "/EXPERIMENTAL_tx_status/?x",
    ] {
        let response = server.post(path, &immediate());
        assert_eq!(response.status, 200, "{path}");
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.cause(), "UNKNOWN_TRANSACTION");
        assert_eq!(response.json()["id"], "t");
    }
}

#[test]
fn unknown_methods_are_json_rpc_errors() {
    let server = Server::with_blocks(&[]);
    let response = server.post("/broadcast_tx_async", &request("broadcast_tx_async", &json!([])));
    assert_eq!((response.status, response.cause().as_str()), (400, "METHOD_NOT_FOUND"));
    let other = server.post("/EXPERIMENTAL_protocol_config", &immediate());
    assert_eq!(other.status, 400, "{}", other.text());
}

#[test]
fn unknown_paths_are_404() {
    let server = Server::with_blocks(&[]);
    let assert_404 = |path: &str, response: &Response| {
        assert_eq!(response.status, 404, "{path}");
        assert_eq!(response.header("content-type"), Some("application/json"), "{path}");
        let expected = "nothing is served here; JSON-RPC is at / and /<method>";
        assert_eq!(response.json(), json!({ "status": "failed", "error": expected }), "{path}");
    };
    for path in ["//", "/a/b", "/EXPERIMENTAL_tx_status//", "/health/x"] {
        assert_404(path, &server.post(path, &immediate()));
    }
    for path in ["/nothing", "/favicon.ico", "/a/b"] {
        assert_404(path, &server.get(path));
    }
    assert_eq!(server.metric("milepost_requests_rejected_total{status=\"404\"}"), Some(7));
}

#[test]
fn errors_in_response_to_head_have_no_body() {
    let server = Server::with_blocks(&[]);
    for (path, status) in [("/nothing", 404), ("/tx", 405)] {
        let mut client = server.connect();
        client.send(&format!("HEAD {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
        let head = client.response_to("HEAD");
        assert_eq!(head.status, status, "{path}");
        assert_ne!(head.header("content-length"), Some("0"), "{path}");
        client.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!(client.response().status, 200, "{path}");
    }
}

#[test]
fn everything_is_below_the_base_path() {
    let server = Server::with_blocks(&["--base-path", "/near/rpc/"]);
    for path in ["/near/rpc", "/near/rpc/", "/near/rpc/tx", "/near/rpc/tx/"] {
        let body = immediate().replace("EXPERIMENTAL_tx_status", "tx");
        assert_eq!(server.post(path, &body).cause(), "UNKNOWN_TRANSACTION", "{path}");
    }
    for path in
        ["/health", "/status", "/metrics", "/health/", "/blocks/11111111111111111111111111111111"]
    {
        assert_eq!(server.get(&format!("/near/rpc{path}")).status, 200, "{path}");
        let outside = server.get(path);
        assert_eq!(outside.status, 404, "{path}");
        assert!(outside.text().contains("/near/rpc/<method>"), "{}", outside.text());
    }
    for path in ["/", "/near", "/near/rpcs", "/near/rpcs/health", "/tx"] {
        assert_eq!(server.post(path, &immediate()).status, 404, "{path}");
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    let mut client = server.connect();
    client.send("DELETE /near/rpc HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(client.response().header("allow"), Some("GET,HEAD,POST"));
}

#[test]
fn wrong_verbs_are_405_with_the_allowed_ones() {
    let server = Server::with_blocks(&[]);
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
        let response = client.response();
        assert_eq!(
            (response.status, response.header("allow")),
            (405, Some(allow)),
            "{verb} {path}"
        );
        assert_eq!(response.header("content-type"), Some("application/json"));
        let expected = format!("the HTTP method is not allowed here, only {allow}");
        assert_eq!(response.json(), json!({ "status": "failed", "error": expected }));
    }
}

#[test]
fn status_codes_are_those_of_a_node_or_always_200() {
    let (node, always_200) = (
        Server::with_blocks(&["--timeout", "50ms"]),
        Server::with_blocks(&["--timeout", "50ms", "--http-status", "always-200"]),
    );
    let old_height = request("EXPERIMENTAL_protocol_config", &json!({ "block_id": 1 }));
    for (body, status, cause) in [
        (immediate(), 200, "UNKNOWN_TRANSACTION"),
        (unanswerable(), 408, "TIMEOUT_ERROR"),
        (request("tx", &json!(5)), 400, "PARSE_ERROR"),
        ("{".to_owned(), 400, "PARSE_ERROR"),
        (String::new(), 400, "PARSE_ERROR"),
        (old_height, 422, "UNKNOWN_BLOCK"),
    ] {
        for (server, status) in [(&node, status), (&always_200, 200)] {
            let response = server.post("/", &body);
            assert_eq!((response.status, response.cause().as_str()), (status, cause), "{body}");
        }
    }
}

#[test]
fn batches_are_answered_with_200() {
    let server = Server::with_blocks(&[]);
    let response = server.post("/", &format!("[{},{}]", immediate(), request("tx", &json!(5))));
    assert_eq!(response.status, 200);
    let responses = response.json();
    assert_eq!(responses.as_array().map(Vec::len), Some(2), "{responses}");
    assert_eq!(responses[1]["error"]["cause"]["name"], "PARSE_ERROR");
}

#[test]
fn a_connection_serves_many_requests_and_pipelined_ones() {
    let server = Server::with_blocks(&[]);
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(&post("/", &immediate()));
        assert_eq!(client.response().cause(), "UNKNOWN_TRANSACTION");
    }
    let pipelined: String = (0..5)
        .map(|number| {
            let params =
                json!({ "tx_hash": UNKNOWN, "sender_account_id": "a.near", "wait_until": "NONE" });
            post("/", &request("tx", &params).replace("\"t\"", &number.to_string()))
        })
        .collect();
    client.send(&pipelined);
    for number in 0..5 {
        assert_eq!(client.response().json()["id"], number);
    }
}

#[test]
fn cors_allows_any_origin_by_default() {
    let server = Server::with_blocks(&[]);
    for path in ["/", "/nothing/here"] {
        let mut client = server.connect();
        client.send(&format!("OPTIONS {path} HTTP/1.1\r\nhost: x\r\norigin: https://a.example\r\naccess-control-request-method: POST\r\n\r\n"));
        let response = client.response();
        assert_eq!((response.status, response.header("content-length")), (200, Some("0")));
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert_eq!(response.header("access-control-allow-methods"), Some("GET,POST"));
        assert_eq!(response.header("access-control-max-age"), Some("3600"));
        let allowed = response.header("access-control-allow-headers").unwrap();
        let allowed: Vec<&str> = allowed.split(',').collect();
        // A wildcard would not cover the first one.
        for name in ["authorization", "accept", "content-type", "api-version", "last-event-id"] {
            assert!(allowed.contains(&name), "{name}: {allowed:?}");
        }
        let vary = "origin, access-control-request-method, access-control-request-headers";
        assert_eq!(response.header("vary"), Some(vary));
    }
    for response in [server.post("/", &immediate()), server.get("/nothing"), server.get("/")] {
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        let exposed = response.header("access-control-expose-headers").unwrap();
        assert!(exposed.split(',').any(|name| name == "x-request-id"), "{exposed}");
        assert!(response.header("vary").is_some());
    }
}

#[test]
fn cors_can_be_restricted_or_disabled() {
    let listed = Server::with_blocks(&["--cors", "https://a.example,https://b.example"]);
    let preflight = |server: &Server, origin: &str| {
        let mut client = server.connect();
        client.send(&format!("OPTIONS / HTTP/1.1\r\nhost: x\r\norigin: {origin}\r\n\r\n"));
        client.response()
    };
    let response = preflight(&listed, "https://b.example");
    assert_eq!(response.header("access-control-allow-origin"), Some("https://b.example"));
    assert_eq!(response.header("access-control-max-age"), Some("3600"));
    let other = preflight(&listed, "https://c.example");
    assert_eq!(other.header("access-control-allow-origin"), None);
    let disabled = Server::with_blocks(&["--cors", "none"]);
    let response = preflight(&disabled, "https://a.example");
    assert_eq!((response.status, response.header("allow")), (405, Some("GET,HEAD,POST")));
    assert_eq!(disabled.post("/", &immediate()).header("access-control-allow-origin"), None);
}

#[test]
fn health_status_and_metrics_are_served() {
    let server = Server::with_blocks(&[]);
    let health = server.get("/health");
    assert_eq!((health.status, health.json()["status"].as_str()), (200, Some("ok")));
    let status = server.get("/status").json();
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    for name in [
        "chain_id",
        "protocol_version",
        "latest_protocol_version",
        "head",
        "final",
        "earliest",
        "complete_from",
        "blocks",
        "waiting",
        "store_verified",
        "block_commit_delay_seconds",
        "config_missing_since",
    ] {
        assert!(status.get(name).is_some(), "{name} in {status}");
    }
    for path in ["/health", "/metrics", "/status"] {
        let mut client = server.connect();
        client.send(&format!("HEAD {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
        let head = client.response_to("HEAD");
        assert_eq!(head.status, 200);
        assert_ne!(head.header("content-length"), Some("0"));
        // The response to HEAD has no body, so the next response follows its head.
        client.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!(client.response().status, 200);
    }
    server.post("/", &immediate());
    let count = "milepost_requests_total{method=\"EXPERIMENTAL_tx_status\",kind=\"handler\"}";
    assert_eq!(server.metric(count), Some(1));
    assert_eq!(server.metric("milepost_request_duration_seconds_count"), Some(1));
}

#[tokio::test]
async fn http_2_works_without_negotiation() {
    let server = Server::with_blocks(&[]);
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
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), if verb == "POST" { 400 } else { 200 });
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body.is_empty(), verb == "HEAD");
    }
}
