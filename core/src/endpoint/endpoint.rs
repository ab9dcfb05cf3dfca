//! The endpoint: the engine together with the requests that wait, as a sans-IO object.
//!
//! A host hands in requests, blocks, rows, results of commits and the time (`handle_*`), and takes
//! out what is to be done (`poll_output`); no callback, thread or runtime is involved. Requests are
//! woken by what was committed and by nothing else, each once, and answered from rows that are no
//! older than that. Storage, threads and the clock are the host's.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

#[cfg(feature = "archive")]
use super::ExportAnswer;
#[cfg(feature = "watch")]
use super::end_reason::STOPPING;
#[cfg(feature = "archive")]
use super::exports::Exports;
use super::operation::{OperationKind, Operations, Progress};
use super::pending_request::RetainedRequest;
use super::validity_map::ValidityMap;
#[cfg(feature = "watch")]
use super::watches::Watches;
use super::{
    ChainQuery, Completion, EndReason, Engine, Evaluation, Output, PendingRequest, RequestOptions,
    RequestQuery, RequestState, WaitConfig, WaitMode,
};
use crate::Error;
#[cfg(feature = "watch")]
use crate::ErrorKind;
#[cfg(feature = "archive")]
use crate::archive::ArchiveLookup;
use crate::config::{ConfigImport, ConfigScope};
use crate::import::{BlockImport, BlockVerifier, ChainUpdate, ImportSettings, VerifyMode};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::rpc::Request;
use crate::status::{ProofEnd, ProofQuery, SummaryQuery};
use crate::storage::{OptimisticQuery, Row, Snapshot, failed_read};
use crate::waiting::{RequestHandle, WaiterMap};

/// Who evaluates a request
#[derive(Clone, Copy, Debug)]
pub(super) enum Evaluator {
    /// The endpoint, with rows that the host supplies
    Endpoint,
    /// The host, over its snapshots
    Host,
}

/// A request in the waiters
pub(super) struct Waiting<T> {
    pub(super) request: RetainedRequest,
    pub(super) evaluator: Evaluator,
    pub(super) tag: T,
}

