//! A pending request: the part of it that is retained, and the condition that it waits for.
//!
//! It retains only what a response needs, so that many requests can be pending at a time: not the
//! signed transaction of a request, and not the responses that a batch has already, because all
//! calls of a batch are evaluated again on one snapshot. Where it is kept is the host's choice: in
//! an [`Endpoint`](super::Endpoint), in a [`WaiterMap`](crate::waiting::WaiterMap) or elsewhere.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::{mem, slice};

use super::call::Call;
use super::end_reason::StaleRows;
use super::retained_call::{RetainedCall, StatusCall};
use super::validity::Validity;
use super::{EndReason, RequestQuery, RequestState, Response, Settings};
use crate::primitives::CryptoHash;
use crate::status::WaitCondition;
use crate::storage::Snapshot;
use crate::waiting::WaitKey;
use crate::{Error, ErrorKind};

/// A request that waits for a milestone; of a batch, at least one call waits
///
/// Call [`again`](Self::again) after the storage has changed, and [`expire`](Self::expire) at the
/// deadline. To forget the request of a client that went away, drop it.
///
/// ```
/// use milepost::endpoint::{Engine, RequestState};
/// use milepost::storage::MemoryStorage;
/// use milepost::rpc::ResponseKind;
///
/// let (engine, storage) = (Engine::default(), MemoryStorage::new());
/// let body = br#"{"method":"tx_status","params":{"tx_hash":"11111111111111111111111111111112",
///     "sender_account_id":"alice.near","wait_until":"INCLUDED"}}"#;
/// let state = engine.respond(engine.parse(body, None), &storage);
/// let RequestState::Pending(mut pending) = state else { panic!("it is answered") };
/// assert_eq!(pending.transactions().count(), 1);
///
/// // After each block that was imported:
/// assert!(pending.again(&storage).is_none());
/// // At the deadline:
/// assert_eq!(pending.expire(&storage).kind(), ResponseKind::Timeout);
/// ```
#[derive(Debug)]
pub struct PendingRequest {
    retained: RetainedRequest,
    condition: WaitCondition,
    generation: u64,
    stale_rows: Option<StaleRows>,
}

/// The part of a request that is retained while it waits
#[derive(Debug)]
pub(super) struct RetainedRequest {
    settings: Settings,
    calls: RetainedCalls,
}

#[derive(Debug)]
enum RetainedCalls {
    /// A request that is one call, which waits
    One(RetainedCall),
    /// A batch, of which at least one call waits
    Batch(Box<[RetainedCall]>),
}

impl RetainedCalls {
    const fn as_slice(&self) -> &[RetainedCall] {
        match self {
            Self::One(call) => slice::from_ref(call),
            Self::Batch(calls) => calls,
        }
    }
}

impl PendingRequest {
    /// A request of which at least one call is pending
    pub(super) fn new(
        settings: Settings,
        mut calls: Vec<Call>,
        is_batch: bool,
        stale_rows: Option<StaleRows>,
    ) -> Self {
        // The last one of those that wait; any would do, because all have to be met.
        let unmet = calls.iter().rev().find_map(|call| match call {
            Call::Waiting { condition, generation, .. } => Some((*condition, *generation)),
            _ => None,
        });
        let (condition, generation) = unmet.unwrap_or((WaitCondition::Anything, 0));
        let calls = match calls.pop() {
            Some(Call::Waiting { call, .. }) if !is_batch => RetainedCalls::One(call),
            last => {
                calls.extend(last);
                RetainedCalls::Batch(calls.into_iter().filter_map(Call::retain).collect())
            }
        };
        Self { retained: RetainedRequest { settings, calls }, condition, generation, stale_rows }
    }

    /// Number of calls of the request, pending or not; all of them count towards
    /// [`WaitConfig::max_waiting`](super::WaitConfig::max_waiting)
    pub const fn calls(&self) -> usize {
        self.retained.calls()
    }

    /// Number of pending calls
    pub fn pending_calls(&self) -> usize {
        self.transactions().count()
    }

