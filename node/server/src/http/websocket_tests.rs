//! WebSockets over real sockets: requests, subscriptions while blocks with forks are imported, and
//! clients that break the rules.
//!
//! What the server closes is closed with a reason; what other clients do is not disturbed by it.

use alloc::collections::BTreeMap;
use core::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use milepost::primitives::CryptoHash;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::event_tests::{
    BODY_LIMIT, CLIENT, GUARD, MAX_BUFFERED, MAX_WATCHES, chain, finalized, naive, queries, start,
    until,
};
use super::subscriptions::MAX_SUBSCRIPTIONS;
use super::websocket::MAX_RUNNING;

pub(super) struct Client(WebSocketStream<TcpStream>);

impl Client {
    pub(super) async fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (socket, response) = client_async(format!("ws://{address}/ws"), stream).await.unwrap();
        assert_eq!(response.status(), 101);
        Self(socket)
    }

    async fn send(&mut self, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        self.0.send(Message::from(request.to_string())).await.unwrap();
    }

    /// The next message
    async fn next(&mut self) -> Message {
        let next = async {
            loop {
                match self.0.next().await.expect("the connection continues").unwrap() {
                    Message::Ping(_) | Message::Pong(_) => {}
                    message => return message,
                }
            }
        };
        time::timeout(GUARD, next).await.expect("a message")
    }

    pub(super) async fn json(&mut self) -> Value {
        let message = self.next().await;
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    pub(super) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        self.json().await
    }

    /// The code and the reason of the close that comes next
    async fn close(&mut self) -> (u16, String) {
        let Message::Close(Some(frame)) = self.next().await else { panic!("no close") };
        (frame.code.into(), frame.reason.to_string())
    }
}

fn tx_params(hash: CryptoHash, wait_until: &str) -> Value {
    json!({ "tx_hash": hash.to_string(), "sender_account_id": "a.near", "wait_until": wait_until })
}

