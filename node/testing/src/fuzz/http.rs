//! HTTP: what a client sends over a pipe, and what the server says to it.
//!
//! Responses to bytes that do not start HTTP/2 are HTTP/1.1 of the right length, JSON is JSON, and
//! another client is served afterwards as before. The frames of HTTP/2 and of WebSockets are not
//! read.

use std::sync::OnceLock;

use serde_json::Value;

use milepost_tests::fuzz::{BLOCKS, WORLD};

/// The start of HTTP/2
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a client received
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "made by those who serve")]
pub struct Received {
    /// The bytes
    pub bytes: Vec<u8>,
    /// Whether the server has ended the connection, so that all responses are complete
    pub is_complete: bool,
}

/// The bytes of a client of a server over the chain of [`WORLD`]; `serve` serves clients that send
/// these bytes, one after the other, and returns what each of them received
pub fn http(data: &[u8], serve: &dyn Fn(&[&[u8]]) -> Vec<Received>) {
    static EXPECTED: OnceLock<Vec<u8>> = OnceLock::new();
    let other = post(&WORLD.requests().next().expect("a request"));
    // What another client gets that is alone.
    let expected = EXPECTED.get_or_init(|| body_of(serve(&[&other]).pop().expect("a client")));
    let mut received = serve(&[data, &other]);
    let response = received.pop().expect("two clients");
    assert!(body_of(response) == *expected, "another client got something else");
    let own = received.pop().expect("two clients");
    // What is shorter may become the preface.
    if !data.starts_with(&PREFACE[..PREFACE.len().min(data.len())]) {
        check(&own);
    }
}

/// First inputs: requests of all kinds
pub(super) fn seeds() -> impl Iterator<Item = Vec<u8>> {
    let transaction = &WORLD.transactions.first().expect("a transaction").hash;
    let (oldest, newest) = (&WORLD.messages[0].1.block, &WORLD.messages[BLOCKS - 1].1.block);
    let gets = [
        "/".to_owned(),
        "/health".to_owned(),
        "/status".to_owned(),
        "/metrics".to_owned(),
        "/openapi.json".to_owned(),
        "/blocks/1".to_owned(),
        format!("/tx/{transaction}"),
        format!("/tx/{transaction}?wait_until=FINAL&receipts=true"),
        format!("/tx/{transaction}/events"),
        format!("/events?tx={transaction}"),
        "/v0/last_block/final".to_owned(),
        "/v0/block/1".to_owned(),
        "/v0/first_block".to_owned(),
        format!("/v0/block/{}", oldest.height),
        format!("/v0/block_opt/{}", newest.height),
        format!("/v0/block/{}", newest.height + 1),
        "/practice/recent".to_owned(),
        "/practice/FINAL".to_owned(),
    ];
    let gets = gets.into_iter().map(|path| {
        format!("GET {path} HTTP/1.1\r\nhost: a\r\naccept-encoding: gzip\r\n\r\n").into_bytes()
    });
    let posts = WORLD.requests().map(|body| post(&body));
    let chunked = WORLD.requests().next().map(|body| {
        let length = body.len();
        format!(
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
        )
        .into_bytes()
    });
    // A text frame with a mask of zeros.
    let text = br#"{"id":1,"method":"subscribe"}"#;
    let upgrade = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    let frame = [&[0x81, 0x80 | text.len() as u8, 0, 0, 0, 0], &text[..]].concat();
    let socket = [&upgrade[..], &frame].concat();
    // Settings, a head of indexed fields, a ping, and a reset.
    let frames: [&[u8]; 4] = [
        &[0, 0, 0, 4, 0, 0, 0, 0, 0],
        &[0, 0, 4, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x86, 0x41],
        &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8],
    ];
    let second = [PREFACE, &frames.concat()].concat();
    gets.chain(posts).chain(chunked).chain([socket, second])
}

fn post(body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The body of the only response
fn body_of(received: Received) -> Vec<u8> {
    let mut rest = &received.bytes[..];
    let response = Response::read(&mut rest, true).expect("a response");
    assert_eq!((response.status, rest), (200, &[][..]));
    response.body
}

/// Checks all responses of a connection
fn check(received: &Received) {
    let mut rest = &received.bytes[..];
    while !rest.is_empty() {
        let Some(response) = Response::read(&mut rest, received.is_complete) else { return };
        if response.status == 101 {
            return; // frames follow
        }
        if response.is_json {
            let is_json = serde_json::from_slice::<Value>(&response.body).is_ok();
            assert!(is_json, "{}", String::from_utf8_lossy(&response.body));
        }
    }
}

struct Response {
    status: u16,
    /// Whether its body is JSON that is not compressed; a response to HEAD has no body
    is_json: bool,
    body: Vec<u8>,
}

impl Response {
    /// Reads the first response; `None` if the bytes end in it and need not be complete
    fn read(rest: &mut &[u8], is_complete: bool) -> Option<Self> {
        let text = String::from_utf8_lossy(rest);
        let Some(length) = rest.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            assert!(!is_complete, "a head without an end: {text}");
            return None;
        };
        let head = core::str::from_utf8(&rest[..length]).expect("a head is ASCII");
        let (first, fields) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = first.strip_prefix("HTTP/1.1 ").or(first.strip_prefix("HTTP/1.0 "));
        let status = status.and_then(|status| status.get(..3)?.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {first}"));
        let field = |name: &str| {
            let mut lines = fields.split("\r\n").filter_map(|line| line.split_once(": "));
            lines.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        let is_plain = field("content-encoding").is_none();
        let is_json = is_plain && field("content-type") == Some("application/json");
        let length_field = field("content-length").map(|length| length.parse().expect("a length"));
        let is_chunked = field("transfer-encoding") == Some("chunked");
        *rest = &rest[length + 4..];
        let has_body = !(matches!(status, 100..=199 | 204 | 304));
        let body = match length_field {
            _ if !has_body => Vec::new(),
            Some(length) if rest.len() >= length => take(rest, length).to_vec(),
            None if is_chunked => chunks(rest, is_complete)?,
            // Until the end of the connection; without a length also what answers HEAD.
            None => core::mem::take(rest).to_vec(),
            // A response to HEAD has the length and no body.
            Some(_) if rest.is_empty() || rest.starts_with(b"HTTP/1.") => Vec::new(),
            Some(length) => {
                assert!(!is_complete, "{length} bytes, and there are {}", rest.len());
                return None;
            }
        };
        Some(Self { status, is_json: is_json && !body.is_empty(), body })
    }
}

fn take<'bytes>(rest: &mut &'bytes [u8], length: usize) -> &'bytes [u8] {
    let (taken, others) = rest.split_at(length);
    *rest = others;
    taken
}

/// The content of chunks; `None` if the bytes end before them and need not be complete
fn chunks(rest: &mut &[u8], is_complete: bool) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|bytes| bytes == b"\r\n");
        let Some(line) = line.map(|length| take(rest, length + 2)) else {
            assert!(!is_complete, "chunks without an end");
            return None;
        };
        let digits = core::str::from_utf8(line).expect("a length is ASCII").trim_end();
        let length = usize::from_str_radix(digits, 16).expect("a length");
        if rest.len() < length + 2 {
            assert!(!is_complete, "a chunk of {length} bytes, and there are {}", rest.len());
            return None;
        }
        body.extend_from_slice(take(rest, length));
        assert_eq!(take(rest, 2), b"\r\n", "the end of a chunk");
        if length == 0 {
            return Some(body);
        }
    }
}