    /// The transactions that the pending calls wait for, in the order of the calls
    pub fn transactions(&self) -> impl Iterator<Item = CryptoHash> {
        let waiting = self.retained.calls.as_slice().iter().filter_map(RetainedCall::waiting);
        waiting.map(StatusCall::hash)
    }

    /// An unmet condition: while it stays unmet, the request has no result
    ///
    /// An error can become the response earlier, such as a corrupt row, too many receipts, or that
    /// a signed transaction expires. A host that waits for this condition sees it at the next
    /// evaluation, at the latest at the deadline. Only an [`Endpoint`](super::Endpoint) notices
    /// that another transaction has used the nonce.
    pub const fn condition(&self) -> WaitCondition {
        self.condition
    }

    /// The generation of the chain at which the condition was found unmet
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Evaluates the request again, after the storage has changed; `Some` is its response, after
    /// which the request has ended
    pub fn again(&mut self, snapshot: &(impl Snapshot + ?Sized)) -> Option<Response> {
        let ended = RetainedCalls::Batch(Box::default());
        let retained = RetainedRequest {
            settings: self.retained.settings,
            calls: mem::replace(&mut self.retained.calls, ended),
        };
        match retained.into_query(None, None).run(snapshot) {
            RequestState::Ready(response) => Some(response),
            RequestState::Pending(pending) => {
                *self = pending;
                None
            }
        }
    }

    /// Ends the request at its deadline: evaluates it a last time, with `TIMEOUT_ERROR` for
    /// milestones that are not reached
    pub fn expire(self, snapshot: &(impl Snapshot + ?Sized)) -> Response {
        match self.retained.into_query(Some(EndReason::Timeout), None).run(snapshot) {
            RequestState::Ready(response) => response,
            // The last evaluation leaves no call pending.
            RequestState::Pending(pending) => {
                let error = Error::new(ErrorKind::Usage, "a call is pending after its deadline");
                pending.retained.into_query(None, None).fail(&error)
            }
        }
    }

    /// What waits, and for what, among waiters of this generation
    pub(super) fn into_parts(self, waiters: u64) -> (RetainedRequest, WaitKey) {
        // Rows that are still no newer than the waiters cannot be waited with for one condition:
        // the block that they lack may have met it. Until the next block, which any request then
        // wakes on, the condition is unknown. Waiters that have seen another block since would miss
        // that one.
        let is_stale = |stale: StaleRows| self.generation <= stale.rows && waiters == stale.waiters;
        let key = if self.stale_rows.is_some_and(is_stale) {
            WaitKey { generation: waiters, condition: WaitCondition::Anything }
        } else {
            WaitKey { generation: self.generation, condition: self.condition }
        };
        (self.retained, key)
    }
}

impl RetainedRequest {
    /// What is retained of the transactions that may become invalid, of the calls that wait
    pub(super) fn validities_mut(&mut self) -> impl Iterator<Item = &mut Validity> {
        let calls = match &mut self.calls {
            RetainedCalls::One(call) => slice::from_mut(call),
            RetainedCalls::Batch(calls) => calls,
        };
        let waiting = calls.iter_mut().filter_map(RetainedCall::waiting_mut);
        waiting.filter_map(StatusCall::validity_mut)
    }

    /// Number of calls of the request
    pub(super) const fn calls(&self) -> usize {
        self.calls.as_slice().len()
    }

    /// The query of one more evaluation; with an `end_reason` it always ends in a response
    pub(super) fn into_query(
        self,
        end_reason: Option<EndReason>,
        stale_rows: Option<StaleRows>,
    ) -> RequestQuery {
        let Self { settings, calls } = self;
        let resume = |call| Call::resume(call, &settings, end_reason);
        let (calls, is_batch) = match calls {
            RetainedCalls::One(call) => ([resume(call)].into(), false),
            RetainedCalls::Batch(calls) => (calls.into_iter().map(resume).collect(), true),
        };
        RequestQuery::from_calls(settings, calls, is_batch, stale_rows)
    }
}
