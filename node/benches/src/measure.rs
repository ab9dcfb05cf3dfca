//! The bench over HTTP: `milepost` under `wrk`, compared with a server that sends constant bytes
//! and with the node's path on the same stack.
//!
//! The servers take turns of seconds, so other load affects all of them, and a ratio is the median
//! of the ratios of the rounds. The processor time is that of the server's process, kernel
//! included; with two processors, the servers run on one and the client on the other.

use std::path::Path;
use std::process::Command;

use crate::servers::{Folder, Server, Transaction, output, pinned};

/// Turns of each server with each response; odd, so that there is a median
const ROUNDS: usize = 9;
/// Connections of the client: enough to keep a server busy, few enough for one thread
const CONNECTIONS: usize = 16;
/// The duration of a turn; a clock tick of `/proc` is a percent of it
const TURN: &str = "1s";
/// The duration of a turn of the node's path
///
/// Longer, because it completes far fewer requests, and requests in flight at the end count in time
/// but not in number.
const PEER_TURN: &str = "3s";
/// The timeout of the client: all its connections may wait for one processor
const TIMEOUT: &str = "60s";

/// Starts the servers, compares their responses byte by byte, and measures them unless it only
/// checks
///
/// `programs` is the folder of `milepost` and `http-bench`, `peer` the program of the node's path.
///
/// # Errors
///
/// When a server does not start, two responses differ, or a request is not answered.
pub fn run(programs: &Path, peer: &Path, only_check: bool) -> Result<(), String> {
    if !only_check {
        check_client()?;
        println!("{HEADER}");
    }
    let servers = Servers::start(Folder::new(programs, peer)?)?;
    if servers.transactions.is_empty() {
        return Err("the feed has no transactions".to_owned());
    }
    for transaction in &servers.transactions {
        let body = transaction.request();
        let response = servers.same_response(transaction)?;
        let constant = servers.folder.constant(&response)?;
        if constant.respond(&body)? != response {
            return Err("the constant server sent a different body".to_owned());
        }
        let (receipts, bytes) = (transaction.receipts, response.len());
        if only_check {
            println!("{receipts} receipts: {bytes} equal bytes");
            continue;
        }
        let script = servers.folder.script(&body)?;
        let mut turns = Turns::default();
        for _ in 0..ROUNDS {
            turns.constant.push(measure(&constant, &script, TURN)?);
            turns.memory.push(measure(&servers.memory, &script, TURN)?);
            turns.file.push(measure(&servers.file, &script, TURN)?);
            turns.peer.push(measure(&servers.peer, &script, PEER_TURN)?);
            // The peer continues with the requests in flight.
            servers.peer.wait_until_idle()?;
        }
        println!("{receipts:>8} {bytes:>9} {}", turns.text());
    }
    Ok(())
}

/// Medians of microseconds of processor time per request; ratios to the constant body, and of the
/// peer
const HEADER: &str = "\
receipts     bytes  constant us  memory us  / constant  file us  / constant  peer us  / memory  / file";

/// The servers, and the transactions that they imported
struct Servers {
    folder: Folder,
    transactions: Vec<Transaction>,
    memory: Server,
    file: Server,
    peer: Server,
}

impl Servers {
    fn start(folder: Folder) -> Result<Self, String> {
        let transactions = folder.feed()?;
        let memory = folder.milepost("memory")?;
        let file = folder.milepost(&folder.path("store.redb")?)?;
        let peer = folder.peer()?;
        Ok(Self { folder, transactions, memory, file, peer })
    }

    /// The response about a transaction, which must be the same from all servers
    fn same_response(&self, transaction: &Transaction) -> Result<Vec<u8>, String> {
        let body = transaction.request();
        let response = self.memory.respond(&body)?;
        for (other, name) in [(&self.file, "from a file"), (&self.peer, "of the node's path")] {
            if other.respond(&body)? != response {
                let receipts = transaction.receipts;
                return Err(format!(
                    "{receipts} receipts: the response from memory and the response {name} differ"
                ));
            }
        }
        Ok(response)
    }
}

/// Fails without the client
fn check_client() -> Result<(), String> {
    // `wrk -v` prints its version, and fails.
    let started = Command::new("wrk").arg("-v").output();
    started.map(drop).map_err(|error| {
        format!("`wrk` does not start ({error}); `cargo xtask setup tools` installs it")
    })
}

/// Microseconds of the server's processor time per request in one turn
fn measure(server: &Server, script: &str, turn: &str) -> Result<f64, String> {
    let url = format!("http://{}", server.address);
    let connections = CONNECTIONS.to_string();
    let mut client = pinned(1, "wrk");
    client.args([
        "-t",
        "1",
        "-c",
        &connections,
        "-d",
        turn,
        "--timeout",
        TIMEOUT,
        "-s",
        script,
        &url,
    ]);
    let before = server.processor_seconds()?;
    let report = output(&mut client)?;
    let seconds = server.processor_seconds()? - before;
    if report.contains("Non-2xx") || report.contains("Socket errors") {
        return Err(format!("not every request was answered:\n{report}"));
    }
    match requests(&report) {
        Some(requests) if requests > 0.0 => Ok(seconds * 1e6 / requests),
        _ => Err(format!("the client's report cannot be parsed:\n{report}")),
    }
}

/// The number of requests in the report of the client
fn requests(report: &str) -> Option<f64> {
    let count = report.lines().find_map(|line| line.split_once(" requests in "))?.0;
    count.trim().parse().ok()
}

/// The cost of a request in each turn of each server
#[derive(Default)]
struct Turns {
    constant: Vec<f64>,
    memory: Vec<f64>,
    file: Vec<f64>,
    peer: Vec<f64>,
}

impl Turns {
    fn text(&self) -> String {
        let Self { constant, memory, file, peer } = self;
        let cost = |turns: &[f64]| median(turns.iter().copied());
        format!(
            "{:>12.1} {:>10.1} {:>11.2} {:>8.1} {:>11.2} {:>8.1} {:>9.1} {:>7.1}",
            cost(constant),
            cost(memory),
            ratio(memory, constant),
            cost(file),
            ratio(file, constant),
            cost(peer),
            ratio(peer, memory),
            ratio(peer, file),
        )
    }
}

/// The median over the rounds of the ratio of two servers
fn ratio(turns: &[f64], others: &[f64]) -> f64 {
    median(turns.iter().zip(others).map(|(turn, other)| turn / other))
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_requests_is_read_from_the_report_of_the_client() {
        let report = "Running 1s test @ http://127.0.0.1:1\n  1 threads and 16 connections\n  \
                      89303 requests in 1.10s, 3.73GB read\nRequests/sec:  81185.01\n";
        assert_eq!(requests(report), Some(89_303.0));
        assert_eq!(requests(""), None);
    }

    #[test]
    fn a_ratio_is_of_turns_in_one_round() {
        // The machine was three times as slow in the second round.
        assert!((ratio(&[12.0, 39.0, 11.0], &[10.0, 30.0, 10.0]) - 1.2).abs() < 1e-9);
    }
}
