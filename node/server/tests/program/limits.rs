//! Invalid requests and limits: bodies, content types, connections and malformed HTTP.

use serde_json::json;

use crate::support::{Server, post, request};

fn small() -> String {
    request("EXPERIMENTAL_protocol_config", &json!({ "finality": "x" }))
}

#[test]
fn a_body_up_to_the_limit_is_read() {
    let server = Server::with_blocks(&["--body-limit", "1KiB"]);
    let body = small();
    let padded = |length: usize| format!("{body}{}", " ".repeat(length - body.len()));
    assert_eq!(server.post("/", &padded(1024)).cause(), "PARSE_ERROR");
    let response = server.post("/", &padded(1025));
    assert_eq!((response.status, response.cause().as_str()), (413, "PARSE_ERROR"));
    assert!(response.text().contains("exceeds the limit of 1024 bytes"), "{}", response.text());
    assert_eq!(server.metric("milepost_requests_rejected_total{status=\"413\"}"), Some(1));
}

#[test]
fn a_chunked_body_is_limited() {
    let server = Server::with_blocks(&["--body-limit", "1KiB"]);
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("190\r\n{}\r\n", " ".repeat(0x190));
    let mut client = server.connect();
    client.send(&format!("{head}{chunk}{chunk}{:x}\r\n{}\r\n0\r\n\r\n", small().len(), small()));
    assert_eq!(client.response().status, 400);
    // On the same connection, because the previous body was read to its end.
    client.send(&format!("{head}{chunk}{chunk}{chunk}0\r\n\r\n"));
    assert_eq!(client.response().status, 413);
}

#[test]
fn a_large_body_is_rejected_before_it_is_sent_if_the_client_expects_continue() {
    let server = Server::with_blocks(&[]);
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 99999999\r\n\r\n");
    assert_eq!(client.response().status, 413);
}

#[test]
fn a_client_that_sends_a_large_body_gets_the_response() {
    let server = Server::with_blocks(&["--body-limit", "1MiB"]);
    let response = server.post("/", &" ".repeat(3 << 20));
    assert_eq!(response.status, 413);
}

#[test]
fn only_json_content_types_are_accepted() {
    let server = Server::with_blocks(&[]);
    let body = small();
    for (content_type, status) in [
        ("content-type: application/json\r\n", 400),
        ("Content-Type: APPLICATION/JSON; charset=utf-8\r\n", 400),
        ("content-type: application/vnd.near+json\r\n", 400),
        ("content-type: text/plain\r\n", 415),
        ("content-type: application/x-www-form-urlencoded\r\n", 415),
        ("", 415),
    ] {
        let mut client = server.connect();
        let length = body.len();
        client.send(&format!(
            "POST / HTTP/1.1\r\nhost: x\r\n{content_type}content-length: {length}\r\n\r\n{body}"
        ));
        let response = client.response();
        assert_eq!(
            (response.status, response.cause().as_str()),
            (status, "PARSE_ERROR"),
            "{content_type}"
        );
        assert_eq!(response.header("content-type"), Some("application/json"));
        let accepted = (status == 415).then_some("application/json");
        assert_eq!(response.header("accept"), accepted, "{content_type}");
    }
}

#[test]
fn compressed_bodies_are_rejected() {
    let server = Server::with_blocks(&[]);
    let body = small();
    for (coding, status) in [("gzip", 415), ("identity, br", 415), ("", 415), ("Identity", 400)] {
        let mut client = server.connect();
        for _ in 0..2 {
            client.send(&post("/", &body).replacen(
                "\r\n\r\n",
                &format!("\r\ncontent-encoding: {coding}\r\n\r\n"),
                1,
            ));
            let response = client.response();
            assert_eq!(
                (response.status, response.cause().as_str()),
                (status, "PARSE_ERROR"),
                "{coding}"
            );
            let accepted = (status == 415).then_some("identity");
            assert_eq!(response.header("accept-encoding"), accepted, "{coding}");
        }
    }
}

#[test]
fn batches_and_ids_have_limits() {
    let server = Server::with_blocks(&["--max-batch", "2"]);
    let batch =
        |count: usize| format!("[{}]", vec![small().replace("\"t\"", "1"); count].join(","));
    assert_eq!(server.post("/", &batch(2)).json().as_array().map(Vec::len), Some(2));
    let error = server.post("/", &batch(3)).json();
    assert_eq!(error["error"]["data"], "request: batch of 3 requests, the limit is 2");
    let with_id = |length| small().replace("\"t\"", &format!("\"{}\"", "t".repeat(length)));
    assert_eq!(server.post("/", &with_id(1022)).json()["id"].as_str().map(str::len), Some(1022));
    let error = server.post("/", &with_id(1023)).json();
    assert_eq!(error["error"]["data"], "request.id: 1025 bytes, the limit is 1024");
}

#[test]
fn connections_beyond_the_limit_are_queued() {
    let server = Server::with_blocks(&["--max-connections", "1"]);
    let mut first = server.connect();
    first.send(&post("/", &small()));
    assert_eq!(first.response().status, 400);
    let mut second = server.connect();
    second.send(&post("/", &small()));
    drop(first);
    assert_eq!(second.response().status, 400);
}

#[test]
fn bytes_that_are_not_http_close_only_their_connection() {
    let server = Server::with_blocks(&[]);
    let mut client = server.connect();
    client.send(
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3} this is TLS, or nearly so\r\n\r\n",
    );
    assert!(!client.rest().contains(" 200 "));
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn malformed_http_gets_an_error_status_after_earlier_responses() {
    let server = Server::with_blocks(&[]);
    for (request, expected) in [
        ("GET /health HTTP/1.1\r\nhost: x\r\nno header\r\n\r\n and more".to_owned(), " 400 "),
        (format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(100_000)), " 431 "),
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "x: y\r\n".repeat(200)), " 431 "),
        (
            "GET /health HTTP/1.1\r\nhost: x\r\n\r\n{\"a\": body without length}\r\n".to_owned(),
            " 200 ",
        ),
    ] {
        let mut client = server.connect();
        client.send(&request);
        let status = client.rest().lines().next().unwrap_or_default().to_owned();
        assert!(status.contains(expected), "{status:?}, expected{expected}");
    }
}

#[test]
fn a_response_does_not_wait_for_the_next_request() {
    let server = Server::with_blocks(&[]);
    let mut client = server.connect();
    client.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\nGET /health HT");
    assert_eq!(client.response().status, 200);
    client.send("TP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(client.response().status, 200);
}

#[test]
fn an_incomplete_body_is_rejected_and_counted() {
    let server = Server::with_blocks(&[]);
    let mut client = server.connect();
    client.send(
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    );
    assert_eq!(client.response().status, 400);
    assert_eq!(server.metric("milepost_requests_rejected_total{status=\"400\"}"), Some(1));
}
