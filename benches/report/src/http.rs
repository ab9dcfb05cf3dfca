//! The bench over HTTP: `milepost` under `wrk`, compared with a server that sends constant bytes
//! and with the node's path on the same stack.
//!
//! The servers take turns of seconds, so other load affects all of them, and a ratio is the median
//! of the ratios of the rounds. The processor time is that of the server's process; the client's is
//! not included. The figures have no targets. The check measures nothing and compares the
//! responses.

mod page;
mod servers;

use std::path::Path;
use std::process::Command;

use servers::{Folder, Server, Transaction, pinned};

use crate::machine::Machine;

/// The path of the page
const PAGE: &str = "docs/BENCHMARKS-HTTP.md";
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

/// Measures all servers with all responses and writes the page
pub(crate) fn write(programs: &Path, peer: &Path) -> Result<(), String> {
    let client = client()?;
    let servers = Servers::start(Folder::new(programs, peer)?)?;
    let before = Machine::now();
    let mut rows = Vec::new();
    for transaction in &servers.transactions {
        let body = transaction.request();
        let response = servers.same_response(transaction)?;
        let constant = servers.folder.constant(&response)?;
        let script = servers.folder.script(&body)?;
        let mut row = Row::new(transaction.receipts, response.len());
        for round in 1..=ROUNDS {
            println!("{} receipts, round {round} of {ROUNDS}", transaction.receipts);
            row.constant.push(measure(&constant, &script, TURN)?);
            row.memory.push(measure(&servers.memory, &script, TURN)?);
            row.file.push(measure(&servers.file, &script, TURN)?);
            row.peer.push(measure(&servers.peer, &script, PEER_TURN)?);
            // The peer continues with the requests in flight.
            servers.peer.wait_until_idle()?;
        }
        rows.push(row);
    }
    let page = page::page(&rows, &client, &before, &Machine::now());
    println!("\n{page}");
    crate::write(PAGE, &page)
}

/// Starts all servers and compares their responses, byte by byte
pub(crate) fn check(programs: &Path, peer: &Path) -> Result<(), String> {
    let servers = Servers::start(Folder::new(programs, peer)?)?;
    if servers.transactions.is_empty() {
        return Err("the feed has no transactions".to_owned());
    }
    for transaction in &servers.transactions {
        let response = servers.same_response(transaction)?;
        let constant = servers.folder.constant(&response)?;
        if constant.respond(&transaction.request())? != response {
            return Err("the constant server sent a different body".to_owned());
        }
        println!("{} receipts: {} equal bytes", transaction.receipts, response.len());
    }
    Ok(())
}

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

/// The version of the client
fn client() -> Result<String, String> {
    // `wrk -v` prints its version with its help, and fails.
    match Command::new("wrk").arg("-v").output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            Ok(words.join(" "))
        }
        Err(error) => {
            Err(format!("`wrk` does not start ({error}); `cargo xtask setup tools` installs it"))
        }
    }
}

/// The figures of one turn
#[derive(Clone, Copy)]
struct Turn {
    /// Requests per second
    rate: f64,
    /// Microseconds of the server's processor time per request
    cost: f64,
}

fn measure(server: &Server, script: &str, turn: &str) -> Result<Turn, String> {
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
    let requests = number(&report, |line| line.split_once(" requests in ").map(|(count, _)| count));
    let rate = number(&report, |line| line.strip_prefix("Requests/sec:"));
    match (requests, rate) {
        (Some(requests), Some(rate)) if requests > 0.0 => {
            Ok(Turn { rate, cost: seconds * 1e6 / requests })
        }
        _ => Err(format!("the client's report cannot be parsed:\n{report}")),
    }
}

/// The first number that `find` finds in a line
fn number(report: &str, find: impl Fn(&str) -> Option<&str>) -> Option<f64> {
    report.lines().find_map(find).and_then(|text| text.trim().parse().ok())
}

/// The turns with one response
struct Row {
    receipts: usize,
    bytes: usize,
    constant: Vec<Turn>,
    memory: Vec<Turn>,
    file: Vec<Turn>,
    peer: Vec<Turn>,
}

impl Row {
    const fn new(receipts: usize, bytes: usize) -> Self {
        let none = Vec::new;
        Self { receipts, bytes, constant: none(), memory: none(), file: none(), peer: none() }
    }
}

/// Returns what a program prints on its standard output
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed, {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_the_client_are_parsed() {
        let report = "Running 1s test @ http://127.0.0.1:1\n  1 threads and 16 connections\n  \
                      89303 requests in 1.10s, 3.73GB read\nRequests/sec:  81185.01\n";
        let requests =
            number(report, |line| line.split_once(" requests in ").map(|(count, _)| count));
        assert_eq!(requests, Some(89_303.0));
        assert_eq!(number(report, |line| line.strip_prefix("Requests/sec:")), Some(81_185.01));
        assert_eq!(number("", |line| line.strip_prefix("Requests/sec:")), None);
    }
}
