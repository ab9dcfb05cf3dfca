//! The service without its doors: engine, store, and those who wait.
//!
//! Everything that changes the store goes through here, so that what a commit changed is handed to
//! the lobby before the next one: commits come there in order and none is left out. A stop is a
//! word that is said once and never taken back.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::hash::BuildHasher as _;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::hash::RandomState;
use std::panic;

use milepost::engine::{Answer, ChainStatus, Delivery, Engine, Exchange, Reply, Wait};
use milepost::facts::record::BlockRecord;
use milepost::facts::{Key, Row, Rows as _, Table};
use milepost::ingest::{IngestSettings, Ingested, Place};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::rpc::AnswerClass;
use milepost::{Error, ErrorKind};
use tokio::sync::{Notify, watch};
use tokio::task;
use tokio::time::Instant;

use crate::metrics::Metrics;
use crate::store::Store;
use crate::waiting::lobby::Lobby;
use crate::waiting::{Wake, Waker};

/// Bodies above this size are answered beside the threads that serve sockets: a batch of many
/// requests or a large transaction takes longer than a hand-over (some 20 us)
const SMALL_BODY: usize = 32 << 10;

/// Results from this size on are sent out of the row that holds them: below, to copy one costs less
/// than to keep the pieces together
const LARGE_ANSWER: usize = 16 << 10;

/// How long requests may wait, and how many of them
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) timeout: Duration,
    /// The most calls that wait at a time
    pub(crate) limit: usize,
}

/// Engine, store and those who wait
pub(crate) struct Node {
    pub(crate) metrics: Metrics,
    pub(crate) wait_timeout: Duration,
    pub(crate) lobby: Lobby<Waker>,
    /// The beginning of time in the lobby, which counts milliseconds
    pub(crate) start: Instant,
    /// The lobby's next deadline is earlier than it was
    pub(crate) deadline_came: Notify,
    engine: Engine,
    store: Store,
    ingest: IngestSettings,
    commits: watch::Sender<u64>,
    stop: watch::Sender<bool>,
}

impl Node {
    pub(crate) fn new(
        engine: Engine,
        store: Store,
        ingest: IngestSettings,
        patience: Patience,
    ) -> Self {
        // Each process has keys of its own, and never shows anything that was hashed with them.
        let seed = RandomState::new().hash_one(0);
        Self {
            metrics: Metrics::default(),
            wait_timeout: patience.timeout,
            lobby: Lobby::new(patience.limit, seed),
            start: Instant::now(),
            deadline_came: Notify::new(),
            engine,
            store,
            ingest,
            commits: watch::Sender::new(0),
            stop: watch::Sender::new(false),
        }
    }

    /// The numbers of commits from now on
    pub(crate) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    /// The time in the lobby
    pub(crate) fn now(&self) -> u64 {
        self.time_of(Instant::now())
    }

    /// When the time of a request that came in then is up: never too early for the part of a
    /// millisecond that had gone
    pub(crate) fn deadline(&self, since: Instant) -> u64 {
        let timeout = u64::try_from(self.wait_timeout.as_millis()).unwrap_or(u64::MAX);
        self.time_of(since).saturating_add(1).saturating_add(timeout)
    }

    fn time_of(&self, instant: Instant) -> u64 {
        let span = instant.saturating_duration_since(self.start);
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }

