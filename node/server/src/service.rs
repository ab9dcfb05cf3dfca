//! The engine, the store and the pending requests, without the network.
//!
//! Every change of the store goes through [`Service`], which passes the changes of a commit to the
//! endpoint before the next commit: they arrive in order and none is left out. Tasks are woken
//! after the lock of the endpoint is released. A shutdown is signalled once and is final.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic;
use std::sync::Mutex;

use milepost::Error;
use milepost::config::{BlockReference, ConfigQuery, ConfigResult, ConfigScope, TrackedShards};
use milepost::endpoint::{
    Buffers, ChainStatus, Endpoint, Engine, Evaluation, RequestState, Response, ResponseBody,
    UnknownTransaction, WaitConfig,
};
use milepost::import::{BlockImport, BlockPosition, ImportSettings, ImportSummary, VerifyMode};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::rpc::{MethodCall, Request};
use milepost::status::{CompactStatus, Milestone, Observation, ProofEnd, StatusSummary};
use milepost::storage::{ConfigRecord, Storage as _, run};
use milepost::views::TypeMismatches;
use milepost_feeds::{ImportError, import_all};
use serde_json::Value;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task;
use tokio::time::Instant;
use tracing::{Span, warn};

use crate::archive::{Exporter, Read, ServiceSnapshot};
use crate::block_importer::BlockImporter;
use crate::block_rows;
use crate::block_verifier::BlockVerifier;
use crate::compact_status::{Include, compact_with};
use crate::epoch_configs;
use crate::failed_requests::FailedRequests;
use crate::http::RequestBody;
use crate::large_buffers::BUFFERS;
use crate::logged_kinds::LoggedKinds;
use crate::metrics::{BlockStep, Commit, MethodLabel, Metrics};
use crate::parsed_request::ParsedRequest;
use crate::phase::Phase;
use crate::query_error::{QueryError, panic_response};
use crate::receipt_origin::{self, FoundReceipt};
use crate::recent::RecentTransactions;
use crate::shared_endpoint::SharedEndpoint;
use crate::store::Store;
use crate::watching::Watching;

/// Larger bodies are processed on the blocking thread pool: a batch of many requests or a large
/// transaction takes longer than handing it over (some 20 us)
const MAX_INLINE_BODY: usize = 32 << 10;

/// Results from this size on are sent from the row that holds them in memory: below, copying one
/// costs less than keeping its chunks together
const MIN_CHUNKED_RESPONSE: usize = 16 << 10;

/// What the task of a pending request gets when the request is woken
pub(crate) struct Wakeup {
    pub(crate) evaluation: Evaluation,
    /// The commit that woke it, if one did
    pub(crate) commit: Option<Arc<Commit>>,
}

/// The engine, its store and the pending requests
pub(crate) struct Service {
    pub(crate) metrics: Metrics,
    pub(crate) wait_timeout: Duration,
    /// The zero of the endpoint's clock, which counts milliseconds
    pub(crate) start: Instant,
    /// Transactions that clients watch
    pub(crate) watching: Arc<Watching>,
    /// Notified when the next timeout of the endpoint becomes earlier
    pub(crate) earlier_timeout: Notify,
    /// The pending requests, each with what wakes its task
    endpoint: SharedEndpoint<oneshot::Sender<Wakeup>>,
    engine: Engine,
    store: Store,
    import_settings: ImportSettings,
    archive: Option<Arc<Exporter>>,
    recent: RecentTransactions,
    logged_mismatches: LoggedKinds,
    /// The requests that failed
    pub(crate) failed: FailedRequests,
    verifier: BlockVerifier,
    commits: watch::Sender<u64>,
    /// The height of the head; 0 before the first block
    head: watch::Sender<BlockHeight>,
    phase: watch::Sender<Phase>,
}

impl Service {
    /// A service whose `wait_config` counts in milliseconds
    pub(crate) fn new(
        engine: Engine,
        store: Store,
        import_settings: ImportSettings,
        wait_config: WaitConfig,
    ) -> Self {
        // A store that cannot be read fails every request, each of which says so.
        let head = engine.chain_status(&store.snapshot()).ok().and_then(|chain| chain.head);
        Self {
            metrics: Metrics::default(),
            wait_timeout: Duration::from_millis(wait_config.timeout),
            endpoint: SharedEndpoint::new(Endpoint::new(engine, wait_config)),
            start: Instant::now(),
            watching: Arc::new(Watching::new(wait_config.max_waiting, wait_config.hash_seed)),
            earlier_timeout: Notify::new(),
            engine,
            store,
            import_settings,
            archive: None,
            recent: RecentTransactions::default(),
            logged_mismatches: LoggedKinds::default(),
            failed: FailedRequests::default(),
            verifier: BlockVerifier::default(),
            commits: watch::Sender::new(0),
            head: watch::Sender::new(head.map_or(0, |head| head.height)),
            phase: watch::Sender::new(Phase::Starting),
        }
    }