/// The engine together with the requests that wait
///
/// There are two ways to use it, for one request or another. A host whose storage is local
/// responds by the engine, on any thread, and hands in only what is pending; where it polls an
/// [`Output::Wakeup`], it evaluates the request again:
///
/// ```
/// use milepost::endpoint::{Endpoint, Engine, Output, RequestState, WaitConfig};
/// use milepost::import::ImportSettings;
/// use milepost::storage::MemoryStorage;
/// use milepost_practice::{Practice, Settings};
///
/// // What the host's event loop receives: here a chain that makes a block a second.
/// let mut chain = Practice::new(Settings::demo(1));
/// let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
/// let mut endpoint = Endpoint::new(engine, WaitConfig::default().with_timeout(10_000));
/// let mut responses = 0;
/// for now in (0..30_000).step_by(1_000) {
///     // A block arrived. After its commit the endpoint wakes the requests that it affects.
///     let block = chain.next_message();
///     let summary = engine.import_block(&block.json, &ImportSettings::default(), &mut storage)?;
///     endpoint.handle_chain_update(&summary.chain_update);
///     // A client sent a request.
///     if let Some(transaction) = block.transactions.first() {
///         let body = format!(
///             r#"{{"method": "tx_status", "params": ["{}", "{}"]}}"#,
///             transaction.hash, transaction.signer_id,
///         );
///         match engine.respond(engine.parse(body.as_bytes(), None), &storage) {
///             RequestState::Ready(_response) => responses += 1,
///             // The tag is kept with the request, for example the client's connection.
///             RequestState::Pending(pending) => {
///                 let _handle = endpoint.handle_pending(now, pending, None, transaction.hash);
///             }
///         }
///     }
///     // Time passed; a host that sleeps does so until the time of `Output::Timeout`.
///     endpoint.handle_timeout(now);
///     // Runs the evaluations of requests that were woken.
///     while let Output::Response { response, .. } = endpoint.poll_output_with(&storage) {
///         assert!(response.body.starts_with(b"{\"jsonrpc\":\"2.0\","));
///         responses += 1;
///     }
/// }
/// assert!(responses > 15 && endpoint.pending_count() < 10);
/// # Ok::<(), milepost::Error>(())
/// ```
///
/// A host whose rows are remote hands in whole requests and blocks. The endpoint asks for rows and
/// commits, any number of operations at a time, and waking a request is no matter of the host:
///
/// ```
/// use milepost::endpoint::{Completion, Endpoint, Engine, Output, RequestOptions, WaitConfig};
/// use milepost::import::ImportSettings;
/// use milepost::storage::{MemoryStorage, Snapshot, Storage};
/// use milepost_practice::{Practice, Settings};
///
/// let block = Practice::new(Settings::demo(1)).next_message();
/// let mut storage = MemoryStorage::new(); // In place of a remote one.
/// let engine = Engine::default();
/// let mut endpoint = Endpoint::new(engine, WaitConfig::default());
/// let body = br#"{"method": "EXPERIMENTAL_protocol_config", "params": {"finality": "final"}}"#;
/// endpoint.handle_block(&block.json, &ImportSettings::default())?;
/// endpoint.handle_request(0, engine.parse(body, None), RequestOptions::default(), ());
/// let (mut blocks, mut responses) = (0, 0);
/// loop {
///     match endpoint.poll_output() {
///         Output::NeedRows { handle, keys, .. } => {
///             let mut rows = Vec::new();
///             storage.get_many(&keys, &mut rows)?;
///             endpoint.handle_rows(handle, Ok(&rows))?;
///         }
///         Output::Commit { handle, batch } => {
///             let result = storage.commit(batch);
///             endpoint.handle_commit_result(handle, result)?;
///         }
///         Output::Completed { result: Ok(Completion::Block(_)), .. } => blocks += 1,
///         Output::Response { .. } => responses += 1,
///         Output::Timeout(_) => break,
///         output => panic!("{output:?}"),
///     }
/// }
/// assert_eq!((blocks, responses), (1, 1));
/// # Ok::<(), milepost::Error>(())
/// ```
///
/// In both ways a host may stop polling at any time and hand in something else.
///
/// A request that contains a signed transaction and waits for it also ends once the transaction can
/// never be included any more, with `INVALID_TRANSACTION`: it has expired, or a final block that
/// came in during the wait has a transaction with the same access key and at least its nonce. Both
/// need that no block since its base block is missing.
pub struct Endpoint<T = ()> {
    engine: Engine,
    pub(super) wait_config: WaitConfig,
    pub(super) waiters: WaiterMap<Waiting<T>>,
    pub(super) operations: Operations<T>,
    #[cfg(feature = "archive")]
    pub(super) exports: Exports,
    pub(super) outputs: VecDeque<Output<T>>,
    pub(super) stopping: bool,
    pub(super) validity: ValidityMap,
    /// Reads a block message that is to be imported
    read_block: Box<ReadBlock>,
    #[cfg(feature = "watch")]
    pub(super) watches: Watches,
}

/// A reader of block messages, and perhaps of what their hashes prove
type ReadBlock = dyn FnMut(&[u8], ImportSettings) -> Result<BlockImport, Error> + Send + Sync;

impl<T> core::fmt::Debug for Endpoint<T> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("engine", &self.engine)
            .field("wait_config", &self.wait_config)
            .field("waiters", &self.waiters)
            .finish_non_exhaustive()
    }
}

impl<T> Endpoint<T> {
    /// An endpoint without pending requests
    pub fn new(engine: Engine, wait_config: WaitConfig) -> Self {
        Self {
            engine,
            wait_config,
            waiters: WaiterMap::new(wait_config.max_waiting, wait_config.hash_seed),
            operations: Operations::new(),
            #[cfg(feature = "archive")]
            exports: Exports::default(),
            outputs: VecDeque::new(),
            stopping: false,
            validity: ValidityMap::new(wait_config.hash_seed),
            read_block: Box::new(BlockImport::new),
            #[cfg(feature = "watch")]
            watches: Watches::new(wait_config.hash_seed),
        }
    }

