//! `--forward`: requests that an upstream answers, and upstreams that fail.

use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::fs::{self, File};
use std::net::TcpListener;
use std::sync::OnceLock;

use futures_util::{SinkExt as _, StreamExt as _};
use milepost_practice::{Practice, Settings};
use milepost_testing::feed::{Feed, FeedChain, FeedServer};
use serde_json::{Value, json};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use crate::fixture;
use crate::support::{Response, Server, command, errors, post, request, run};
use crate::upstream::{Scripted, Upstream, error, http};

/// A feed of the blocks of the fixture
fn feed() -> FeedServer {
    let messages = fixture::messages().iter().cloned().map(|mut message| {
        message.arrival_ms = 0;
        message
    });
    let chain = FeedChain::new(messages, fixture::messages()[0].height, 1_000);
    FeedServer::start(Feed::new(chain, Default::default())).expect("a port")
}

/// A server that has all blocks and forwards to these upstreams
pub(crate) fn forward(upstreams: &[&str], args: &[&str]) -> Server {
    let (feed, first) = (feed().url(), fixture::messages()[0].height.to_string());
    let mut all = vec!["--follow", &feed, "--from", &first, "--forward", "--max-age", "1h"];
    upstreams.iter().for_each(|url| all.extend(["--upstream", url]));
    let server = Server::start(&[&all, args].concat());
    server.until_metric("milepost_head_height", fixture::head());
    server
}

/// An upstream that answers each call by its method
pub(crate) fn echo() -> Upstream {
    Upstream::start(|call| Scripted::Result(json!({ "of": call["method"], "at": call["params"] })))
}

fn block_call() -> String {
    request("block", &json!({ "finality": "final" }))
}

fn detail(response: &Response) -> String {
    response.json()["error"]["cause"]["info"]["error_message"].as_str().unwrap_or("").to_owned()
}

/// The address of a port at which nothing listens
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

#[test]
fn a_listed_method_is_forwarded_without_the_credentials_of_the_client() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    fs::write(&token, "operators-key\n").unwrap();
    let upstream = echo();
    let args = ["--upstream-token-file", fixture::text(&token)];
    let server = forward(&[&upstream.url()], &args);
    let body = r#"{"id":[1.50,{"b":0}],"method":"query","params":{"z":1,"a":"é"}}"#;
    let credentials =
        "authorization: Bearer clients-key\r\ncookie: a=clients-key\r\nx-api-key: clients-key";
    let text = post("/query/?key=clients-key", body);
    let mut client = server.connect();
    client.send(&text.replacen("\r\n", &format!("\r\n{credentials}\r\n"), 1));
    let response = client.response();
    let expected =
        r#"{"jsonrpc":"2.0","result":{"at":{"a":"é","z":1},"of":"query"},"id":[1.50,{"b":0}]}"#;
    assert_eq!((response.status, response.text().as_str()), (200, expected));
    assert_eq!(response.header("content-type"), Some("application/json"));
    let received = upstream.calls("query");
    assert_eq!(received.len(), 1);
    assert!(received[0].head.contains("authorization: bearer operators-key\r\n"));
    assert!(!format!("{received:?}").contains("clients-key"), "{received:?}");
    assert_eq!(received[0].call["jsonrpc"], "2.0");
    let metric = "milepost_upstream_requests_total{upstream=\"1\",result=\"response\"}";
    server.until(metric, || server.metric(metric).is_some_and(|count| count > 0));
}

#[test]
fn other_methods_are_not_found_and_own_methods_are_answered_here() {
    let upstream = echo();
    let server = forward(&[&upstream.url()], &[]);
    for method in ["sandbox_patch_state", "EXPERIMENTAL_indexer_block", "evil"] {
        let response = server.post("/", &request(method, &json!({})));
        assert_eq!((response.status, response.cause().as_str()), (400, "METHOD_NOT_FOUND"));
        assert!(upstream.calls(method).is_empty());
    }
    let known = fixture::transactions().next().unwrap();
    let params = json!([known.hash.to_string(), known.signer_id.to_string()]);
    let response = server.post("/", &request("tx", &params));
    assert_eq!(response.json()["result"]["transaction"]["hash"], known.hash.to_string());
    assert!(upstream.calls("tx").is_empty());
    let without = Server::with_blocks(&[]);
    assert_eq!(without.post("/", &block_call()).cause(), "METHOD_NOT_FOUND");
}

