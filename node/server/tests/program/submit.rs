//! `send_tx` and the methods beside it: what is sent, and which of the things that happen answers.

use core::iter;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Instant;

use milepost::codec::base64;
use milepost::primitives::CryptoHash;
use milepost_practice::{BlockMessage, Practice, PracticeTransaction, Settings};
use milepost_testing::feed::{Feed, FeedChain, FeedServer};
use serde_json::{Value, json};

use crate::fixture;
use crate::forward::over_websocket;
use crate::support::{Response, Server, command, post, request};
use crate::upstream::{Scripted, Upstream, error, http, invalid_transaction};

/// Blocks that a feed has from the start: enough for one of them to be final
const FIRST_BLOCKS: usize = 10;

/// A chain that continues until the transactions after its first blocks are final
fn messages() -> &'static [BlockMessage] {
    static MESSAGES: OnceLock<Vec<BlockMessage>> = OnceLock::new();
    MESSAGES.get_or_init(|| {
        let mut chain = Practice::new(Settings { transactions: 2..=4, ..Settings::demo(3) });
        (0..FIRST_BLOCKS + 40)
            .map(|_| {
                let mut message = chain.next_message();
                message.arrival_ms = 0;
                message
            })
            .collect()
    })
}

/// A feed whose blocks come when a test says so
struct Chain {
    feed: FeedServer,
    released: Arc<AtomicUsize>,
}

impl Chain {
    fn new() -> Self {
        let released = Arc::new(AtomicUsize::new(FIRST_BLOCKS));
        let (mut next, limit) = (0, Arc::clone(&released));
        let blocks = iter::from_fn(move || {
            let message = messages().get(next).filter(|_| next < limit.load(SeqCst))?;
            next += 1;
            Some(message.clone())
        });
        let chain = FeedChain::new(blocks, messages()[0].height, 1_000);
        let feed = FeedServer::start(Feed::new(chain, Default::default())).expect("a port");
        Self { feed, released }
    }

    /// Lets all blocks come
    fn release(released: &AtomicUsize) {
        released.store(usize::MAX, SeqCst);
    }

    /// A server that follows it and forwards to these upstreams
    fn server(&self, upstreams: &[&Upstream], args: &[&str]) -> Server {
        self.server_logging(upstreams, args, None)
    }

    /// The same with its log in this file
    fn server_logging(&self, upstreams: &[&Upstream], args: &[&str], log: Option<&Path>) -> Server {
        let first = messages()[0].height.to_string();
        let (url, configs) = (self.feed.url(), fixture::configs());
        let urls: Vec<String> = upstreams.iter().map(|upstream| upstream.url()).collect();
        let mut all = vec!["--follow", &url, "--from", &first, "--forward", "--max-age", "1h"];
        all.extend(["--configs", fixture::text(configs.path()), "--feed-requests", "100000"]);
        urls.iter().for_each(|url| all.extend(["--upstream", url]));
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.args(all).args(args);
        if let Some(log) = log {
            serve.env("MILEPOST_LOG", "info").stderr(File::create(log).expect("a file"));
        }
        let server = Server::spawn(serve);
        let head = messages()[FIRST_BLOCKS - 1].height;
        server.until_metric("milepost_head_height", head);
        server
    }
}

/// A transaction that is in no block yet
fn transaction() -> &'static PracticeTransaction {
    let mut later = messages()[FIRST_BLOCKS..].iter().flat_map(|message| &message.transactions);
    later.next().expect("a transaction")
}

fn signed(transaction: &PracticeTransaction) -> String {
    let mut text = String::new();
    base64::encode(&transaction.signed, &mut text);
    text
}

fn send(server: &Server, wait_until: &str) -> Response {
    let params = json!({ "signed_tx_base64": signed(transaction()), "wait_until": wait_until });
    server.post("/", &request("send_tx", &params))
}

fn ended(server: &Server, end: &str) -> Option<u64> {
    server.metric(&format!("milepost_submissions_total{{end=\"{end}\"}}"))
}

/// An upstream that does this with a transaction
fn upstream(send: impl Fn() -> Scripted + Send + Sync + 'static) -> Upstream {
    Upstream::start(move |call| match call["method"].as_str() {
        Some("send_tx") => send(),
        _ => {
            Scripted::Error(400, error("REQUEST_VALIDATION_ERROR", "METHOD_NOT_FOUND", &json!("")))
        }
    })
}

