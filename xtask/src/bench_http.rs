//! The bench of the HTTP path: ours under `wrk`, beside a server that sends the same bytes and beside
//! the node's path on the same stack.
//!
//! What is compared takes turns within seconds, so that whatever else the machine does meets all,
//! and a ratio is the median of those of the rounds. The processor time is that of the server's
//! process, as the system counts it; the client's is not in it. Writes its figures, and judges none
//! of them.

use core::fmt::Write as _;
use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::shell::{self, cargo, output, program_at_root};

/// The file that is written
const PAGE: &str = "docs/BENCHMARKS-HTTP.md";
/// How often each server has its turn with each answer; odd, so that there is a median
const ROUNDS: usize = 9;
/// Connections of the client: enough to keep a server busy, few enough for one thread
const CONNECTIONS: usize = 16;
/// How long one turn takes; ten ticks of the processor clock are a percent of it
const TURN: &str = "1s";
/// How long one turn of the node's path takes, which answers a thousandth as often: a request that is
/// cut off at the end counts in time and not in number
const PEER_TURN: &str = "3s";
/// How long the client waits for an answer: all its connections may stand before one processor
const PATIENCE: &str = "60s";
/// For so long a server at rest does nothing
const REST: Duration = Duration::from_millis(100);
/// Clock ticks per second in `/proc`, on every Linux
const TICKS: f64 = 100.0;

/// Runs the bench and writes its page
pub(crate) fn run() -> Result<(), String> {
    let client = client()?;
    shell::run(&mut cargo("build --release -p milepost-server -p milepost-http-benches"))?;
    // By itself, so that nothing of ours is built with what the node's crates ask of others.
    let peer = "build --release -p milepost-http-benches --features peers,jemalloc --bin http-peer";
    shell::run(&mut cargo(peer))?;
    let place = Place::new()?;
    let transactions = place.feed()?;
    let before = Machine::now();

    let memory = place.node("memory")?;
    let file = place.node(&place.path("store.redb")?)?;
    let peer = place.peer()?;
    let mut rows = Vec::new();
    for transaction in &transactions {
        let body = transaction.request();
        let answer = memory.answer(&body)?;
        for (other, name) in [(&file, "out of a file"), (&peer, "of the node's path")] {
            if other.answer(&body)? != answer {
                let receipts = transaction.receipts;
                return Err(format!(
                    "the answers out of memory and {name} differ: {receipts} receipts"
                ));
            }
        }
        let constant = place.constant(&answer)?;
        let script = place.script(&body)?;
        let mut row = Row::new(transaction.receipts, answer.len());
        for round in 1..=ROUNDS {
            println!("{} receipts, round {round} of {ROUNDS}", transaction.receipts);
            row.constant.push(measure(&constant, &script, TURN)?);
            row.memory.push(measure(&memory, &script, TURN)?);
            row.file.push(measure(&file, &script, TURN)?);
            row.peer.push(measure(&peer, &script, PEER_TURN)?);
            // It goes on with what it was sent.
            peer.rest()?;
        }
        rows.push(row);
    }
    let page = page(&rows, &client, &before, &Machine::now());
    println!("\n{page}");
    let path = shell::root().join(PAGE);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    written.and_then(|()| fs::write(&path, page)).map_err(|error| format!("{PAGE}: {error}"))
}

/// The version of the client
fn client() -> Result<String, String> {
    // It says its version together with its help, and then fails.
    match Command::new("wrk").arg("-v").output() {
        Ok(said) => {
            let text = String::from_utf8_lossy(&said.stdout).into_owned();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            Ok(words.join(" "))
        }
        Err(error) => Err(format!(
            "`wrk` does not start ({error}); on Debian it is the package `wrk`: apt-get install wrk"
        )),
    }
}

/// Where everything is built and kept
struct Place {
    /// The folder of released programs
    programs: PathBuf,
    /// The folder of this bench, empty at its start
    files: PathBuf,
}

impl Place {
    fn new() -> Result<Self, String> {
        let target = shell::target()?;
        let files = target.join("http-bench");
        // What an earlier run has left.
        let _ = fs::remove_dir_all(&files);
        fs::create_dir_all(&files).map_err(|error| format!("{}: {error}", files.display()))?;
        Ok(Self { programs: target.join("release"), files })
    }

    fn path(&self, name: &str) -> Result<String, String> {
        let path = self.files.join(name).into_os_string();
        path.into_string().map_err(|path| format!("{}: no text", path.display()))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let path = self.path(name)?;
        fs::write(&path, bytes).map_err(|error| format!("{path}: {error}"))?;
        Ok(path)
    }

    /// Writes the block messages; says which transactions they hold
    fn feed(&self) -> Result<Vec<Transaction>, String> {
        let lines = output(
            Command::new(self.programs.join("http-bench")).args(["feed", &self.path("feed")?]),
        )?;
        lines.lines().map(Transaction::read).collect()
    }

