//! Attacks over HTTP/1: slow, large, unread and invalid.
//!
//! Those that hold connections send a little on each and stay; the others come one after the other.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{self, Instant};

use super::attack::{Statuses, Target, in_a_row, open, open_in_step};
use super::bystander::question;
use crate::support::{post, request};

/// Limit of a body, as the server has by default
const BODY_LIMIT: usize = 10 << 20;
/// Time for an answer that should be there
const ANSWER: Duration = Duration::from_millis(200);

const HEAD: &str = "GET /health HTTP/1.1\r\nhost: x\r\n";

/// A byte each second on every connection
pub(crate) async fn slow_heads(target: Target) -> String {
    let mut streams = open(target, HEAD.as_bytes()).await;
    let end = Instant::now() + target.duration;
    let mut bytes = 0;
    while Instant::now() < end {
        for stream in &mut streams {
            stream.write_all(b"x").await.expect("the time for a head is not over");
            bytes += 1;
        }
        time::sleep(Duration::from_secs(1).min(end - Instant::now())).await;
    }
    format!("{} connections, {bytes} bytes after the first line", streams.len())
}

/// Heads that are just below the limit, and wait for their end
pub(crate) async fn large_heads(target: Target) -> String {
    let head = format!("{HEAD}x: {}", "x".repeat(15 << 10));
    let mut streams = open(target, head.as_bytes()).await;
    time::sleep(target.duration).await;
    let mut statuses = Statuses::default();
    for stream in streams.iter_mut().take(20) {
        let _ = stream.write_all(b"\r\nconnection: close\r\n\r\n").await;
        statuses.read(stream, Duration::from_secs(5)).await;
    }
    assert_eq!(statuses.count("200"), 20, "{}", statuses.text());
    format!("{} connections; some ended the head then: {}", streams.len(), statuses.text())
}

/// Sends, and reads the status of the answer
async fn ask(address: SocketAddr, bytes: &[u8]) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let (mut reader, mut writer) = stream.split();
    let mut answer = [0; 12];
    // A server that closes after its answer does not read the rest.
    let (_, read) = tokio::join!(writer.write_all(bytes), reader.read_exact(&mut answer));
    read?;
    Ok(String::from_utf8_lossy(&answer[9..]).into_owned())
}

pub(crate) async fn oversize_heads(target: Target) -> String {
    let statuses = in_a_row(target, move || async move {
        ask(target.address, format!("{HEAD}x: {}\r\n\r\n", "x".repeat(64 << 10)).as_bytes()).await
    })
    .await;
    assert_eq!(statuses.count("200"), 0, "{}", statuses.text());
    format!("heads of 64 KiB: {}", statuses.text())
}

/// Bodies that announce the limit, and of which each connection sends a part
pub(crate) async fn slow_bodies(target: Target) -> String {
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let head = format!("{head}content-length: {BODY_LIMIT}\r\n\r\n{}", "[".repeat(32 << 10));
    let mut streams = open(target, head.as_bytes()).await;
    let end = Instant::now() + target.duration;
    let piece = vec![b'['; 64 << 10];
    let mut sent = 0_u64;
    while Instant::now() < end {
        for stream in &mut streams {
            let _ = time::timeout(Duration::from_millis(1), stream.write_all(&piece)).await;
            sent += piece.len() as u64;
        }
        time::sleep(Duration::from_millis(100)).await;
    }
    let mut statuses = Statuses::default();
    for stream in &mut streams {
        let mut start = [0; 12];
        match stream.try_read(&mut start) {
            Ok(12) => statuses.add(&String::from_utf8_lossy(&start[9..])),
            Ok(_) => statuses.add("closed"),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => statuses.add("open"),
            Err(_) => statuses.add("closed"),
        }
    }
    let refused = statuses.count("503") + statuses.count("closed");
    assert_eq!(refused + statuses.count("open"), streams.len(), "{}", statuses.text());
    assert!(statuses.count("open") > 0, "{}", statuses.text());
    assert!(refused > 0 || !target.is_too_much, "{}", statuses.text());
    format!(
        "{} connections, up to {} MB sent: {}",
        streams.len(),
        sent / 1_000_000,
        statuses.text()
    )
}

