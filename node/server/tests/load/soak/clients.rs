//! The clients of a soak: they ask, wait, watch and attack, until the run is over.
//!
//! They learn of transactions from `/tx/recent`, and remember the answer about each that is final.
//! A request may fail only while the server is started again.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use core::time::Duration;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use milepost::primitives::CryptoHash;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time;

use crate::hostile::attack::{Attack, Target};
use crate::support::{Server, post, request};

/// Clients that ask without a wait
const ASKERS: usize = 4;
/// Their pause between two requests
const PAUSE: Duration = Duration::from_millis(20);
/// Pause between two attacks
const PEACE: Duration = Duration::from_secs(10);
/// Final transactions that are remembered, and asked for again
const REMEMBERED: usize = 5_000;
/// Longer than any request takes, those that wait included
const TIMEOUT: Duration = Duration::from_secs(60);

/// All clients
pub(crate) struct Clients {
    shared: Arc<Shared>,
    /// Dropped to end them
    runtime: Runtime,
    attacker: JoinHandle<()>,
}

struct Shared {
    address: Mutex<SocketAddr>,
    /// Locked during an attack
    attacking: Mutex<()>,
    /// Requests that began before may fail
    failures_until: Mutex<Option<Instant>>,
    expects_failures: AtomicBool,
    is_over: AtomicBool,
    times: Mutex<Vec<Duration>>,
    /// The newest transactions
    recent: Mutex<Vec<Transaction>>,
    /// Answers about final transactions, by a hash of their bytes, and since when they are known
    finals: Mutex<BTreeMap<Transaction, (CryptoHash, Instant)>>,
    wrong: Mutex<Vec<String>>,
    counts: Counts,
}

type Transaction = (String, String);

/// What was done
#[derive(Default)]
struct Counts {
    batches: AtomicU64,
    waits: AtomicU64,
    timeouts: AtomicU64,
    watches: AtomicU64,
    attacks: AtomicU64,
    repeated: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in [
            ("batches:", &self.batches),
            ("waits that were answered:", &self.waits),
            ("waits that ended without:", &self.timeouts),
            ("streams of events up to FINAL:", &self.watches),
            ("attacks:", &self.attacks),
            ("final answers that were the same again:", &self.repeated),
            ("answers of 503 during attacks:", &self.refused),
            ("requests lost with a server:", &self.failed),
        ] {
            writeln!(formatter, "{name:40} {}", count.load(SeqCst))?;
        }
        Ok(())
    }
}

