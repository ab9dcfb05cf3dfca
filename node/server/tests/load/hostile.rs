//! Clients that attack a server, while another one asks it for what it needs.
//!
//! Each attack opens 200 connections, or as many as `MILEPOST_HOSTILE` says; `cargo xtask verify
//! hostile-http` runs this with 10,000. The other client gets every answer meanwhile, the memory of
//! the server keeps to its bound, and nothing of an attack is left after it. Times are printed, and
//! asserted in the long run only.

pub(crate) mod attack;
pub(crate) mod bystander;
mod frames;
mod http1;
mod http2;
mod smuggling;
mod websocket;

use core::time::Duration;
use std::env;
use std::fs;
use std::sync::LazyLock;
use std::thread;

use attack::{Attack, Target};
use bystander::Bystander;

use crate::host::{self, Usage};
use crate::support::Server;
use crate::{alone, fixture};

/// Connections of a run of all tests
const FEW: usize = 200;
/// Connections that the attacks do not use
const SPARE: usize = 100;
/// The options of the server, and what each of them may take; docs/OPERATING.md has the formula
const MAX_BUFFERED: u64 = 64 << 20;
/// In the long run as many as there are connections
const MAX_WAITING: u64 = 4_000;
const CONNECTION: u64 = 64 << 10;
const WAIT: u64 = 20_000;
const WATCH: u64 = 5_000;
/// Maximum time of 99 in 100 answers to the other client, in the long run
const MAX_DELAY: Duration = Duration::from_millis(100);

static CONNECTIONS: LazyLock<usize> = LazyLock::new(|| match env::var("MILEPOST_HOSTILE") {
    Ok(number) => number.parse().expect("MILEPOST_HOSTILE is a number"),
    Err(_) => FEW,
});

fn is_long() -> bool {
    *CONNECTIONS > FEW
}

#[test]
fn others_are_served_while_clients_attack() {
    let _alone = alone();
    let connections = *CONNECTIONS;
    host::set_file_limit((connections + 2 * SPARE) as u64);
    let max_connections = (connections + SPARE) as u64;
    let max_waiting = MAX_WAITING.max(max_connections);
    let numbers = [max_connections, MAX_BUFFERED, max_waiting];
    let numbers = numbers.map(|number| number.to_string());
    let log = tempfile::NamedTempFile::new().expect("a temporary file");
    let blocks = fixture::text(fixture::shared());
    let args = [
        "--blocks",
        blocks,
        "--max-connections",
        &numbers[0],
        "--max-buffered",
        &numbers[1],
        "--max-waiting",
        &numbers[2],
        "--timeout",
        "1h",
    ];
    let server = Server::start_logging(&args, log.reopen().expect("the file is there"));
    let bystander = Bystander::new(&server);
    let first = Usage::of(server.id()).resident;
    let bound =
        first + max_connections * CONNECTION + 2 * MAX_BUFFERED + max_waiting * (WAIT + WATCH);
    let ((), quiet) = bystander.watch(|| thread::sleep(Duration::from_secs(1)));
    println!("no attack");
    println!("  others are answered in  {}", quiet.delays);
    let target = Target {
        address: server.address,
        connections,
        is_too_much: true,
        duration: Duration::from_secs(if is_long() { 5 } else { 1 }),
    };
    let mut late = Vec::new();
    for attack in Attack::all() {
        let before = Usage::of(server.id());
        let (report, seen) = bystander.watch(|| attack.run(&target));
        let used = Usage::of(server.id());
        // That of this question, and perhaps that of the one before.
        let open = || server.metric("milepost_connections_open").expect("the metric exists");
        server.until("the end of all connections", || open() <= 2);
        server.until_metric("milepost_requests_pending", 0);
        println!("{}", attack.name);
        println!("  {report}");
        println!(
            "  memory of the server    {} MB, at most {} MB, then {} MB; {:.1} s of processor time",
            before.resident / 1_000_000,
            seen.resident / 1_000_000,
            Usage::of(server.id()).resident / 1_000_000,
            used.seconds - before.seconds,
        );
        println!("  others are answered in  {}", seen.delays);
        assert!(
            seen.resident <= bound,
            "{}: {} B, the bound is {bound}",
            attack.name,
            seen.resident
        );
        if is_long() && seen.delays.quantile(0.99) > MAX_DELAY {
            late.push(attack.name);
        }
    }
    let logged = fs::read_to_string(log.path()).expect("the file is there");
    assert!(logged.lines().count() < 10, "clients can fill the log: {logged}");
    println!("bound of memory: {} MB", bound / 1_000_000);
    // After all attacks, whose figures are of use together.
    assert!(late.is_empty(), "others wait for longer than {MAX_DELAY:?} during {late:?}");
}
