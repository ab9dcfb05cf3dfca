//! Logs as JSON, and the ids of requests and traces in logs, responses and requests to upstreams.

use std::fs::{self, File};

use serde_json::{Value, json};

use crate::fixture::text;
use crate::forward::{echo, forward};
use crate::support::{Server, command, errors, request, run};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A `traceparent` of this trace
fn traceparent() -> String {
    format!("traceparent: 00-{TRACE}-b7ad6b7169203331-01")
}

#[test]
fn what_is_logged_about_a_request_has_its_id_and_its_trace() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    serve.env("MILEPOST_LOG", "debug").stderr(File::create(&log).unwrap());
    let server = Server::spawn(serve);
    let headers = format!("x-request-id: order-7\r\n{}", traceparent());
    let response = server.get_with("/health", &headers);
    assert_eq!(response.header("x-request-id"), Some("order-7"));
    let own = response.header("traceparent").unwrap();
    assert!(own.starts_with(&format!("00-{TRACE}-")) && own.ends_with("-01"), "{own}");
    assert!(!own.contains("b7ad6b7169203331"), "{own}");

    let lines = || {
        let log = fs::read_to_string(&log).unwrap();
        let whole = log.lines().take(log.matches('\n').count());
        whole.map(|line| serde_json::from_str(line).expect(line)).collect::<Vec<Value>>()
    };
    let is_of_request = |line: &&Value| line["span"]["request_id"] == "order-7";
    server.until("both lines", || lines().iter().filter(is_of_request).count() >= 2);
    let lines = lines();
    let of_request: Vec<_> = lines.iter().filter(is_of_request).collect();
    assert!(of_request.iter().all(|line| line["span"]["traceparent"] == own), "{of_request:?}");
    assert!(of_request.iter().any(|line| line["message"] == "GET /health"), "{of_request:?}");
    assert!(of_request.iter().any(|line| line["message"] == "answered with 200 OK"));
    assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()));
}

#[test]
fn a_request_without_an_id_gets_one_and_no_trace() {
    let server = Server::with_blocks(&[]);
    let ids = ["", "x-request-id: not one"].map(|headers| {
        let response = server.get_with("/status", format!("x-a: b\r\n{headers}").trim_end());
        assert_eq!(response.header("traceparent"), None);
        response.header("x-request-id").unwrap().to_owned()
    });
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.len() == 16), "{ids:?}");
    let body = request("EXPERIMENTAL_protocol_config", &json!({ "finality": "final" }));
    let response = server.post_with(&body, "x-request-id: order-8");
    assert_eq!(response.header("x-request-id"), Some("order-8"));
}

#[test]
fn an_upstream_gets_the_id_and_the_trace_of_the_response() {
    let upstream = echo();
    let server = forward(&[&upstream.url()], &[]);
    let headers = format!("x-request-id: order-9\r\n{}", traceparent());
    let response = server.post_with(&request("gas_price", &json!([null])), &headers);
    let own = response.header("traceparent").unwrap();
    let received = upstream.calls("gas_price");
    assert_eq!(received.len(), 1);
    let head = &received[0].head;
    assert!(head.contains("x-request-id: order-9\r\n"), "{head}");
    assert!(head.contains(&format!("traceparent: {own}\r\n")), "{head}");
}

#[test]
fn another_format_is_refused() {
    let output = run(&["serve", "--log-format", "xml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("neither text nor json"), "{}", errors(&output));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("milepost.toml");
    fs::write(&path, "log-format = 'json'\n").unwrap();
    assert!(run(&["config", "check", text(&path)]).status.success());
}
