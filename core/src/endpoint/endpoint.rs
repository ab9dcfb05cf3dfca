//! The endpoint: the engine together with the requests that wait, as a sans-IO object.
//!
//! A host hands in requests, blocks and the time (`handle_*`) and takes out responses (`poll_*`);
//! no callback, thread or runtime is involved. A pending request is evaluated again only when the
//! condition that it waits for may have changed, and is answered from the rows as they are then.
//! Time is a number that the host passes; the storage is the host's too.

use super::pending_request::{RetainedRequest, StaleRows};
use super::{Engine, PendingRequest, RequestQuery, RequestState, Response};
use crate::Error;
use crate::import::{ChainUpdate, ImportSettings, ImportSummary};
use crate::storage::{Snapshot, Storage};
use crate::waiting::{InsertError, InsertErrorKind, RequestHandle, WaiterMap};

/// How long requests may wait, and how many of them
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WaitConfig {
    /// Time from a request to its deadline, in the host's unit; default 10,000, the ten seconds of
    /// a node for hosts that count milliseconds
    pub timeout: u64,
    /// Maximum number of pending calls; default 100,000, which take some 25 MiB
    ///
    /// In addition each call keeps the id of its request, of up to
    /// [`Limits::MAX_ID_LEN`](crate::rpc::Limits::MAX_ID_LEN), and a batch its invalid calls.
    pub max_waiting: usize,
    /// Seed of the hash function of the wait index; default 0. Hosts that serve strangers pass a
    /// number that these cannot know; see [`WaiterMap::new`]
    pub hash_seed: u64,
}

impl Default for WaitConfig {
    fn default() -> Self {
        Self { timeout: 10_000, max_waiting: 100_000, hash_seed: 0 }
    }
}

impl WaitConfig {
    /// This configuration with another time from a request to its deadline
    #[must_use]
    pub const fn with_timeout(mut self, timeout: u64) -> Self {
        self.timeout = timeout;
        self
    }

    /// This configuration with another maximum number of pending calls
    #[must_use]
    pub const fn with_max_waiting(mut self, max_waiting: usize) -> Self {
        self.max_waiting = max_waiting;
        self
    }

    /// This configuration with another seed of the hash function
    #[must_use]
    pub const fn with_hash_seed(mut self, hash_seed: u64) -> Self {
        self.hash_seed = hash_seed;
        self
    }
}

/// Result of [`Endpoint::suspend`]
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to go on in each of these ways")]
pub enum Suspension {
    /// The request waits; its response will come with this handle
    Waiting(RequestHandle),
    /// The query has to be run once more: a block was imported in between, or the limit of pending
    /// requests is reached, and then the query ends in a response
    Retry(RequestQuery),
}

/// Result of [`Endpoint::resume`]
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to go on in each of these ways")]
pub enum Resumption {
    /// The request goes on waiting
    Waiting,
    /// The query has to be run once more: a block was imported in between, the request timed out,
    /// or the endpoint was shut down
    Retry(RequestQuery),
    /// The request is answered and no longer pending
    Ready(Response),
    /// The request was cancelled in between
    Cancelled,
}