    /// The same with blocks checked against their own hashes; the default is not to check them
    ///
    /// [`handle_block`](Self::handle_block) refuses a wrong block with
    /// [`VerifyMode::Strict`]; the summary of an import has the result.
    #[must_use]
    pub fn with_verify_mode(mut self, mode: VerifyMode) -> Self {
        let mut verifier = BlockVerifier::new(mode);
        self.read_block = Box::new(move |message, settings| {
            BlockImport::verified(message, settings, &mut verifier)
        });
        self
    }

    /// The engine that answers
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Number of calls of all requests that wait or waited before
    pub const fn pending_count(&self) -> usize {
        self.waiters.len()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout): never later than the earliest
    /// deadline, and exactly then once it is near; see [`WaiterMap::next_timeout`]
    pub fn next_timeout(&self) -> Option<u64> {
        self.waiters.next_timeout()
    }

    /// Lets a request wait that the host has evaluated, until `now` plus the timeout; `None` is
    /// that of the [`WaitConfig`]
    ///
    /// When it is to be evaluated again, there is an [`Output::Wakeup`] with the tag. That is
    /// at once if a block was handed in since its evaluation, if too many requests are pending, or
    /// after [`shutdown`](Self::shutdown).
    pub fn handle_pending(
        &mut self,
        now: u64,
        pending: PendingRequest,
        timeout: Option<u64>,
        tag: T,
    ) -> RequestHandle {
        let handle = self.waiters.reserve(Some(self.deadline(now, timeout)));
        self.suspend(handle, pending, Evaluator::Host, tag);
        handle
    }

    /// Takes in the result of an [`Output::Wakeup`]
    ///
    /// A response becomes an [`Output::Response`]; a host that has use for it elsewhere calls
    /// [`cancel`](Self::cancel) instead. The result of a request that was cancelled in between is
    /// dropped.
    pub fn handle_evaluation(&mut self, handle: RequestHandle, state: RequestState, tag: T) {
        match state {
            RequestState::Ready(response) => {
                if self.remove(handle) {
                    self.outputs.push_back(Output::Response { handle, response, tag });
                }
            }
            RequestState::Pending(pending) => self.suspend(handle, pending, Evaluator::Host, tag),
        }
    }

    /// Answers a request with rows that the host supplies; it may wait until `now` plus the timeout
    ///
    /// The rows of an evaluation come from one snapshot, unless the engine's
    /// [`Settings::isolation`](super::Settings::isolation) says otherwise.
    ///
    /// Ends in [`Output::Response`], or in [`Output::Pending`] with [`WaitMode::Never`].
    pub fn handle_request(
        &mut self,
        now: u64,
        request: Request,
        options: RequestOptions,
        tag: T,
    ) -> RequestHandle {
        let waits = options.wait_mode == WaitMode::UntilTimeout;
        let deadline = waits.then(|| self.deadline(now, options.timeout));
        let handle = self.waiters.reserve(deadline);
        let query = RequestQuery::new(self.engine.settings(), request);
        self.start_request(handle, query, waits, tag);
        handle
    }

    /// Imports a block message with rows that the host supplies, in one commit, and then wakes the
    /// requests that it affects
    ///
    /// Imports run one after the other. Ends in [`Output::Completed`].
    ///
    /// # Errors
    ///
    /// What is wrong with the message by itself, and where; nothing was started then.
    pub fn handle_block(
        &mut self,
        message: &[u8],
        settings: &ImportSettings,
    ) -> Result<RequestHandle, Error> {
        let settings = *settings;
        #[cfg(feature = "archive")]
        let settings = self.exports.import_settings(settings);
        let import = (self.read_block)(message, settings)?;
        Ok(self.start(OperationKind::Block(Box::new(import))))
    }

