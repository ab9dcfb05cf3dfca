//! The attacks by name, and what they share: connections that stay, and connections in a row.
//!
//! An attack runs on one thread, so that the server and the other client have the other processors.
//! It returns a line of what it did and of what the server answered.

use alloc::collections::BTreeMap;
use core::fmt::Write as _;
use core::net::SocketAddr;
use core::pin::Pin;
use core::time::Duration;
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{self, Instant};

use super::{http1, http2, smuggling, websocket};

/// Only a failing attack takes as long
const WATCHDOG: Duration = Duration::from_secs(300);
/// Connections that are opened at a time: the queue of the listener has 1024
const AT_A_TIME: usize = 500;
/// Longer than the server takes to make a response of 200 kB
pub(crate) const LARGE_RESPONSE: Duration = Duration::from_micros(800);
/// Connections of an attack that sends as fast as it can
pub(crate) const FLOODERS: usize = 20;

/// What is attacked, and how much
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// Connections of an attack that holds them
    pub(crate) connections: usize,
    /// Whether `--max-buffered` is less than what they send
    pub(crate) is_too_much: bool,
    pub(crate) duration: Duration,
}

type Running = Pin<Box<dyn Future<Output = String>>>;
type Start = fn(Target) -> Running;

/// A way to attack
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    start: Start,
}

impl Attack {
    /// All that there are
    pub(crate) fn all() -> Vec<Self> {
        let attacks: [(&str, Start); 24] = [
            ("heads that come a byte at a time", |it| Box::pin(http1::slow_heads(it))),
            ("heads of 15 KiB without an end", |it| Box::pin(http1::large_heads(it))),
            ("heads above the limit", |it| Box::pin(http1::oversize_heads(it))),
            ("bodies that never end", |it| Box::pin(http1::slow_bodies(it))),
            ("bodies above the limit", |it| Box::pin(http1::oversize_bodies(it))),
            ("bodies of nothing but brackets", |it| Box::pin(http1::nested_bodies(it))),
            ("waits", |it| Box::pin(http1::waits(it))),
            ("waits for a head", |it| Box::pin(http1::waits_for_a_head(it))),
            ("responses that are not read", |it| Box::pin(http1::unread_responses(it))),
            ("garbage", |it| Box::pin(http1::garbage(it))),
            ("smuggling", |it| Box::pin(smuggling::run(it))),
            ("HTTP/2: requests that are reset at once", |it| Box::pin(http2::rapid_reset(it))),
            ("HTTP/2: pings", |it| Box::pin(http2::pings(it))),
            ("HTTP/2: settings", |it| Box::pin(http2::settings(it))),
            ("HTTP/2: short connections", |it| Box::pin(http2::short_connections(it))),
            ("HTTP/2: a head in frames without an end", |it| Box::pin(http2::continuations(it))),
            ("HTTP/2: empty frames of data", |it| Box::pin(http2::empty_data(it))),
            ("HTTP/2: more streams than allowed", |it| Box::pin(http2::streams(it))),
            ("HTTP/2: responses that are not read", |it| Box::pin(http2::unread_responses(it))),
            ("HTTP/2: windows that open by a byte", |it| Box::pin(http2::slow_windows(it))),
            ("HTTP/2: responses that are read slowly", |it| Box::pin(http2::slow_reads(it))),
            ("HTTP/2: waits with heads of 15 KiB", |it| Box::pin(http2::waits(it))),
            ("WebSocket: fragments without an end", |it| Box::pin(websocket::fragments(it))),
            ("WebSocket: waits with long messages", |it| Box::pin(websocket::waits(it))),
        ];
        attacks.into_iter().map(|(name, start)| Self { name, start }).collect()
    }

    /// Runs it to its end
    pub(crate) fn run(&self, target: &Target) -> String {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let attack = time_limit((self.start)(*target));
        runtime.block_on(tokio::task::LocalSet::new().run_until(attack))
    }
}

async fn time_limit(attack: Running) -> String {
    time::timeout(WATCHDOG, attack).await.expect("an attack ends")
}

/// Opens connections, and sends the same on each
pub(crate) async fn open(target: Target, first: &[u8]) -> Vec<TcpStream> {
    open_with(target, first, None).await
}

