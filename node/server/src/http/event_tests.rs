//! Streams of events over real sockets, while blocks with forks are imported.
//!
//! Blocks are handed to the service one by one, so what a stream has to say after each is known: it
//! is what a walk over the store gives. No test depends on how many events are coalesced.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::future::poll_fn;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use milepost::endpoint::{Engine, WaitConfig};
use milepost::endpoint::{WatchChange, WatchTarget};
use milepost::import::{ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost::status::{CompactStatus, Milestone};
use milepost_practice::{BlockMessage, Practice, Settings};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{self, Instant};

use super::event_source::{EventOptions, EventSource};
use super::events::EventStream;
use super::respond::Options;
use super::{Cors, StatusMode, serve};
use crate::chain::Chain;
use crate::queries::{Queries, observing};
use crate::store::{Store, StoreLocation};
use crate::waits::{TooManyWatches, Watcher};

/// Only a test that fails waits that long
pub(super) const GUARD: Duration = Duration::from_secs(60);
pub(super) const MAX_WATCHES: usize = 300;
/// Maximum size of a body, and of a message of a WebSocket
pub(super) const BODY_LIMIT: usize = 1 << 20;
/// Memory of bodies that are slow
pub(super) const MAX_BUFFERED: usize = 4 << 20;

/// The network of a client in these tests
pub(super) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How long a request and a stream may wait
pub(super) const MAX_WAIT: Duration = Duration::from_secs(1);

pub(super) fn queries() -> Arc<Queries> {
    queries_with(WaitConfig::default().with_max_waiting(MAX_WATCHES))
}

pub(super) fn queries_with(config: WaitConfig) -> Arc<Queries> {
    queries_that_keep(Retention::Everything, config)
}

/// The queries of a chain with this retention
pub(super) fn queries_that_keep(retention: Retention, config: WaitConfig) -> Arc<Queries> {
    let store = Store::open(&StoreLocation::Memory).unwrap();
    let settings = ImportSettings::default().with_retention(retention);
    let chain = Chain::new(Engine::default(), store, settings, config);
    let queries = Arc::new(Queries::new(Arc::new(chain)));
    tokio::spawn(observing::run(Arc::clone(&queries)));
    queries
}

/// The blocks of a chain with forks, and the transactions in them
pub(super) fn chain(seed: u64, count: usize) -> (Vec<BlockMessage>, Vec<CryptoHash>) {
    let settings = Settings { transactions: 0..=2, forks: 200, ..Settings::simulation(seed) };
    let mut practice = Practice::new(settings);
    let messages: Vec<_> = (0..count).map(|_| practice.next_message()).collect();
    let transactions = messages.iter().flat_map(|message| &message.transactions);
    let mut hashes: Vec<_> = transactions.map(|transaction| transaction.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    (messages, hashes)
}

/// Serves on a port of its own, whose address is returned
pub(super) async fn start(queries: &Arc<Queries>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let options = Options {
        base_path: "/".parse().unwrap(),
        cors: Cors::AnyOrigin,
        statuses: StatusMode::Node,
        body_limit: BODY_LIMIT,
        max_buffered: MAX_BUFFERED,
        max_connections: 100,
        max_wait: MAX_WAIT,
    };
    tokio::spawn(serve(listener, Arc::clone(queries), None, None, None, options));
    address
}

pub(super) fn get(address: &str, path: &str, last_event_id: Option<&str>) -> Request<Empty<Bytes>> {
    let mut request = Request::get(format!("http://{address}{path}")).header("host", address);
    if let Some(id) = last_event_id {
        request = request.header("last-event-id", id);
    }
    request.body(Empty::new()).unwrap()
}

pub(super) async fn get_http1(
    address: &str,
    path: &str,
    last_event_id: Option<&str>,
) -> Response<Incoming> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(get(address, path, last_event_id)).await.unwrap();
    // Keeps the connection for as long as the response is read.
    tokio::spawn(async move {
        let _ = sender.ready().await;
    });
    response
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// An event: its id, its name and its data
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) data: String,
}

