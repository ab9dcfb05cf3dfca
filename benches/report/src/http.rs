//! The bench over HTTP: our server under `wrk`, beside a server that sends the same bytes and
//! beside the node's path on the same stack.
//!
//! What is compared takes turns within seconds, so that whatever else the machine does affects all,
//! and a ratio is the median of the ratios of the rounds. The processor time is that of the
//! server's process, as the system counts it; the client's is not in it. Writes its figures and
//! judges none of them. The check measures nothing and compares what the servers answer.

mod page;
mod servers;

use std::path::Path;
use std::process::Command;

use servers::{Folder, Server, Transaction, pinned};

use crate::evidence;
use crate::machine::Machine;

/// The file that is written
const PAGE: &str = "docs/BENCHMARKS-HTTP.md";
/// How often each server has its turn with each answer; odd, so that there is a median
const ROUNDS: usize = 9;
/// Connections of the client: enough to keep a server busy, few enough for one thread
const CONNECTIONS: usize = 16;
/// How long one turn takes; ten ticks of the processor clock are a percent of it
const TURN: &str = "1s";
/// How long one turn of the node's path takes, which answers a thousandth as often: a request that
/// is cut off at the end counts in time and not in number
const PEER_TURN: &str = "3s";
/// How long the client waits for an answer: all its connections may wait for one processor
const TIMEOUT: &str = "60s";

/// Measures all servers with all answers and writes the page
pub(crate) fn write(programs: &Path, peer: &Path) -> Result<(), String> {
    let client = client()?;
    let servers = Servers::start(Folder::new(programs, peer)?)?;
    let before = Machine::now();
    let mut rows = Vec::new();
    for transaction in &servers.transactions {
        let body = transaction.request();
        let answer = servers.same_answer(transaction)?;
        let constant = servers.folder.constant(&answer)?;
        let script = servers.folder.script(&body)?;
        let mut row = Row::new(transaction.receipts, answer.len());
        for round in 1..=ROUNDS {
            println!("{} receipts, round {round} of {ROUNDS}", transaction.receipts);
            row.constant.push(measure(&constant, &script, TURN)?);
            row.memory.push(measure(&servers.memory, &script, TURN)?);
            row.file.push(measure(&servers.file, &script, TURN)?);
            row.peer.push(measure(&servers.peer, &script, PEER_TURN)?);
            // It goes on with the requests that were sent before.
            servers.peer.rest()?;
        }
        rows.push(row);
    }
    let page = page::page(&rows, &client, &before, &Machine::now());
    println!("\n{page}");
    crate::write(PAGE, &page)?;
    evidence::write_link("bench-http")
}

/// Starts all servers and compares their answers, byte by byte
pub(crate) fn check(programs: &Path, peer: &Path) -> Result<(), String> {
    let servers = Servers::start(Folder::new(programs, peer)?)?;
    if servers.transactions.is_empty() {
        return Err("there are no transactions to ask about".to_owned());
    }
    for transaction in &servers.transactions {
        let answer = servers.same_answer(transaction)?;
        let constant = servers.folder.constant(&answer)?;
        if constant.answer(&transaction.request())? != answer {
            return Err("the constant body is not the one that was given".to_owned());
        }
        println!("{} receipts: {} equal bytes", transaction.receipts, answer.len());
    }
    Ok(())
}

/// The servers that answer, and the transactions that they know
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
        let memory = folder.node("memory")?;
        let file = folder.node(&folder.path("store.redb")?)?;
        let peer = folder.peer()?;
        Ok(Self { folder, transactions, memory, file, peer })
    }

    /// The answer about a transaction, which all servers have to give alike
    fn same_answer(&self, transaction: &Transaction) -> Result<Vec<u8>, String> {
        let body = transaction.request();
        let answer = self.memory.answer(&body)?;
        for (other, name) in [(&self.file, "from a file"), (&self.peer, "of the node's path")] {
            if other.answer(&body)? != answer {
                let receipts = transaction.receipts;
                return Err(format!(
                    "{receipts} receipts: the answer from memory and the answer {name} differ"
                ));
            }
        }
        Ok(answer)
    }
}

/// The version of the client
fn client() -> Result<String, String> {
    // It prints its version together with its help, and fails.
    match Command::new("wrk").arg("-v").output() {
        Ok(said) => {
            let text = String::from_utf8_lossy(&said.stdout).into_owned();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            Ok(words.join(" "))
        }
        Err(error) => {
            Err(format!("`wrk` does not start ({error}); `cargo xtask setup wrk` installs it"))
        }
    }
}

/// What one turn of the client showed
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
    let before = server.seconds()?;
    let report = output(&mut client)?;
    let seconds = server.seconds()? - before;
    if report.contains("Non-2xx") || report.contains("Socket errors") {
        return Err(format!("not every request was answered:\n{report}"));
    }
    let requests = number(&report, |line| line.split_once(" requests in ").map(|(count, _)| count));
    let rate = number(&report, |line| line.strip_prefix("Requests/sec:"));
    match (requests, rate) {
        (Some(requests), Some(rate)) if requests > 0.0 => {
            Ok(Turn { rate, cost: seconds * 1e6 / requests })
        }
        _ => Err(format!("the client's report is not understood:\n{report}")),
    }
}

/// The number in the first line that has it
fn number(report: &str, find: impl Fn(&str) -> Option<&str>) -> Option<f64> {
    report.lines().find_map(find).and_then(|text| text.trim().parse().ok())
}

/// The turns with one answer
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
    fn reports_of_the_client_are_read() {
        let report = "Running 1s test @ http://127.0.0.1:1\n  1 threads and 16 connections\n  \
                      89303 requests in 1.10s, 3.73GB read\nRequests/sec:  81185.01\n";
        let requests =
            number(report, |line| line.split_once(" requests in ").map(|(count, _)| count));
        assert_eq!(requests, Some(89_303.0));
        assert_eq!(number(report, |line| line.strip_prefix("Requests/sec:")), Some(81_185.01));
        assert_eq!(number("", |line| line.strip_prefix("Requests/sec:")), None);
    }
}
