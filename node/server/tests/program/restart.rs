//! Servers that open one store after another, with a request that waits and a watched transaction.
//!
//! Nothing is lost: the response to a request that waited names its transaction, and a watch
//! continues after the last event, which is not sent again.

use std::fs;
use std::path::Path;

use milepost_practice::{BlockMessage, Practice, PracticeTransaction, Settings};

use crate::fixture::text;
use crate::follow::status_of;
use crate::support::{Client, Server, command, post};

/// The blocks of which each stage has the first ones: the transaction is in the 21st, and final in
/// the last stage
const STAGES: [usize; 4] = [21, 22, 23, 60];

fn start(store: &Path, blocks: &Path) -> Server {
    let args = ["serve", "--listen", "127.0.0.1:0", "--timeout", "1h", "--store", text(store)];
    Server::spawn(command(&[&args[..], &["--blocks", text(blocks)]].concat()))
}

/// Opens the stream of the events of a transaction after this one
fn watch(server: &Server, transaction: &PracticeTransaction, last: &str) -> Client {
    let mut client = server.connect();
    client.send(&format!(
        "GET /tx/{}/events HTTP/1.1\r\nhost: x\r\nlast-event-id: {last}\r\nconnection: close\r\n\r\n",
        transaction.hash
    ));
    client
}

/// The ids of the events of a stream that has ended
fn ids(stream: &str) -> Vec<String> {
    stream.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

#[test]
fn a_wait_and_a_watch_continue_after_a_restart() {
    let mut chain = Practice::new(Settings { transactions: 2..=4, ..Settings::demo(23) });
    let messages: Vec<BlockMessage> = (0..60).map(|_| chain.next_message()).collect();
    let transaction = messages[20].transactions.first().expect("a transaction");
    let directory = tempfile::tempdir().unwrap();
    let (store, blocks) =
        (directory.path().join("chain.milepost"), directory.path().join("blocks"));
    fs::create_dir(&blocks).unwrap();
    let (mut written, mut seen): (usize, Vec<String>) = (0, Vec::new());
    for (stage, end) in STAGES.into_iter().enumerate() {
        for message in &messages[written..end] {
            fs::write(blocks.join(format!("{}.json", message.height)), &message.json).unwrap();
        }
        written = end;
        let server = start(&store, &blocks);
        let last = seen.last().map_or("", String::as_str);
        let is_final = stage + 1 == STAGES.len();
        if is_final {
            let answer = server.post("/", &status_of(transaction, "FINAL"));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let mut watching = watch(&server, transaction, last);
        let mut waiting = server.connect();
        if !is_final {
            waiting.send(&post("/", &status_of(transaction, "FINAL")));
            server.until_metric("milepost_requests_pending", 1);
            server.until_metric("milepost_watches_open", 1);
            server.signal("TERM");
            let response = waiting.response();
            let hash = transaction.hash.to_string();
            assert_eq!(response.header("x-milepost-transaction"), Some(hash.as_str()));
            assert_eq!(response.status, 503, "{}", response.text());
        }
        let stream = watching.rest();
        assert!(stream.starts_with("HTTP/1.1 200"), "{stream}");
        let new = ids(&stream);
        assert!(new.iter().all(|id| !seen.contains(id)), "{new:?} after {seen:?}");
        assert_eq!(stream.contains("event: reached"), is_final, "{stream}");
        seen.extend(new);
        if is_final {
            // After the last event there is none.
            let end = watch(&server, transaction, seen.last().expect("an event")).rest();
            assert!(end.starts_with("HTTP/1.1 204"), "{end}");
        } else {
            assert_eq!(server.ended().code(), Some(0));
        }
    }
}