    /// Puts a protocol configuration in force, in the epoch with this id or from this height on,
    /// with rows that the host supplies, in one commit
    ///
    /// Runs in line with the imports of blocks. Of the settings, only whether types are strict
    /// counts. Ends in [`Output::Completed`].
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration by itself, and where; nothing was started then.
    pub fn handle_config(
        &mut self,
        scope: impl Into<ConfigScope>,
        text: &str,
        settings: &ImportSettings,
    ) -> Result<RequestHandle, Error> {
        let import = ConfigImport::new(scope.into(), text, settings.strict_types)?;
        Ok(self.start(OperationKind::Config(Box::new(import))))
    }

    /// Asks what the storage knows about the chain, with rows that the host supplies; ends in
    /// [`Output::Completed`]
    pub fn handle_chain_query(&mut self) -> RequestHandle {
        let handle = self.waiters.reserve(None);
        self.start_chain_query(handle, ChainQuery::new());
        handle
    }

    pub(super) fn start_chain_query(&mut self, handle: RequestHandle, query: ChainQuery) {
        let isolation = self.engine.settings().isolation;
        let kind = OperationKind::query(query, isolation, Completion::Chain);
        self.operations.start(handle, kind);
    }

    /// Observes a transaction once, with rows that the host supplies, for watchers whose last
    /// events have blocks at these heights; ends in [`Output::Completed`]
    ///
    /// [`Observation::next_event`](crate::status::Observation::next_event) is known for these
    /// heights. The archive is asked only if the storage does not know the transaction.
    pub fn handle_observation_query(
        &mut self,
        transaction: CryptoHash,
        heights: Vec<BlockHeight>,
    ) -> RequestHandle {
        let settings = self.engine.settings();
        let query = SummaryQuery::new(transaction, settings.max_receipts).with_heights(heights);
        // Hosts observe what they watch after every block, which should not poll the archive.
        #[cfg(feature = "archive")]
        let query = query.with_archive(match settings.archive {
            ArchiveLookup::Never => ArchiveLookup::Never,
            ArchiveLookup::Unknown | ArchiveLookup::Unfinished => ArchiveLookup::Unknown,
        });
        let complete = |observation| Completion::Observation(Arc::new(observation));
        self.start(OperationKind::query(query, settings.isolation, complete))
    }

    /// Asks for the proof of the answer about a transaction, with rows that the host supplies, as
    /// [`Engine::prove`] makes it; ends in [`Output::Completed`]
    pub fn handle_proof_query(&mut self, transaction: CryptoHash, end: ProofEnd) -> RequestHandle {
        let settings = self.engine.settings();
        let query = ProofQuery::new(transaction, settings.max_receipts, end);
        #[cfg(feature = "archive")]
        let query = query.with_archive(settings.archive);
        let complete = |proof: Option<_>| Completion::Proof(proof.map(Arc::new));
        self.start(OperationKind::query(query, settings.isolation, complete))
    }

    /// Takes in the rows of an [`Output::NeedRows`], in the order of its keys, or why there are
    /// none; those of a request that was cancelled are ignored
    ///
    /// A request whose rows cannot be supplied is answered with `INTERNAL_ERROR`, any other
    /// operation ends with the error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) unless the operation needs rows and there is
    /// one entry per key; it is unchanged then.
    pub fn handle_rows(
        &mut self,
        handle: RequestHandle,
        rows: Result<&[Option<Row>], Error>,
    ) -> Result<(), Error> {
        #[cfg(feature = "archive")]
        if self.exports.waits_for_row(handle) {
            return self.handle_archived_row(rows);
        }
        match rows {
            Ok(rows) => self.operations.supply_rows(handle, rows),
            Err(error) => {
                if let Some(progress) = self.operations.fail_rows(handle, error)? {
                    self.take(handle, progress);
                }
                Ok(())
            }
        }
    }

