//! The engine: settings and nothing else; every call takes the storage it works on.
//!
//! Never fails to answer: every error has a response of its own. A result that is stored in one row
//! is copied once, or not at all, by the fast path; everything else goes through a query.

use alloc::vec::Vec;

use super::fast_path::{self, FastPath, FastResult};
use super::{
    Buffers, ChainQuery, ChainStatus, RequestQuery, RequestState, Response, ResponseBody, Settings,
};
use crate::Error;
use crate::config::{ConfigImport, ConfigScope};
use crate::import::{BlockImport, FinalityImport, ImportSettings, ImportSummary};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::proof::AnswerProof;
use crate::rpc::{self, CallOutcome, Method, MethodCall, Outcomes, Request};
use crate::status::{Observation, ProofEnd, ProofQuery, SummaryQuery};
use crate::storage::{Batch, Row, Snapshot, Storage, failed_call, run};
use crate::views::TypeMismatches;

/// The engine: settings and nothing else, so it is free to copy and shared by reference
///
/// ```
/// use milepost::endpoint::{Engine, RequestState};
/// use milepost::storage::MemoryStorage;
///
/// let engine = Engine::default();
/// let storage = MemoryStorage::new();
/// let body = br#"{"method":"tx_status","params":{"tx_hash":"11111111111111111111111111111111",
///     "sender_account_id":"alice.near","wait_until":"NONE"}}"#;
/// let state = engine.respond(engine.parse(body, None), &storage);
/// let RequestState::Ready(response) = state else { panic!("it waits") };
/// assert!(String::from_utf8(response.body).unwrap().contains("UNKNOWN_TRANSACTION"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Engine {
    settings: Settings,
}

impl Engine {
    /// An engine with these settings
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// The settings
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Parses a request body, within the limits of the settings; see [`rpc::parse`]
    ///
    /// `url_method` is the method that the request's URL names, if it names one: a body that names
    /// another is an invalid request. Hosts that route or count requests look at the result before
    /// they pass it on.
    ///
    /// ```
    /// use milepost::endpoint::Engine;
    /// use milepost::rpc::{Method, Request};
    ///
    /// let body = br#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
    /// let Request::Single(Ok(call)) = Engine::default().parse(body, None) else { panic!() };
    /// assert!(matches!(call.method, Method::ProtocolConfig(_)));
    /// ```
    #[inline]
    pub fn parse(&self, body: &[u8], url_method: Option<&str>) -> Request {
        rpc::parse(body, url_method, &self.settings.limits)
    }

    /// Responds to a request from what the snapshot holds; never waits and never fails, because
    /// every error has a response of its own
    ///
    /// For a remote storage, see [`RequestQuery`].
    pub fn respond(&self, request: Request, snapshot: &(impl Snapshot + ?Sized)) -> RequestState {
        let mut body = Vec::new();
        match self.try_fast_path(&request, snapshot, &mut body) {
            FastResult::Found(outcomes) => RequestState::Ready(Response { body, outcomes }),
            FastResult::SlowPath(row) => self.respond_slow_owned(request, row, snapshot),
        }
    }

    /// Responds to a request as [`respond`](Self::respond) does, and appends the response to `out`
    ///
    /// The places of the outcomes count from where the response begins.
    ///
    /// A finalized transaction costs one row read and one copy of its bytes, the configuration of a
    /// final block three reads. With buffers that are reused, nothing is allocated for a result
    /// except what [`parse`](Self::parse) allocates: the account id or the bytes of the transaction
    /// in the request, and its id if that is longer than 22 bytes. Batches allocate.
    ///
    /// ```
    /// use milepost::endpoint::{Buffers, Engine, RequestState};
    /// use milepost::rpc::ResponseKind;
    /// use milepost::storage::MemoryStorage;
    ///
    /// let (engine, storage) = (Engine::default(), MemoryStorage::new());
    /// let (mut buffers, mut out) = (Buffers::default(), Vec::new());
    /// for _ in 0..2 {
    ///     out.clear();
    ///     let request = engine.parse(b"{\"method\":\"block\"}", None);
    ///     let state = engine.respond_into(request, &storage, &mut buffers, &mut out);
    ///     let RequestState::Ready(outcomes) = state else { panic!("it waits") };
    ///     assert_eq!(outcomes.kind(), ResponseKind::RequestValidation);
    ///     assert!(out.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\":"));
    /// }
    /// ```
    pub fn respond_into(
        &self,
        request: Request,
        snapshot: &(impl Snapshot + ?Sized),
        buffers: &mut Buffers,
        out: &mut Vec<u8>,
    ) -> RequestState<Outcomes> {
        match self.try_fast_path(&request, snapshot, out) {
            FastResult::Found(outcomes) => RequestState::Ready(outcomes),
            FastResult::SlowPath(row) => self.respond_slow(request, row, snapshot, buffers, out),
        }
    }