    /// Says that the service stops
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
        for woken in self.lobby.stop() {
            // A request that is gone meanwhile does not listen, and need not.
            let _ = woken.request.send(Wake::Stopped);
        }
    }

    /// Whether the service stops
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Returns when the service stops
    pub(crate) async fn stopping(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.stop.subscribe().wait_for(|stop| *stop).await;
    }

    /// What the store knows about the chain
    pub(crate) async fn chain(self: &Arc<Self>) -> Result<ChainStatus, Error> {
        let chain = self.run(false, Self::chain_now).await;
        chain
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Corrupt, "the question ended in a panic")))
    }

    /// What the store knows about the chain; may block the thread for as long as a disk takes
    pub(crate) fn chain_now(&self) -> Result<ChainStatus, Error> {
        self.engine.chain(&self.store.read())
    }

    /// The heights of these blocks, of those that are known
    pub(crate) async fn heights(
        self: &Arc<Self>,
        hashes: Vec<CryptoHash>,
    ) -> Result<Vec<Option<BlockHeight>>, Error> {
        let question = move |node: &Self| {
            let keys = hashes.into_iter().map(|hash| Key::hash(Table::Blocks, hash));
            let (keys, mut rows): (Vec<_>, Vec<_>) = (keys.collect(), Vec::new());
            node.store.read().get_many(&keys, &mut rows)?;
            let height = |row: Option<Row>| {
                row.map(|row| BlockRecord::decode(&row).map(|block| block.height)).transpose()
            };
            rows.into_iter().map(height).collect()
        };
        let heights = self.run(false, question).await;
        heights
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Corrupt, "the question ended in a panic")))
    }

    /// Takes in a block message; blocks the thread for as long as a commit takes
    pub(crate) fn ingest(&self, message: &[u8]) -> Result<Ingested, Error> {
        // Kept until the lobby knows of it: commits must come there in their order.
        let mut store = self.store.write();
        let ingested = self.engine.ingest(message, &self.ingest, &mut store)?;
        self.metrics.block(&ingested);
        self.committed(&ingested);
        Ok(ingested)
    }

    /// Puts a protocol configuration in force; blocks the thread for as long as a commit takes
    pub(crate) fn put_config(&self, height: BlockHeight, config: &str) -> Result<(), Error> {
        // Nobody waits for a configuration.
        self.engine.put_config(height, config, &mut self.store.write())
    }

    /// Asks a request, beside the serving threads when it may take long
    pub(crate) async fn ask(
        self: &Arc<Self>,
        body: impl AsRef<[u8]> + Send + 'static,
        path_method: Option<Cow<'static, str>>,
    ) -> Delivery {
        let is_long = body.as_ref().len() > SMALL_BODY;
        let question = move |node: &Self| {
            let path_method = path_method.as_deref();
            node.engine.deliver(body.as_ref(), path_method, &node.store.read(), LARGE_ANSWER)
        };
        self.run(is_long, question).await.unwrap_or_else(|| Delivery::Answer(panicked()))
    }

    /// Asks a waiting request again
    pub(crate) async fn ask_again(self: &Arc<Self>, mut wait: Wait) -> Reply {
        let question = move |node: &Self| match wait.again(&node.store.read()) {
            Some(answer) => Reply::Answer(answer),
            None => Reply::Wait(wait),
        };
        let reply = self.run(false, question).await;
        reply.unwrap_or_else(|| Reply::Answer(panicked()))
    }

    /// Asks what always ends in an answer
    pub(crate) async fn ask_end(self: &Arc<Self>, exchange: Exchange) -> Answer {
        let question = move |node: &Self| match exchange.drive(&node.store.read()) {
            Reply::Answer(answer) => answer,
            // No call stays open at the end of its wait.
            Reply::Wait(wait) => wait.expire(&node.store.read()),
        };
        self.run(false, question).await.unwrap_or_else(panicked)
    }

    /// Asks a request and does not wait; may block the thread for as long as a disk takes
    pub(crate) fn ask_now(&self, body: &[u8]) -> Answer {
        let rows = self.store.read();
        match self.engine.ask(body, None, &rows) {
            Reply::Answer(answer) => answer,
            Reply::Wait(wait) => wait.expire(&rows),
        }
    }

    /// Runs a long question beside the serving threads; `None` when it panicked
    pub(crate) async fn beside<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        self.run(true, question).await
    }

    /// Runs a question here, or beside the serving threads when it is long or the disk may be slow;
    /// `None` when it panicked
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        question: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let in_place = if is_long { None } else { self.store.in_place() };
        if in_place.is_some() {
            // The engine is not changed by being asked, and the question is gone either way.
            return panic::catch_unwind(AssertUnwindSafe(|| question(self))).ok();
        }
        let node = Arc::clone(self);
        task::spawn_blocking(move || question(&node)).await.ok()
    }

    fn committed(&self, ingested: &Ingested) {
        let commit = self.metrics.commit();
        // A block that was known too: its commit may have failed to report when it was new.
        for woken in self.lobby.committed(&ingested.changes) {
            // A request that is gone meanwhile does not listen, and need not.
            let _ = woken.request.send(Wake::Changed(Arc::clone(&commit)));
        }
        if ingested.place != Place::Known {
            self.commits.send_modify(|commits| *commits += 1);
        }
    }
}

/// The answer in place of one that a bug has cost us
fn panicked() -> Answer {
    let body = br#"{"jsonrpc":"2.0","error":{"name":"INTERNAL_ERROR","cause":{"info":{"error_message":"the question ended in a panic"},"name":"INTERNAL_ERROR"},"code":-32000,"message":"Server error","data":"the question ended in a panic"},"id":null}"#;
    Answer { body: body.to_vec(), class: AnswerClass::Internal }
}
