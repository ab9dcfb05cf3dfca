//! Limits per address over real sockets: clients of two addresses of the loopback interface.
//!
//! What one address has too much of is refused, at once and with the limit named; the other address
//! is served meanwhile, and the first one again when something of it has ended.

use alloc::sync::Arc;
use core::num::NonZero;

use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use milepost::primitives::CryptoHash;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use super::event_tests::{GUARD, chain, queries, start_limited, until};
use crate::queries::Queries;
use crate::queries::waiting;

const ONE: &str = "127.0.0.1";
const OTHER: &str = "127.0.0.2";

/// Connects from an address of this machine
async fn connect(from: &str, address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    socket.connect(address.parse().unwrap()).await.unwrap()
}

/// Sends a request on a connection of its own: the status and the body, at once or when it comes
async fn send(from: &str, address: &str, request: Request<Full<Bytes>>) -> (StatusCode, Bytes) {
    let stream = connect(from, address).await;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = time::timeout(GUARD, sender.send_request(request)).await.unwrap().unwrap();
    let status = response.status();
    (
        status,
        time::timeout(GUARD, response.into_body().collect()).await.unwrap().unwrap().to_bytes(),
    )
}

fn post(address: &str, method: &str, hash: CryptoHash) -> Request<Full<Bytes>> {
    let params = json!({
        "tx_hash": hash.to_string(), "sender_account_id": "a.near", "wait_until": "FINAL",
    });
    let body = json!({ "id": 1, "method": method, "params": params }).to_string();
    let request = Request::post("/").header("content-type", "application/json");
    request.header("host", address).body(Full::new(Bytes::from(body))).unwrap()
}

fn get(address: &str, path: &str) -> Request<Full<Bytes>> {
    Request::get(path).header("host", address).body(Full::default()).unwrap()
}

fn cause(body: &[u8]) -> Value {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["error"]["cause"]["info"]["error_message"].clone()
}

/// Waits until this many requests wait
async fn until_pending(queries: &Arc<Queries>, count: u64) {
    until(|| queries.chain.metrics.pending.get() == count).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_no_more_connections_than_it_may_have() {
    let queries = queries();
    let address = start_limited(&queries, NonZero::new(2), None).await;
    let open = [connect(ONE, &address).await, connect(ONE, &address).await];
    let mut refused = connect(ONE, &address).await;
    let read = time::timeout(GUARD, refused.read(&mut [0; 1])).await.unwrap();
    // Closed, or reset because it was never read.
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    let (status, _) = send(OTHER, &address, get(&address, "/health")).await;
    assert_ne!(status, StatusCode::TOO_MANY_REQUESTS);
    let text = send(OTHER, &address, get(&address, "/metrics")).await.1;
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains("\nmilepost_connections_refused_total 1\n"), "{text}");
    drop(open);
    // The server notices that a client is gone a little later.
    for _ in 0..600 {
        let stream = connect(ONE, &address).await;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        if sender.send_request(get(&address, "/status")).await.is_ok() {
            return;
        }
        time::sleep(core::time::Duration::from_millis(100)).await;
    }
    panic!("the address is not served again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_no_more_requests_and_watches_than_it_may_have() {
    let queries = queries();
    tokio::spawn(waiting::run_timeouts(Arc::clone(&queries.chain)));
    let (messages, hashes) = chain(3, 4);
    messages.iter().for_each(|message| drop(queries.chain.import_block(&message.json)));
    let address = start_limited(&queries, None, NonZero::new(3)).await;
    let unknown = CryptoHash::digest(b"unknown");
    // Two requests wait, and one transaction is watched.
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let (address, request) = (address.clone(), post(&address, "tx", unknown));
            tokio::spawn(async move { send(ONE, &address, request).await })
        })
        .collect();
    until_pending(&queries, 2).await;
    let stream = connect(ONE, &address).await;
    let (mut socket, _) = client_async(format!("ws://{address}/ws"), stream).await.unwrap();
    let subscribe = json!({
        "id": 1, "method": "subscribe_tx_status", "params": { "tx_hashes": [unknown.to_string()] },
    });
    socket.send(Message::from(subscribe.to_string())).await.unwrap();
    let subscribed = time::timeout(GUARD, socket.next()).await.unwrap().unwrap().unwrap();
    let subscribed: Value = serde_json::from_str(subscribed.to_text().unwrap()).unwrap();
    assert!(subscribed["result"].is_number(), "{subscribed}");

    let full = "an address may have 3 requests at a time";
    let (status, body) = send(ONE, &address, post(&address, "tx", hashes[0])).await;
    assert_eq!((status, cause(&body)), (StatusCode::SERVICE_UNAVAILABLE, full.into()));
    let events = format!("/tx/{unknown}/events");
    let (status, body) = send(ONE, &address, get(&address, &events)).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(String::from_utf8(body.to_vec()).unwrap().contains(full));
    // Lookups are not counted, and another address is not affected.
    assert_eq!(send(ONE, &address, get(&address, "/status")).await.0, StatusCode::OK);
    let (status, _) = send(OTHER, &address, post(&address, "status", hashes[0])).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);

    // A place is free again when a request is answered, and when a client is gone.
    drop(socket);
    for request in waiting {
        assert_eq!(request.await.unwrap().0, StatusCode::REQUEST_TIMEOUT);
    }
    let (status, body) = send(ONE, &address, post(&address, "tx", hashes[0])).await;
    assert!(cause(&body) != full, "{status}");
}