    /// Responds to a request as [`respond`](Self::respond) does, without a copy of a result of
    /// `min_len` bytes or more if one row holds all of it
    ///
    /// The chunks of such a response share the row that the storage returned: a row in memory is
    /// sent to any number of clients, each at its pace, without a copy for each. Below some 16 KiB
    /// one buffer is as fast.
    ///
    /// ```
    /// use milepost::endpoint::{Engine, RequestState, ResponseBody};
    /// use milepost::storage::MemoryStorage;
    ///
    /// let engine = Engine::default();
    /// let request = engine.parse(b"{}", None);
    /// let state = engine.respond_chunks(request, &MemoryStorage::new(), 16 << 10);
    /// let bytes = match state {
    ///     RequestState::Ready(ResponseBody::Contiguous(response)) => response.body,
    ///     RequestState::Ready(ResponseBody::Chunks(chunks)) => chunks.concat(),
    ///     RequestState::Pending(_) => panic!("an invalid request does not wait"),
    /// };
    /// assert!(bytes.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\":"));
    /// ```
    pub fn respond_chunks(
        &self,
        request: Request,
        snapshot: &(impl Snapshot + ?Sized),
        min_len: usize,
    ) -> RequestState<ResponseBody> {
        let Request::Single(Ok(call)) = &request else {
            return self.respond_slow_owned(request, None, snapshot).map(ResponseBody::Contiguous);
        };
        let result = match FastPath::find(call, &self.settings, snapshot) {
            Ok(FastResult::Found(result)) => result,
            Ok(FastResult::SlowPath(row)) => {
                return self
                    .respond_slow_owned(request, row, snapshot)
                    .map(ResponseBody::Contiguous);
            }
            Err(rpc_error) => {
                let response = Response::shared_error(&call.id, rpc_error);
                return RequestState::Ready(ResponseBody::Contiguous(response));
            }
        };
        if result.len() >= min_len {
            return RequestState::Ready(ResponseBody::Chunks(result.into_chunks(&call.id)));
        }
        let mut body = Vec::new();
        let value_end = result.write(&call.id, &mut body);
        let outcome = CallOutcome::new(body.len(), value_end, None);
        let response = Response { body, outcomes: Outcomes::one(outcome) };
        RequestState::Ready(ResponseBody::Contiguous(response))
    }

    /// Fast path: appends the response if one row holds all of it, or if the storage fails
    #[inline]
    fn try_fast_path(
        &self,
        request: &Request,
        snapshot: &(impl Snapshot + ?Sized),
        out: &mut Vec<u8>,
    ) -> FastResult<Outcomes> {
        let Request::Single(Ok(call)) = request else { return FastResult::SlowPath(None) };
        let start = out.len();
        match fast_path::write(call, &self.settings, snapshot, out) {
            FastResult::Found((value_end, error)) => {
                let outcome = CallOutcome::new(out.len() - start, value_end - start, error);
                FastResult::Found(Outcomes::one(outcome))
            }
            FastResult::SlowPath(row) => FastResult::SlowPath(row),
        }
    }

    /// Slow path into a body of its own
    fn respond_slow_owned(
        &self,
        request: Request,
        transaction: Option<Option<Row>>,
        snapshot: &(impl Snapshot + ?Sized),
    ) -> RequestState {
        let (mut body, buffers) = (Vec::new(), &mut Buffers::default());
        let state = self.respond_slow(request, transaction, snapshot, buffers, &mut body);
        state.map(|outcomes| Response { body, outcomes })
    }

    /// Slow path: everything that is not held by one row; with the row of the transaction, or
    /// that it has none, if that was read
    fn respond_slow(
        &self,
        request: Request,
        transaction: Option<Option<Row>>,
        snapshot: &(impl Snapshot + ?Sized),
        buffers: &mut Buffers,
        out: &mut Vec<u8>,
    ) -> RequestState<Outcomes> {
        let request = match request {
            Request::Single(Ok(MethodCall {
                id,
                method: Method::TransactionStatus(request),
                ..
            })) => {
                return buffers.respond(id, request, transaction, &self.settings, snapshot, out);
            }
            others => others,
        };
        RequestQuery::new(&self.settings, request).run(snapshot).map(|response| {
            if out.capacity() == 0 {
                *out = response.body;
            } else {
                out.extend_from_slice(&response.body);
            }
            response.outcomes
        })
    }

    /// Imports a block message, in one commit
    ///
    /// # Errors
    ///
    /// What is wrong with the message and where, or the storage's error; nothing is changed then.
    pub fn import_block(
        &self,
        message: &[u8],
        settings: &ImportSettings,
        storage: &mut impl Storage,
    ) -> Result<ImportSummary, Error> {
        let import = BlockImport::new(message, *settings)?;
        let (batch, summary) = import.run(&snapshot_of(storage)?)?;
        if !batch.is_empty() {
            commit(batch, storage)?;
        }
        Ok(summary)
    }