    /// A node that answers out of this store
    fn node(&self, store: &str) -> Result<Server, String> {
        let feed = self.path("feed")?;
        let serve = ["serve", "--listen", "127.0.0.1:0", "--finality", "final", "--blocks", &feed];
        Server::start(
            pinned(0, self.programs.join("milepost")).args(serve).args(["--store", store]),
        )
    }

    /// The node's path, from rows in memory
    fn peer(&self) -> Result<Server, String> {
        let feed = self.path("feed")?;
        Server::start(pinned(0, self.programs.join("http-peer")).args([&feed]))
    }

    /// A server that always sends these bytes
    fn constant(&self, answer: &[u8]) -> Result<Server, String> {
        let file = self.write("answer.json", answer)?;
        Server::start(pinned(0, self.programs.join("http-bench")).args(["constant", &file]))
    }

    /// What tells the client to send this body
    fn script(&self, body: &str) -> Result<String, String> {
        let script = format!(
            "wrk.method = \"POST\"\nwrk.body = [[{body}]]\nwrk.headers[\"Content-Type\"] = \"application/json\"\n"
        );
        self.write("request.lua", script.as_bytes())
    }
}

/// A program on a processor of its own, if there is one for the servers and one for the client
fn pinned(processor: usize, program: impl AsRef<Path>) -> Command {
    if !pins() {
        return program_at_root(program.as_ref());
    }
    let mut command = program_at_root("taskset");
    command.args(["-c", &processor.to_string()]).arg(program.as_ref());
    command
}

fn pins() -> bool {
    let starts = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|end| end.success())
    };
    starts(Command::new("taskset").args(["-c", "0,1", "true"]))
}

/// A transaction that the node knows
struct Transaction {
    receipts: usize,
    hash: String,
    signer: String,
}

impl Transaction {
    fn read(line: &str) -> Result<Self, String> {
        let mut words = line.split(' ');
        let receipts = words.next().and_then(|word| word.parse().ok());
        match (receipts, words.next(), words.next()) {
            (Some(receipts), Some(hash), Some(signer)) => {
                Ok(Self { receipts, hash: hash.to_owned(), signer: signer.to_owned() })
            }
            _ => Err(format!("`{line}` names no transaction")),
        }
    }

    fn request(&self) -> String {
        let Self { hash, signer, .. } = self;
        format!(
            r#"{{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"{signer}","wait_until":"FINAL"}}}}"#
        )
    }
}

/// A server that ends with this value
struct Server {
    child: Child,
    address: String,
    /// Kept open, so that the server can go on printing
    _lines: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server that prints where it listens
    fn start(command: &mut Command) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("a server does not start: {error}");
        let mut child = command
            .env("MILEPOST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(told)?;
        let stdout = child.stdout.take().ok_or("a server has no output")?;
        let mut server = Self { child, address: String::new(), _lines: BufReader::new(stdout) };
        let mut line = String::new();
        server._lines.read_line(&mut line).map_err(told)?;
        let address = line.trim_end().rsplit_once("http://").map(|(_, address)| address);
        server.address = address.ok_or("a server ended before it listened")?.to_owned();
        Ok(server)
    }

