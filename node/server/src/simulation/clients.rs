//! Clients: each sends requests, watches transactions, waits, and leaves, as its random numbers
//! say.
//!
//! A client writes down what it got and when; equal seeds have equal notes.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use milepost::codec::base64;
use milepost::primitives::CryptoHash;
use milepost::status::Milestone;
use milepost_practice::PracticeTransaction;
use milepost_testkit::{Rng, mix};
use serde_json::{Value, json};
use tokio::time::{self, Instant};

use super::http_client::{self, Outcome};
use super::model::{AnswerKind, SentRequest};
use super::world::{Connector, World};

/// How long a request may be open before it counts as one that hangs for ever
const HANG_TIMEOUT: Duration = Duration::from_secs(600);

/// A client
pub(super) struct Client {
    pub(super) world: Arc<World>,
    pub(super) rng: Rng,
    /// The time after which the service answers what waits
    timeout: Duration,
    number: usize,
    notes: String,
}

impl Client {
    pub(super) fn new(world: &Arc<World>, seed: u64, number: usize, timeout: Duration) -> Self {
        let rng = Rng::new(mix(seed ^ mix(number as u64 + 1)));
        Self { world: Arc::clone(world), rng, timeout, number, notes: String::new() }
    }

    pub(super) fn note(&mut self, what: impl fmt::Display) {
        let line = format!("{} ms, client {}: {what}\n", self.world.millis(), self.number);
        if self.world.is_printed {
            print!("{line}");
        }
        self.notes.push_str(&line);
    }

    /// Does what a client does; returns its notes
    pub(super) async fn run(mut self) -> Result<String, String> {
        for _ in 0..self.rng.between(4, 12) {
            time::sleep(Duration::from_millis(self.rng.below(4_000))).await;
            let connector = self.a_server().await;
            let done = match self.rng.below(3) {
                0 => self.watch(connector).await,
                _ => self.ask(connector).await,
            };
            done.map_err(|error| {
                format!("{} ms, client {}: {error}", self.world.millis(), self.number)
            })?;
        }
        Ok(self.notes)
    }

    /// One of the servers, once it runs
    pub(super) async fn a_server(&mut self) -> Connector {
        let server = self.rng.index(self.world.servers.len());
        self.world.running_server(server).await
    }

    /// Leaves after a while, or never
    pub(super) fn leaves_after(&mut self, one_in: u64, seconds: u64) -> Duration {
        match self.rng.one_in(one_in) {
            true => Duration::from_millis(self.rng.below(seconds * 1_000)),
            false => HANG_TIMEOUT,
        }
    }

    /// A transaction that may be about to come, or is of another time
    pub(super) fn pick(&mut self) -> Option<PracticeTransaction> {
        let head = self.world.model(0, |model| model.head());
        let transactions = &self.world.chain.transactions;
        let near = |it: &PracticeTransaction| (head..head + 4).contains(&(it.height + 2));
        let near: Vec<_> = transactions.iter().filter(|it| near(it)).collect();
        if !near.is_empty() && !self.rng.one_in(4) {
            return Some((*self.rng.pick(&near)).clone());
        }
        (!transactions.is_empty()).then(|| self.rng.pick(transactions).clone())
    }

    /// Sends a request and checks its answer
    async fn ask(&mut self, connector: Connector) -> Result<(), String> {
        let body = self.body();
        let mut request = Request::post("/").header("content-type", "application/json");
        let mut timeout = self.timeout;
        if self.rng.one_in(3) {
            let seconds = self.rng.below(30);
            request = request.header("prefer", format!("wait={seconds}"));
            timeout = Duration::from_secs(seconds).min(self.world.max_wait);
        }
        let request = request.body(Full::new(Bytes::from(body.clone()))).expect("a request");
        let leaves_after = self.leaves_after(6, 8);
        let bytes = 1 << self.rng.between(6, 16);
        let (world, sent) =
            (Arc::clone(&self.world), SentRequest { body, at: Instant::now(), timeout });
        let exchange = async {
            match http_client::send(&world, &connector, bytes, request).await? {
                Outcome::Gone => Ok(Outcome::Gone),
                Outcome::Done((response, _connection)) => {
                    let status = response.status().as_u16();
                    match response.into_body().collect().await {
                        Ok(body) => Ok(Outcome::Done((status, body.to_bytes()))),
                        Err(error) => {
                            http_client::broken(&world, &connector, sent.at, &error.to_string())
                        }
                    }
                }
            }
        };
        self.world.count(|figures| figures.requests += 1);
        let result: Result<Outcome<(u16, Bytes)>, String> = tokio::select! {
            biased;
            () = connector.killed() => {
                self.world.count(|figures| figures.cut += 1);
                self.note("the server is killed");
                return Ok(());
            }
            result = exchange => result,
            () = time::sleep(leaves_after) => {
                if leaves_after == HANG_TIMEOUT {
                    let body = String::from_utf8_lossy(&sent.body);
                    return Err(format!("a request hangs: {body}"));
                }
                self.world.count(|figures| figures.hung_up += 1);
                self.note("leaves");
                return Ok(());
            }
        };
        let Outcome::Done((status, answer)) = result? else {
            self.note("no server listens");
            return Ok(());
        };
        let (now, stopped) = (Instant::now(), self.world.stopped(&connector));
        let kind = self
            .world
            .model(connector.server, |model| model.check(&sent, (status, &answer), now, stopped))?;
        self.world.count(|figures| {
            *match kind {
                AnswerKind::Immediate => &mut figures.immediate,
                AnswerKind::Waited => &mut figures.waited,
                AnswerKind::TimedOut => &mut figures.timed_out,
                AnswerKind::Invalid => &mut figures.invalid,
                AnswerKind::Stopped => &mut figures.stopped,
            } += 1;
        });
        let (of, digest) = (CryptoHash::digest(&sent.body), CryptoHash::digest(&answer));
        self.note(format_args!("{of}: {kind:?} with {status} {digest}"));
        Ok(())
    }

    /// The body of a request: a call or a batch
    fn body(&mut self) -> Vec<u8> {
        if self.rng.one_in(6) {
            let calls = (0..self.rng.between(2, 4)).map(|_| self.call()).collect();
            return Value::Array(calls).to_string().into_bytes();
        }
        self.call().to_string().into_bytes()
    }

    fn call(&mut self) -> Value {
        let id = self.rng.below(1_000);
        if self.rng.one_in(8) {
            let height = self.world.chain.first + self.rng.below(60);
            let params = match self.rng.below(3) {
                0 => json!({"finality": "final"}),
                1 => json!({"finality": "optimistic"}),
                _ => json!({"block_id": height}),
            };
            let method = "EXPERIMENTAL_protocol_config";
            return json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        }
        let method = if self.rng.one_in(4) { "tx" } else { "EXPERIMENTAL_tx_status" };
        let wait_until = self.rng.pick(&Milestone::ALL).name();
        let transaction = self.pick().filter(|_| !self.rng.one_in(12));
        let params = match transaction {
            None => json!({
                "tx_hash": CryptoHash::digest(b"unknown").to_string(),
                "sender_account_id": "a.near",
                "wait_until": wait_until,
            }),
            Some(transaction) if self.rng.one_in(3) => {
                let mut signed = String::new();
                base64::encode(&transaction.signed, &mut signed);
                json!({"signed_tx_base64": signed, "wait_until": wait_until})
            }
            Some(transaction) => json!({
                "tx_hash": transaction.hash.to_string(),
                "sender_account_id": transaction.signer_id.to_string(),
                "wait_until": wait_until,
            }),
        };
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }
}