/// The engine together with the requests that wait
///
/// The loop of a host whose storage is local:
///
/// ```
/// use milepost::endpoint::{Endpoint, Engine, RequestState, WaitConfig};
/// use milepost::import::ImportSettings;
/// use milepost::storage::MemoryStorage;
/// use milepost_practice::{Practice, Settings};
///
/// // What the host's event loop receives: here a chain that makes a block a second.
/// let mut chain = Practice::new(Settings::demo(1));
/// let mut storage = MemoryStorage::new();
/// let mut endpoint = Endpoint::new(Engine::default(), WaitConfig::default().with_timeout(10_000));
/// let mut responses = 0;
/// for now in (0..30_000).step_by(1_000) {
///     // A block arrived.
///     let block = chain.next_message();
///     endpoint.handle_block(&block.json, &ImportSettings::default(), &mut storage)?;
///     // A client sent a request.
///     if let Some(transaction) = block.transactions.first() {
///         let body = format!(
///             r#"{{"method": "tx_status", "params": ["{}", "{}"]}}"#,
///             transaction.hash, transaction.signer_id,
///         );
///         match endpoint.handle_request(now, body.as_bytes(), None, &storage) {
///             RequestState::Ready(_response) => responses += 1,
///             RequestState::Pending(_handle) => {} // Kept with the client's connection.
///         }
///     }
///     // Time passed; a host that sleeps does so until `endpoint.next_timeout()`.
///     endpoint.handle_timeout(now);
///     // Responses to requests that were pending:
///     while let Some((_handle, response)) = endpoint.poll_response(&storage) {
///         assert!(response.body.starts_with(b"{\"jsonrpc\":\"2.0\","));
///         responses += 1;
///     }
/// }
/// assert!(responses > 15 && endpoint.pending_count() < 10);
/// # Ok::<(), milepost::Error>(())
/// ```
///
/// Where rows are remote, [`suspend`](Self::suspend) takes in the [`PendingRequest`] of a
/// [`RequestQuery`] that the host ran, [`poll_request`](Self::poll_request) returns those to be run
/// again, and [`resume`](Self::resume) takes back their results. Blocks may be imported in between.
#[derive(Debug)]
pub struct Endpoint {
    engine: Engine,
    wait_config: WaitConfig,
    waiters: WaiterMap<RetainedRequest>,
    stopping: bool,
}

impl Endpoint {
    /// An endpoint without pending requests
    pub fn new(engine: Engine, wait_config: WaitConfig) -> Self {
        let waiters = WaiterMap::new(wait_config.max_waiting, wait_config.hash_seed);
        Self { engine, wait_config, waiters, stopping: false }
    }

    /// The engine that answers
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Number of calls of all pending requests
    pub const fn pending_count(&self) -> usize {
        self.waiters.len()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout): never later than the earliest
    /// deadline, and exactly then once it is near; see [`WaiterMap::next_timeout`]
    pub fn next_timeout(&self) -> Option<u64> {
        self.waiters.next_timeout()
    }

    /// Answers the body of a request, or lets it wait until `now` plus the timeout
    ///
    /// `url_method` is the method that the request's URL names, if it names one: a body that names
    /// another is an invalid request.
    pub fn handle_request(
        &mut self,
        now: u64,
        body: &[u8],
        url_method: Option<&str>,
        snapshot: &(impl Snapshot + ?Sized),
    ) -> RequestState<Response, RequestHandle> {
        let mut state = self.engine.respond(self.engine.parse(body, url_method), snapshot);
        loop {
            let pending = match state {
                RequestState::Ready(response) => return RequestState::Ready(response),
                RequestState::Pending(pending) => pending,
            };
            match self.suspend(now, pending) {
                Suspension::Waiting(handle) => return RequestState::Pending(handle),
                // Terminates: rows that are no newer than before are accepted, and they cannot
                // become newer forever while the map takes in no update.
                Suspension::Retry(query) => state = query.run(snapshot),
            }
        }
    }

    /// Imports a block message in one commit, and wakes the requests that it affects
    ///
    /// # Errors
    ///
    /// Those of [`Engine::import_block`].
    pub fn handle_block(
        &mut self,
        message: &[u8],
        settings: &ImportSettings,
        storage: &mut impl Storage,
    ) -> Result<ImportSummary, Error> {
        let summary = self.engine.import_block(message, settings, storage)?;
        self.handle_chain_update(&summary.chain_update);
        Ok(summary)
    }

    /// Takes in what a block changed, after its commit, when the host imports by itself
    pub fn handle_chain_update(&mut self, update: &ChainUpdate) {
        self.waiters.handle_chain_update(update);
    }

    /// Takes in the time: requests whose deadline is not after `now` are evaluated a last time
    /// and answered
    pub fn handle_timeout(&mut self, now: u64) {
        self.waiters.handle_timeout(now);
    }

