//! Requests whose length two readers could see differently, as RFC 9112 section 11.2 describes.
//!
//! What is ambiguous has to be refused and the connection closed, so that no byte of a body is
//! read as a second request. The hidden one would be answered with 404, which nothing else gets.

use core::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::attack::{Statuses, Target};

/// Longer than an answer takes
const END: Duration = Duration::from_secs(5);

/// The lines about the length of a body, each followed by a body that hides a request
const LENGTHS: [&str; 17] = [
    "content-length: 46\r\ntransfer-encoding: chunked",
    "content-length: 6\r\ncontent-length: 5",
    "content-length: 5, 6",
    "content-length: +5",
    "content-length: 0x5",
    "content-length: 5 5",
    "content-length: -5",
    "content-length: 99999999999999999999999",
    "transfer-encoding: chunked\r\ntransfer-encoding: identity",
    "transfer-encoding: xchunked",
    "transfer-encoding: chunked, identity",
    "transfer-encoding: \x0bchunked",
    "content-length : 5",
    "content-length\r\n : 5",
    "transfer-encoding\t: chunked",
    // A reader that ends lines with a line feed alone sees two lengths, and so does one that joins
    // a line which begins with a space to the one before.
    "content-length: 46\nx: y\ncontent-length: 5",
    "x: y\r\n content-length: 46",
];

/// Ends of chunks that are no ends
const CHUNKS: [&str; 7] = [
    "5\n[1,2]\r\n0\r\n\r\n",
    "5;x=\"\n\"\r\n[1,2]\r\n0\r\n\r\n",
    "5\r\n[1,2]XX0\r\n\r\n",
    "0x5\r\n[1,2]\r\n0\r\n\r\n",
    "5;\n[1,2]\r\n0\r\n\r\n",
    "-5\r\n[1,2]\r\n0\r\n\r\n",
    "fffffffffffffffff\r\n[1,2]\r\n0\r\n\r\n",
];

const HIDDEN: &str = "GET /hidden/request HTTP/1.1\r\nhost: x\r\n\r\n";

pub(crate) async fn run(target: Target) -> String {
    let mut texts: Vec<String> = Vec::new();
    let start = "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    for lines in LENGTHS {
        texts.push(format!("{start}{lines}\r\n\r\n0\r\n\r\n{HIDDEN}"));
    }
    let chunked = format!("{start}transfer-encoding: chunked\r\n\r\n");
    for body in CHUNKS {
        texts.push(format!("{chunked}{body}{HIDDEN}"));
    }
    texts.push(format!("{}{HIDDEN}", start.replace("host: x", "host: x\r\nhost: y")));
    texts.push(format!("POST / HTTP/1.1\rhost: x\r\r{HIDDEN}"));
    // A reader of HTTP/1.0 knows no chunks.
    let old = chunked.replace("HTTP/1.1", "HTTP/1.0").replace("host: x", "connection: keep-alive");
    texts.push(format!("{old}0\r\n\r\n{HIDDEN}"));
    one_after_the_other(target, &chunked).await;
    let (mut statuses, mut rounds) = (Statuses::default(), 0);
    let end = Instant::now() + target.duration;
    while rounds == 0 || Instant::now() < end {
        for text in &texts {
            let answer = send(target, &mut statuses, text).await;
            let answers = answer.matches("HTTP/1.1 ").count();
            assert!(answers <= 1, "{answers} answers to {text:?}: {answer}");
            assert!(!answer.contains("HTTP/1.1 404"), "{text:?}: {answer}");
        }
        rounds += 1;
    }
    assert_eq!(statuses.count("open"), 0, "a connection stayed open");
    format!("{rounds} times {} requests: {}", texts.len(), statuses.text())
}

/// What every reader sees as two requests is answered as two, so the hidden one can be seen
async fn one_after_the_other(target: Target, chunked: &str) {
    let second = HIDDEN.replace("host", "connection: close\r\nhost");
    let text = format!("{chunked}5;name=\"value\"\r\n[1,2]\r\n0\r\n\r\n{second}");
    let answer = send(target, &mut Statuses::default(), &text).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 2, "{answer}");
    assert!(answer.contains("HTTP/1.1 404"), "{answer}");
}

/// The answers to what is sent on a connection of its own
async fn send(target: Target, statuses: &mut Statuses, text: &str) -> String {
    let mut stream = TcpStream::connect(target.address).await.expect("the server accepts");
    stream.write_all(text.as_bytes()).await.expect("the server reads");
    statuses.read(&mut stream, END).await
}