fn assert_reached(response: &Response, milestone: &str) {
    let result = &response.json()["result"];
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(result["transaction"]["hash"], transaction().hash.to_string());
    assert_eq!(result["final_execution_status"], milestone);
    assert_eq!(result.get("receipts"), None);
}

#[test]
fn a_transaction_is_sent_and_waited_for_here() {
    let chain = Chain::new();
    let released = Arc::clone(&chain.released);
    let upstream = upstream(move || {
        Chain::release(&released);
        Scripted::Result(json!({ "final_execution_status": "INCLUDED" }))
    });
    let server = chain.server(&[&upstream], &["--timeout", "60s"]);
    assert_reached(&send(&server, "FINAL"), "FINAL");
    let calls = upstream.calls("send_tx");
    assert_eq!(calls.len(), 1);
    let params = json!({ "signed_tx_base64": signed(transaction()), "wait_until": "INCLUDED" });
    assert_eq!(calls[0].call["params"], params);
    server.until("the end of the sending", || ended(&server, "included") == Some(1));
    // It is known now, so it is not sent again.
    assert_reached(&send(&server, "EXECUTED"), "FINAL");
    let commit = server.post("/", &request("broadcast_tx_commit", &json!([signed(transaction())])));
    assert_reached(&commit, "FINAL");
    assert_eq!((upstream.calls("send_tx").len(), ended(&server, "known")), (1, Some(2)));
}

#[test]
fn a_transaction_is_checked_before_it_is_sent() {
    let upstream = upstream(|| Scripted::Result(Value::Null));
    let chain = Chain::new();
    let server = chain.server(&[&upstream], &[]);
    let mut forged = transaction().signed.clone();
    let nonce = forged.len() - 80;
    forged[nonce] ^= 1;
    let text = |bytes: &[u8]| {
        let mut text = String::new();
        base64::encode(bytes, &mut text);
        text
    };
    for method in ["send_tx", "broadcast_tx_async", "broadcast_tx_commit"] {
        let response = server.post("/", &request(method, &json!([text(&forged)])));
        assert_eq!((response.status, response.cause().as_str()), (200, "INVALID_TRANSACTION"));
        let reason = &response.json()["error"]["data"]["TxExecutionError"]["InvalidTxError"];
        assert_eq!(reason, "InvalidSignature", "{}", response.text());
        for params in [
            json!([]),
            json!(["*"]),
            json!([text(&forged[..100])]),
            json!([transaction().hash.to_string(), "a.near"]),
            json!({ "tx_hash": transaction().hash.to_string(), "sender_account_id": "a.near" }),
            json!({ "signed_tx_base64": text(&forged), "wait_until": "SOON" }),
            Value::Null,
        ] {
            let response = server.post("/", &request(method, &params));
            let found = (response.status, response.cause());
            assert_eq!(found, (400, "PARSE_ERROR".to_owned()), "{params}: {}", response.text());
            assert_eq!(response.json()["id"], "t");
        }
    }
    assert!(upstream.calls("send_tx").is_empty());
}

