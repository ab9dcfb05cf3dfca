//! Clients of event streams and of requests that stop, come in floods or leave, over real sockets.
//!
//! What they hold is counted by watches and connections, and is nothing after they are gone;
//! another client meanwhile gets all that it asks for.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::time::Duration;

use http_body_util::{BodyExt as _, Empty, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use milepost::endpoint::{ChainStatus, WaitConfig};
use milepost::primitives::CryptoHash;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time;

use super::event_tests::{
    BODY_LIMIT, Events, GUARD, MAX_BUFFERED, chain, get, get_http1, naive, queries, queries_with,
    start, until,
};
use crate::metrics;
use crate::queries::Queries;

/// Bytes that a client takes of a stream before it reads
const WINDOW: u32 = 1_000;

async fn connect_http2(address: &str) -> SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let connecting = builder.initial_stream_window_size(WINDOW).handshake(TokioIo::new(stream));
    let (sender, connection) = connecting.await.unwrap();
    tokio::spawn(connection);
    sender
}

/// Reads until each transaction has the state that a walk gives; the number of events
async fn read_states(
    queries: &Arc<Queries>,
    events: &mut Events,
    hashes: &[CryptoHash],
    last: &mut BTreeMap<String, String>,
) -> usize {
    let mut count = 0;
    for hash in hashes {
        let (hash, state) = (hash.to_string(), naive(queries, *hash).await);
        // One that is final is not watched any more.
        let is_read = |last: &String| *last == state || last.contains(r#""FINAL""#);
        while !last.get(&hash).is_some_and(is_read) {
            let event = events.next().await.expect("the stream continues");
            let data: Value = serde_json::from_str(&event.data).unwrap();
            last.insert(data["transaction_hash"].as_str().unwrap().to_owned(), event.data);
            count += 1;
        }
    }
    count
}

#[tokio::test]
async fn a_stream_that_is_not_read_keeps_the_newest_states_and_delays_no_other() {
    let queries = queries();
    let address = start(&queries).await;
    let (messages, hashes) = chain(7, 60);
    // Some are not final at the end, so that the streams continue.
    let hashes: Vec<_> = hashes.into_iter().step_by(2).take(60).collect();
    let query = hashes.iter().map(|hash| format!("tx={hash}")).collect::<Vec<_>>().join("&");
    let path = format!("/events?{query}");
    // Two streams of one connection.
    let mut sender = connect_http2(&address).await;
    let stopped = sender.send_request(get(&address, &path, None)).await.unwrap();
    let quick = sender.send_request(get(&address, &path, None)).await.unwrap();
    let (mut stopped, mut quick) = (Events::new(stopped), Events::new(quick));
    let (mut quick_count, mut last) = (0, BTreeMap::new());
    for message in &messages {
        let _ = queries.chain.import_block(&message.json);
        quick_count += read_states(&queries, &mut quick, &hashes, &mut last).await;
    }
    let late_count = read_states(&queries, &mut stopped, &hashes, &mut BTreeMap::new()).await;
    assert!(late_count * 2 < quick_count, "{late_count} events of {quick_count}");
    assert!(quick_count > 2 * hashes.len(), "{quick_count}");
}

#[tokio::test]
async fn floods_of_streams_leave_nothing_and_harm_no_other() {
    let queries = queries();
    let address = start(&queries).await;
    let (messages, hashes) = chain(9, 30);
    let path = |hash: &CryptoHash| format!("/tx/{hash}/events");
    let query = hashes.iter().take(20).map(|hash| format!("tx={hash}")).collect::<Vec<_>>();
    let query = format!("/events?{}", query.join("&"));
    let mut other = Events::new(get_http1(&address, &query, None).await);
    let (others, mut last) = (&hashes[..20], BTreeMap::new());
    let mut hostile = connect_http2(&address).await;
    for (round, message) in messages.iter().enumerate() {
        if round < 8 {
            // Streams that are opened and reset at once, as many as a connection may have.
            let mut streams = Vec::new();
            for _ in 0..250 {
                let request = get(&address, &path(&hashes[20]), None);
                streams.push(hostile.send_request(request).await.unwrap());
            }
            until(|| queries.chain.waits.watching.counts().0 == 250 + watched(&last)).await;
            drop(streams);
            until(|| queries.chain.waits.watching.counts().0 == watched(&last)).await;
        } else if round < 12 {
            // Connections that end before their response, more than are allowed at a time.
            for _ in 0..120 {
                let mut stream = TcpStream::connect(&address).await.unwrap();
                let text = format!("GET {} HTTP/1.1\r\nhost: x\r\n\r\n", path(&hashes[20]));
                stream.write_all(text.as_bytes()).await.unwrap();
            }
        }
        let _ = queries.chain.import_block(&message.json);
        read_states(&queries, &mut other, others, &mut last).await;
    }
    until(|| {
        queries.chain.metrics.connections.get() == 2
            && queries.chain.waits.watching.counts().0 == watched(&last)
    })
    .await;
    drop((hostile, other));
    until(|| {
        queries.chain.metrics.connections.get() == 0
            && queries.chain.waits.watching.counts() == (0, 0)
    })
    .await;
}

/// Number of the 20 watches that are open, by the last states
fn watched(last: &BTreeMap<String, String>) -> usize {
    20 - last.values().filter(|state| state.contains(r#""FINAL""#)).count()
}

#[tokio::test]
async fn a_stream_ends_when_its_client_closes_its_side() {
    let queries = queries();
    let address = start(&queries).await;
    let path = format!("/tx/{}/events", CryptoHash::digest(b"unknown"));
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let text = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    until(|| queries.chain.waits.watching.counts() == (1, 1)).await;
    stream.shutdown().await.unwrap();
    until(|| {
        queries.chain.waits.watching.counts() == (0, 0)
            && queries.chain.metrics.connections.get() == 0
    })
    .await;
}

#[tokio::test]
async fn a_request_that_waits_for_a_head_is_told_that_the_service_stops() {
    let queries = queries();
    let address = start(&queries).await;
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let text = "GET /tx/recent HTTP/1.1\r\nhost: x\r\nx-milepost-min-height: 9\r\n\r\n";
    stream.write_all(text.as_bytes()).await.unwrap();
    until(|| queries.chain.metrics.connections.get() == 1).await;
    queries.chain.shutdown();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 503 ") && response.contains("\r\nretry-after: 1\r\n"));
    assert!(response.ends_with(r#"{"error":"the service stops","status":"failed"}"#), "{response}");
}

#[tokio::test]
async fn heads_that_another_server_would_read_otherwise_are_rejected() {
    let queries = queries();
    let address = start(&queries).await;
    let chunked = "host: x\r\ncontent-type: application/json\r\ntransfer-encoding:";
    for (head, status) in [
        ("GET /health HTTP/1.1".to_owned(), 400),
        ("GET /health HTTP/1.1\r\nhost: x\r\nhost: y".to_owned(), 400),
        ("GET /health HTTP/1.1\r\nhost: x".to_owned(), 200),
        ("GET /health HTTP/1.0".to_owned(), 200),
        (format!("POST / HTTP/1.1\r\n{chunked} gzip, chunked"), 501),
        (format!("POST / HTTP/1.1\r\n{chunked} Chunked"), 400),
    ] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let text = format!("{head}\r\nconnection: close\r\n\r\n0\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert_eq!(response.get(9..12), Some(status.to_string().as_str()), "{head}: {response}");
    }
}

#[tokio::test]
async fn bodies_that_come_a_byte_at_a_time_are_read_and_delay_no_other() {
    let queries = queries();
    let address = start(&queries).await;
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"nothing","params":{}}"#;
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let head = format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    let connect = async || {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    let read = async |mut stream: TcpStream| {
        let mut text = String::new();
        let reading = stream.read_to_string(&mut text);
        time::timeout(GUARD, reading).await.expect("a response").unwrap();
        assert!(text.contains("METHOD_NOT_FOUND"), "{text}");
    };
    let mut slow = Vec::new();
    for _ in 0..40 {
        slow.push(connect().await);
    }
    let (first, last) = body.as_bytes().split_at(body.len() - 1);
    for byte in first {
        for stream in &mut slow {
            stream.write_all(&[*byte]).await.unwrap();
        }
        let mut other = connect().await;
        other.write_all(body.as_bytes()).await.unwrap();
        read(other).await;
    }
    until(|| queries.chain.metrics.connections.get() == 40).await;
    // Half of them never send the last byte.
    let left = slow.split_off(20);
    for mut stream in slow {
        stream.write_all(last).await.unwrap();
        read(stream).await;
    }
    drop(left);
    until(|| queries.chain.metrics.connections.get() == 0).await;
}

#[tokio::test]
async fn bodies_that_come_slowly_are_held_up_to_a_limit() {
    let queries = queries();
    let address = start(&queries).await;
    let head = |length: usize| {
        let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
        format!("{head}connection: close\r\ncontent-length: {length}\r\n\r\n")
    };
    // With room for segments that are not full.
    const LENGTH: usize = BODY_LIMIT - (32 << 10);
    // All but the last byte of each.
    let send = async || {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(head(LENGTH).as_bytes()).await.unwrap();
        let mut rest = &vec![b' '; LENGTH - 1][..];
        while !rest.is_empty() {
            rest = &rest[stream.write(rest).await.unwrap()..];
        }
        stream
    };
    let answer = async |mut stream: TcpStream| {
        let mut text = String::new();
        time::timeout(GUARD, stream.read_to_string(&mut text)).await.expect("a response").unwrap();
        text
    };
    let mut held = Vec::new();
    // A quarter is for small ones.
    for _ in 0..MAX_BUFFERED / 4 * 3 / BODY_LIMIT {
        held.push(send().await);
    }
    // One is refused: which one depends on what the server reads first.
    held.push(send().await);
    let refusals = || {
        let text =
            metrics::text_of(|it| queries.chain.metrics.register(it, &ChainStatus::default()));
        text.contains("\nmilepost_requests_rejected_total{status=\"503\"} 1\n")
    };
    let is_whole = async |mut stream: TcpStream| {
        let _ = stream.write_all(b" ").await;
        answer(stream).await
    };
    until(refusals).await;
    let small = {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(format!("{}[", head(1)).as_bytes()).await.unwrap();
        answer(stream).await
    };
    assert!(small.starts_with("HTTP/1.1 400"), "{small}");
    let mut statuses = Vec::new();
    for stream in held {
        let text = is_whole(stream).await;
        let limit = format!("all of the limit of {MAX_BUFFERED} bytes");
        assert_eq!(text.starts_with("HTTP/1.1 503"), text.contains(&limit), "{text}");
        statuses.push(text[9..12].to_owned());
    }
    statuses.sort();
    assert_eq!(statuses, ["400", "400", "400", "503"]);
    // All of it is free again.
    let text = is_whole(send().await).await;
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
}

#[tokio::test]
async fn responses_that_are_not_read_are_held_up_to_a_limit() {
    let queries = queries();
    let address = start(&queries).await;
    let (messages, hashes) = chain(11, 20);
    messages.iter().for_each(|message| drop(queries.chain.import_block(&message.json)));
    let call = |hash: &CryptoHash| {
        format!(
            r#"{{"id":1,"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"a.near","wait_until":"NONE"}}}}"#
        )
    };
    let batch = format!("[{}]", hashes.iter().take(50).map(call).collect::<Vec<_>>().join(","));
    let request = || {
        let request = Request::post(format!("http://{address}/")).header("host", &*address);
        let request = request.header("content-type", "application/json");
        request.body(Full::<Bytes>::from(batch.clone())).unwrap()
    };
    let stream = TcpStream::connect(&*address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let connecting = builder.initial_stream_window_size(WINDOW).handshake(TokioIo::new(stream));
    let (mut sender, connection) = connecting.await.unwrap();
    tokio::spawn(connection);
    let first = sender.send_request(request()).await.unwrap();
    let length = first.into_body().collect().await.unwrap().to_bytes().len();
    assert!(length > 16 << 10, "{length}");
    // A quarter is for small ones.
    let fit = MAX_BUFFERED / 4 * 3 / length.next_multiple_of(1 << 10);
    let mut held = Vec::new();
    let refused = loop {
        let response = sender.send_request(request()).await.unwrap();
        if response.status() != 200 {
            break response;
        }
        held.push(response);
    };
    assert_eq!(refused.status(), 503);
    // The first response may count for a moment after it is read.
    assert!((fit - 1..=fit).contains(&held.len()), "{} of {fit}", held.len());
    // Small ones continue, and a response that is read makes room.
    let small = sender.send_request(
        Request::get(format!("http://{address}/status")).body(Full::default()).unwrap(),
    );
    assert_eq!(small.await.unwrap().status(), 200);
    let read = held.pop().unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(read.len(), length);
    let mut statuses = 0;
    while statuses != 200 {
        statuses = sender.send_request(request()).await.unwrap().status().as_u16();
    }
}

#[tokio::test]
async fn requests_at_a_time_on_http2_are_limited_together() {
    let queries = queries_with(WaitConfig::default());
    let address = start(&queries).await;
    let body = r#"{"id":1,"method":"tx","params":["11111111111111111111111111111111","a.near"]}"#;
    let request = || {
        let request = Request::post(format!("http://{address}/")).header("host", &*address);
        let request = request.header("content-type", "application/json");
        request.body(Full::<Bytes>::from(body)).unwrap()
    };
    let mut connections = Vec::new();
    for _ in 0..3 {
        let stream = TcpStream::connect(&*address).await.unwrap();
        let connecting = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = connecting.await.unwrap();
        tokio::spawn(connection);
        connections.push(sender);
    }
    let counted = (MAX_BUFFERED / (8 << 10)) as u64;
    let mut sent = JoinSet::new();
    for sender in &mut connections {
        for _ in 0..counted / 2 {
            sent.spawn(sender.send_request(request()));
        }
    }
    let pending = || queries.chain.metrics.pending.get();
    let mut refused = 0;
    while pending() + refused < counted / 2 * 3 {
        tokio::select! {
            Some(response) = sent.join_next() => {
                let response = response.unwrap().unwrap();
                let retry_after = &response.headers()["retry-after"];
                assert_eq!((response.status().as_u16(), retry_after.as_bytes()), (503, &b"1"[..]));
                let text = response.into_body().collect().await.unwrap().to_bytes();
                assert!(text.starts_with(br#"{"jsonrpc":"2.0","error""#), "{text:?}");
                refused += 1;
            }
            () = time::sleep(Duration::from_millis(5)) => {}
        }
    }
    // A quarter is left to the first two requests of each connection, which take some of it when
    // the others have taken the rest before.
    let shared = counted / 4 * 3;
    assert!((shared..=shared + 2 * connections.len() as u64).contains(&pending()), "{}", pending());
    // A connection of HTTP/1 has one at a time, which is part of what the connection may take.
    assert_eq!(get_http1(&address, "/health", None).await.status(), 200);
    drop(sent);
    until(|| pending() == 0).await;
    let _waits = tokio::spawn(connections[2].send_request(request()));
    until(|| pending() == 1).await;
}

// The clock is paused, and advances to the next timer when all tasks are idle.
#[tokio::test(start_paused = true)]
async fn bodies_that_wait_for_a_head_count() {
    let queries = queries();
    let address = start(&queries).await;
    let mut connections = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let head =
            "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-milepost-min-height: 9\r\n";
        let head = format!("{head}content-type: application/json\r\ncontent-length: {BODY_LIMIT}");
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await.unwrap();
        stream.write_all(&[b' '; BODY_LIMIT]).await.unwrap();
        // Until it is received.
        time::sleep(Duration::from_millis(1)).await;
        connections.push(stream);
    }
    let mut texts = Vec::new();
    for mut stream in connections {
        let mut text = String::new();
        time::timeout(GUARD, stream.read_to_string(&mut text)).await.unwrap().unwrap();
        texts.push(text);
    }
    let refused = format!("all of the limit of {MAX_BUFFERED} bytes");
    assert_eq!(texts.iter().filter(|text| text.contains(&refused)).count(), 1, "{texts:?}");
}