    /// Ends all waiting: pending requests are evaluated a last time and answered, with an error if
    /// their milestone is not reached, as are later requests that would have to wait
    pub fn shutdown(&mut self) {
        self.stopping = true;
        self.waiters.wake_all();
    }

    /// Returns the response to a request that was pending, from the rows as they are now
    ///
    /// Call until it returns `None`, after every `handle_*` call.
    pub fn poll_response(
        &mut self,
        snapshot: &(impl Snapshot + ?Sized),
    ) -> Option<(RequestHandle, Response)> {
        while let Some((handle, mut query)) = self.poll_request() {
            loop {
                match self.resume(handle, query.run(snapshot)) {
                    Resumption::Ready(response) => return Some((handle, response)),
                    Resumption::Waiting | Resumption::Cancelled => break,
                    // Terminates, for the reason given at `handle_request`.
                    Resumption::Retry(retry) => query = retry,
                }
            }
        }
        None
    }

    /// Removes a request whose client went away, in O(1); returns whether it was pending
    pub fn cancel(&mut self, handle: RequestHandle) -> bool {
        self.waiters.remove(handle)
    }

    /// Lets a request wait whose query the host ran
    pub fn suspend(&mut self, now: u64, pending: PendingRequest) -> Suspension {
        let newest = self.waiters.generation();
        let (retained, key) = pending.into_parts(newest);
        if self.stopping {
            return Suspension::Retry(retained.resume_refused(STOPPING));
        }
        let deadline = now.saturating_add(self.wait_config.timeout);
        let calls = retained.calls();
        match self.waiters.insert(retained, calls, key, deadline) {
            Ok(handle) => Suspension::Waiting(handle),
            Err(InsertError { request, kind: InsertErrorKind::Full }) => {
                let (pending, limit) = (self.waiters.len(), self.waiters.limit());
                Suspension::Retry(request.resume_over_limit(pending, limit))
            }
            Err(InsertError { request, .. }) => {
                let stale_rows = StaleRows { rows: key.generation, waiters: newest };
                Suspension::Retry(request.resume().with_stale_rows(stale_rows))
            }
        }
    }

    /// Returns a request whose query has to be run again by the host; [`resume`](Self::resume) or
    /// [`cancel`](Self::cancel) has to follow, or the request stays pending
    pub fn poll_request(&mut self) -> Option<(RequestHandle, RequestQuery)> {
        let wakeup = self.waiters.poll_wakeup()?;
        let query = match wakeup.request {
            request if self.stopping => request.resume_refused(STOPPING),
            request if wakeup.expired => request.resume_expired(),
            request => request.resume(),
        };
        Some((wakeup.handle, query))
    }

    /// Takes back a request whose query was run again by the host
    pub fn resume(&mut self, handle: RequestHandle, state: RequestState) -> Resumption {
        let pending = match state {
            RequestState::Ready(response) if self.waiters.remove(handle) => {
                return Resumption::Ready(response);
            }
            RequestState::Ready(_) => return Resumption::Cancelled,
            RequestState::Pending(pending) => pending,
        };
        let newest = self.waiters.generation();
        let (retained, key) = pending.into_parts(newest);
        if self.stopping {
            return Resumption::Retry(retained.resume_refused(STOPPING));
        }
        match self.waiters.reinsert(handle, retained, key) {
            Ok(()) => Resumption::Waiting,
            Err(InsertError { kind: InsertErrorKind::Cancelled, .. }) => Resumption::Cancelled,
            Err(InsertError { request, kind: InsertErrorKind::Expired }) => {
                Resumption::Retry(request.resume_expired())
            }
            Err(InsertError { request, .. }) => {
                let stale_rows = StaleRows { rows: key.generation, waiters: newest };
                Resumption::Retry(request.resume().with_stale_rows(stale_rows))
            }
        }
    }
}

/// Why requests no longer wait
const STOPPING: &str = "the service stops";