pub(crate) async fn oversize_bodies(target: Target) -> String {
    let statuses = in_a_row(target, move || async move {
        ask(target.address, post("/", &" ".repeat(BODY_LIMIT + 1)).as_bytes()).await
    })
    .await;
    assert_eq!(statuses.count("200"), 0, "{}", statuses.text());
    format!("bodies of a byte too much: {}", statuses.text())
}

/// What a parser that recurses would end with
pub(crate) async fn nested_bodies(target: Target) -> String {
    let statuses = in_a_row(target, move || async move {
        ask(target.address, post("/", &"[".repeat(1 << 20)).as_bytes()).await
    })
    .await;
    assert_eq!(statuses.count("200"), 0, "{}", statuses.text());
    format!("bodies of 1 MiB: {}", statuses.text())
}

/// A request that waits for a transaction that never comes
pub(crate) fn wait() -> String {
    let params = json!({
        "tx_hash": "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T",
        "sender_account_id": "alice.near",
        "wait_until": "FINAL",
    });
    request("EXPERIMENTAL_tx_status", &params)
}

pub(crate) async fn waits(target: Target) -> String {
    let wait = post("/", &wait()).replacen("\r\n", "\r\nprefer: wait=60\r\n", 1);
    let streams = open(target, wait.as_bytes()).await;
    time::sleep(target.duration).await;
    let is_open = |stream: &TcpStream| {
        stream.try_read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    };
    assert_eq!(streams.iter().filter(|stream| is_open(stream)).count(), streams.len());
    format!("{} requests that wait", streams.len())
}

/// Whole bodies of 2 MiB, of requests that demand a head which does not come
pub(crate) async fn waits_for_a_head(target: Target) -> String {
    let body = format!("{}{}", wait(), " ".repeat(2 << 20));
    let request = post("/", &body).replacen("\r\n", "\r\nx-milepost-min-height: 1000000000\r\n", 1);
    let mut streams = open(target, request.as_bytes()).await;
    let mut statuses = Statuses::default();
    for stream in &mut streams {
        let mut start = [0; 12];
        let answer = time::timeout(Duration::from_secs(10), stream.read_exact(&mut start)).await;
        statuses.add(match answer.expect("a head is not waited for any longer") {
            Ok(_) => str::from_utf8(&start[9..]).expect("a status is text"),
            Err(_) => "closed",
        });
    }
    let refused = statuses.count("503") + statuses.count("closed");
    assert_eq!(refused, streams.len(), "{}", statuses.text());
    format!("{} bodies of 2 MiB: {}", streams.len(), statuses.text())
}

/// A batch, whose response is large
pub(crate) fn batch() -> String {
    format!("[{}]", vec![question(); 50].join(","))
}

/// Requests for large responses, of which the client reads nothing
pub(crate) async fn unread_responses(target: Target) -> String {
    let request = post("/", &batch());
    let streams = open_in_step(target, request.as_bytes(), 1, Some(4 << 10)).await;
    time::sleep(target.duration).await;
    let mut statuses = Statuses::default();
    for stream in &streams {
        let mut start = [0; 12];
        let read = stream.try_read(&mut start);
        statuses.add(match read {
            Ok(12) => str::from_utf8(&start[9..]).expect("a status is text"),
            _ => "none",
        });
    }
    let answered = ["200", "503", "none"].map(|status| statuses.count(status));
    assert_eq!(answered.iter().sum::<usize>(), streams.len(), "{}", statuses.text());
    assert!(answered[0] > 0, "{}", statuses.text());
    format!("{} requests for 200 kB each: {}", streams.len(), statuses.text())
}

/// What is no HTTP
pub(crate) async fn garbage(target: Target) -> String {
    let statuses = in_a_row(target, move || async move {
        let mut answers = Vec::new();
        for bytes in [
            &b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\r\n\r\n"[..],
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcdefghijklmnopqrstuvwxyz\r\n\r\n",
            b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
            b"GET  /  HTTP/1.1\r\n\r\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut stream = TcpStream::connect(target.address).await?;
            stream.write_all(bytes).await?;
            let mut statuses = Statuses::default();
            let text = statuses.read(&mut stream, ANSWER).await;
            assert!(!text.starts_with("HTTP/1.1 2"), "{text} to {bytes:?}");
            answers.push(statuses.text().replace(": 1", ""));
        }
        Ok(answers.join(" "))
    })
    .await;
    format!("six kinds: {}", statuses.text())
}