    /// The same service, which checks its blocks
    pub(crate) fn with_verify_mode(mut self, mode: VerifyMode) -> Self {
        self.verifier = BlockVerifier::new(mode);
        self
    }

    /// The shards that the blocks must have
    pub(crate) const fn track_shards(&self) -> TrackedShards {
        self.import_settings.track_shards
    }

    /// The same service with an archive behind its store
    pub(crate) fn with_archive(mut self, archive: Option<Arc<Exporter>>) -> Self {
        self.archive = archive;
        self
    }

    /// The archive, if there is one
    pub(crate) const fn archive(&self) -> Option<&Arc<Exporter>> {
        self.archive.as_ref()
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// The engine, which asks the archive if there is one
    fn engine(&self) -> Engine {
        match &self.archive {
            Some(archive) => Engine::new(self.engine.settings().with_archive(archive.lookup())),
            None => self.engine,
        }
    }

    /// A receiver of the number of commits
    pub(crate) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    /// A receiver of the height of the head, which is 0 before the first block
    pub(crate) fn head(&self) -> watch::Receiver<BlockHeight> {
        self.head.subscribe()
    }

    /// The height of the head; 0 before the first block
    pub(crate) fn head_height(&self) -> BlockHeight {
        *self.head.borrow()
    }

    /// The time of the endpoint's clock; rounded up, so that no deadline is early
    pub(crate) fn time_of(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.start);
        u64::try_from(elapsed.as_millis()).map_or(u64::MAX, |millis| millis.saturating_add(1))
    }

