//! Many watchers of many transactions on one server: 1,000, or as many as `MILEPOST_WATCHERS` says.
//!
//! `cargo xtask verify watchers` runs this with 100,000. Blocks are released one by one to the
//! feed that the server follows; every watcher has to end with the state that `GET /tx` returns.
//! Clients that poll run beside the same blocks for comparison. Printed are the memory and the
//! processor time of the server, and the times from a commit to the bytes at the client. No time is
//! asserted.

mod blocks;
mod clients;
mod delays;

use alloc::sync::Arc;
use core::time::Duration;
use std::env;
use std::sync::LazyLock;
use std::thread;
use std::time::Instant;

use milepost::primitives::CryptoHash;
use serde_json::Value;
use tokio::runtime::Runtime;

use blocks::Blocks;
use clients::{Clients, Transport};
use delays::Delays;

use crate::alone;
use crate::host::{self, Usage};
use crate::support::Server;

/// Watchers for each transaction
const WATCHERS_OF_EACH: usize = 5;
/// Number of watchers of a run of all tests
const FEW: usize = 1_000;
/// Open files of this process and of the server each: the usual hard limit of a container
const FILES: u64 = 20_000;
/// Connections that fit into [`FILES`], beside what the processes need for themselves
const MAX_CONNECTIONS: usize = 18_000;

static WATCHERS: LazyLock<usize> = LazyLock::new(|| match env::var("MILEPOST_WATCHERS") {
    Ok(number) => number.parse().expect("MILEPOST_WATCHERS is a number"),
    Err(_) => FEW,
});

fn is_long() -> bool {
    *WATCHERS > FEW
}

/// What a run with one kind of client used and showed
struct Run {
    clients: usize,
    bytes_each: u64,
    /// Of the server, while blocks came in
    processor: Duration,
    elapsed: Duration,
    delays: Delays,
}

#[test]
fn all_watchers_get_what_a_block_changes() {
    let _alone = alone();
    let watchers = *WATCHERS;
    let pollers = watchers / 50;
    let transactions = watchers / WATCHERS_OF_EACH;
    if is_long() {
        host::set_file_limit(FILES);
    }
    let blocks = Arc::new(Blocks::new(transactions, if is_long() { 60 } else { 6 }));
    println!("{transactions} transactions are watched, {} of them in the blocks that come in", {
        blocks.released().count()
    });
    let idle = run(&blocks, None, 0);
    println!(
        "no clients: {:.2} s of processor time for {} blocks",
        idle.processor.as_secs_f64(),
        blocks.measured()
    );
    let polled = run(&blocks, Some(Transport::Polling), pollers);
    report("clients that poll each second", &polled, &idle, None);
    let http1 = watchers.min(MAX_CONNECTIONS);
    for (name, transport, count) in [
        ("events over HTTP/2", Transport::Http2, watchers),
        ("events over HTTP/1.1", Transport::Http1, http1),
        ("subscriptions over WebSocket", Transport::WebSocket, watchers),
    ] {
        report(name, &run(&blocks, Some(transport), count), &idle, Some(&polled));
    }
}

/// Starts a server and clients, releases the blocks, and checks what each client has in the end
fn run(blocks: &Arc<Blocks>, transport: Option<Transport>, count: usize) -> Run {
    let feed = blocks.serve();
    let (url, from) = (feed.url(), blocks.first().to_string());
    // A budget that the long polls of the feed do not use up.
    let server = Server::start(
        &[
            ["--follow", &url, "--from", &from, "--feed-requests", "100000"].as_slice(),
            &["--max-age", "1h", "--max-waiting", "200000"],
        ]
        .concat(),
    );
    let height = || server.metric("milepost_feed_taken_height").unwrap_or_default();
    server.until("the first blocks", || height() >= blocks.last_of_start());
    let before = Usage::of(server.id());

    let runtime = Runtime::new().expect("a runtime");
    let hashes: Vec<CryptoHash> = (0..count).map(|number| blocks.watched(number)).collect();
    let clients = Clients::start(&runtime, server.address, transport, &hashes);
    clients.until_started();
    let started = Usage::of(server.id());
    let bytes_each = started.resident.saturating_sub(before.resident) / count.max(1) as u64;

    let mut delays = Delays::default();
    let start = Instant::now();
    for _ in 0..blocks.measured() {
        let released = Instant::now();
        let height_released = feed.release();
        server.until("a released block", || height() >= height_released);
        let commit = metric_seconds(&server, "milepost_last_commit_timestamp_seconds");
        delays.committed(commit);
        // The time between blocks of a network.
        let interval = Duration::from_millis(if is_long() { 600 } else { 60 });
        thread::sleep(interval.saturating_sub(released.elapsed()));
    }
    let elapsed = start.elapsed();
    let processor = Usage::of(server.id()).seconds - started.seconds;

    let states: Vec<(CryptoHash, Value)> =
        blocks.released().map(|hash| (hash, state(&server, hash))).collect();
    for (hash, expected) in &states {
        clients.until_all_have(*hash, expected);
    }
    clients.arrivals().for_each(|arrival| delays.arrived(arrival));
    drop(runtime);
    Run {
        clients: count,
        bytes_each,
        processor: Duration::from_secs_f64(processor.max(0.0)),
        elapsed,
        delays,
    }
}

/// The compact status of a transaction
fn state(server: &Server, hash: CryptoHash) -> Value {
    let response = server.get(&format!("/tx/{hash}"));
    assert!([200, 404].contains(&response.status), "{}", response.text());
    response.json()
}

fn metric_seconds(server: &Server, name: &str) -> f64 {
    let text = server.get("/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|number| number.trim().parse().ok()).expect("the metric exists")
}

fn report(name: &str, run: &Run, idle: &Run, polled: Option<&Run>) {
    let of_clients = |run: &Run| {
        let seconds = run.processor.saturating_sub(idle.processor).as_secs_f64();
        seconds / run.elapsed.as_secs_f64() / run.clients as f64
    };
    println!("{}, {name}", run.clients);
    println!("  memory of the server for each:         {} bytes", run.bytes_each);
    println!("  processor time of the server for each: {:.2} us a second", 1e6 * of_clients(run));
    if let Some(polled) = polled {
        let ratio = of_clients(polled) / of_clients(run).max(1e-12);
        println!("  which polling takes                    {ratio:.0} times");
    }
    println!("  from a commit to the client:           {}", run.delays);
}
