//! The engine, the store and the pending requests, without the network.
//!
//! Every change of the store goes through [`Service`], which passes the changes of a commit to the
//! waiters before the next commit: they arrive in order and none is left out. A shutdown is
//! signalled once and is final.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::hash::BuildHasher as _;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::hash::RandomState;
use std::panic;

use milepost::endpoint::{
    ChainStatus, Engine, PendingRequest, RequestQuery, RequestState, Response, ResponseBody,
};
use milepost::import::{BlockPosition, ImportSettings, ImportSummary};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::rpc::ResponseKind;
use milepost::storage::rows::BlockRecord;
use milepost::storage::{Key, Row, Snapshot as _, Table};
use milepost::{Error, ErrorKind};
use tokio::sync::{Notify, watch};
use tokio::task;
use tokio::time::Instant;

use crate::metrics::Metrics;
use crate::store::Store;
use crate::waiting::shared_waiters::SharedWaiters;
use crate::waiting::{WakeReason, WakeSender};

/// Larger bodies are processed on the blocking thread pool: a batch of many requests or a large
/// transaction takes longer than handing it over (some 20 us)
const MAX_INLINE_BODY: usize = 32 << 10;

/// Results from this size on are sent from the row that holds them: below, copying one costs less
/// than keeping its chunks together
const MIN_CHUNKED_RESPONSE: usize = 16 << 10;

/// How long requests may wait, and how many of them
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitConfig {
    pub(crate) timeout: Duration,
    /// Maximum number of calls that wait at a time
    pub(crate) max_waiting: usize,
}

/// The engine, its store and the pending requests
pub(crate) struct Service {
    pub(crate) metrics: Metrics,
    pub(crate) wait_timeout: Duration,
    pub(crate) waiters: SharedWaiters<WakeSender>,
    /// The zero of the waiters' clock, which counts milliseconds
    pub(crate) start: Instant,
    /// Notified when the next timeout of the waiters becomes earlier
    pub(crate) earlier_timeout: Notify,
    engine: Engine,
    store: Store,
    import_settings: ImportSettings,
    commits: watch::Sender<u64>,
    shutdown: watch::Sender<bool>,
}

impl Service {
    pub(crate) fn new(
        engine: Engine,
        store: Store,
        import_settings: ImportSettings,
        wait_config: WaitConfig,
    ) -> Self {
        // Random per process; nothing that is hashed with it leaves the process.
        let hash_seed = RandomState::new().hash_one(0);
        Self {
            metrics: Metrics::default(),
            wait_timeout: wait_config.timeout,
            waiters: SharedWaiters::new(wait_config.max_waiting, hash_seed),
            start: Instant::now(),
            earlier_timeout: Notify::new(),
            engine,
            store,
            import_settings,
            commits: watch::Sender::new(0),
            shutdown: watch::Sender::new(false),
        }
    }

    /// A receiver of the number of commits
    pub(crate) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    /// The current time of the waiters' clock
    pub(crate) fn now(&self) -> u64 {
        self.time_of(Instant::now())
    }

    /// The deadline of a request received at `since`; rounded up, so never early
    pub(crate) fn deadline(&self, since: Instant) -> u64 {
        let timeout = u64::try_from(self.wait_timeout.as_millis()).unwrap_or(u64::MAX);
        self.time_of(since).saturating_add(1).saturating_add(timeout)
    }

    fn time_of(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.start);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// Signals the shutdown and wakes all pending requests
    pub(crate) fn shutdown(&self) {
        self.shutdown.send_replace(true);
        for wakeup in self.waiters.shutdown() {
            // Fails if the request was cancelled in between.
            let _ = wakeup.request.send(WakeReason::Shutdown);
        }
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        *self.shutdown.borrow()
    }

    /// Returns once the service shuts down
    pub(crate) async fn shutdown_signal(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.shutdown.subscribe().wait_for(|shutdown| *shutdown).await;
    }

    /// The state of the chain in the store
    pub(crate) async fn chain_status(self: &Arc<Self>) -> Result<ChainStatus, Error> {
        let status = self.run(false, Self::chain_status_blocking).await;
        status.unwrap_or_else(|| Err(panic_error()))
    }

    /// The state of the chain in the store; may block the thread on I/O
    pub(crate) fn chain_status_blocking(&self) -> Result<ChainStatus, Error> {
        self.engine.chain_status(&self.store.snapshot())
    }

    /// The heights of these blocks; `None` for unknown ones
    pub(crate) async fn heights(
        self: &Arc<Self>,
        hashes: Vec<CryptoHash>,
    ) -> Result<Vec<Option<BlockHeight>>, Error> {
        let query = move |service: &Self| {
            let keys = hashes.into_iter().map(|hash| Key::hash(Table::Blocks, hash));
            let (keys, mut rows): (Vec<_>, Vec<_>) = (keys.collect(), Vec::new());
            service.store.snapshot().get_many(&keys, &mut rows)?;
            let height = |row: Option<Row>| {
                row.map(|row| BlockRecord::decode(&row).map(|block| block.height)).transpose()
            };
            rows.into_iter().map(height).collect()
        };
        let heights = self.run(false, query).await;
        heights.unwrap_or_else(|| Err(panic_error()))
    }

