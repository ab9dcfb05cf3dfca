//! The query of a request body: one call, or a batch of them.
//!
//! The calls of a batch run level by level together, so a remote storage pays for the deepest
//! receipt tree among them and not for each. A batch is answered as a whole, once none of its calls
//! is pending.

use alloc::vec::Vec;
use core::mem;

use super::call::Call;
use super::end_reason::StaleRows;
use super::{PendingRequest, RequestState, Response, Settings};
use crate::rpc::{Request, RequestId, RpcError};
use crate::storage::{Isolation, Key, Query, Row, Snapshot, Step, check_row_count, run};
use crate::{Error, ErrorKind};

/// The query for the response to a request body
///
/// As any [`Query`]: poll it and supply rows until it ends in a [`RequestState`]. If the storage
/// fails, [`fail`](Self::fail) returns the response.
///
/// ```
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
///
/// use milepost::Error;
/// use milepost::endpoint::{RequestQuery, RequestState, Settings};
/// use milepost::rpc::{Limits, parse};
/// use milepost::storage::{Key, Query, Row, Step};
///
/// /// The storage of the host; this one is empty
/// async fn fetch(keys: &[Key]) -> Result<Vec<Option<Row>>, Error> {
///     Ok(vec![None; keys.len()])
/// }
///
/// async fn respond(body: &[u8]) -> Result<RequestState, Error> {
///     let request = parse(body, None, &Limits::default());
///     let mut query = RequestQuery::new(&Settings::default(), request);
///     loop {
///         let rows = match query.poll()? {
///             Step::Done(state) => return Ok(state),
///             Step::NeedRows(keys) => fetch(keys).await,
///         };
///         match rows {
///             Ok(rows) => query.supply_rows(&rows)?,
///             Err(error) => return Ok(RequestState::Ready(query.fail(&error))),
///         }
///     }
/// }
///
/// let body = br#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
/// let mut future = pin!(respond(body));
/// let Poll::Ready(state) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
///     panic!("this storage responds at once");
/// };
/// let RequestState::Ready(response) = state? else { panic!("a configuration is never pending") };
/// assert!(String::from_utf8_lossy(&response.body).contains("UNKNOWN_BLOCK"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct RequestQuery {
    settings: Settings,
    calls: Vec<Call>,
    is_batch: bool,
    has_ended: bool,
    /// The rows of the evaluation before, if they were too old to wait with
    stale_rows: Option<StaleRows>,
    keys: Vec<Key>,
    /// Number of `keys` that each call needs
    key_counts: Vec<usize>,
}

impl RequestQuery {
    /// The query of a parsed request body
    pub fn new(settings: &Settings, request: Request) -> Self {
        let (calls, is_batch) = match request {
            Request::Single(call) => ([Call::new(call, settings)].into(), false),
            Request::Invalid(invalid) => ([Call::invalid(invalid)].into(), false),
            Request::Batch(calls) => {
                (calls.into_iter().map(|call| Call::new(call, settings)).collect(), true)
            }
        };
        Self::from_calls(*settings, calls, is_batch, None)
    }

    pub(super) fn from_calls(
        settings: Settings,
        calls: Vec<Call>,
        is_batch: bool,
        stale_rows: Option<StaleRows>,
    ) -> Self {
        let (keys, key_counts) = (Vec::new(), Vec::new());
        Self { settings, calls, is_batch, has_ended: false, stale_rows, keys, key_counts }
    }

    /// The isolation that its settings declare, for
    /// [`OptimisticQuery::new`](crate::storage::OptimisticQuery::new)
    pub const fn isolation(&self) -> Isolation {
        self.settings.isolation
    }

    /// Runs the query on a snapshot in memory or on disk, where reads block
    pub fn run(mut self, snapshot: &(impl Snapshot + ?Sized)) -> RequestState {
        match run(&mut self, snapshot) {
            Ok(state) => state,
            Err(error) => RequestState::Ready(self.fail(&error)),
        }
    }