/// The responses to these messages over a WebSocket, in the order in which they come
pub(crate) fn over_websocket(server: &Server, messages: &[String]) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let address = server.url().replace("http://", "");
        let stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let (mut socket, _) = client_async(format!("ws://{address}/ws"), stream).await.unwrap();
        for message in messages {
            socket.send(Message::from(message.as_str())).await.unwrap();
        }
        let mut responses = Vec::new();
        while responses.len() < messages.len() {
            let next = tokio::time::timeout(Duration::from_secs(60), socket.next()).await;
            if let Message::Text(text) = next.expect("a message").unwrap().unwrap() {
                responses.push(serde_json::from_str(&text).unwrap());
            }
        }
        responses
    })
}

#[test]
fn methods_are_forwarded_over_a_websocket() {
    // The second of them in one piece after another, as it is longer than what is read at once.
    let long = "x".repeat(200_000);
    let text = long.clone();
    let upstream = Upstream::start(move |call| match call["method"].as_str() {
        Some("block") => Scripted::Result(text.as_str().into()),
        Some("chunk") => Scripted::Raw(http(502, "", 0, "")),
        _ => Scripted::Result(json!({ "of": call["method"], "at": call["params"] })),
    });
    let server = forward(&[&upstream.url()], &[]);
    let call = |id: u64, method: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "a": 1 } }).to_string()
    };
    let batch = format!("[{},{}]", call(5, "query"), call(6, "evil"));
    let calls = [call(1, "query"), call(2, "block"), call(3, "chunk"), call(4, "evil"), batch];
    let mut responses = over_websocket(&server, &calls);
    responses.sort_by_key(|response| response["id"].as_u64().unwrap_or(5));
    let result = json!({ "of": "query", "at": { "a": 1 } });
    assert_eq!(responses[0], json!({ "jsonrpc": "2.0", "result": result, "id": 1 }));
    assert_eq!(responses[1], json!({ "jsonrpc": "2.0", "result": long, "id": 2 }));
    let cause = |response: &Value| response["error"]["cause"]["name"].clone();
    assert_eq!(
        (cause(&responses[2]), cause(&responses[3])),
        (json!("INTERNAL_ERROR"), json!("METHOD_NOT_FOUND"),)
    );
    let items = responses[4].as_array().expect("a batch");
    assert_eq!((&items[0]["result"], &items[0]["id"]), (&result, &json!(5)));
    assert_eq!((cause(&items[1]), items.len()), (json!("METHOD_NOT_FOUND"), 2));
    assert!(upstream.calls("evil").is_empty() && upstream.calls("query").len() == 2);
}

#[test]
fn a_batch_has_the_responses_in_its_order() {
    let upstream = echo();
    let server = forward(&[&upstream.url()], &[]);
    let known = fixture::transactions().next().unwrap();
    let params = json!([known.hash.to_string(), known.signer_id.to_string()]);
    let call = |id: &str, method: &str, params: &Value| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    };
    let batch = [
        call("1", "gas_price", &json!([null])),
        call("\"two\"", "tx", &params),
        call("3", "nothing", &json!([])),
        call("1", "status", &json!([])),
        "7".to_owned(),
    ];
    let response = server.post("/", &format!(" [{}]", batch.join(" ,\n")));
    assert_eq!(response.status, 200);
    let items = response.json();
    let ids: Vec<&Value> = items.as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("two"), &json!(3), &json!(1), &Value::Null]);
    assert_eq!(items[0]["result"]["of"], "gas_price");
    assert_eq!(items[1]["result"]["transaction"]["hash"], known.hash.to_string());
    assert_eq!(items[2]["error"]["cause"]["name"], "METHOD_NOT_FOUND");
    assert_eq!(items[3]["result"]["of"], "status");
    assert_eq!(items[4]["error"]["cause"]["name"], "PARSE_ERROR");
}