    /// Imports a block message; blocks the thread for the duration of a commit
    pub(crate) fn import_block(&self, message: &[u8]) -> Result<ImportSummary, Error> {
        // Held until the waiters have the changes, so that they get commits in order.
        let mut writer = self.store.writer();
        let summary = self.engine.import_block(message, &self.import_settings, &mut writer)?;
        self.metrics.block_imported(&summary);
        self.notify_commit(&summary);
        Ok(summary)
    }

    /// Stores a protocol configuration that is effective from this height on; blocks the thread for
    /// the duration of a commit
    pub(crate) fn put_config(&self, height: BlockHeight, config: &str) -> Result<(), Error> {
        // No wait condition depends on a configuration.
        self.engine.put_config(height, config, &mut self.store.writer())
    }

    /// Answers a request body, or returns it as pending; large bodies run on the blocking pool
    pub(crate) async fn respond(
        self: &Arc<Self>,
        body: impl AsRef<[u8]> + Send + 'static,
        url_method: Option<Cow<'static, str>>,
    ) -> RequestState<ResponseBody> {
        let is_long = body.as_ref().len() > MAX_INLINE_BODY;
        let query = move |service: &Self| {
            let request = service.engine.parse(body.as_ref(), url_method.as_deref());
            let snapshot = service.store.snapshot();
            service.engine.respond_chunks(request, &snapshot, MIN_CHUNKED_RESPONSE)
        };
        let state = self.run(is_long, query).await;
        state.unwrap_or_else(|| RequestState::Ready(ResponseBody::Contiguous(panic_response())))
    }

    /// Runs a pending request again
    pub(crate) async fn resume(self: &Arc<Self>, mut pending: PendingRequest) -> RequestState {
        let query = move |service: &Self| match pending.again(&service.store.snapshot()) {
            Some(response) => RequestState::Ready(response),
            None => RequestState::Pending(pending),
        };
        let state = self.run(false, query).await;
        state.unwrap_or_else(|| RequestState::Ready(panic_response()))
    }

    /// Runs the last query of a pending request, which always ends in a response
    pub(crate) async fn finish(self: &Arc<Self>, last_query: RequestQuery) -> Response {
        let query = move |service: &Self| match last_query.run(&service.store.snapshot()) {
            RequestState::Ready(response) => response,
            // No call is pending after its last query.
            RequestState::Pending(pending) => pending.expire(&service.store.snapshot()),
        };
        self.run(false, query).await.unwrap_or_else(panic_response)
    }

    /// Answers a request without waiting for its milestone; may block the thread on I/O
    pub(crate) fn respond_blocking(&self, body: &[u8]) -> Response {
        let snapshot = self.store.snapshot();
        match self.engine.respond(self.engine.parse(body, None), &snapshot) {
            RequestState::Ready(response) => response,
            RequestState::Pending(pending) => pending.expire(&snapshot),
        }
    }

    /// Runs a long query on the blocking thread pool; `None` if it panicked
    pub(crate) async fn spawn_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        self.run(true, query).await
    }

    /// Runs a query on this thread, or on the blocking thread pool if it is long or the disk may be
    /// slow; `None` if it panicked
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        query: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let permit = if is_long { None } else { self.store.try_inline_read() };
        if permit.is_some() {
            // Queries do not change the engine, and a query that panicked is dropped.
            return panic::catch_unwind(AssertUnwindSafe(|| query(self))).ok();
        }
        let service = Arc::clone(self);
        task::spawn_blocking(move || query(&service)).await.ok()
    }

    fn notify_commit(&self, summary: &ImportSummary) {
        let commit = self.metrics.commit();
        // For a known block too: the import that committed it may have failed before this call.
        for wakeup in self.waiters.handle_chain_update(&summary.chain_update) {
            // Fails if the request was cancelled in between.
            let _ = wakeup.request.send(WakeReason::ChainUpdate(Arc::clone(&commit)));
        }
        if summary.position != BlockPosition::Known {
            self.commits.send_modify(|commits| *commits += 1);
        }
    }
}

fn panic_error() -> Error {
    Error::new(ErrorKind::Corrupt, "the query panicked")
}

/// The response to a request whose query panicked
fn panic_response() -> Response {
    let body = br#"{"jsonrpc":"2.0","error":{"name":"INTERNAL_ERROR","cause":{"info":{"error_message":"the query panicked"},"name":"INTERNAL_ERROR"},"code":-32000,"message":"Server error","data":"the query panicked"},"id":null}"#;
    Response { body: body.to_vec(), kind: ResponseKind::Internal }
}