/// A reader of events
pub(super) struct Events {
    body: Incoming,
    unread: String,
    comments: usize,
}

impl Events {
    pub(super) fn new(response: Response<Incoming>) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
        Self { body: response.into_body(), unread: String::new(), comments: 0 }
    }

    /// The next event; `None` at the end of the stream
    pub(super) async fn next(&mut self) -> Option<Event> {
        time::timeout(GUARD, self.read()).await.expect("an event")
    }

    async fn read(&mut self) -> Option<Event> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                assert_ne!(block, "retry: 1000", "clients take it for an event");
                let mut event = Event::default();
                for line in block.lines() {
                    match line.split_once(": ").unwrap_or((line, "")) {
                        ("id", id) => event.id = id.to_owned(),
                        ("event", name) => event.name = name.to_owned(),
                        ("data", data) => event.data = data.to_owned(),
                        ("retry", number) => assert_eq!(number, "1000"),
                        _ => self.comments += 1,
                    }
                }
                self.unread = rest.to_owned();
                if !event.name.is_empty() {
                    return Some(event);
                }
            }
            let frame = self.body.frame().await?.expect("the stream is not cut");
            self.unread.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }
}

/// Whether two states are of two blocks, of which a fork took away the first
fn is_moved(before: &str, after: &str) -> bool {
    let [before, after] = [before, after].map(|it| serde_json::from_str::<Value>(it).unwrap());
    let is_refusal = before["status"] == "Failure" && before["receipts_known"] == 0;
    let [before, after] = [before, after].map(|it| it["block"]["hash"].clone());
    !is_refusal && before != after && !before.is_null() && !after.is_null()
}

/// What a stream has said about each of its transactions
#[derive(Default)]
struct Seen {
    last: BTreeMap<String, Event>,
    /// The state that each transaction was read up to
    read: BTreeMap<String, String>,
    /// How often a commit moved a transaction to another block
    moved: usize,
    unincluded: usize,
    reached: usize,
}

impl Seen {
    /// Reads until a transaction has this state
    async fn read_until(&mut self, events: &mut Events, hash: &str, state: &str) {
        let before = self.read.insert(hash.to_owned(), state.to_owned());
        let is_open = self.last.get(hash).is_some_and(|event| event.name != "reached");
        self.moved += usize::from(is_open && before.is_some_and(|it| is_moved(&it, state)));
        while self.last.get(hash).is_none_or(|event| event.data != state) {
            let before = self.last.get(hash);
            if before.is_some_and(|event| event.name == "reached") {
                // It is not watched any more.
                return;
            }
            let event = events.next().await.expect("the stream continues");
            let data: Value = serde_json::from_str(&event.data).unwrap();
            let of = data["transaction_hash"].as_str().unwrap().to_owned();
            let is_included = |data: &Value| data["final_execution_status"] != "NONE";
            let before = self.last.get(&of).map(|before| {
                assert_ne!(before.name, "reached", "an event after the last");
                assert_ne!(before.data, event.data, "a state twice");
                assert!(!is_moved(&before.data, &event.data), "{before:?}, then {event:?}");
                is_included(&serde_json::from_str(&before.data).unwrap())
            });
            let name = match data["final_execution_status"].as_str().unwrap() {
                "FINAL" => "reached",
                "NONE" if before == Some(true) => "un-included",
                _ => "status",
            };
            assert_eq!(event.name, name, "{}", event.data);
            assert_eq!(event.id.ends_with("-reached"), name == "reached");
            self.unincluded += usize::from(name == "un-included");
            self.reached += usize::from(name == "reached");
            self.last.insert(of, event);
        }
    }
}