/// As [`open`], with a limit of what the kernel takes for a client that does not read
async fn open_with(target: Target, first: &[u8], receive_buffer: Option<u32>) -> Vec<TcpStream> {
    let connect = move || async move {
        let socket = TcpSocket::new_v4()?;
        receive_buffer.map_or(Ok(()), |size| socket.set_recv_buffer_size(size))?;
        socket.connect(target.address).await
    };
    let mut streams = Vec::with_capacity(target.connections);
    while streams.len() < target.connections {
        let mut connecting = JoinSet::new();
        for _ in 0..AT_A_TIME.min(target.connections - streams.len()) {
            connecting.spawn(connect());
        }
        for stream in connecting.join_all().await {
            let mut stream = stream.expect("the server accepts");
            stream.set_nodelay(true).expect("the connection is open");
            // One that was closed meanwhile is an answer too.
            let _ = stream.write_all(first).await;
            streams.push(stream);
        }
    }
    streams
}

/// As [`open_with`], with requests for large responses, no faster than the server writes these
///
/// Against more work than it can do only limits of addresses help, not one of memory.
pub(crate) async fn open_in_step(
    target: Target,
    first: &[u8],
    requests: u32,
    receive_buffer: Option<u32>,
) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    while streams.len() < target.connections {
        let connections = 100.min(target.connections - streams.len());
        let more = Target { connections, ..target };
        streams.extend(open_with(more, first, receive_buffer).await);
        time::sleep(LARGE_RESPONSE * connections as u32 * requests).await;
    }
    streams
}

/// Sends on a connection, and reads what comes back meanwhile, or the kernel would stop a flood;
/// counts what it reads in bytes
///
/// `false` when the server has ended the connection, or the time is over.
pub(crate) async fn send(
    stream: &mut TcpStream,
    bytes: &[u8],
    end: Instant,
    answered: &mut usize,
) -> bool {
    let (mut reader, mut writer) = stream.split();
    let answers = async {
        let mut buffer = [0; 16 << 10];
        while let Ok(length @ 1..) = reader.read(&mut buffer).await {
            *answered += length;
        }
    };
    let is_sent = tokio::select! {
        sent = writer.write_all(bytes) => sent.is_ok(),
        () = answers => false,
        () = time::sleep_until(end) => false,
    };
    yield_now().await;
    is_sent
}

/// What the server answered, by status
#[derive(Default)]
pub(crate) struct Statuses(BTreeMap<String, usize>);

impl Statuses {
    /// Adds what a connection got, up to its end or for as long as this
    pub(crate) async fn read(&mut self, stream: &mut TcpStream, limit: Duration) -> String {
        let mut bytes = Vec::new();
        let end = time::timeout(limit, stream.read_to_end(&mut bytes)).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        self.add(match (status, end) {
            (Some(status), _) => status,
            (None, Ok(_)) => "closed",
            (None, Err(_)) => "open",
        });
        text
    }

    pub(crate) fn add(&mut self, answer: &str) {
        *self.0.entry(answer.to_owned()).or_default() += 1;
    }

    /// How often this was the answer
    pub(crate) fn count(&self, answer: &str) -> usize {
        self.0.get(answer).copied().unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (answer, count) in &self.0 {
            let _ = write!(text, ", {answer}: {count}");
        }
        text.trim_start_matches(", ").to_owned()
    }
}

/// Runs one thing after the other on a few connections each, until the time is over
pub(crate) async fn in_a_row<Once: Future<Output = io::Result<String>> + 'static>(
    target: Target,
    once: impl Fn() -> Once + Copy + 'static,
) -> Statuses {
    let end = Instant::now() + target.duration;
    let mut loops = JoinSet::new();
    for _ in 0..FLOODERS {
        loops.spawn_local(async move {
            let mut answers = Vec::new();
            while Instant::now() < end {
                answers.push(once().await.unwrap_or_else(|error| error.kind().to_string()));
            }
            answers
        });
    }
    let mut statuses = Statuses::default();
    loops.join_all().await.iter().flatten().for_each(|answer| statuses.add(answer));
    statuses
}