    /// Calls the endpoint and sends the requests that the call woke to their tasks; returns the
    /// result of the call, and how many it woke
    ///
    /// `commit` is what the call hands in, if anything.
    pub(crate) fn call_endpoint<R>(
        &self,
        commit: Option<Arc<Commit>>,
        call: impl FnOnce(&mut Endpoint<oneshot::Sender<Wakeup>>) -> R,
    ) -> (R, usize) {
        let (result, outputs) = self.endpoint.call(call);
        if outputs.is_earlier {
            self.earlier_timeout.notify_one();
        }
        let woken_count = outputs.wakeups.len();
        for (evaluation, sender) in outputs.wakeups {
            // Fails if the request was cancelled in between.
            let _ = sender.send(Wakeup { evaluation, commit: commit.clone() });
        }
        (result, woken_count)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout)
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        // Sends what a call that panicked had put out, as every call does.
        self.call_endpoint(None, |endpoint| endpoint.next_timeout()).0
    }

    /// Wakes the requests whose deadline has passed
    pub(crate) fn handle_timeout(&self) {
        let now = self.start.elapsed().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.call_endpoint(None, |endpoint| endpoint.handle_timeout(now));
    }

    /// Signals the shutdown and wakes all pending requests
    pub(crate) fn shutdown(&self) {
        self.enter(Phase::Stopping);
        self.store.wait_for_room(false);
        self.call_endpoint(None, Endpoint::shutdown);
    }

    /// Goes on to this phase, unless it is past it
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|current| phase > mem::replace(current, phase.max(*current)));
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.phase() == Phase::Stopping
    }

    /// Returns once the service shuts down
    pub(crate) async fn shutdown_signal(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.phase.subscribe().wait_for(|phase| *phase == Phase::Stopping).await;
    }

    /// The state of the chain in the store
    pub(crate) async fn chain_status(self: &Arc<Self>) -> Result<ChainStatus, QueryError> {
        let status = self.run(false, Self::chain_status_blocking).await;
        self.record_failure(QueryError::result_of(status))
    }

    /// The state of the chain in the store; may block the thread on I/O
    pub(crate) fn chain_status_blocking(&self) -> Result<ChainStatus, Error> {
        self.engine.chain_status(&self.store.snapshot())
    }

    /// The protocol version in force at the head; `None` without a block or a configuration
    pub(crate) async fn protocol_version(self: &Arc<Self>) -> Result<Option<u32>, QueryError> {
        let query = |service: &Self| epoch_configs::protocol_version(&service.store.snapshot());
        self.record_failure(QueryError::result_of(self.run(false, query).await))
    }

    /// The heights of these blocks; `None` for unknown ones
    pub(crate) async fn heights(
        self: &Arc<Self>,
        hashes: Vec<CryptoHash>,
    ) -> Result<Vec<Option<BlockHeight>>, QueryError> {
        let query = move |service: &Self, snapshot: &ServiceSnapshot<'_>| {
            block_rows::heights(&hashes, service.engine().settings().archive, snapshot)
        };
        self.read_result(false, query).await
    }

    /// The times of these blocks in nanoseconds since 1970; `None` where it is not known
    pub(crate) async fn block_times(
        self: &Arc<Self>,
        hashes: Vec<CryptoHash>,
    ) -> Result<Vec<Option<u64>>, QueryError> {
        let query = move |service: &Self| block_rows::times(&hashes, &service.store.snapshot());
        self.record_failure(QueryError::result_of(self.run(false, query).await))
    }

    /// The newest transactions in blocks as JSON, newest first
    pub(crate) async fn recent_transactions(self: &Arc<Self>) -> Result<Value, QueryError> {
        let query =
            |service: &Self| service.recent.read(&service.engine, &service.store.snapshot());
        self.record_failure(QueryError::result_of(self.run(true, query).await))
    }

    /// The compact status of a transaction with these parts, and its JSON; `None` if it is in no
    /// block
    ///
    /// A proof has headers up to `end`.
    pub(crate) async fn compact_status(
        self: &Arc<Self>,
        hash: CryptoHash,
        include: Include,
        end: ProofEnd,
    ) -> Result<(Option<StatusSummary>, String), QueryError> {
        let query = move |service: &Self, snapshot: &ServiceSnapshot<'_>| {
            let observation = service.engine().observe(hash, snapshot)?;
            let proof = match include.proof {
                true => service.engine().prove(hash, end, snapshot),
                false => Ok(None),
            };
            let proof = match proof {
                Ok(proof) => proof,
                Err(error) => return Err(QueryError::of_proof(error)),
            };
            let json = compact_with(&observation, include, proof.as_ref())?;
            Ok((observation.summary, json))
        };
        // A proof reads up to a thousand blocks.
        self.read_result(include.proof, query).await
    }

    /// The state of a transaction, and the whole result of a request about it; `None` if it is in
    /// no block
    pub(crate) async fn full_status(
        self: &Arc<Self>,
        hash: CryptoHash,
    ) -> Result<(CompactStatus, Option<String>), QueryError> {
        let query = move |service: &Self, snapshot: &ServiceSnapshot<'_>| {
            let observation = service.engine().observe(hash, snapshot)?;
            observation.result().map(|result| (CompactStatus::new(&observation), result))
        };
        self.read_result(false, query).await
    }

    /// Observes transactions, each for watchers that saw blocks at these heights, on one snapshot
    pub(crate) async fn observe_at(
        self: &Arc<Self>,
        transactions: Vec<(CryptoHash, Vec<BlockHeight>)>,
    ) -> Vec<(CryptoHash, Result<Observation, QueryError>)> {
        let hashes: Vec<_> = transactions.iter().map(|(hash, _)| *hash).collect();
        let query = move |service: &Self| {
            let snapshot = service.store.snapshot();
            let observe =
                |(hash, heights)| (hash, service.engine.observe_at(hash, heights, &snapshot));
            transactions.into_iter().map(observe).collect::<Vec<_>>()
        };
        match self.run(false, query).await {
            Some(observed) => observed
                .into_iter()
                .map(|(hash, observed)| {
                    (hash, self.record_failure(observed.map_err(QueryError::Failed)))
                })
                .collect(),
            None => {
                self.failed.note_error(&QueryError::Panicked);
                hashes.into_iter().map(|hash| (hash, Err(QueryError::Panicked))).collect()
            }
        }
    }

    /// A receipt, with the transaction that it comes from; `None` if that is not known
    pub(crate) async fn receipt(
        self: &Arc<Self>,
        id: CryptoHash,
    ) -> Result<Option<FoundReceipt>, QueryError> {
        let query = move |service: &Self, snapshot: &ServiceSnapshot<'_>| {
            receipt_origin::find(id, &service.engine(), snapshot)
        };
        self.read_result(false, query).await
    }

    /// Imports a block message; blocks the thread for the duration of a commit
    pub(crate) fn import_block(&self, message: &[u8]) -> Result<ImportSummary, Error> {
        let import = self.read_block(message)?;
        // Held until the endpoint has the changes, so that it gets commits in order.
        let mut writer = self.store.block_writer();
        let (batch, summary) = import.run(&writer.snapshot()?)?;
        if !batch.is_empty() {
            writer.commit(batch)?;
        }
        self.block_committed(&summary);
        Ok(summary)
    }

    /// Imports block messages, several in one commit if they are ready together, until there are no
    /// more; blocks the thread meanwhile
    ///
    /// `committed` is called for each block after its commit, `stop` once nothing more is taken:
    /// then the messages should end.
    pub(crate) fn import_blocks<M: AsRef<[u8]> + Send>(
        &self,
        messages: impl Iterator<Item = M> + Send,
        committed: impl FnMut(&M, &ImportSummary) + Send,
        stop: impl Fn() + Sync,
    ) -> Result<(), ImportError<M>> {
        let writer = self.store.block_writer();
        let committed = Mutex::new(committed);
        let (message, span) = (PhantomData, Span::current());
        let importer = BlockImporter { service: self, writer, committed, stop, span, message };
        import_all(&importer, messages)
    }

    /// The check of new blocks
    pub(crate) const fn verifier(&self) -> &BlockVerifier {
        &self.verifier
    }

    /// Reads a block message, which needs nothing of the store; waits while the archive cannot be
    /// written and the store may not grow
    pub(crate) fn read_block(&self, message: &[u8]) -> Result<BlockImport, Error> {
        let settings = match &self.archive {
            Some(archive) => {
                archive.wait_until_written(self);
                archive.import_settings(self.import_settings)
            }
            None => self.import_settings,
        };
        let start = Instant::now();
        let import = self.verifier.read(message, settings, &self.metrics);
        self.metrics.block_step(BlockStep::Read, start.elapsed());
        import
    }

    /// Wakes what waits for a block, and counts it; called for each block in order, before blocks
    /// of the next commit
    pub(crate) fn block_committed(&self, summary: &ImportSummary) {
        // First of all: a response that has the block must not carry the head before it.
        if summary.position == BlockPosition::Head {
            self.head.send_replace(summary.block.height);
        }
        self.metrics.block_imported(summary);
        if let Some(archive) = &self.archive {
            archive.blocks_evicted(summary.evicted_blocks);
        }
        let block = || format!("block {}", summary.block.height);
        self.report_mismatches(&summary.type_mismatches, block);
        self.notify_commit(summary);
    }

    /// Stores the protocol configuration of an epoch, or one that is effective from a height on;
    /// blocks the thread for the duration of a commit
    pub(crate) fn put_config(
        &self,
        scope: impl Into<ConfigScope>,
        config: &str,
    ) -> Result<(), Error> {
        let scope = scope.into();
        // No wait condition depends on a configuration.
        let settings = &self.import_settings;
        let mut writer = self.store.config_writer();
        let type_mismatches = self.engine.put_config(scope, config, settings, &mut writer)?;
        self.report_mismatches(&type_mismatches, || format!("configuration of {scope}"));
        Ok(())
    }

    /// Counts members of another type and repeated transactions, and logs each kind once
    fn report_mismatches(
        &self,
        type_mismatches: &TypeMismatches,
        message: impl FnOnce() -> String,
    ) {
        let Some(first) = &type_mismatches.first else { return };
        self.metrics.mismatches_imported(type_mismatches.count);
        if self.logged_mismatches.insert(first.path()) {
            warn!("{}: {first}; imported all the same", message());
        }
    }

    /// Parses a request body on this thread
    pub(crate) fn parse_inline(
        &self,
        body: RequestBody,
        url_method: Option<&str>,
    ) -> ParsedRequest {
        let request = self.engine.parse(body.as_ref(), url_method);
        let label = MethodLabel::of_request(&request, url_method);
        ParsedRequest { request, label, body }
    }

    /// Parses a request body, a large one on the blocking pool
    pub(crate) async fn parse(
        self: &Arc<Self>,
        body: RequestBody,
        url_method: Option<Cow<'static, str>>,
    ) -> ParsedRequest {
        if body.as_ref().len() > MAX_INLINE_BODY {
            let (long, url) = (body.clone(), url_method.clone());
            let parse = move |service: &Self| service.parse_inline(long, url.as_deref());
            if let Some(parsed) = self.run(true, parse).await {
                return parsed;
            }
        }
        self.parse_inline(body, url_method.as_deref())
    }

    /// Answers a request, or returns it as pending; large ones run on the blocking pool
    pub(crate) async fn respond(
        self: &Arc<Self>,
        parsed: ParsedRequest,
    ) -> Responded<ResponseBody> {
        let is_long = parsed.body.as_ref().len() > MAX_INLINE_BODY;
        let (request, body) = (Cell::new(Some(parsed.request)), parsed.body);
        let query = move |service: &Self, snapshot: &ServiceSnapshot<'_>| {
            let _counted = &body;
            let engine = service.engine();
            // Run a second time only if it needs the archive.
            let parsed = request.take();
            if service.archive.is_some() {
                request.set(parsed.clone());
            }
            let parsed = parsed.unwrap_or(Request::Batch(Vec::new()));
            if service.store().file().is_none() {
                return engine.respond_chunks(parsed, snapshot, MIN_CHUNKED_RESPONSE);
            }
            let (mut body, buffers) = (BUFFERS.take(), &mut Buffers::default());
            match engine.respond_into(parsed, snapshot, buffers, &mut body) {
                RequestState::Ready(outcomes) => {
                    let response = Response { body: BUFFERS.written(body), outcomes };
                    RequestState::Ready(ResponseBody::Contiguous(response))
                }
                RequestState::Pending(pending) => {
                    // Nothing was: the buffer is for others.
                    BUFFERS.written(body);
                    RequestState::Pending(pending)
                }
            }
        };
        match self.read(is_long, query).await {
            Some(Read { output: state, retry_after }) => {
                if let RequestState::Ready(body) = &state {
                    self.failed.note_errors(body.errors());
                }
                Responded { state, retry_after }
            }
            None => {
                self.failed.note_error(&QueryError::Panicked);
                let state = RequestState::Ready(ResponseBody::Contiguous(panic_response()));
                Responded { state, retry_after: None }
            }
        }
    }

    /// Responds to a call for the status of a transaction; one that is in no block is waited for,
    /// whatever the setting is
    pub(crate) async fn respond_with_wait(self: &Arc<Self>, call: MethodCall) -> RequestState {
        let query = move |service: &Self, snapshot: &ServiceSnapshot<'_>| {
            let settings = service.engine().settings().with_unknown(UnknownTransaction::Wait);
            Engine::new(settings).respond(Request::Single(Ok(call.clone())), snapshot)
        };
        let Some(Read { output: state, .. }) = self.read(false, query).await else {
            self.failed.note_error(&QueryError::Panicked);
            return RequestState::Ready(panic_response());
        };
        if let RequestState::Ready(response) = &state {
            self.failed.note_errors(response.outcomes.errors());
        }
        state
    }

    /// Answers a request about a transaction in the store that is at this milestone now, without
    /// waiting; `None` if it is at another, or cannot be read; may block the thread on I/O
    pub(crate) fn respond_at(
        &self,
        hash: CryptoHash,
        milestone: Milestone,
        body: &[u8],
    ) -> Option<Response> {
        let snapshot = self.store.snapshot();
        let summary = self.engine.observe(hash, &snapshot).ok()?.summary?;
        if summary.milestone != milestone {
            return None;
        }
        match self.engine.respond(self.engine.parse(body, None), &snapshot) {
            RequestState::Ready(response) => Some(response),
            RequestState::Pending(_) => None,
        }
    }

    /// The protocol configuration in force at a block of the store, as JSON; may block the thread
    /// on I/O
    pub(crate) fn config_blocking(&self, block: CryptoHash) -> Option<String> {
        let mut query = ConfigQuery::new(BlockReference::Hash(block));
        let ConfigResult::InForce(row) = run(&mut query, &self.store.snapshot()).ok()? else {
            return None;
        };
        String::from_utf8(ConfigRecord::decode(&row).ok()?.fragment.to_vec()).ok()
    }

    /// This result, which is noted if the query failed
    pub(crate) fn record_failure<T>(&self, result: Result<T, QueryError>) -> Result<T, QueryError> {
        result.inspect_err(|error| self.failed.note_error(error))
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
    pub(crate) async fn run<T: Send + 'static>(
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
        self.call_endpoint(Some(commit), |endpoint| {
            endpoint.handle_chain_update(&summary.chain_update);
        });
        self.watching.handle_chain_update(&summary.chain_update);
        if summary.position != BlockPosition::Known {
            self.commits.send_modify(|commits| *commits += 1);
        }
    }
}

/// The response to a request, or the request that has to wait
pub(crate) struct Responded<R> {
    pub(crate) state: RequestState<R>,
    /// When to try again, if the archive failed
    pub(crate) retry_after: Option<Duration>,
}

#[cfg(test)]
mod tests;