    /// The response if the storage failed: `INTERNAL_ERROR` for all calls that are not answered
    pub fn fail(mut self, error: &Error) -> Response {
        self.calls.iter_mut().for_each(|call| call.fail(error));
        self.take_response()
    }

    /// Collects the keys that the calls need
    fn poll_calls(&mut self) {
        self.key_counts.clear();
        for call in &mut self.calls {
            let start = self.keys.len();
            call.poll(&self.settings, &mut self.keys);
            self.key_counts.push(self.keys.len() - start);
        }
        #[cfg(feature = "archive")]
        self.ask_archive_last();
    }

    /// Leaves out the keys of an archive while others are needed: they are asked for in one round
    /// trip of their own, and what the storage can answer does not wait for them
    #[cfg(feature = "archive")]
    fn ask_archive_last(&mut self) {
        let is_archive = |key: &Key| key.table().is_archive();
        if self.keys.iter().any(is_archive) && !self.keys.iter().all(is_archive) {
            let mut keys = mem::take(&mut self.keys).into_iter();
            for count in &mut self.key_counts {
                let first = self.keys.len();
                self.keys.extend(keys.by_ref().take(*count).filter(|key| !is_archive(key)));
                *count = self.keys.len() - first;
            }
        }
        let waits = || self.calls.iter().any(|call| matches!(call, Call::Waiting { .. }));
        let is_deferred = |call: &Call| matches!(call, Call::Deferred(_));
        if self.keys.is_empty() && self.calls.iter().any(is_deferred) && !waits() {
            for call in &mut self.calls {
                call.start_deferred(&self.settings);
            }
            self.poll_calls();
        }
    }

    fn take_response(&mut self) -> Response {
        let mut responses = Vec::with_capacity(self.calls.len());
        for call in mem::take(&mut self.calls) {
            if let Call::Answered { response, .. } = call {
                responses.push(response);
            }
        }
        let response = if self.is_batch { Response::batch(responses) } else { responses.pop() };
        // Every request has a call, so without one the responses were returned before.
        response.unwrap_or_else(|| {
            let error = Error::new(ErrorKind::Usage, ANSWERED);
            Response::error(&RequestId::null(), RpcError::Internal { error })
        })
    }
}

impl crate::storage::sealed::Sealed for RequestQuery {
    fn restarted(&self) -> Option<Self> {
        if self.has_ended {
            return None;
        }
        let mut calls = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            calls.push(call.restarted(&self.settings)?);
        }
        Some(Self::from_calls(self.settings, calls, self.is_batch, self.stale_rows))
    }
}

impl Query for RequestQuery {
    type Output = RequestState;

    fn poll(&mut self) -> Result<Step<'_, RequestState>, Error> {
        if self.has_ended {
            return Err(Error::new(ErrorKind::Usage, ANSWERED));
        }
        if self.keys.is_empty() {
            self.poll_calls();
        }
        if !self.keys.is_empty() {
            return Ok(Step::NeedRows(&self.keys));
        }
        self.has_ended = true;
        if self.calls.iter().any(|call| matches!(call, Call::Waiting { .. })) {
            let calls = mem::take(&mut self.calls);
            let pending = PendingRequest::new(self.settings, calls, self.is_batch, self.stale_rows);
            return Ok(Step::Done(RequestState::Pending(pending)));
        }
        Ok(Step::Done(RequestState::Ready(self.take_response())))
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        check_row_count(rows.len(), self.keys.len())?;
        let mut rest = rows;
        // Drained, so a second call without a poll in between supplies nothing.
        for (call, count) in self.calls.iter_mut().zip(self.key_counts.drain(..)) {
            // The counts add up to the number of keys, which is the number of rows.
            let (own, others) = rest.split_at(count);
            rest = others;
            if !own.is_empty() {
                call.supply_rows(own);
            }
        }
        self.keys.clear();
        Ok(())
    }
}

/// The error of a query that was run to its end before
const ANSWERED: &str = "the request is already answered";
