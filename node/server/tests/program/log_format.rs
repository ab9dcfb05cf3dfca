//! Logs as JSON, and the ids of requests and traces in logs, responses and requests to upstreams.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};

use milepost::primitives::CryptoHash;
use milepost::storage::{Batch, Key, Storage as _, Table};
use milepost_redb::{Options, RedbStorage};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::fixture::{message_files, text, transactions};
use crate::follow::status_of;
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
    let message = request("EXPERIMENTAL_protocol_config", &json!({ "finality": "final" }));
    send_messages(&server, "order-13", &[&message]);
    let is_of_message = |line: &&Value| line["span"]["request_id"] == "order-13/1";
    server.until("the line", || lines().iter().any(|line| is_of_message(&line)));
    let lines = lines();
    let of_request: Vec<_> = lines.iter().filter(is_of_request).collect();
    assert!(of_request.iter().all(|line| line["span"]["traceparent"] == own), "{of_request:?}");
    assert!(of_request.iter().any(|line| line["message"] == "GET /health"), "{of_request:?}");
    assert!(of_request.iter().any(|line| line["message"] == "answered with 200 OK"));
    assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()));
}

#[test]
fn a_start_with_an_archive_logs_only_lines_of_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let store = format!("{}/", directory.path().join("store").display());
    let follow = ["serve", "--follow", "practice", "--store", &store];
    let mut serve = command(&follow);
    serve.args(["--listen", "127.0.0.1:0", "--log-format", "json"]);
    serve.env("MILEPOST_LOG", "info").stderr(File::create(&log).unwrap());
    drop(Server::spawn(serve));
    let log = fs::read_to_string(log).unwrap();
    let targets = log.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let targets: Vec<Value> = targets.map(|line| line["target"].clone()).collect();
    assert!(!targets.is_empty(), "nothing is logged");
    let is_own = |target: &Value| target.as_str().is_some_and(|it| it.starts_with("milepost"));
    assert!(targets.iter().all(is_own), "{log}");
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

/// Sends messages over a WebSocket whose upgrade has this id and a trace; returns the `traceparent`
/// of the response to the upgrade
fn send_messages(server: &Server, id: &str, messages: &[&str]) -> String {
    let address = server.address;
    let mut upgrade = format!("ws://{address}/ws").into_client_request().unwrap();
    upgrade.headers_mut().insert("x-request-id", id.parse().unwrap());
    let traceparent = traceparent().replace("traceparent: ", "");
    upgrade.headers_mut().insert("traceparent", traceparent.parse().unwrap());
    let stream = TcpStream::connect(address).unwrap();
    let (mut socket, response) = tungstenite::client(upgrade, stream).unwrap();
    assert_eq!(response.headers()["x-request-id"], id);
    for message in messages {
        socket.send(Message::from(*message)).unwrap();
        assert!(socket.read().unwrap().is_text());
    }
    response.headers()["traceparent"].to_str().unwrap().to_owned()
}

#[test]
fn a_message_of_a_websocket_has_the_id_of_its_upgrade_with_a_number() {
    let upstream = echo();
    let server = forward(&[&upstream.url()], &[]);
    let message = request("gas_price", &json!([null]));
    let of_upgrade = send_messages(&server, "order-12", &[&message, &message]);
    let received = upstream.calls("gas_price");
    assert_eq!(received.len(), 2);
    let mut spans = vec![of_upgrade];
    for (number, call) in (1..).zip(&received) {
        let head = &call.head;
        assert!(head.contains(&format!("x-request-id: order-12/{number}\r\n")), "{head}");
        spans.extend(
            head.lines().filter_map(|line| line.strip_prefix("traceparent: ")).map(str::to_owned),
        );
    }
    assert!(spans.iter().all(|span| span.starts_with(&format!("00-{TRACE}-"))), "{spans:?}");
    spans.sort_unstable();
    spans.dedup();
    assert_eq!(spans.len(), 3, "{spans:?}");
}

#[test]
fn what_a_request_failed_by_is_counted_and_logged_once_with_its_id() {
    let (directory, files) = (tempfile::tempdir().unwrap(), message_files());
    let (store, log) = (directory.path().join("chain.milepost"), directory.path().join("log"));
    assert!(run(&["import", "--store", text(&store), text(files.path())]).status.success());
    let transaction = transactions().next().unwrap();
    let mut storage = RedbStorage::open(&store, &Options::default()).unwrap();
    let mut batch = Batch::default();
    let hash = CryptoHash::new(*transaction.hash.as_bytes());
    batch.put(Key::hash(Table::Transactions, hash), &[9_u8, 9, 9][..]);
    storage.commit(batch).unwrap();
    drop(storage);

    let args = ["--store", text(&store), "--log-format", "json"];
    let server = Server::start_logging(&args, File::create(&log).unwrap());
    let body = status_of(transaction, "NONE");
    for id in ["order-10", "order-11"] {
        let response = server.post_with(&body, &format!("x-request-id: {id}"));
        assert_eq!((response.status, response.cause().as_str()), (500, "INTERNAL_ERROR"));
    }
    let response = server.post("/", &format!("[{body},{body}]"));
    assert_eq!((response.status, response.text().matches("INTERNAL_ERROR").count()), (200, 4));
    assert_eq!(server.get(&format!("/tx/{}", transaction.hash)).status, 503);
    assert_eq!(server.metric("milepost_requests_failed_total"), Some(5));
    let log = fs::read_to_string(&log).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let of_failures = lines.filter(|line| line["level"] == "ERROR").collect::<Vec<_>>();
    assert_eq!(of_failures.len(), 1, "{of_failures:?}");
    assert_eq!(of_failures[0]["span"]["request_id"], "order-10", "{of_failures:?}");
    let message = of_failures[0]["message"].as_str().unwrap();
    assert!(message.starts_with("a request failed: "), "{message}");
}

#[test]
fn the_error_that_a_command_ends_with_is_an_object_as_well() {
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = used.local_addr().unwrap().to_string();
    for log in ["info", "off"] {
        let args = ["serve", "--listen", &address, "--log-format", "json", "--log", log];
        let output = run(&args);
        assert_eq!(output.status.code(), Some(1));
        let printed = errors(&output);
        let lines = printed.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
        let lines: Vec<Value> = lines.collect();
        let last = lines.last().expect("an error");
        let expected = format!("cannot listen on {address}: ");
        assert!(last["message"].as_str().unwrap().starts_with(&expected), "{last}");
        assert!(last["level"] == "ERROR" && last["timestamp"].is_string(), "{last}");
    }
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