#[test]
fn errors_of_the_upstream_pass_through_with_their_statuses() {
    let upstream = Upstream::start(|call| {
        let status = call["params"]["status"].as_u64().unwrap_or_default();
        let cause = call["params"]["cause"].as_str().unwrap_or_default();
        let status = u16::try_from(status).unwrap();
        Scripted::Error(status, error("HANDLER_ERROR", cause, &json!("text")))
    });
    let server = forward(&[&upstream.url()], &[]);
    for (status, cause) in [
        (200, "REQUEST_ROUTED"),
        (200, "UNKNOWN_ACCESS_KEY"),
        (400, "PARSE_ERROR"),
        (408, "TIMEOUT_ERROR"),
        (422, "UNKNOWN_BLOCK"),
        (500, "INTERNAL_ERROR"),
    ] {
        let params = json!({ "status": status, "cause": cause });
        let response = server.post("/", &request("query", &params));
        assert_eq!((response.status, response.cause().as_str()), (status, cause));
        assert_eq!(response.json()["id"], "t");
        assert_eq!(response.json()["error"]["data"], "text");
    }
}

#[test]
fn a_result_of_null_passes_through() {
    let upstream = Upstream::start(|_| Scripted::Result(Value::Null));
    let server = forward(&[&upstream.url()], &[]);
    let response = server.post("/", &request("health", &json!([])));
    assert_eq!(response.text(), r#"{"jsonrpc":"2.0","result":null,"id":"t"}"#);
}

#[test]
fn faults_of_the_upstream_are_a_clear_error() {
    let length = |body: &str| http(200, "", body.len(), body);
    let faults = [
        (http(200, "", 100, r#"{"jsonrpc":"2.0","re"#), "upstream 1: the response broke off"),
        (length("<html>"), "upstream 1: the response is no JSON-RPC (HTTP 200)"),
        (length(r#"{"result":1,"id":"x"}"#), "upstream 1: the response is that of another request"),
        (http(502, "", 0, ""), "upstream 1: HTTP 502"),
        (http(403, "", 0, ""), "upstream 1: refused (HTTP 403)"),
        (http(302, "location: http://127.0.0.1:1/\r\n", 0, ""), "upstream 1: HTTP 302"),
        (String::new(), "upstream 1: the response broke off"),
    ];
    for (fault, expected) in faults {
        let upstream = Upstream::start(move |_| Scripted::Raw(fault.clone()));
        let server = forward(&[&upstream.url()], &[]);
        let response = server.post("/", &block_call());
        assert_eq!((response.status, response.cause().as_str()), (503, "INTERNAL_ERROR"));
        assert_eq!(response.json()["id"], "t");
        assert!(detail(&response).starts_with(expected), "{}", detail(&response));
    }
    let server = forward(&[&closed()], &[]);
    let response = server.post("/", &block_call());
    assert_eq!(response.status, 503);
    assert!(detail(&response).starts_with("upstream 1: cannot connect"), "{}", detail(&response));
}

#[test]
fn a_request_is_sent_again_if_the_upstream_closes_a_kept_connection() {
    let calls = AtomicUsize::new(0);
    let upstream = Upstream::start(move |call| {
        match call["method"] == "health" && !matches!(calls.fetch_add(1, SeqCst), 0 | 2) {
            true => Scripted::Raw(String::new()),
            false => Scripted::Result(Value::Null),
        }
    });
    let server = forward(&[&upstream.url()], &[]);
    for expected in [1, 3] {
        let response = server.post("/", &request("health", &json!([])));
        assert_eq!(response.text(), r#"{"jsonrpc":"2.0","result":null,"id":"t"}"#);
        assert_eq!(upstream.calls("health").len(), expected);
    }
    // The connection of the last response is kept, and the new one closes as well.
    assert_eq!(server.post("/", &request("health", &json!([]))).status, 503);
    assert_eq!(upstream.calls("health").len(), 5);
}

#[test]
fn a_slow_upstream_is_given_up() {
    let upstream = Upstream::start(|_| Scripted::Silence);
    let server = forward(&[&upstream.url()], &["--max-wait", "100ms"]);
    let response = server.post("/", &block_call());
    assert_eq!(response.status, 503);
    assert_eq!(detail(&response), "upstream 1: no response within 0.1 s");
}

#[test]
fn the_next_upstream_is_asked_where_one_fails() {
    let limited = Upstream::start(|_| Scripted::Raw(http(429, "retry-after: 7\r\n", 0, "")));
    let good = echo();
    let server = forward(&[&limited.url(), &good.url()], &[]);
    for _ in 0..3 {
        assert_eq!(server.post("/", &block_call()).json()["result"]["of"], "block");
    }
    // The one that asks for a pause has it.
    assert_eq!(limited.calls("block").len(), 1);
    assert_eq!(server.metric("milepost_upstream_circuit_open{upstream=\"1\"}"), Some(1));
    assert_eq!(server.metric("milepost_upstream_circuit_open{upstream=\"2\"}"), Some(0));
    let alone = Upstream::start(|_| Scripted::Raw(http(429, "retry-after: 7\r\n", 0, "")));
    let server = forward(&[&alone.url()], &[]);
    let first = server.post("/", &block_call());
    assert_eq!((first.status, first.header("retry-after")), (503, Some("7")));
    let second = server.post("/", &block_call());
    assert!(second.header("retry-after").is_some(), "{}", second.text());
    let own = request("EXPERIMENTAL_protocol_config", &json!({"finality": "final"}));
    let batch = server.post("/", &format!("[{own},{}]", block_call()));
    assert!(batch.header("retry-after").is_some(), "{}", batch.text());
    assert_eq!(detail(&second), "upstream 1: not asked after it failed");
    assert_eq!(alone.calls("block").len(), 1);
}

#[test]
fn each_fault_of_an_upstream_is_logged_once_and_its_recovery() {
    let internal = error("INTERNAL_ERROR", "INTERNAL_ERROR", &json!("a limit"));
    let body = json!({ "jsonrpc": "2.0", "error": internal, "id": "t" }).to_string();
    let faults = [
        (Some(http(500, "", 6, "<html>")), "upstream 1: the response is no JSON-RPC (HTTP 500)"),
        (Some(http(500, "", body.len(), &body)), "upstream 1: HTTP 500"),
        (Some(http(502, "", 0, "")), "upstream 1: HTTP 502"),
        (Some(http(429, "", 0, "")), "upstream 1: too many requests (HTTP 429)"),
        (Some(http(200, "", 6, "<html>")), "upstream 1: the response is no JSON-RPC (HTTP 200)"),
        (Some(String::new()), "upstream 1: the response broke off"),
        (None, "upstream 1: no response within 1 s"),
    ];
    let feed = feed().url();
    let first = fixture::messages()[0].height.to_string();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let start = |url: &str| {
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--max-wait", "1s"]);
        serve.args(["--follow", &feed, "--from", &first, "--forward", "--upstream", url]);
        serve.env("MILEPOST_LOG", "info").stderr(File::create(&path).unwrap());
        Server::spawn(serve)
    };
    let lines = |text: &str| {
        let log = fs::read_to_string(&path).unwrap();
        log.lines().filter(|line| line.contains(text)).count()
    };
    for (fault, expected) in faults {
        let calls = AtomicUsize::new(0);
        let upstream = Upstream::start(move |call| match (call["method"].as_str(), &fault) {
            (Some("block"), Some(fault)) if calls.fetch_add(1, SeqCst) < 2 => {
                Scripted::Raw(fault.clone())
            }
            (Some("block"), None) if calls.fetch_add(1, SeqCst) < 2 => Scripted::Silence,
            (Some("block"), _) => Scripted::Result(Value::Null),
            // The configuration of the chain, which has lines of its own.
            _ => Scripted::Raw(http(404, "", 0, "")),
        });
        let server = start(&upstream.url());
        server.until("a result", || server.post("/", &block_call()).json().get("result").is_some());
        server.post("/", &block_call());
        assert_eq!(upstream.calls("block").len(), 4, "{expected}");
        assert_eq!((lines(expected), lines("upstream 1: answers again")), (1, 1), "{expected}");
        assert_eq!(lines("upstream 1: "), 2, "{}", fs::read_to_string(&path).unwrap());
    }
    let server = start(&closed());
    for _ in 0..3 {
        assert_eq!(server.post("/", &block_call()).status, 503);
    }
    assert_eq!((lines("upstream 1: cannot connect"), lines("upstream 1: ")), (1, 1));
}

#[test]
fn a_long_response_is_passed_on_as_it_is() {
    let long = "x".repeat(3 << 20);
    let body = format!(r#"{{"jsonrpc":"2.0","result":"{long}","id":"t"}}"#);
    let (whole, cut) = (body.clone(), body[..1 << 20].to_owned());
    let upstream = Upstream::start(move |call| match call["method"].as_str() {
        Some("block") => Scripted::Raw(http(200, "", whole.len(), &whole)),
        _ => Scripted::Raw(http(200, "", whole.len(), &cut)),
    });
    let server = forward(&[&upstream.url()], &[]);
    let received = |method: &str| {
        let mut client = server.connect();
        let text = post("/", &request(method, &json!({})));
        client.send(&text.replacen("\r\n", "\r\nconnection: close\r\n", 1));
        client.rest()
    };
    let dechunked = |text: &str| -> (String, bool) {
        let (mut rest, mut joined) = (text.split_once("\r\n\r\n").unwrap().1, String::new());
        while let Some((length, after)) = rest.split_once("\r\n") {
            let length = usize::from_str_radix(length, 16).unwrap();
            if length == 0 {
                return (joined, true);
            }
            joined.push_str(&after[..length.min(after.len())]);
            rest = after.get(length + 2..).unwrap_or_default();
        }
        (joined, false)
    };
    let (text, is_complete) = dechunked(&received("block"));
    assert!(is_complete && text == body);
    let (text, is_complete) = dechunked(&received("validators"));
    assert!(!is_complete && body.starts_with(&text) && text.len() >= 64 << 10);
    let batch = format!("[{},{}]", block_call(), request("validators", &json!([])));
    let response = server.post("/", &batch).json();
    assert_eq!(response[0]["result"].as_str().map(str::len), Some(long.len()));
    assert_eq!(response[1]["error"]["cause"]["name"], "INTERNAL_ERROR");
    assert_eq!(response[1]["id"], "t");
}

#[test]
fn a_batch_keeps_no_more_responses_than_the_server_may_hold() {
    let long = Value::from("x".repeat(1 << 20));
    let upstream = Upstream::start(move |_| Scripted::Result(long.clone()));
    let server = forward(&[&upstream.url()], &["--max-buffered", "4MiB"]);
    let batch = format!("[{}]", [(); 8].map(|()| block_call()).join(","));
    let responses = server.post("/", &batch).json();
    let responses = responses.as_array().unwrap();
    let whole = responses.iter().filter(|it| it["result"].as_str().map(str::len) == Some(1 << 20));
    // A quarter is left to small ones.
    assert!((1..=2).contains(&whole.count()) && responses.len() == 8);
    let refused = responses.iter().filter_map(|it| it["error"]["data"].as_str());
    for text in refused {
        assert!(text.contains("all of the limit of 4194304 bytes"), "{text}");
    }
    server.until_metric("milepost_buffered_bytes", 0);
    let pair = server.post("/", &format!("[{}]", [(); 2].map(|()| block_call()).join(","))).json();
    assert!(pair[0]["result"].is_string() && pair[1]["result"].is_string());
}

/// Transactions of another chain, each with its result once it is final
fn old_results() -> &'static [(String, Value)] {
    static RESULTS: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    RESULTS.get_or_init(|| {
        let blocks = tempfile::tempdir().unwrap();
        let mut chain = Practice::new(Settings { transactions: 2..=4, ..Settings::demo(29) });
        let mut hashes = Vec::new();
        for _ in 0..16 {
            let message = chain.next_message();
            hashes.extend(
                message.transactions.iter().map(|transaction| transaction.hash.to_string()),
            );
            let name = format!("{}.json", message.height);
            fs::write(blocks.path().join(name), &message.json).unwrap();
        }
        let server = Server::start(&["--blocks", fixture::text(blocks.path())]);
        let result = |hash: &String| {
            let params = json!([hash, "a.near"]);
            let response = server.post("/", &request("EXPERIMENTAL_tx_status", &params)).json();
            let result = &response["result"];
            let is_final = result["final_execution_status"] == "FINAL";
            let created = result["receipts_outcome"].as_array().is_some_and(|all| all.len() > 1);
            (is_final && created).then(|| (hash.clone(), result.clone()))
        };
        hashes.iter().filter_map(result).collect()
    })
}

#[test]
fn old_transactions_are_asked_of_the_upstream() {
    let (old, result) = &old_results()[0];
    let young = "11111111111111111111111111111112";
    let upstream = Upstream::start(move |call| {
        let params = &call["params"];
        match (call["method"].as_str(), params["wait_until"].as_str()) {
            (Some("tx"), Some("NONE")) if params["tx_hash"] == *old => {
                let mut result = result.clone();
                result["x"] = json!(1);
                Scripted::Result(result)
            }
            (Some("tx"), Some("NONE")) => {
                Scripted::Result(json!({ "final_execution_status": "INCLUDED" }))
            }
            _ => Scripted::Error(
                400,
                error("REQUEST_VALIDATION_ERROR", "METHOD_NOT_FOUND", &json!("")),
            ),
        }
    });
    let server = forward(&[&upstream.url()], &["--upstream-history", "--timeout", "300ms"]);
    let by_hash = |hash: &str, wait_until: &str| {
        let params =
            json!({ "tx_hash": hash, "sender_account_id": "a.near", "wait_until": wait_until });
        server.post("/", &request("tx", &params))
    };
    for response in [
        by_hash(old, "FINAL"),
        by_hash(old, "NONE"),
        server.post("/", &request("tx", &json!([old, "a.near"]))),
    ] {
        let found = response.json();
        assert_eq!((response.status, &found["result"]["x"]), (200, &json!(1)));
        assert_eq!(found["result"]["transaction"], result["transaction"]);
    }
    // What is not final is followed here.
    assert_eq!(by_hash(young, "NONE").cause(), "UNKNOWN_TRANSACTION");
    assert_eq!(by_hash(young, "INCLUDED").cause(), "TIMEOUT_ERROR");
    let metric = |result: &str| {
        server.metric(&format!("milepost_upstream_history_lookups_total{{result=\"{result}\"}}"))
    };
    assert_eq!((metric("found"), metric("unknown")), (Some(3), Some(2)));
    let known = fixture::transactions().next().unwrap();
    assert_eq!(by_hash(&known.hash.to_string(), "FINAL").status, 200);
    assert_eq!(upstream.calls("tx").len(), 5, "a transaction that is known here was asked for");
}

#[test]
fn a_result_of_an_old_transaction_that_cannot_be_true_is_asked_of_the_next_upstream() {
    let ((old, result), (_, other)) = (&old_results()[0], &old_results()[1]);
    let with = |path: &str, value: Value| {
        let mut changed = result.clone();
        *changed.pointer_mut(path).expect("results have it") = value;
        changed
    };
    let without = |member: &str| {
        let mut changed = result.clone();
        changed.as_object_mut().unwrap().remove(member).expect("results have it");
        changed
    };
    let mut outcomes = result["receipts_outcome"].as_array().unwrap().clone();
    outcomes.pop();
    let not_executed = json!({ "final_execution_status": "FINAL", "status": "Started" });
    let wrong = [
        other.clone(),
        with("/transaction/hash", other["transaction"]["hash"].clone()),
        with("/transaction_outcome/id", other["transaction"]["hash"].clone()),
        json!({ "final_execution_status": "FINAL" }),
        not_executed,
        json!("FINAL"),
        with("/receipts_outcome", json!(outcomes)),
        with("/receipts_outcome", json!([])),
        with("/receipts_outcome/0/outcome/status", json!("Unknown")),
        with("/status", json!("Started")),
        with("/status", json!({ "SuccessValue": "d3Jvbmc=" })),
        with("/status", json!({ "Failure": "wrong" })),
        without("receipts"),
        without("receipts_outcome"),
        without("transaction_outcome"),
    ];
    let (count, asked) = (wrong.len(), AtomicUsize::new(0));
    let first = Upstream::start(move |call| match call["method"].as_str() {
        Some("EXPERIMENTAL_tx_status") => {
            Scripted::Result(wrong[asked.fetch_add(1, SeqCst) % wrong.len()].clone())
        }
        _ => Scripted::Result(json!(null)),
    });
    let second = Upstream::start(move |_| Scripted::Result(result.clone()));
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (feed, from) = (feed().url(), fixture::messages()[0].height.to_string());
    let args = ["--follow", &feed, "--from", &from, "--forward", "--max-age", "1h"];
    let history = ["--upstream-history", "--upstream", &first.url()];
    let params = json!({ "tx_hash": old, "sender_account_id": "any.near", "wait_until": "NONE" });
    let call = request("EXPERIMENTAL_tx_status", &params);
    let both = ["--upstream", &second.url()];
    let all = [&args[..], &history, &both].concat();
    let server = Server::start_logging(&all, File::create(&log).unwrap());
    server.until_metric("milepost_head_height", fixture::head());
    for number in 0..count {
        let response = server.post("/", &call).json();
        assert_eq!(response["result"], *result, "wrong result {number}");
    }
    let log = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("an old transaction")).collect();
    assert_eq!(lines.len(), 3, "{log}");
    for (line, text) in lines.iter().zip([
        "upstream 1: its result of an old transaction does not count: about transaction",
        "FINAL without the members of an outcome",
        "FINAL without the outcome of receipt",
    ]) {
        assert!(line.contains("WARN") && line.contains(text), "{log}");
    }
    // Without an upstream whose result counts the answer is that of the blocks here.
    let server = Server::start(&[&args[..], &history].concat());
    server.until_metric("milepost_head_height", fixture::head());
    for number in 0..count {
        assert_eq!(server.post("/", &call).cause(), "UNKNOWN_TRANSACTION", "result {number}");
    }
}

#[test]
fn an_old_transaction_is_asked_of_the_next_upstream_after_an_error() {
    let (old, result) = &old_results()[0];
    let failing = |status: u16, name: &'static str, cause: &'static str| {
        Upstream::start(move |call| match call["method"].as_str() {
            Some("EXPERIMENTAL_tx_status") => {
                Scripted::Error(status, error(name, cause, &json!("text")))
            }
            // As the configuration of the chain.
            _ => Scripted::Result(Value::Null),
        })
    };
    let internal = failing(500, "INTERNAL_ERROR", "INTERNAL_ERROR");
    let without = failing(400, "REQUEST_VALIDATION_ERROR", "METHOD_NOT_FOUND");
    let pruned = failing(200, "HANDLER_ERROR", "UNKNOWN_TRANSACTION");
    // It does not track the shard.
    let untracked = Upstream::start(|_| {
        Scripted::Result(json!({ "final_execution_status": "NONE", "status": "Unknown" }))
    });
    let archival = Upstream::start(move |_| Scripted::Result(result.clone()));
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (feed, from) = (feed().url(), fixture::messages()[0].height.to_string());
    let start = |upstreams: &[&Upstream]| {
        let urls: Vec<String> = upstreams.iter().map(|upstream| upstream.url()).collect();
        let mut args = vec!["--follow", &feed, "--from", &from, "--forward", "--max-age", "1h"];
        args.push("--upstream-history");
        urls.iter().for_each(|url| args.extend(["--upstream", url]));
        let server = Server::start_logging(&args, File::create(&log).unwrap());
        server.until_metric("milepost_head_height", fixture::head());
        server
    };
    let params = json!({ "tx_hash": old, "sender_account_id": "any.near", "wait_until": "NONE" });
    let call = request("EXPERIMENTAL_tx_status", &params);
    let server = start(&[&internal, &without, &pruned, &untracked, &archival]);
    for _ in 0..2 {
        assert_eq!(server.post("/", &call).json()["result"], *result);
    }
    let text = fs::read_to_string(&log).unwrap();
    let lines = text.lines().filter(|line| line.contains("an old transaction does not count"));
    let faults: Vec<&str> =
        lines.filter_map(|line| line.split_once("upstream ")).map(|it| it.1).collect();
    let expected = ["1: INTERNAL_ERROR", "2: METHOD_NOT_FOUND"]
        .map(|text| text.replace(": ", ": its result of an old transaction does not count: "));
    assert_eq!(faults, expected, "{text}");
    // Where none has it, the answer is that of the blocks here.
    for upstreams in [&[&pruned, &internal][..], &[&internal]] {
        assert_eq!(start(upstreams).post("/", &call).cause(), "UNKNOWN_TRANSACTION");
    }
}

#[test]
fn upstreams_that_do_not_fit_are_refused() {
    let feed = feed().url();
    let other = "http://127.0.0.1:1";
    for (args, expected) in [
        (&["--forward"][..], "--forward needs an --upstream"),
        (&["--forward", "--upstream", "none"], "--forward needs an --upstream"),
        (&["--upstream", "none", "--upstream", other], "--upstream none goes with no other"),
        (&["--upstream", other, "--upstream", other], "an --upstream is given twice"),
        (&["--upstream-history"], "--forward"),
    ] {
        let output =
            run(&[&["serve", "--listen", "127.0.0.1:0", "--follow", &feed], args].concat());
        assert!(!output.status.success());
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
}