/// The state that a fresh walk over the store gives
pub(super) async fn naive(queries: &Arc<Queries>, hash: CryptoHash) -> String {
    queries.full_status(CLIENT, hash).await.unwrap().0.json
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_event_is_the_state_after_each_block() {
    let (mut unincluded, mut reached, mut moved) = (0, 0, 0);
    for seed in 0..3 {
        let queries = queries();
        let address = start(&queries).await;
        let (messages, hashes) = chain(seed, 40);
        let (singles, all) = (&hashes[..8], hashes.iter().take(200).collect::<Vec<_>>());
        let mut streams = Vec::new();
        for hash in singles {
            let path = format!("/tx/{hash}/events?sender_account_id=alice.near");
            let response = get_http1(&address, &path, None).await;
            streams.push((vec![*hash], Events::new(response), Seen::default()));
        }
        // HTTP/2, and all transactions in one stream.
        let stream = TcpStream::connect(&address).await.unwrap();
        let (mut sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let query = all.iter().map(|hash| format!("tx={hash}")).collect::<Vec<_>>().join("&");
        let response = sender.send_request(get(&address, &format!("/events?{query}"), None));
        let all = all.into_iter().copied().collect();
        streams.push((all, Events::new(response.await.unwrap()), Seen::default()));
        for message in &messages {
            // A block may be refused, as by every importer.
            let _ = queries.chain.import_block(&message.json);
            for (hashes, events, seen) in &mut streams {
                for hash in hashes.iter() {
                    let state = naive(&queries, *hash).await;
                    seen.read_until(events, &hash.to_string(), &state).await;
                }
            }
        }
        for (_, _, seen) in &streams {
            unincluded += seen.unincluded;
            reached += seen.reached;
            moved += seen.moved;
        }
        drop((streams, sender));
        until(|| queries.chain.waits.watching.counts() == (0, 0)).await;
        queries.chain.shutdown();
    }
    assert!(unincluded > 5 && reached > 50 && moved > 0, "{unincluded} {reached} {moved}");
}

/// Waits for a condition that another task makes true
pub(super) async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            time::sleep(Duration::from_millis(5)).await;
        }
    };
    time::timeout(GUARD, waiting).await.expect("the condition becomes true");
}

/// A transaction that is `FINAL` after these blocks, and the service that has them
pub(super) async fn finalized() -> (Arc<Queries>, CryptoHash) {
    let queries = queries();
    let mut practice = Practice::new(Settings::demo(1));
    let messages: Vec<_> = (0..16).map(|_| practice.next_message()).collect();
    for message in &messages {
        queries.chain.import_block(&message.json).unwrap();
    }
    let first = messages.iter().flat_map(|message| &message.transactions).next().unwrap().hash;
    assert_eq!(queries.full_status(CLIENT, first).await.unwrap().0.milestone, Milestone::Final);
    (queries, first)
}