impl Clients {
    /// Starts them; so many wait, and so many watch
    pub(crate) fn start(address: SocketAddr, each: usize) -> Self {
        let shared = Arc::new(Shared {
            address: Mutex::new(address),
            attacking: Mutex::default(),
            failures_until: Mutex::default(),
            expects_failures: AtomicBool::default(),
            is_over: AtomicBool::default(),
            times: Mutex::default(),
            recent: Mutex::default(),
            finals: Mutex::default(),
            wrong: Mutex::default(),
            counts: Counts::default(),
        });
        let runtime = Runtime::new().expect("a runtime");
        for number in 0..ASKERS {
            runtime.spawn(ask(Arc::clone(&shared), number));
        }
        for number in 0..each {
            runtime.spawn(wait(Arc::clone(&shared), number));
            runtime.spawn(watch(Arc::clone(&shared), number));
        }
        let attacker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || attack(&shared, each)
        });
        Self { shared, runtime, attacker }
    }

    /// Has another server started, to which all further requests go; those before may fail
    pub(crate) fn restart(&self, start: impl FnOnce() -> Server) -> Server {
        let _peace = lock(&self.shared.attacking);
        self.shared.expects_failures.store(true, SeqCst);
        let server = start();
        *lock(&self.shared.address) = server.address;
        *lock(&self.shared.failures_until) = Some(Instant::now());
        self.shared.expects_failures.store(false, SeqCst);
        server
    }

    /// The times of requests without a wait since the last call
    pub(crate) fn take_times(&self) -> Vec<Duration> {
        core::mem::take(&mut lock(&self.shared.times))
    }

    /// Panics if an answer was wrong
    pub(crate) fn check(&self) {
        let wrong = lock(&self.shared.wrong);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Ends all of them; returns what they did
    pub(crate) fn end(self) -> String {
        self.shared.is_over.store(true, SeqCst);
        self.attacker.join().expect("the server stands the attacks");
        drop(self.runtime);
        self.shared.counts.to_string()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Sends a request on a connection of its own
    ///
    /// `None` if a restart took it, or if attacks take all memory for long responses.
    async fn fetch(&self, text: &str) -> Option<(u16, Vec<u8>)> {
        let (begin, address) = (Instant::now(), *lock(&self.address));
        let was_attacked = self.is_attacked();
        let sent = time::timeout(TIMEOUT, fetch(address, text)).await;
        match sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok((503, body)) => {
                if was_attacked || self.is_attacked() {
                    self.counts.refused.fetch_add(1, SeqCst);
                } else {
                    self.failed(begin, &String::from_utf8_lossy(&body));
                }
                None
            }
            Ok(answer) => Some(answer),
            Err(error) => {
                self.failed(begin, &format!("{error}: {text}"));
                None
            }
        }
    }

    fn failed(&self, begin: Instant, text: &str) {
        let is_expected = lock(&self.failures_until).is_some_and(|until| begin <= until);
        if is_expected || self.expects_failures.load(SeqCst) {
            self.counts.failed.fetch_add(1, SeqCst);
        } else {
            lock(&self.wrong).push(text.to_owned());
        }
    }

    fn is_attacked(&self) -> bool {
        self.attacking.try_lock().is_err()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    /// One of the newest transactions
    fn recent(&self, number: usize) -> Option<Transaction> {
        let recent = lock(&self.recent);
        recent.get(number % recent.len().max(1)).cloned()
    }

    /// One that was final before
    fn remembered(&self, number: usize) -> Option<Transaction> {
        let finals = lock(&self.finals);
        finals.keys().nth(number % finals.len().max(1)).cloned()
    }

    /// Compares an answer about a final transaction with the one before
    ///
    /// One that is not final is wrong only if the transaction was known to be final when the
    /// request began: requests overlap, and an answer that is read last may be an earlier one.
    fn compare(&self, transaction: &Transaction, begin: Instant, body: &[u8]) {
        if !contains(body, r#""final_execution_status":"FINAL""#) {
            if lock(&self.finals).get(transaction).is_some_and(|(_, since)| *since < begin) {
                let text = String::from_utf8_lossy(body);
                lock(&self.wrong).push(format!("{transaction:?} was final: {text}"));
            }
            return;
        }
        let digest = CryptoHash::digest(body);
        let mut finals = lock(&self.finals);
        match finals.get(transaction) {
            Some((before, _)) if *before == digest => {
                self.counts.repeated.fetch_add(1, SeqCst);
            }
            Some(_) => lock(&self.wrong).push(format!("{transaction:?} has two final answers")),
            None if finals.len() < REMEMBERED => {
                finals.insert(transaction.clone(), (digest, Instant::now()));
            }
            None => {}
        }
    }
}

/// Sends a request and reads to the end of the connection
async fn fetch(address: SocketAddr, text: &str) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).await?;
    let text = text.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    stream.write_all(text.as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let status =
        bytes.get(9..12).and_then(|status| core::str::from_utf8(status).ok()?.parse().ok());
    match (end, status) {
        (Some(end), Some(status)) => Ok((status, bytes.split_off(end + 4))),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")
}

fn tx_status((hash, signer): &Transaction, wait_until: &str) -> String {
    let params = json!({
        "tx_hash": hash, "sender_account_id": signer, "wait_until": wait_until,
    });
    request("EXPERIMENTAL_tx_status", &params)
}

/// Asks for the newest transactions, for those that were final before, in batches, and for
/// configurations
async fn ask(shared: Arc<Shared>, number: usize) {
    for round in number.. {
        if shared.is_over() {
            return;
        }
        time::sleep(PAUSE).await;
        let begin = Instant::now();
        let answered = match round % 10 {
            0 => shared.fetch(&get("/tx/recent")).await.map(|(_, body)| {
                let list: Value = serde_json::from_slice(&body).unwrap_or_default();
                let text = |value: &Value| value.as_str().map(str::to_owned);
                let transactions = list.as_array().into_iter().flatten();
                let transactions = transactions
                    .filter_map(|it| Some((text(&it["tx_hash"])?, text(&it["signer_id"])?)));
                *lock(&shared.recent) = transactions.collect();
            }),
            1 => {
                let params = json!({ "finality": "final" });
                let body = request("EXPERIMENTAL_protocol_config", &params);
                shared.fetch(&post("/", &body)).await.map(drop)
            }
            2 => {
                let calls = (0..10).filter_map(|index| shared.remembered(round * 7 + index));
                let calls: Vec<_> = calls.map(|it| tx_status(&it, "NONE")).collect();
                if calls.is_empty() {
                    continue;
                }
                let count = calls.len();
                let body = format!("[{}]", calls.join(","));
                shared.fetch(&post("/", &body)).await.map(|(_, body)| {
                    let list: Value = serde_json::from_slice(&body).unwrap_or_default();
                    let all = list.as_array().into_iter().flatten();
                    let is_final = |it: &&Value| it["result"]["final_execution_status"] == "FINAL";
                    if all.filter(is_final).count() != count {
                        let text = String::from_utf8_lossy(&body);
                        lock(&shared.wrong).push(format!("a batch of final ones: {text}"));
                    }
                    shared.counts.batches.fetch_add(1, SeqCst);
                })
            }
            _ => {
                let transaction = match round % 2 {
                    0 => shared.remembered(round * 31),
                    _ => shared.recent(round),
                };
                let Some(transaction) = transaction else { continue };
                let text = post("/", &tx_status(&transaction, "NONE"));
                let answer = shared.fetch(&text).await;
                answer.map(|(_, body)| shared.compare(&transaction, begin, &body))
            }
        };
        if answered.is_some() {
            lock(&shared.times).push(begin.elapsed());
        }
    }
}

/// Waits for new transactions to be final, and for those that never come
async fn wait(shared: Arc<Shared>, number: usize) {
    for round in number.. {
        let (transaction, expected): (_, &[u16]) = match round % 2 {
            // The limit of a wait may come before finality.
            0 => (shared.recent(round), &[200, 408]),
            _ => {
                let hash = CryptoHash::digest(&round.to_le_bytes()).to_string();
                (Some((hash, "alice.near".to_owned())), &[408])
            }
        };
        if let Some(transaction) = transaction {
            let text = post("/", &tx_status(&transaction, "FINAL"));
            let begin = Instant::now();
            match shared.fetch(&text).await {
                Some((200, body)) if expected.contains(&200) => {
                    shared.compare(&transaction, begin, &body);
                    shared.counts.waits.fetch_add(1, SeqCst);
                }
                Some((408, _)) => drop(shared.counts.timeouts.fetch_add(1, SeqCst)),
                // A server that stops answers those that wait.
                Some((status, body)) => {
                    let body = String::from_utf8_lossy(&body);
                    shared.failed(begin, &format!("a wait got {status}: {body}"));
                }
                None => {}
            }
        }
        time::sleep(PAUSE).await;
    }
}

/// Watches new transactions until they are final
async fn watch(shared: Arc<Shared>, number: usize) {
    for round in number.. {
        if let Some((hash, _)) = shared.recent(round) {
            let begin = Instant::now();
            match shared.fetch(&get(&format!("/tx/{hash}/events"))).await {
                Some((200, body)) if contains(&body, "FINAL") => {
                    shared.counts.watches.fetch_add(1, SeqCst);
                }
                Some((status, body)) => {
                    let body = String::from_utf8_lossy(&body);
                    shared.failed(begin, &format!("a stream ended, {status}: {body}"));
                }
                None => {}
            }
        }
        time::sleep(PAUSE).await;
    }
}

/// Attacks again and again, each time in another way
fn attack(shared: &Shared, connections: usize) {
    for attack in Attack::all().iter().cycle() {
        let begin = Instant::now();
        while begin.elapsed() < PEACE {
            if shared.is_over() {
                return;
            }
            thread::sleep(PAUSE);
        }
        let _attacking = lock(&shared.attacking);
        let address = *lock(&shared.address);
        let duration = Duration::from_secs(1);
        attack.run(&Target { address, connections, is_too_much: false, duration });
        shared.counts.attacks.fetch_add(1, SeqCst);
    }
}