    /// Takes in whether the batch of an [`Output::Commit`] was committed, and wakes the requests
    /// that it affects if so; or whether the rows of an [`Output::Write`] are durable
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if nothing of this handle is to be committed.
    pub fn handle_commit_result(
        &mut self,
        handle: RequestHandle,
        result: Result<(), Error>,
    ) -> Result<(), Error> {
        #[cfg(feature = "archive")]
        if self.exports.waits_for_write(handle) {
            self.handle_export_answer(result.map(|()| ExportAnswer::Written));
            return Ok(());
        }
        let completion = self.operations.committed(handle)?;
        self.take(handle, Progress::Completed(result.map(|()| completion)));
        Ok(())
    }

    /// Handles the changes of a block, after its commit, when the host imports by itself, and wakes
    /// the requests that it affects
    pub fn handle_chain_update(&mut self, update: &ChainUpdate) {
        let before = self.waiters.generation();
        self.waiters.handle_chain_update(update);
        for handle in self.validity.handle_chain_update(update, before) {
            self.waiters.wake_request(handle);
        }
        #[cfg(feature = "watch")]
        self.watches.handle_chain_update(update);
    }

    /// Takes in the time: requests whose deadline is not after `now` are evaluated a last time
    pub fn handle_timeout(&mut self, now: u64) {
        self.waiters.handle_timeout(now);
    }

    /// Ends all waiting: pending requests are evaluated a last time and answered, with an error if
    /// their milestone is not reached, as are later requests that would have to wait
    ///
    /// Watches end with an error. Other operations continue.
    pub fn shutdown(&mut self) {
        self.stopping = true;
        self.waiters.wake_all();
        #[cfg(feature = "watch")]
        self.watches.fail_all(&Error::new(ErrorKind::Usage, STOPPING));
    }

    /// Removes a request whose client went away, or that the host has answered, in O(log
    /// operations), or a watch; returns whether there was one
    ///
    /// An import and an export are not cancelled: their writes may be in progress.
    pub fn cancel(&mut self, handle: RequestHandle) -> bool {
        #[cfg(feature = "archive")]
        if self.exports.contains(handle) {
            return false;
        }
        #[cfg(feature = "watch")]
        self.watches.remove(handle);
        self.operations.cancel(handle) && self.remove(handle)
    }

    /// Returns the next output; [`Output::Timeout`] if there is no other
    pub fn poll_output(&mut self) -> Output<T> {
        self.next_output(true)
    }

