//! A client that asks one question on a schedule, on one connection and on new ones.
//!
//! A time counts from when the question was due, so that a stall counts for each question that was
//! due meanwhile. Its answers have to be those that it got before any attack. Beside it, the memory
//! of the server is sampled.

use core::fmt;
use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use core::time::Duration;
use std::panic::resume_unwind;
use std::thread;
use std::time::Instant;

use serde_json::json;
use tokio::net::TcpSocket;
use tokio::runtime::{Builder, Runtime};

use crate::fixture;
use crate::host::Usage;
use crate::support::{Client, Server, post, request};

/// Time between two questions
const INTERVAL: Duration = Duration::from_millis(20);

/// Its address: not that of the attackers, which have 127.0.0.1
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The client, and what it asks
pub(crate) struct Bystander<'server> {
    server: &'server Server,
    question: String,
    answer: Vec<u8>,
    runtime: Runtime,
}

/// What was seen during an attack
pub(crate) struct Seen {
    pub(crate) delays: Delays,
    /// Largest resident memory of the server, in bytes
    pub(crate) resident: u64,
}

/// Times until an answer
#[derive(Debug, Default)]
pub(crate) struct Delays(Vec<Duration>);

/// A request for a transaction that is there
pub(crate) fn question() -> String {
    let transaction = fixture::transactions().next().expect("there is a transaction");
    let params = json!({
        "tx_hash": transaction.hash.to_string(),
        "sender_account_id": transaction.signer_id.to_string(),
        "wait_until": "NONE",
    });
    request("EXPERIMENTAL_tx_status", &params)
}

impl<'server> Bystander<'server> {
    pub(crate) fn new(server: &'server Server) -> Self {
        let body = question();
        let response = server.post("/", &body);
        assert_eq!(response.status, 200, "{}", response.text());
        let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
        Self { server, question: post("/", &body), answer: response.body, runtime }
    }

    fn connect(&self) -> Client {
        let connected = self.runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((ADDRESS, 0)))?;
            socket.connect(self.server.address).await?.into_std()
        });
        let stream = connected.expect("the server accepts");
        stream.set_nonblocking(false).expect("it can block");
        Client::over(stream)
    }

    /// Asks while `attack` runs, and returns what that returns
    pub(crate) fn watch<T: Send>(&self, attack: impl FnOnce() -> T + Send) -> (T, Seen) {
        let is_over = AtomicBool::new(false);
        let mut seen = Seen { delays: Delays::default(), resident: 0 };
        let result = thread::scope(|scope| {
            let attacking = scope.spawn(|| {
                // A panic ends the loop below as well.
                let _over = SetOnDrop(&is_over);
                attack()
            });
            let mut client = self.connect();
            let (mut due, mut end) = (Instant::now(), None);
            // Those that are due before the end are asked after it.
            while end.is_none_or(|end| due < end) {
                if seen.delays.0.len() % 5 == 4 {
                    client = self.connect();
                }
                client.send(&self.question);
                let response = client.response();
                assert!(response.body == self.answer, "{}", response.text());
                seen.delays.0.push(due.elapsed());
                seen.resident = seen.resident.max(Usage::of(self.server.id()).resident);
                due += INTERVAL;
                end = end.or_else(|| is_over.load(SeqCst).then(Instant::now));
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            attacking.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        seen.delays = Delays::of(seen.delays.0);
        (result, seen)
    }
}

struct SetOnDrop<'flag>(&'flag AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

impl Delays {
    /// These times
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The time within which this share of answers came
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let index = (self.0.len() as f64 * share) as usize;
        self.0.get(index.min(self.0.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [half, most, maximum] =
            [0.5, 0.99, 1.0].map(|share| 1e3 * self.quantile(share).as_secs_f64());
        let count = self.count();
        write!(
            formatter,
            "median {half:.1} ms, 99 % {most:.1} ms, maximum {maximum:.1} ms, of {count}"
        )
    }
}