#[test]
fn requests_that_do_not_wait_are_answered_at_once() {
    let chain = Chain::new();
    let released = Arc::clone(&chain.released);
    let upstream = upstream(move || {
        Chain::release(&released);
        Scripted::Result(Value::Null)
    });
    let server = chain.server(&[&upstream], &["--unknown", "immediate"]);
    let params = json!([signed(transaction())]);
    let response = server.post("/", &request("broadcast_tx_async", &params));
    let expected = format!(r#"{{"jsonrpc":"2.0","result":"{}","id":"t"}}"#, transaction().hash);
    assert_eq!((response.status, response.text()), (200, expected));
    let none = send(&server, "NONE");
    assert_eq!(none.json()["result"], json!({ "final_execution_status": "NONE" }));
    assert_reached(&send(&server, "FINAL"), "FINAL");
    assert_eq!(upstream.calls("send_tx").len(), 1);
}

#[test]
fn an_invalid_transaction_ends_the_wait() {
    let reason = json!({ "NotEnoughBalance": { "balance": "1", "cost": "2" } });
    let error = invalid_transaction(&reason);
    let expected = error.clone();
    let upstream = upstream(move || Scripted::Error(200, error.clone()));
    let chain = Chain::new();
    let server = chain.server(&[&upstream], &["--timeout", "1h"]);
    let response = send(&server, "FINAL");
    assert_eq!((response.status, &response.json()["error"]), (200, &expected));
    assert_eq!(response.json()["id"], "t");
    server.until("the end of the sending", || ended(&server, "invalid") == Some(1));
}

#[test]
fn an_upstream_that_calls_an_included_transaction_invalid_is_not_believed() {
    // Included by another way, which has used the nonce; the block comes a moment later.
    let reason = json!({ "InvalidNonce": { "ak_nonce": 2, "tx_nonce": 1 } });
    let chain = Chain::new();
    let released = Arc::clone(&chain.released);
    let upstream = upstream(move || {
        Chain::release(&released);
        Scripted::Error(200, invalid_transaction(&reason))
    });
    let server = chain.server(&[&upstream], &["--timeout", "60s"]);
    assert_reached(&send(&server, "FINAL"), "FINAL");
}

#[test]
fn a_connection_that_is_lost_does_not_lose_the_wait() {
    let chain = Chain::new();
    let (released, attempts) = (Arc::clone(&chain.released), AtomicUsize::new(0));
    let upstream = upstream(move || match attempts.fetch_add(1, SeqCst) {
        0 => Scripted::Raw(String::new()),
        1 => Scripted::Raw(http(200, "", 100, r#"{"jsonrpc""#)),
        2 => Scripted::Error(408, error("HANDLER_ERROR", "TIMEOUT_ERROR", &json!("Timeout"))),
        _ => {
            Chain::release(&released);
            Scripted::Raw(http(200, "", 6, "<html>"))
        }
    });
    let server = chain.server(&[&upstream], &["--timeout", "5m"]);
    assert_reached(&send(&server, "FINAL"), "FINAL");
    assert!(upstream.calls("send_tx").len() >= 4);
}

#[test]
fn the_first_of_several_upstreams_is_enough() {
    let chain = Chain::new();
    let released = Arc::clone(&chain.released);
    let silent = upstream(|| Scripted::Silence);
    let good = upstream(move || {
        Chain::release(&released);
        Scripted::Result(Value::Null)
    });
    let server = chain.server(&[&silent, &good], &["--timeout", "60s"]);
    assert_reached(&send(&server, "FINAL"), "FINAL");
    assert_eq!((silent.calls("send_tx").len(), good.calls("send_tx").len()), (1, 1));
}

/// Replies of an upstream that has not accepted the transaction, each with its text at the deadline
fn failures() -> Vec<(Scripted, &'static str)> {
    let reason = |reason: Value| Scripted::Error(200, invalid_transaction(&reason));
    let unread = |cause| {
        Scripted::Error(400, error("REQUEST_VALIDATION_ERROR", cause, &json!("not understood")))
    };
    vec![
        (reason(json!("Expired")), "INVALID_TRANSACTION Expired"),
        (
            reason(json!({ "NotEnoughBalance": { "balance": "1", "cost": "2" } })),
            "INVALID_TRANSACTION NotEnoughBalance",
        ),
        (
            reason(json!({ "InvalidNonce": { "ak_nonce": 2, "tx_nonce": 1 } })),
            "INVALID_TRANSACTION InvalidNonce",
        ),
        (
            reason(json!({ "ShardCongested": { "shard_id": 0, "congestion_level": 1.0 } })),
            "INVALID_TRANSACTION ShardCongested",
        ),
        (unread("PARSE_ERROR"), "PARSE_ERROR"),
        (unread("METHOD_NOT_FOUND"), "METHOD_NOT_FOUND"),
        (Scripted::Raw(http(200, "", 6, "<html>")), "the response is no JSON-RPC (HTTP 200)"),
        (Scripted::Raw(http(503, "", 0, "")), "HTTP 503"),
    ]
}

/// An upstream that takes a transaction in after a moment, in which the others have answered; its
/// blocks come a second later
fn accepting(released: &Arc<AtomicUsize>) -> Upstream {
    let released = Arc::clone(released);
    upstream(move || {
        thread::sleep(Duration::from_millis(500));
        let released = Arc::clone(&released);
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            Chain::release(&released);
        });
        Scripted::Result(json!({ "final_execution_status": "INCLUDED" }))
    })
}

/// An upstream with this reply to each transaction
fn always(reply: Scripted) -> Upstream {
    upstream(move || reply.clone())
}

#[test]
fn no_reply_of_one_upstream_ends_a_submission_that_another_accepts() {
    for (reply, name) in failures() {
        let chain = Chain::new();
        let (failing, good) = (always(reply), accepting(&chain.released));
        let server = chain.server(&[&failing, &good], &["--timeout", "60s"]);
        let response = send(&server, "FINAL");
        assert_eq!(response.status, 200, "{name}: {}", response.text());
        assert_reached(&response, "FINAL");
        assert_eq!(good.calls("send_tx").len(), 1, "{name}");
        assert!(!failing.calls("send_tx").is_empty(), "{name}");
    }
}

#[test]
fn a_refusal_that_came_first_ends_no_method_batch_or_message() {
    let refused = || Scripted::Error(200, invalid_transaction(&json!("Expired")));
    let commit = request("broadcast_tx_commit", &json!([signed(transaction())]));
    let known = |response: &Value| {
        let result = &response["result"];
        assert_eq!(result["transaction"]["hash"], transaction().hash.to_string(), "{response}");
    };
    let ways: [fn(&Server, &str) -> Value; 3] = [
        |server, commit| server.post("/", commit).json(),
        |server, commit| server.post("/", &format!("[{commit}]")).json()[0].clone(),
        |server, commit| over_websocket(server, &[commit.to_owned()])[0].clone(),
    ];
    for way in ways {
        let chain = Chain::new();
        let (failing, good) = (always(refused()), accepting(&chain.released));
        let server = chain.server(&[&failing, &good], &["--timeout", "60s"]);
        known(&way(&server, &commit));
    }
    // That of a request that does not wait continues, and later requests join it.
    let chain = Chain::new();
    let (failing, good) = (always(refused()), accepting(&chain.released));
    let server = chain.server(&[&failing, &good], &["--timeout", "60s"]);
    server.post("/", &request("broadcast_tx_async", &json!([signed(transaction())])));
    server.until("the refusal", || !failing.calls("send_tx").is_empty());
    assert_reached(&send(&server, "FINAL"), "FINAL");
    assert_eq!(good.calls("send_tx").len(), 1);
}

#[test]
fn the_error_of_upstreams_that_all_refuse_is_returned_at_once() {
    let reason = json!({ "NotEnoughBalance": { "balance": "1", "cost": "2" } });
    let first = invalid_transaction(&reason);
    let second = invalid_transaction(&json!({ "SignerDoesNotExist": { "signer_id": "a" } }));
    let chain = Chain::new();
    let upstreams = [first.clone(), second].map(|error| always(Scripted::Error(200, error)));
    let server = chain.server(&upstreams.each_ref(), &["--timeout", "1h"]);
    let start = Instant::now();
    let response = send(&server, "FINAL");
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert_eq!((response.status, &response.json()["error"]), (200, &first));
    server.until("the end of the sending", || ended(&server, "invalid") == Some(1));
}

#[test]
fn a_refusal_waits_five_seconds_for_upstreams_that_say_nothing() {
    let refusal = invalid_transaction(&json!({ "NotEnoughBalance": { "balance": "1" } }));
    let unread = error("REQUEST_VALIDATION_ERROR", "PARSE_ERROR", &json!(""));
    for other in [Scripted::Silence, Scripted::Error(400, unread)] {
        let chain = Chain::new();
        let upstreams = [always(other), always(Scripted::Error(200, refusal.clone()))];
        let server = chain.server(&upstreams.each_ref(), &["--timeout", "1h"]);
        let start = Instant::now();
        let response = send(&server, "FINAL");
        let elapsed = start.elapsed();
        assert_eq!((response.status, &response.json()["error"]), (200, &refusal));
        assert!((5..15).contains(&elapsed.as_secs()), "{elapsed:?}");
    }
}

#[test]
fn the_chain_here_overrules_an_upstream_that_is_behind() {
    let chain = Chain::new();
    let (released, attempts) = (Arc::clone(&chain.released), AtomicUsize::new(0));
    let behind = upstream(move || match attempts.fetch_add(1, SeqCst) {
        // For seven seconds: longer than a refusal that counts.
        0..5 => Scripted::Error(200, invalid_transaction(&json!("Expired"))),
        _ => {
            Chain::release(&released);
            Scripted::Result(Value::Null)
        }
    });
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("log");
    let server = chain.server_logging(&[&behind], &["--timeout", "60s"], Some(&log));
    assert_reached(&send(&server, "FINAL"), "FINAL");
    assert_eq!(behind.calls("send_tx").len(), 6);
    let log = fs::read_to_string(&log).expect("a log");
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    let ignored = "upstream 1: its reply to a transaction does not count: INVALID_TRANSACTION \
                   Expired, with a base block that is recent here";
    assert_eq!(lines(ignored), 1, "{log}");
    assert_eq!(lines("upstream 1: takes transactions again"), 1, "{log}");
}

#[test]
fn a_transaction_that_was_refused_is_sent_for_the_next_request() {
    let chain = Chain::new();
    let (released, attempts) = (Arc::clone(&chain.released), AtomicUsize::new(0));
    let upstream = upstream(move || match attempts.fetch_add(1, SeqCst) {
        0 => Scripted::Error(200, invalid_transaction(&json!({ "NotEnoughBalance": {} }))),
        _ => {
            Chain::release(&released);
            Scripted::Result(Value::Null)
        }
    });
    let server = chain.server(&[&upstream], &["--timeout", "60s"]);
    assert_eq!(send(&server, "FINAL").cause(), "INVALID_TRANSACTION");
    assert_reached(&send(&server, "FINAL"), "FINAL");
}

#[test]
fn a_busy_upstream_is_asked_again_with_growing_pauses_until_the_deadline() {
    let reasons = [
        json!({ "ShardCongested": { "shard_id": 0, "congestion_level": 1.0 } }),
        json!({ "ShardStuck": { "shard_id": 0, "missed_chunks": 9 } }),
    ];
    for reason in reasons {
        let name = reason.as_object().and_then(|it| it.keys().next()).expect("a name").clone();
        let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let kept = Arc::clone(&times);
        let busy = upstream(move || {
            kept.lock().expect("no thread panics with it").push(Instant::now());
            Scripted::Error(200, invalid_transaction(&reason))
        });
        let chain = Chain::new();
        let server = chain.server(&[&busy], &["--timeout", "14s"]);
        let response = send(&server, "FINAL");
        let times = times.lock().expect("no thread panics with it").clone();
        assert_eq!((response.status, response.cause().as_str()), (408, "TIMEOUT_ERROR"));
        let data = &response.json()["error"]["data"];
        let expected = format!("Timeout error: upstream 1: INVALID_TRANSACTION {name}");
        assert_eq!(data.as_str(), Some(expected.as_str()));
        let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
        let gaps: Vec<f64> = gaps.collect();
        let expected = [0.5, 1.0, 2.0, 4.0, 5.0];
        assert_eq!(gaps.len(), expected.len(), "{gaps:?}");
        for (gap, expected) in gaps.iter().zip(expected) {
            assert!((expected..expected + 0.4).contains(gap), "{gaps:?}");
        }
    }
}

#[test]
fn a_time_out_has_the_reply_of_each_upstream() {
    let hash = transaction().hash.to_string();
    let routed = error("HANDLER_ERROR", "REQUEST_ROUTED", &json!("Transaction was routed"));
    let timeout = error("HANDLER_ERROR", "TIMEOUT_ERROR", &json!("Timeout"));
    let faulty =
        [(Scripted::Raw(http(502, "", 0, "")), "HTTP 502"), (Scripted::Silence, "no answer")];
    let accepted = [
        (Scripted::Error(200, routed), "REQUEST_ROUTED"),
        (Scripted::Error(408, timeout), "TIMEOUT_ERROR"),
        (Scripted::Result(Value::Null), "accepted"),
    ];
    // With an acceptance, because refusals alone end the wait.
    let failures = failures();
    let failing = failures.chunks(2).map(|two| [two, &accepted[2..]].concat());
    for replies in [faulty.to_vec(), accepted.to_vec()].into_iter().chain(failing) {
        let (replies, said): (Vec<Scripted>, Vec<&str>) = replies.into_iter().unzip();
        let upstreams: Vec<Upstream> = replies.into_iter().map(always).collect();
        let chain = Chain::new();
        let upstreams: Vec<&Upstream> = upstreams.iter().collect();
        // Long enough for a first response of each upstream on a loaded machine.
        let args = ["--timeout", "3s", "--timeout-cause"];
        for args in [&args[..2], &args] {
            let server = chain.server(&upstreams, args);
            let response = send(&server, "FINAL");
            assert_eq!((response.status, response.cause().as_str()), (408, "TIMEOUT_ERROR"));
            assert_eq!(response.header("x-milepost-transaction"), Some(hash.as_str()));
            let said = said.iter().enumerate().map(|(at, it)| format!("upstream {}: {it}", at + 1));
            let error = &response.json()["error"];
            let expected = format!("Timeout error: {}", said.collect::<Vec<_>>().join("; "));
            assert_eq!(error["data"].as_str(), Some(expected.as_str()));
            let cause =
                if args.len() == 2 { Value::Null } else { json!({ "cause": "NOT_OBSERVED" }) };
            assert_eq!(error["cause"]["info"], cause);
        }
    }
}

#[test]
fn a_transaction_in_a_batch_and_of_many_requests_is_sent_once() {
    let chain = Chain::new();
    let upstream = upstream(|| Scripted::Silence);
    let server = chain.server(&[&upstream], &["--timeout", "1h"]);
    let one = request("send_tx", &json!([signed(transaction())]));
    let [mut single, mut batch] = [server.connect(), server.connect()];
    single.send(&post("/", &one));
    batch.send(&post("/", &format!("[{one},{one}]")));
    server.until_metric("milepost_requests_pending", 3);
    assert_eq!(server.metric("milepost_submissions_running"), Some(1));
    Chain::release(&chain.released);
    assert_eq!(single.response().status, 200);
    let items = batch.response().json();
    for item in items.as_array().expect("a batch") {
        let hash = &item["result"]["transaction"]["hash"];
        assert_eq!(*hash, transaction().hash.to_string(), "{item}");
    }
    assert_eq!(upstream.calls("send_tx").len(), 1);
}

/// A chain of blocks of the shared vectors, whose transactions are valid for six heights
fn vector_chain(names: &[&str], first: usize) -> (Chain, tempfile::TempDir) {
    let file = |path: &str| {
        let path = format!("{}/../../tests/vectors/{path}", env!("CARGO_MANIFEST_DIR"));
        fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let mut blocks: Vec<BlockMessage> = Vec::new();
    for name in names {
        let json = file(&format!("blocks/{name}.json"));
        let mut block = serde_json::from_slice::<Value>(&json).expect("JSON");
        let header = &mut block["block"]["header"];
        // A feed needs a final block, which not each of these names.
        let names_none = header["last_final_block"] == CryptoHash::ZERO.to_string();
        if let Some(first) = blocks.first().filter(|_| names_none) {
            header["last_final_block"] = first.hash.to_string().into();
        }
        let hash = |name: &str| header[name].as_str().and_then(|it| it.parse().ok());
        let mut message = messages()[0].clone();
        message.height = header["height"].as_u64().expect("a height");
        message.hash = hash("hash").expect("a hash");
        message.prev_hash = hash("prev_hash").expect("a hash");
        (message.json, message.transactions) = (block.to_string().into_bytes(), Vec::new());
        blocks.push(message);
    }
    let configs = tempfile::tempdir().expect("a directory");
    let config = file("configs/expiry-100.json");
    fs::write(configs.path().join("100.json"), config).expect("a file");
    let released = Arc::new(AtomicUsize::new(first));
    let (mut next, limit, height) = (0, Arc::clone(&released), blocks[0].height);
    let blocks = iter::from_fn(move || {
        let message = blocks.get(next).filter(|_| next < limit.load(SeqCst))?;
        next += 1;
        Some(message.clone())
    });
    let chain = FeedChain::new(blocks, height, 1_000);
    let feed = FeedServer::start(Feed::new(chain, Default::default())).expect("a port");
    (Chain { feed, released }, configs)
}

#[test]
fn a_wait_and_its_sending_end_when_the_transaction_expires() {
    let blocks = ["expiry-101", "expiry-102", "expiry-108"];
    let until_expired = ["validity-109", "validity-109-and-1", "validity-109-and-2"];
    let (chain, configs) = vector_chain(&[blocks, until_expired].concat(), blocks.len());
    let upstream = upstream(|| Scripted::Result(Value::Null));
    let (feed, url, configs) = (chain.feed.url(), upstream.url(), fixture::text(configs.path()));
    let follow = ["--follow", &feed, "--from", "101", "--max-age", "1h"];
    let forward = ["--forward", "--upstream", &url, "--timeout", "1h"];
    let server = Server::start(&[&follow[..], &forward, &["--configs", configs]].concat());
    server.until_metric("milepost_head_height", 108);
    let request: Value = serde_json::from_slice(include_bytes!(
        "../../../../tests/vectors/requests/wait-expires.json"
    ))
    .expect("JSON");
    let mut waiting = server.connect();
    waiting.send(&post("/", &self::request("send_tx", &request["params"])));
    server.until("the sending", || upstream.calls("send_tx").len() == 1);
    server.until_metric("milepost_requests_pending", 1);
    Chain::release(&chain.released);
    let response = waiting.response();
    assert_eq!((response.status, response.cause().as_str()), (200, "INVALID_TRANSACTION"));
    let reason = &response.json()["error"]["data"]["TxExecutionError"]["InvalidTxError"];
    assert_eq!(reason, "Expired");
    server.until("the end of the sending", || ended(&server, "expired") == Some(1));
    assert_eq!(server.metric("milepost_submissions_running"), Some(0));
}

/// A server at whose head a transaction was refused, an upstream that accepts it, what they follow,
/// and the params that send it and wait for a milestone
///
/// With `is_released`, the transaction is executed once it is sent.
fn after_a_refusal(
    is_released: bool,
) -> (Server, Upstream, (Chain, tempfile::TempDir), impl Fn(&str) -> Value) {
    let blocks = ["100", "101", "102", "103", "a104", "a105", "a106", "a107"];
    let blocks = blocks.map(|name| format!("double-{name}"));
    let (chain, configs) = vector_chain(&blocks.each_ref().map(|name| &name[..]), 4);
    let released = Arc::clone(&chain.released);
    let upstream = upstream(move || {
        if is_released {
            Chain::release(&released);
        }
        Scripted::Result(Value::Null)
    });
    let (feed, url, directory) = (chain.feed.url(), upstream.url(), fixture::text(configs.path()));
    let follow = ["--follow", &feed, "--from", "100", "--max-age", "1h"];
    let forward = ["--forward", "--upstream", &url, "--timeout", "60s"];
    let server = Server::start(&[&follow[..], &forward, &["--configs", directory]].concat());
    server.until_metric("milepost_head_height", 103);
    let request: Value = serde_json::from_slice(include_bytes!(
        "../../../../tests/vectors/requests/double-signed.json"
    ))
    .expect("JSON");
    let params = move |wait_until: &str| {
        let bytes = &request["params"]["signed_tx_base64"];
        json!({ "signed_tx_base64": bytes, "wait_until": wait_until })
    };
    (server, upstream, (chain, configs), params)
}

#[test]
#[cfg(unix)]
fn a_stop_ends_the_wait_for_a_transaction_that_was_refused() {
    let (server, upstream, _chain, params) = after_a_refusal(false);
    let mut waiting = server.connect();
    waiting.send(&post("/", &request("send_tx", &params("EXECUTED_OPTIMISTIC"))));
    server.until("the sending", || upstream.calls("send_tx").len() == 1);
    server.signal("TERM");
    let response = waiting.response();
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
    assert!(response.header("x-milepost-transaction").is_some(), "{}", response.text());
    assert!(response.text().contains("the service stops"), "{}", response.text());
}

#[test]
fn a_refused_transaction_is_sent_again_and_waited_for() {
    let (server, upstream, _chain, params) = after_a_refusal(true);
    let before = server.post("/", &request("EXPERIMENTAL_tx_status", &params("NONE"))).json();
    let refusal = &before["result"]["status"];
    assert!(refusal.pointer("/Failure/InvalidTxError/NotEnoughBalance").is_some(), "{refusal}");

    let response = server.post("/", &request("send_tx", &params("EXECUTED_OPTIMISTIC")));
    let result = &response.json()["result"];
    assert_eq!(result["transaction"]["hash"], before["result"]["transaction"]["hash"]);
    assert_eq!(result["status"], json!({ "SuccessValue": "" }));
    assert_eq!(upstream.calls("send_tx").len(), 1);
    server.until("the end of the sending", || ended(&server, "included") == Some(1));
}
