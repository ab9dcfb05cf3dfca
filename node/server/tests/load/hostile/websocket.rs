//! Attacks over WebSocket: messages that are never whole, and requests that wait.

use core::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{self, Instant};

use super::attack::{Statuses, Target, open};
use super::http1::wait;

const UPGRADE: &[u8] = b"GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-version: 13\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/// The first and further frames of a message that does not end, its last one, and a pong
/// (RFC 6455, section 5.2)
const FIRST: u8 = 0x01;
const MORE: u8 = 0x00;
const WHOLE: u8 = 0x81;
const PONG: u8 = 0x8a;
/// The close code of a server that has no more room
const AGAIN: [u8; 2] = 1013_u16.to_be_bytes();
/// Requests that wait on a connection
const REQUESTS: usize = 16;

/// A frame with a mask of zeros, which changes nothing
fn frame(head: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![head, 0xff];
    bytes.extend((payload.len() as u64).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

/// Upgraded connections
async fn connect(target: Target) -> Vec<TcpStream> {
    let mut streams = open(target, UPGRADE).await;
    for stream in &mut streams {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("the server answers"));
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    }
    streams
}

/// Fragments up to the limit of a message, with pongs between them
pub(crate) async fn fragments(target: Target) -> String {
    let mut streams = connect(target).await;
    let end = Instant::now() + target.duration;
    let fragment = vec![b' '; 256 << 10];
    let [first, more] =
        [FIRST, MORE].map(|head| [frame(head, &fragment), frame(PONG, b"")].concat());
    let send = async |stream: &mut TcpStream| {
        let mut sent = 0;
        // The last 256 KiB of 4 MiB are missing.
        for index in 0..15 {
            let bytes = if index == 0 { &first } else { &more };
            match time::timeout_at(end, stream.write_all(bytes)).await {
                Ok(Ok(())) => sent += bytes.len(),
                _ => break,
            }
        }
        sent
    };
    let sent: usize = join_all(streams.iter_mut().map(send)).await.into_iter().sum();
    time::sleep_until(end).await;
    let read = async |stream: &mut TcpStream| {
        let mut answer = Vec::new();
        let read = time::timeout(Duration::from_millis(20), stream.read_to_end(&mut answer)).await;
        match read {
            _ if answer.windows(2).any(|code| code == AGAIN) => "refused",
            Ok(_) => "closed",
            Err(_) => "open",
        }
    };
    let mut statuses = Statuses::default();
    join_all(streams.iter_mut().map(read)).await.into_iter().for_each(|it| statuses.add(it));
    assert!(statuses.count("open") > 0, "{}", statuses.text());
    assert!(statuses.count("refused") > 0 || !target.is_too_much, "{}", statuses.text());
    format!("{} connections, {} MB sent: {}", streams.len(), sent / 1_000_000, statuses.text())
}

/// Requests that wait, each in a message of 128 KiB
pub(crate) async fn waits(target: Target) -> String {
    let mut streams = connect(target).await;
    let message = frame(WHOLE, format!("{}{}", wait(), " ".repeat(128 << 10)).as_bytes());
    let end = Instant::now() + target.duration;
    let send = async |stream: &mut TcpStream| {
        let mut sent = 0;
        while sent < REQUESTS
            && matches!(time::timeout_at(end, stream.write_all(&message)).await, Ok(Ok(())))
        {
            sent += 1;
        }
        sent
    };
    let sent: usize = join_all(streams.iter_mut().map(send)).await.into_iter().sum();
    time::sleep_until(end).await;
    assert!(sent > streams.len(), "{sent} of {} sent", REQUESTS * streams.len());
    format!("{sent} requests on {} connections", streams.len())
}