#[tokio::test]
async fn a_stream_ends_with_the_result_and_a_reconnect_with_204() {
    let (queries, hash) = finalized().await;
    let address = start(&queries).await;
    let (state, result) = queries.full_status(CLIENT, hash).await.unwrap();
    let path = format!("/tx/{hash}/events?include=status&wait_until=EXECUTED");
    let mut events = Events::new(get_http1(&address, &path, None).await);
    let event = events.next().await.unwrap();
    assert_eq!((event.name.as_str(), event.id), ("reached", format!("{}-reached", state.id)));
    let compact = state.json.strip_suffix('}').unwrap();
    assert_eq!(event.data, format!("{compact},\"result\":{}}}", result.unwrap()));
    assert_eq!(events.next().await, None);
    let id = format!("{}-reached", state.id);
    let path = format!("/tx/{hash}/events");
    for (last_event_id, status) in
        [(id.as_str(), 204), ("EXECUTED-1-x-reached", 204), (&state.id, 200), ("end", 200)]
    {
        let response = get_http1(&address, &path, Some(last_event_id)).await;
        assert_eq!(response.status(), status, "{last_event_id}");
    }
    // Without the result, the last event is the compact status.
    let mut events = Events::new(get_http1(&address, &path, None).await);
    assert_eq!(events.next().await.unwrap().data, state.json);
    let unknown = CryptoHash::digest(b"unknown");
    let path = format!("/tx/{unknown}/events");
    let mut events = Events::new(get_http1(&address, &path, None).await);
    let none = events.next().await.unwrap();
    assert_eq!(none.name, "status");
    assert_eq!(
        none.data,
        format!(r#"{{"transaction_hash":"{unknown}","final_execution_status":"NONE"}}"#)
    );
    // What the client saw last was in a block, which a fork has taken away since.
    let height = queries.chain.head_height();
    let id = format!("INCLUDED-{height}-{}-x", CryptoHash::digest(b"another block"));
    let mut events = Events::new(get_http1(&address, &path, Some(&id)).await);
    assert_eq!(
        events.next().await.unwrap(),
        Event { name: "un-included".to_owned(), ..none.clone() }
    );
    // A state that the client has is not repeated: the next is the end of the service.
    let mut repeated = Events::new(get_http1(&address, &path, Some(&none.id)).await);
    queries.chain.shutdown();
    assert_eq!((repeated.next().await, repeated.comments), (None, 1));
    assert_eq!((events.next().await, events.comments), (None, 1));
}

#[tokio::test]
async fn a_stream_of_many_ends_once_and_sends_all_states_again() {
    let (queries, hash) = finalized().await;
    let address = start(&queries).await;
    let unknown = CryptoHash::digest(b"unknown");
    let all = format!("/events?tx={hash}&tx={unknown}&tx={hash}");
    for last_event_id in [None, Some("FINAL-7-x-reached")] {
        let mut events = Events::new(get_http1(&address, &all, last_event_id).await);
        let names = [events.next().await.unwrap().name, events.next().await.unwrap().name];
        assert!(names.contains(&"reached".to_owned()) && names.contains(&"status".to_owned()));
    }
    let path = format!("/events?tx={unknown}&tx={hash}&wait_until=NONE");
    let mut events = Events::new(get_http1(&address, &path, None).await);
    for _ in 0..2 {
        assert_eq!(events.next().await.unwrap().name, "reached");
    }
    let end = events.next().await.unwrap();
    assert_eq!((end.id.as_str(), end.name.as_str(), end.data.as_str()), ("end", "end", "{}"));
    assert_eq!(events.next().await, None);
    assert_eq!(get_http1(&address, &path, Some("end")).await.status(), 204);
}

#[tokio::test]
async fn watches_are_limited_and_end_with_their_connections() {
    let queries = queries();
    let address = start(&queries).await;
    let query = |count: usize| {
        let hashes = (0..count).map(|number| CryptoHash::digest(&number.to_le_bytes()));
        hashes.map(|hash| format!("tx={hash}")).collect::<Vec<_>>().join("&")
    };
    let first = get_http1(&address, &format!("/events?{}", query(256)), None).await;
    assert_eq!(queries.chain.waits.watching.counts(), (256, 256));
    let refused = get_http1(&address, &format!("/events?{}", query(45)), None).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    assert!(text(refused).await.contains("too many watches: 256 of 300"));
    let second = get_http1(&address, &format!("/events?{}", query(44)), None).await;
    assert_eq!(queries.chain.waits.watching.counts(), (300, 256));
    drop(first);
    until(|| queries.chain.waits.watching.counts() == (44, 44)).await;
    drop(second);
    until(|| queries.chain.waits.watching.counts() == (0, 0)).await;
    for (path, expected) in [
        (format!("/events?{}", query(257)), "events: more than 256 transactions"),
        ("/events".to_owned(), "events: no transaction"),
        ("/events?tx=x".to_owned(), "tx: "),
        ("/tx/x/events".to_owned(), "tx: "),
        (format!("/events?{}&wait_until=final", query(1)), "wait_until: `final` is none of NONE, "),
        (format!("/events?{}&include=logs", query(1)), "include: `logs` is not status"),
    ] {
        let response = get_http1(&address, &path, None).await;
        assert_eq!(response.status(), 400, "{path}");
        let text = text(response).await;
        assert!(text.contains(expected), "{text}");
    }
}

/// The next state that a watcher takes out
async fn next_state(watcher: &Watcher) -> (usize, Arc<CompactStatus>) {
    let next = async {
        loop {
            let change = poll_fn(|context| watcher.peek(context)).await.expect("it is served");
            if watcher.take(&change)
                && let (position, WatchChange::State(state)) = change
            {
                return (position, state);
            }
        }
    };
    time::timeout(GUARD, next).await.expect("a change")
}

#[tokio::test]
async fn a_watcher_that_does_not_read_holds_one_state_of_each_transaction() {
    let queries = queries();
    let (messages, hashes) = chain(7, 60);
    let hashes: Vec<_> = hashes.into_iter().take(40).collect();
    let targets: Vec<_> = hashes.iter().copied().map(WatchTarget::new).collect();
    let slow = Watcher::new(&queries.chain.waits.watching, &targets).unwrap();
    let quick = Watcher::new(&queries.chain.waits.watching, &targets).unwrap();
    let (mut taken, mut last) = (0, BTreeMap::new());
    for message in &messages {
        let _ = queries.chain.import_block(&message.json);
        for (position, hash) in hashes.iter().enumerate() {
            let state = naive(&queries, *hash).await;
            // The states of a block are published to the slow one first.
            while last.get(&position) != Some(&state) {
                let (position, state) = next_state(&quick).await;
                last.insert(position, state.json.clone());
                taken += 1;
            }
        }
        assert!(slow.buffered() <= hashes.len());
    }
    assert!(taken > 3 * hashes.len(), "{taken}");
    // It gets the newest states.
    for _ in 0..hashes.len() {
        let (position, state) = next_state(&slow).await;
        assert_eq!(state.json, naive(&queries, hashes[position]).await);
    }
    assert_eq!(slow.buffered(), 0);
    let more = vec![WatchTarget::new(CryptoHash::ZERO); MAX_WATCHES - 2 * hashes.len() + 1];
    let refused = Watcher::new(&queries.chain.waits.watching, &more).err();
    assert_eq!(refused, Some(TooManyWatches { open: 2 * hashes.len(), limit: MAX_WATCHES }));
}

// The clock is paused, and advances to the next timer when all tasks are idle.
#[tokio::test(start_paused = true)]
async fn a_quiet_stream_sends_a_comment_each_15_seconds() {
    let queries = queries();
    let options = EventOptions::parse(None, None, false, MAX_WAIT).unwrap();
    let target = WatchTarget::new(CryptoHash::digest(b"unknown"));
    let source = EventSource::new(&queries, CLIENT, &[target], options).unwrap();
    let mut stream = EventStream::new(source);
    let start = Instant::now();
    let mut chunks = Vec::new();
    for _ in 0..3 {
        let bytes = poll_fn(|context| stream.poll_bytes(context)).await.unwrap();
        chunks.push((start.elapsed().as_secs(), bytes));
    }
    assert_eq!(chunks[0].0, 0);
    assert!(chunks[0].1.starts_with(b"retry: 1000\nid: NONE-0-"), "{:?}", chunks[0]);
    assert_eq!(chunks[1..], [(15, Bytes::from(":\n\n")), (30, Bytes::from(":\n\n"))]);
}

#[tokio::test]
async fn segments_of_a_path_are_decoded_and_its_route_is_not() {
    let (queries, hash) = finalized().await;
    let address = start(&queries).await;
    let hash = hash.to_string();
    let encoded: String = hash.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for (path, expected) in [
        (format!("/tx/{encoded}"), 200),
        (format!("/tx/{encoded}/events"), 200),
        // A hash, and that of no receipt.
        (format!("/receipt/{encoded}"), 404),
        (format!("/blocks/{hash}%2C{encoded}"), 200),
        (format!("/tx/{hash}%2fevents"), 400),
        (format!("/tx/{hash}%zz"), 400),
        (format!("/tx/{hash}%ff"), 400),
        (format!("/%74x/{hash}"), 404),
        ("/%6detrics".to_owned(), 404),
    ] {
        assert_eq!(get_http1(&address, &path, None).await.status(), expected, "{path}");
    }
}