    /// The next output; `keeps_snapshots` is whether the host has one for each evaluation, which
    /// it releases when an observation has ended
    fn next_output(
        &mut self,
        #[cfg_attr(not(feature = "watch"), expect(unused_variables, reason = "of watches"))]
        keeps_snapshots: bool,
    ) -> Output<T> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return output;
            }
            if let Some((handle, progress)) = self.operations.advance() {
                self.take(handle, progress);
            } else if let Some(wakeup) = self.waiters.poll_wakeup() {
                let Waiting { mut request, evaluator, tag } = wakeup.request;
                self.validity.set_used(&mut request);
                let end_reason = match wakeup.expired {
                    _ if self.stopping => Some(EndReason::Shutdown),
                    true => Some(EndReason::Timeout),
                    false => None,
                };
                let evaluation = Evaluation { request, end_reason, stale_rows: None };
                self.evaluate(wakeup.handle, evaluation, evaluator, tag);
            } else {
                #[cfg(feature = "watch")]
                if let Some(handle) = self.watches.poll_ended() {
                    if keeps_snapshots {
                        return Output::Pending { handle };
                    }
                    continue;
                } else if let Some((transaction, heights)) = self.watches.poll_observation() {
                    let handle = self.handle_observation_query(transaction, heights);
                    self.watches.set_observing(handle, transaction);
                    continue;
                } else if let Some((handle, event)) = self.watches.poll_event() {
                    if !self.watches.contains(handle) {
                        self.waiters.remove(handle);
                    }
                    return Output::Watch { handle, event };
                }
                return Output::Timeout(self.next_timeout());
            }
        }
    }

    /// Returns the next output for a host whose storage is local: rows come from the snapshot and
    /// evaluations run over it
    ///
    /// Never returns [`Output::NeedRows`] or [`Output::Wakeup`].
    pub fn poll_output_with(&mut self, snapshot: &(impl Snapshot + ?Sized)) -> Output<T> {
        // Terminates: rows that are no newer than before are accepted, and they cannot become newer
        // forever while nothing is handed in.
        loop {
            match self.next_output(false) {
                Output::Wakeup { handle, evaluation, tag } => {
                    self.handle_evaluation(handle, evaluation.run(snapshot), tag);
                }
                Output::NeedRows { handle, keys, .. } => {
                    let mut rows = Vec::new();
                    let read = match snapshot.get_many(&keys, &mut rows) {
                        Ok(()) => Ok(&rows[..]),
                        Err(error) => Err(failed_read(error, "get_many", &keys)),
                    };
                    // A snapshot that returns too few rows has failed.
                    if let Err(error) = self.handle_rows(handle, read) {
                        let _ = self.handle_rows(handle, Err(error));
                    }
                }
                output => return output,
            }
        }
    }

    /// Removes a request; returns whether there was one
    fn remove(&mut self, handle: RequestHandle) -> bool {
        self.validity.remove(handle);
        self.waiters.remove(handle)
    }

    fn deadline(&self, now: u64, timeout: Option<u64>) -> u64 {
        now.saturating_add(timeout.unwrap_or(self.wait_config.timeout))
    }

    /// Starts an evaluation of a request
    pub(super) fn start_request(
        &mut self,
        handle: RequestHandle,
        query: RequestQuery,
        waits: bool,
        tag: T,
    ) {
        let isolation = query.isolation();
        let query = Box::new(OptimisticQuery::new(query, isolation));
        self.operations.start(handle, OperationKind::Request { query, waits, tag });
    }

    /// Has the engine ask the archive so from now on
    #[cfg(feature = "archive")]
    pub(super) fn set_archive_lookup(&mut self, lookup: ArchiveLookup) {
        self.engine = Engine::new(self.engine.settings().with_archive(lookup));
    }

    /// Starts an operation that is no request
    fn start(&mut self, kind: OperationKind<T>) -> RequestHandle {
        let handle = self.waiters.reserve(None);
        self.operations.start(handle, kind);
        handle
    }

    /// Handles the next step of an operation
    fn take(&mut self, handle: RequestHandle, progress: Progress<T>) {
        let output = match progress {
            Progress::NeedRows { keys, is_first } => Output::NeedRows { handle, keys, is_first },
            Progress::Commit(batch) => Output::Commit { handle, batch },
            #[cfg(feature = "archive")]
            Progress::Completed(result) if self.exports.contains(handle) => {
                return self.handle_export_completion(result);
            }
            Progress::Completed(result) => {
                self.waiters.remove(handle);
                #[cfg(feature = "watch")]
                let Some(result) = self.watches.handle_observation(handle, result) else { return };
                if let Ok(Completion::Block(summary)) = &result {
                    #[cfg(feature = "archive")]
                    self.exports.handle_import(summary);
                    self.handle_chain_update(&summary.chain_update);
                }
                Output::Completed { handle, result }
            }
            Progress::Evaluated { state: RequestState::Ready(response), tag, .. } => {
                if !self.remove(handle) {
                    return;
                }
                Output::Response { handle, response, tag }
            }
            Progress::Evaluated { state: RequestState::Pending(_), waits: false, .. } => {
                self.waiters.remove(handle);
                Output::Pending { handle }
            }
            Progress::Evaluated { state: RequestState::Pending(pending), tag, .. } => {
                return self.suspend(handle, pending, Evaluator::Endpoint, tag);
            }
        };
        self.outputs.push_back(output);
    }
}