    /// The body of the answer to a POST with this one
    fn answer(&self, body: &str) -> Result<Vec<u8>, String> {
        let told = |error: std::io::Error| format!("{}: {error}", self.address);
        let mut stream = TcpStream::connect(&self.address).map_err(told)?;
        let length = body.len();
        let request = format!(
            "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).map_err(told)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(told)?;
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        match end {
            Some(end) if answer.starts_with(b"HTTP/1.1 200 ") => Ok(answer.split_off(end + 4)),
            _ => Err(format!("{}: {}", self.address, String::from_utf8_lossy(&answer))),
        }
    }

    /// Seconds of processor time so far
    fn seconds(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = fs::read_to_string(&path).map_err(|error| {
            format!("{path}: {error}; processor time is read where Linux shows it")
        })?;
        // The name, which may have spaces, ends in the last `)`; user and system time follow as
        // the 12th and 13th word.
        let words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: Vec<u64> = words.skip(11).take(2).filter_map(|word| word.parse().ok()).collect();
        Ok(ticks.iter().sum::<u64>() as f64 / TICKS)
    }

    /// Waits until it has nothing to do
    fn rest(&self) -> Result<(), String> {
        loop {
            let before = self.seconds()?;
            std::thread::sleep(REST);
            if self.seconds()? <= before {
                return Ok(());
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
        PATIENCE,
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
        _ => Err(format!("the client says nothing that is understood:\n{report}")),
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

/// How much more processor time some turns took than others: the median of the rounds
fn ratio(turns: &[Turn], others: &[Turn]) -> f64 {
    median(turns.iter().zip(others).map(|(turn, other)| turn.cost / other.cost))
}

fn rate(turns: &[Turn]) -> f64 {
    median(turns.iter().map(|turn| turn.rate))
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What the machine says of itself
struct Machine {
    processor: String,
    processors: usize,
    system: String,
    compiler: String,
    /// Processes that ran or wanted to, on average over the last minute
    load: String,
}

impl Machine {
    fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info.lines().find(|line| line.starts_with("model name"));
        let model = model.and_then(|line| line.split_once(": "));
        let compiler = output(Command::new("rustc").arg("--version"));
        let load = read("/proc/loadavg");
        Self {
            processor: model.map_or("unknown", |(_, name)| name).to_owned(),
            processors: std::thread::available_parallelism().map_or(1, core::num::NonZero::get),
            system: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim_end()),
            compiler: compiler.unwrap_or_default().trim_end().to_owned(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

fn page(rows: &[Row], client: &str, before: &Machine, after: &Machine) -> String {
    let Machine { processor, processors, system, compiler, load } = before;
    let place = if pins() {
        "The servers run on one processor, the client on another."
    } else {
        "Servers and client share the processors."
    };
    let mut page = format!(
        "# What an answer costs over HTTP

Written by `cargo xtask bench --http`. A final transaction is asked for by its hash, with its receipts, over
{CONNECTIONS} connections that are kept alive. *Constant* is a server on the same stack (hyper, tokio) that reads the
request and sends the same bytes each time: what is above it is the node's. *Memory* and *file* are the node on its two
storages. *Peer* is the path of a reference node (2.14), rebuilt from its public crates as [these benches](BENCHMARKS.md) have
it, on the stack of the constant body: generic JSON value, typed request, borsh rows in a `HashMap`, views, generic JSON value,
bytes, with jemalloc. A node adds its database, its actors and its router. All send the same bytes, which is checked before they
are measured. Processor time is that of the server's process, kernel included. {place}

The servers take turns of {TURN}, the peer of {PEER_TURN}, {ROUNDS} each. Figures are medians, and ratios to the constant body are medians of the rounds'
ratios; the lowest turn is in brackets. Whatever else the machine does only adds, so where the two are far apart the
machine was busy, and the lowest says more.

{processor}, {processors} processors; {system}; {compiler}; {client}.
Load of the machine: {load} before, {} after, of which the bench makes 2.

## Processor time per request

| receipts | answer | constant | memory | ratio | file | ratio |
|---:|---:|---:|---:|---:|---:|---:|
",
        after.load
    );
    for row in rows {
        let Row { receipts, bytes, constant, memory, file, .. } = row;
        // Writing to a string cannot fail.
        let _ = write!(page, "| {receipts} | {:.1} kB | {}", *bytes as f64 / 1e3, costs(constant));
        for turns in [memory, file] {
            let lowest = lowest(turns) / lowest(constant);
            let _ = write!(
                page,
                " | {} | **{:.2}** ({lowest:.2})",
                costs(turns),
                ratio(turns, constant)
            );
        }
        page.push_str(" |\n");
    }
    page.push_str(
        "\n## Beside the node's path\n\nHow many times its processor time per request. What the constant \
         body reaches is the most that this stack can give.\n\n",
    );
    page.push_str("| receipts | peer | memory | file | constant |\n|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let Row { receipts, constant, memory, file, peer, .. } = row;
        let _ = write!(page, "| {receipts} | {}", costs(peer));
        for turns in [memory, file, constant] {
            let lowest = lowest(peer) / lowest(turns);
            let _ = write!(page, " | **{:.1}x** ({lowest:.1}x)", ratio(peer, turns));
        }
        page.push_str(" |\n");
    }
    page.push_str("\n## Requests per second, one client\n\n");
    page.push_str("| receipts | constant | memory | file | peer |\n|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let _ = write!(page, "| {}", row.receipts);
        for turns in [&row.constant, &row.memory, &row.file, &row.peer] {
            let _ = write!(page, " | {:.0}", rate(turns));
        }
        page.push_str(" |\n");
    }
    page
}

/// The median cost of some turns, and the lowest
fn costs(turns: &[Turn]) -> String {
    let middle = median(turns.iter().map(|turn| turn.cost));
    format!("{middle:.1} ({:.1}) µs", lowest(turns))
}

fn lowest(turns: &[Turn]) -> f64 {
    turns.iter().map(|turn| turn.cost).fold(f64::INFINITY, f64::min)
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

    #[test]
    fn ratios_are_of_turns_in_one_round() {
        let turns = |costs: [f64; 3]| costs.map(|cost| Turn { rate: 1.0, cost }).to_vec();
        let mut row = Row::new(1, 1);
        // The machine was three times as slow in the second round.
        row.constant = turns([10.0, 30.0, 10.0]);
        row.memory = turns([12.0, 39.0, 11.0]);
        assert!((ratio(&row.memory, &row.constant) - 1.2).abs() < 1e-9);
    }

    #[test]
    fn transactions_are_read_from_the_words_of_the_feed() {
        let transaction = Transaction::read("10 8raF alice.near").unwrap();
        assert_eq!((transaction.receipts, transaction.hash.as_str()), (10, "8raF"));
        assert!(transaction.request().contains(r#""sender_account_id":"alice.near""#));
        assert!(Transaction::read("ten").is_err());
    }
}