#[tokio::test]
async fn all_methods_are_answered_in_any_order() {
    let (queries, hash) = finalized().await;
    let address = start(&queries).await;
    let mut client = Client::connect(&address).await;
    let unknown = CryptoHash::digest(b"unknown");
    // It waits until the shutdown, and the others are answered before.
    client.send("tx", tx_params(unknown, "FINAL")).await;
    let (_, result) = queries.full_status(CLIENT, hash).await.unwrap();
    let response = client.call("EXPERIMENTAL_tx_status", tx_params(hash, "FINAL")).await;
    assert_eq!(response["id"], 7);
    assert_eq!(response["result"], serde_json::from_str::<Value>(&result.unwrap()).unwrap());
    let response = client.call("nothing", json!([])).await;
    assert_eq!(response["error"]["cause"]["name"], "METHOD_NOT_FOUND");
    let discovered = client.call("rpc.discover", json!([])).await;
    assert_eq!(discovered["result"]["info"]["version"], "1.2.11");
    let one = json!({ "jsonrpc": "2.0", "id": 7, "method": "rpc.discover" });
    client.0.send(Message::from(json!([one]).to_string())).await.unwrap();
    assert_eq!(client.json().await, json!([discovered]));
    client.0.send(Message::from("{")).await.unwrap();
    assert_eq!(client.json().await["error"]["cause"]["name"], "PARSE_ERROR");
    client.0.send(Message::from(r#"[{"method":"tx","params":5},{"method":"x"}]"#)).await.unwrap();
    assert_eq!(client.json().await.as_array().map(Vec::len), Some(2));
    // Requests that are not answered yet are limited.
    for _ in 0..MAX_RUNNING {
        client.send("tx", tx_params(unknown, "FINAL")).await;
    }
    let error = client.json().await["error"]["data"].to_string();
    assert!(error.contains("64 requests of this connection are not answered yet"), "{error}");
    queries.chain.shutdown();
    let (code, reason) = loop {
        match client.next().await {
            Message::Close(Some(frame)) => break (u16::from(frame.code), frame.reason),
            message => assert!(message.is_text(), "{message}"),
        }
    };
    assert_eq!(code, 1012);
    assert_eq!(reason, "the service stops; connect again later and subscribe again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_notification_is_the_state_after_each_block() {
    let queries = queries();
    let address = start(&queries).await;
    let (messages, hashes) = chain(3, 40);
    let hashes: Vec<_> = hashes.into_iter().take(60).collect();
    let texts: Vec<_> = hashes.iter().map(ToString::to_string).collect();
    // Does not read until the end.
    let mut slow = Client::connect(&address).await;
    let mut client = Client::connect(&address).await;
    for client in [&mut slow, &mut client] {
        client.send("subscribe_tx_status", json!({ "tx_hashes": texts })).await;
    }
    // The response comes before the first notification.
    let response = client.json().await;
    assert_eq!((&response["id"], &response["result"]), (&json!(7), &json!(1)));
    let (mut last, mut unincluded) = (BTreeMap::new(), 0);
    for message in &messages {
        let _ = queries.chain.import_block(&message.json);
        for hash in &hashes {
            let state: Value = serde_json::from_str(&naive(&queries, *hash).await).unwrap();
            let key = hash.to_string();
            while last.get(&key).is_none_or(|(name, seen)| name != "reached" && *seen != state) {
                let notification = client.json().await;
                assert_eq!(notification["method"], "tx_status");
                assert_eq!(notification["params"]["subscription"], 1);
                let result = &notification["params"]["result"];
                unincluded += usize::from(result["event"] == "un-included");
                let of = result["status"]["transaction_hash"].as_str().unwrap().to_owned();
                let name = result["event"].as_str().unwrap().to_owned();
                last.insert(of, (name, result["status"].clone()));
            }
        }
    }
    assert!(unincluded > 0);
    assert!(last.values().filter(|(name, _)| name == "reached").count() > 10);
    assert_eq!(client.call("unsubscribe", json!([1])).await["result"], true);
    assert_eq!(client.call("unsubscribe", json!({ "subscription": 1 })).await["result"], false);
    // What was held up is the newest state, not a backlog: not even all changes of the other.
    assert_eq!(slow.json().await["result"], 1);
    let mut states = BTreeMap::new();
    for hash in &hashes {
        let state: Value = serde_json::from_str(&naive(&queries, *hash).await).unwrap();
        while states.get(&hash.to_string()) != Some(&state) {
            let result = slow.json().await["params"]["result"].clone();
            let of = result["status"]["transaction_hash"].as_str().unwrap().to_owned();
            let is_final = result["event"] == "reached";
            states.insert(of.clone(), result["status"].clone());
            if is_final && of == hash.to_string() {
                break;
            }
        }
    }
    drop((slow, client));
    until(|| queries.chain.waits.watching.counts() == (0, 0)).await;
}

#[tokio::test]
async fn a_subscription_ends_with_the_result() {
    let (queries, hash) = finalized().await;
    let address = start(&queries).await;
    let mut client = Client::connect(&address).await;
    let hash = hash.to_string();
    let params =
        json!({ "tx_hashes": [hash, hash], "wait_until": "EXECUTED", "include": "status" });
    assert_eq!(client.call("subscribe_tx_status", params).await["result"], 1);
    let reached = client.json().await["params"]["result"].clone();
    assert_eq!(reached["event"], "reached");
    assert_eq!(reached["status"]["result"]["final_execution_status"], "FINAL");
    let end = json!({ "subscription": 1, "result": { "event": "end", "id": "end", "status": {} } });
    assert_eq!(client.json().await["params"], end);
    assert_eq!(client.call("unsubscribe", json!([1])).await["result"], false);
    for (params, expected) in [
        (json!({}), "params.tx_hashes: expected a list of hashes"),
        (json!({ "tx_hashes": [] }), "params.tx_hashes: expected a list of hashes"),
        (json!({ "tx_hashes": [1] }), "params.tx_hashes[0]: expected a string"),
        (json!({ "tx_hashes": [hash, "x"] }), "params.tx_hashes[1]: "),
        (json!({ "tx_hashes": vec![hash.clone(); 257] }), "257 hashes, the limit is 256"),
        (json!({ "tx_hashes": [hash], "wait_until": 1 }), "params.wait_until: expected a string"),
        (json!({ "tx_hashes": [hash], "include": "gas" }), "params.include: `gas` is not status"),
    ] {
        let response = client.call("subscribe_tx_status", params).await;
        let error = response["error"]["data"].to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(queries.chain.waits.watching.counts(), (0, 0));
}

#[tokio::test]
async fn subscriptions_are_limited() {
    let queries = queries();
    let address = start(&queries).await;
    let (mut client, mut other) =
        (Client::connect(&address).await, Client::connect(&address).await);
    let texts = |count: usize| {
        let hashes = (0..count).map(|number| CryptoHash::digest(&number.to_le_bytes()));
        hashes.map(|hash| hash.to_string()).collect::<Vec<_>>()
    };
    let call = |count: usize| json!({ "tx_hashes": texts(count) });
    // A flood of subscriptions that end at once.
    for _ in 0..300 {
        client.send("subscribe_tx_status", call(2)).await;
    }
    let (mut accepted, mut refused) = (0, 0);
    while accepted + refused < 300 {
        let message = client.json().await;
        accepted += usize::from(message.get("result").is_some());
        if let Some(error) = message.get("error") {
            assert!(
                error["data"].to_string().contains("too many subscriptions: 64 of 64"),
                "{error}"
            );
            refused += 1;
        }
    }
    assert_eq!(
        (accepted, queries.chain.waits.watching.counts().0),
        (MAX_SUBSCRIPTIONS, 2 * MAX_SUBSCRIPTIONS)
    );
    let response = other.call("subscribe_tx_status", call(MAX_WATCHES - 2 * MAX_SUBSCRIPTIONS + 1));
    let error = response.await["error"]["data"].to_string();
    assert!(error.contains("too many watches: 128 of 300"), "{error}");
    assert_eq!(other.call("subscribe_tx_status", call(100)).await["result"], 1);
    for number in 1..=MAX_SUBSCRIPTIONS {
        client.send("unsubscribe", json!([number])).await;
    }
    until(|| queries.chain.waits.watching.counts().0 == 100).await;
    drop(client);
    assert_eq!(other.json().await["method"], "tx_status");
}

#[tokio::test]
async fn what_breaks_the_rules_is_closed_with_a_reason() {
    let (queries, hash) = finalized().await;
    let address = start(&queries).await;
    let mut quiet = Client::connect(&address).await;
    let mut client = Client::connect(&address).await;
    client.0.send(Message::from(vec![1, 2, 3])).await.unwrap();
    let (code, reason) = client.close().await;
    assert_eq!(
        (code, reason.as_str()),
        (1003, "expected text messages of JSON; connect and subscribe again")
    );
    // A masked frame of text that announces 1 TiB, of which nothing is sent.
    for (head, code) in [
        (&[0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4][..], 1009),
        // A frame that is not masked, a reserved opcode, and a frame that claims to be compressed.
        (&[0x81, 0x01, b'x'], 1002),
        (&[0x83, 0x80, 1, 2, 3, 4], 1002),
        (&[0xc1, 0x80, 1, 2, 3, 4], 1002),
    ] {
        let mut client = Client::connect(&address).await;
        client.0.get_mut().write_all(head).await.unwrap();
        let (closed, reason) = client.close().await;
        assert_eq!(closed, code, "{reason}");
        assert!(!reason.is_empty());
    }
    // A request that is no upgrade, and one with the wrong verb.
    for verb in ["GET", "POST"] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let text = format!(
            "{verb} /ws HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 426 "), "{response}");
        assert!(response.contains("sec-websocket-version: 13"), "{response}");
    }
    // Others are served all the time.
    let response = quiet.call("tx", tx_params(hash, "FINAL")).await;
    assert!(response.get("result").is_some());
}

/// A frame of spaces, with a mask of zeros, which changes nothing
fn spaces(opcode: u8, size: usize) -> Vec<u8> {
    let mut frame = vec![opcode, 0xff];
    frame.extend((size as u64).to_be_bytes());
    frame.extend([0; 4]);
    frame.resize(frame.len() + size, b' ');
    frame
}

#[tokio::test]
async fn unfinished_messages_of_all_connections_are_limited_together() {
    let queries = queries();
    let address = start(&queries).await;
    let (mut one, mut other) = (Client::connect(&address).await, Client::connect(&address).await);
    // Both count twice, which is more than three quarters of the limit.
    for client in [&mut one, &mut other] {
        let _ = client.0.get_mut().write_all(&spaces(0x01, MAX_BUFFERED / 4 - 100)).await;
    }
    let ((code, reason), mut left) = tokio::select! {
        closed = one.close() => (closed, other),
        closed = other.close() => (closed, one),
    };
    assert_eq!(code, 1013, "{reason}");
    assert!(reason.contains(&format!("the limit of {MAX_BUFFERED} bytes")), "{reason}");
    // The message that stays is answered when it is whole.
    left.0.get_mut().write_all(&spaces(0x80, 1)).await.unwrap();
    assert_eq!(left.json().await["error"]["cause"]["name"], "PARSE_ERROR");
    let mut late = Client::connect(&address).await;
    late.0.get_mut().write_all(&spaces(0x01, MAX_BUFFERED / 8)).await.unwrap();
    late.0.get_mut().write_all(&spaces(0x80, 1)).await.unwrap();
    assert_eq!(late.json().await["error"]["cause"]["name"], "PARSE_ERROR");
}

#[tokio::test]
async fn a_request_that_waits_keeps_nothing_of_its_message() {
    let queries = queries();
    let address = start(&queries).await;
    let mut client = Client::connect(&address).await;
    let params = tx_params(CryptoHash::digest(b"unknown"), "FINAL");
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tx", "params": params }).to_string();
    let padded = format!("{call}{}", " ".repeat(MAX_BUFFERED / 16));
    for _ in 0..MAX_RUNNING {
        client.0.send(Message::from(&*padded)).await.unwrap();
    }
    until(|| queries.chain.metrics.pending.get() == MAX_RUNNING as u64).await;
}

#[tokio::test]
async fn fragments_are_limited_by_their_sum() {
    let queries = queries();
    let address = start(&queries).await;
    let mut client = Client::connect(&address).await;
    for (opcode, size) in [(0x01, BODY_LIMIT - 10), (0x00, 20)] {
        client.0.get_mut().write_all(&spaces(opcode, size)).await.unwrap();
    }
    let (code, reason) = client.close().await;
    assert_eq!(code, 1009, "{reason}");
}

#[tokio::test]
async fn no_compression_is_agreed_on() {
    let queries = queries();
    let address = start(&queries).await;
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = "GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        sec-websocket-extensions: permessage-deflate; client_max_window_bits\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(time::timeout(GUARD, stream.read_u8()).await.expect("a response").unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(!head.contains("sec-websocket-extensions"), "{head}");
}

#[tokio::test]
async fn connections_that_end_without_a_close_leave_nothing() {
    let queries = queries();
    let address = start(&queries).await;
    let unknown = CryptoHash::digest(b"unknown").to_string();
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(&address).await;
        let params = json!({ "tx_hashes": [&unknown] });
        assert_eq!(client.call("subscribe_tx_status", params).await["result"], 1);
        clients.push(client);
    }
    assert_eq!(queries.chain.waits.watching.counts(), (3, 1));
    // One closes its side only, and reads on.
    let mut half = clients.pop().unwrap();
    half.0.get_mut().shutdown().await.unwrap();
    until(|| queries.chain.waits.watching.counts() == (2, 1)).await;
    drop(clients);
    until(|| queries.chain.waits.watching.counts() == (0, 0)).await;
}

#[tokio::test]
async fn a_flood_of_subscriptions_that_end_harms_no_other() {
    let (queries, hash) = finalized().await;
    let address = start(&queries).await;
    let (mut client, mut other) =
        (Client::connect(&address).await, Client::connect(&address).await);
    let unknown = CryptoHash::digest(b"unknown").to_string();
    for round in 1..=200 {
        let params = json!({ "tx_hashes": [&unknown] });
        client.send("subscribe_tx_status", params).await;
        client.send("unsubscribe", json!([round])).await;
        if round % 50 == 0 {
            let response = other.call("tx", tx_params(hash, "FINAL")).await;
            assert!(response.get("result").is_some(), "{response}");
        }
    }
    let mut answered = 0;
    while answered < 400 {
        let message = client.json().await;
        assert_eq!(message.get("error"), None, "{message}");
        answered += usize::from(message.get("id").is_some());
    }
    assert_eq!(queries.chain.waits.watching.counts(), (0, 0));
}

// The clock is paused, and advances to the next timer when all tasks are idle.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_pings_is_closed() {
    let queries = queries();
    let address = start(&queries).await;
    let mut client = Client::connect(&address).await;
    let unknown = CryptoHash::digest(b"unknown").to_string();
    let params = json!({ "tx_hashes": [unknown] });
    assert_eq!(client.call("subscribe_tx_status", params).await["result"], 1);
    assert_eq!(client.json().await["params"]["result"]["event"], "status");
    // A client that reads answers pings, and is not idle.
    let read = time::timeout(Duration::from_secs(300), client.0.next());
    assert!(matches!(read.await, Ok(Some(Ok(Message::Ping(_))))));
    assert_eq!(queries.chain.waits.watching.counts(), (1, 1));
    // Nothing is read for longer than the timeout.
    time::sleep(Duration::from_secs(120)).await;
    until(|| queries.chain.waits.watching.counts() == (0, 0)).await;
    // Without the library, which would answer the pings first.
    let mut frames = Vec::new();
    client.0.get_mut().read_to_end(&mut frames).await.unwrap();
    let close = b"\x03\xf0no pong for 60 s; connect and subscribe again";
    assert!(frames.ends_with(close), "{frames:?}");
}
