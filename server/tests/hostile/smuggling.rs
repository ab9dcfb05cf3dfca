//! Requests whose length two readers could see differently, as RFC 9112 section 11.2 describes.
//!
//! What is ambiguous has to be refused and the connection closed, so that no byte of a body is
//! read as a second request. The hidden one would be answered with 404, which nothing else gets.

use core::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::attack::{Statuses, Target};

/// Longer than an answer takes
const END: Duration = Duration::from_secs(5);

/// The lines about the length of a body, each followed by a body that hides a request
const LENGTHS: [&str; 14] = [
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
];

/// Lines that have one reading, in which the hidden request is part of the body
const ALLOWED: [&str; 1] = ["content-length: 46\r\ntransfer-encoding: chunked"];

/// Ends of chunks that are no ends
const CHUNKS: [&str; 5] = [
    "5\r\n[1,2]XX0\r\n\r\n",
    "0x5\r\n[1,2]\r\n0\r\n\r\n",
    "5;\n[1,2]\r\n0\r\n\r\n",
    "-5\r\n[1,2]\r\n0\r\n\r\n",
    "fffffffffffffffff\r\n[1,2]\r\n0\r\n\r\n",
];

const HIDDEN: &str = "GET /hidden/request HTTP/1.1\r\nhost: x\r\n\r\n";

pub(crate) async fn run(target: Target) -> String {
    let mut texts: Vec<(String, bool)> = Vec::new();
    let start = "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    for (lines, is_refused) in
        LENGTHS.map(|it| (it, true)).into_iter().chain(ALLOWED.map(|it| (it, false)))
    {
        texts.push((format!("{start}{lines}\r\n\r\n0\r\n\r\n{HIDDEN}"), is_refused));
    }
    for body in CHUNKS {
        texts.push((format!("{start}transfer-encoding: chunked\r\n\r\n{body}{HIDDEN}"), true));
    }
    texts.push((format!("{}{HIDDEN}", start.replace("host: x", "host: x\r\nhost: y")), true));
    texts.push((format!("POST / HTTP/1.1\rhost: x\r\r{HIDDEN}"), true));
    let (mut statuses, mut rounds) = (Statuses::default(), 0);
    let end = Instant::now() + target.duration;
    while rounds == 0 || Instant::now() < end {
        for (text, is_refused) in &texts {
            let mut stream = TcpStream::connect(target.address).await.expect("the server accepts");
            stream.write_all(text.as_bytes()).await.expect("the server reads");
            let answer = statuses.read(&mut stream, END).await;
            let answers = answer.matches("HTTP/1.1 ").count();
            assert!(!is_refused || answers <= 1, "{answers} answers to {text:?}: {answer}");
            assert!(!is_refused || !answer.contains("HTTP/1.1 404"), "{text:?}: {answer}");
        }
        rounds += 1;
    }
    assert_eq!(statuses.count("open"), 0, "a connection stayed open");
    format!("{rounds} times {} requests: {}", texts.len(), statuses.text())
}
