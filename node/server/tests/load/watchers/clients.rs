//! Clients that watch or poll one transaction each, and remember the newest state.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::UNIX_EPOCH;

use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use milepost::primitives::CryptoHash;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

/// Streams of one HTTP/2 connection, of the 256 that the server allows
const STREAMS: usize = 250;
/// Subscriptions of one WebSocket, of the 64 that the server allows
const SUBSCRIPTIONS: usize = 64;
/// Interval at which clients poll
const INTERVAL: Duration = Duration::from_secs(1);

/// How clients learn of changes
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Transport {
    /// Server-sent events, many streams to a connection
    Http2,
    /// Server-sent events on a connection each
    Http1,
    /// Many subscriptions to a connection
    WebSocket,
    /// `GET /tx/<hash>` each second, on a connection each
    Polling,
}

/// All clients
pub(crate) struct Clients {
    seen: Arc<Vec<Seen>>,
    started: Arc<AtomicUsize>,
}

/// What a client has seen
struct Seen {
    hash: CryptoHash,
    newest: Mutex<Newest>,
}

#[derive(Default)]
struct Newest {
    state: String,
    /// Seconds since 1970 of each change
    arrivals: Vec<f64>,
}

impl Seen {
    /// Takes in a state; returns whether it is the first
    fn change(&self, state: &str) -> bool {
        let now = UNIX_EPOCH.elapsed().expect("the clock is after 1970").as_secs_f64();
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.state == state {
            return false;
        }
        newest.arrivals.push(now);
        let before = core::mem::replace(&mut newest.state, state.to_owned());
        before.is_empty()
    }
}

impl Clients {
    /// Starts one client for each of these transactions
    pub(crate) fn start(
        runtime: &Runtime,
        address: SocketAddr,
        transport: Option<Transport>,
        hashes: &[CryptoHash],
    ) -> Self {
        let seen = |hash: &CryptoHash| Seen { hash: *hash, newest: Mutex::default() };
        let seen: Arc<Vec<Seen>> = Arc::new(hashes.iter().map(seen).collect());
        let started = Arc::new(AtomicUsize::new(0));
        let Some(transport) = transport else { return Self { seen, started } };
        let each = match transport {
            Transport::Http2 => STREAMS,
            Transport::WebSocket => SUBSCRIPTIONS,
            Transport::Http1 | Transport::Polling => 1,
        };
        for first in (0..seen.len()).step_by(each) {
            let connection = Connection {
                address,
                seen: Arc::clone(&seen),
                started: Arc::clone(&started),
                range: first..seen.len().min(first + each),
            };
            match transport {
                Transport::Http2 => drop(runtime.spawn(connection.streams())),
                Transport::Http1 => drop(runtime.spawn(connection.stream())),
                Transport::WebSocket => drop(runtime.spawn(connection.subscriptions())),
                Transport::Polling => drop(runtime.spawn(connection.poll())),
            }
        }
        Self { seen, started }
    }

    /// Waits until every client has a state
    pub(crate) fn until_started(&self) {
        until("the first states", || self.started.load(SeqCst) == self.seen.len());
    }

    /// Waits until every client of this transaction has this state
    pub(crate) fn until_all_have(&self, hash: CryptoHash, expected: &Value) {
        for seen in self.seen.iter().filter(|seen| seen.hash == hash) {
            let has_it = || {
                let newest = seen.newest.lock().unwrap_or_else(PoisonError::into_inner);
                serde_json::from_str::<Value>(&newest.state).is_ok_and(|state| state == *expected)
            };
            until(&format!("{expected}"), has_it);
        }
    }