    /// Makes a stored chain final up to its head, one batch of it; `None` when all is done
    ///
    /// See [`FinalityImport`]; call it until it returns `None`.
    ///
    /// # Errors
    ///
    /// The storage's error, or a corrupt row.
    pub fn make_final(&self, storage: &mut impl Storage) -> Result<Option<ImportSummary>, Error> {
        let output = run(&mut FinalityImport::new(), &snapshot_of(storage)?)?;
        let Some((batch, summary)) = output else { return Ok(None) };
        commit(batch, storage)?;
        Ok(Some(summary))
    }

    /// Puts a protocol configuration in force, in the epoch with this id or from this height on, in
    /// one commit
    ///
    /// Replaces the configuration of the epoch or of the height if there is one, and changes no
    /// other epoch; a height counts in epochs that have none of their own. All configurations of a
    /// storage belong to one chain. Of the settings, only whether types are strict counts. Returns
    /// the known members whose values are not of their type.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration and where, or the storage's error; nothing is changed
    /// then.
    pub fn put_config(
        &self,
        scope: impl Into<ConfigScope>,
        text: &str,
        settings: &ImportSettings,
        storage: &mut impl Storage,
    ) -> Result<TypeMismatches, Error> {
        let mut import = ConfigImport::new(scope.into(), text, settings.strict_types)?;
        let batch = run(&mut import, &snapshot_of(storage)?)?;
        commit(batch, storage)?;
        Ok(import.type_mismatches().clone())
    }

    /// The state of the chain in the storage
    ///
    /// # Errors
    ///
    /// The storage's error, or a corrupt row.
    pub fn chain_status(&self, snapshot: &(impl Snapshot + ?Sized)) -> Result<ChainStatus, Error> {
        run(&mut ChainQuery::new(), snapshot)
    }

    /// Observes a transaction: its compact status, and the status that this is of; costs the walk
    /// over its receipts
    ///
    /// The archive is asked as the settings say. What is observed after every block should be
    /// observed with a lookup other than `Unfinished`, which reads the archive each time.
    ///
    /// # Errors
    ///
    /// The storage's error, a corrupt row, or more receipts than the settings allow.
    pub fn observe(
        &self,
        transaction: CryptoHash,
        snapshot: &(impl Snapshot + ?Sized),
    ) -> Result<Observation, Error> {
        self.observe_at(transaction, Vec::new(), snapshot)
    }

    /// As [`observe`](Self::observe), for watchers whose last events have blocks at these
    /// heights: [`Observation::next_event`] is known for them then
    ///
    /// # Errors
    ///
    /// Those of [`observe`](Self::observe).
    pub fn observe_at(
        &self,
        transaction: CryptoHash,
        heights: Vec<BlockHeight>,
        snapshot: &(impl Snapshot + ?Sized),
    ) -> Result<Observation, Error> {
        let query = SummaryQuery::new(transaction, self.settings.max_receipts);
        #[cfg(feature = "archive")]
        let query = query.with_archive(self.settings.archive);
        run(&mut query.with_heights(heights), snapshot)
    }

    /// The proof of the answer about a transaction, with headers up to this end; `None` if no
    /// stored block up to it confirms an outcome of the transaction
    ///
    /// Clients check it with [`verify_answer`](crate::proof::verify_answer). Costs the walk over
    /// the receipts and the rows of the blocks of the proof. What the storage has forgotten is
    /// looked up in the archive, if the settings enable it.
    ///
    /// # Errors
    ///
    /// The storage's error, a corrupt row, or more receipts than the settings allow; a block that
    /// is not in the stored chain (`Value`), more than
    /// [`MAX_PROOF_HEADERS`](crate::proof::MAX_PROOF_HEADERS) blocks (`Limit`), or a block that is
    /// not kept, or was imported without a check against its hash (`Usage`).
    pub fn prove(
        &self,
        transaction: CryptoHash,
        end: ProofEnd,
        snapshot: &(impl Snapshot + ?Sized),
    ) -> Result<Option<AnswerProof>, Error> {
        let query = ProofQuery::new(transaction, self.settings.max_receipts, end);
        #[cfg(feature = "archive")]
        let query = query.with_archive(self.settings.archive);
        let mut query = query;
        run(&mut query, snapshot)
    }
}

fn snapshot_of<S: Storage>(storage: &S) -> Result<S::Snapshot<'_>, Error> {
    storage.snapshot().map_err(|error| failed_call(error, "snapshot"))
}

fn commit(batch: Batch, storage: &mut impl Storage) -> Result<(), Error> {
    storage.commit(batch).map_err(|error| failed_call(error, "commit"))
}