    /// When the changes arrived, in seconds since 1970
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = f64> {
        self.seen.iter().flat_map(|seen| {
            seen.newest.lock().unwrap_or_else(PoisonError::into_inner).arrivals.clone()
        })
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("not within 240 s: {what}");
}

/// A connection and the clients on it
struct Connection {
    address: SocketAddr,
    seen: Arc<Vec<Seen>>,
    started: Arc<AtomicUsize>,
    range: core::ops::Range<usize>,
}

impl Connection {
    async fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).await.expect("the server accepts");
        stream.set_nodelay(true).expect("an open socket");
        stream
    }

    fn change(&self, client: usize, state: &str) {
        if self.seen[client].change(state) {
            self.started.fetch_add(1, SeqCst);
        }
    }

    fn request(&self, path: &str) -> Request<Empty<Bytes>> {
        let uri = format!("http://{}{path}", self.address);
        let request = Request::get(uri).header("host", "x");
        request.body(Empty::new()).expect("a request")
    }

    async fn streams(self) {
        let io = TokioIo::new(self.connect().await);
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
        tokio::spawn(connection);
        let this = Arc::new(self);
        for client in this.range.clone() {
            let (this, mut sender) = (Arc::clone(&this), sender.clone());
            tokio::spawn(async move {
                let request = this.request(&format!("/tx/{}/events", this.seen[client].hash));
                let response = sender.send_request(request).await.expect("a response");
                drop(sender);
                this.events(client, response.into_body()).await;
            });
        }
    }

    async fn stream(self) {
        let io = TokioIo::new(self.connect().await);
        let (mut sender, connection) = http1::handshake(io).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        let client = self.range.start;
        let mut request = self.request("");
        let path = format!("/tx/{}/events", self.seen[client].hash);
        *request.uri_mut() = path.parse().expect("a path");
        let response = sender.send_request(request).await.expect("a response");
        self.events(client, response.into_body()).await;
    }

    async fn events(&self, client: usize, mut body: hyper::body::Incoming) {
        let mut text = String::new();
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(&[][..], |bytes| bytes);
            text.push_str(core::str::from_utf8(bytes).expect("text"));
            while let Some((event, rest)) = text.split_once("\n\n") {
                if let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) {
                    self.change(client, data);
                }
                text = rest.to_owned();
            }
        }
    }

    async fn subscriptions(self) {
        let stream = self.connect().await;
        let url = format!("ws://{}/ws", self.address);
        let (mut socket, _) = client_async(url, stream).await.expect("a WebSocket");
        let mut of_subscription: BTreeMap<u64, usize> = BTreeMap::new();
        for client in self.range.clone() {
            let request = json!({
                "jsonrpc": "2.0",
                "id": client,
                "method": "subscribe_tx_status",
                "params": { "tx_hashes": [self.seen[client].hash.to_string()] },
            });
            socket.send(Message::from(request.to_string())).await.expect("it is sent");
        }
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let value: Value = serde_json::from_str(&text).expect("JSON");
            if let Some(client) = value["id"].as_u64() {
                let number = value["result"].as_u64().unwrap_or_else(|| panic!("{value}"));
                of_subscription.insert(number, client as usize);
                continue;
            }
            let params = &value["params"];
            let client = params["subscription"].as_u64().and_then(|it| of_subscription.get(&it));
            let result = &params["result"];
            // The last event of a subscription has no state.
            let state = (result["event"] != "end").then(|| &result["status"]);
            if let (Some(client), Some(state)) = (client, state) {
                self.change(*client, &state.to_string());
            }
        }
    }

    async fn poll(self) {
        let client = self.range.start;
        // Clients do not start together.
        time::sleep(INTERVAL.mul_f64(client as f64 / self.seen.len() as f64)).await;
        let io = TokioIo::new(self.connect().await);
        let (mut sender, connection) = http1::handshake(io).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        let path = format!("/tx/{}", self.seen[client].hash);
        let mut ticks = time::interval(INTERVAL);
        loop {
            ticks.tick().await;
            let mut request = self.request("");
            *request.uri_mut() = path.parse().expect("a path");
            let Ok(response) = sender.send_request(request).await else { return };
            let Ok(body) = response.into_body().collect().await else { return };
            self.change(client, core::str::from_utf8(&body.to_bytes()).expect("text"));
        }
    }
}
