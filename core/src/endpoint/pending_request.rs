//! A pending request: what is retained of it, and what it waits for.
//!
//! It retains only what a response needs, so that many requests can be pending at a time: not the
//! signed transaction of a request, and not the responses that a batch has already, because all
//! calls of a batch are evaluated again on one snapshot. Where it is kept is the host's choice: in
//! an [`Endpoint`](super::Endpoint), in a [`WaiterMap`](crate::waiting::WaiterMap) or elsewhere.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::call::{Call, PendingCall, RetainedCall};
use super::end_reason::StaleRows;
use super::status_call::StatusCall;
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

/// What is retained of a request while it waits
#[derive(Debug)]
pub(super) struct RetainedRequest {
    settings: Settings,
    calls: RetainedCalls,
}

#[derive(Debug)]
enum RetainedCalls {
    /// A request that is one call, which is pending
    One(StatusCall),
    /// A batch, of which at least one call is pending
    Batch(Box<[BatchEntry]>),
}

/// A call of a batch
#[derive(Debug)]
enum BatchEntry {
    /// Its milestone is not reached
    Pending(StatusCall),
    /// It could be answered, and is evaluated again with the others
    Answered(RetainedCall),
    /// Its response does not depend on the rows
    Permanent(Response),
}

impl PendingRequest {
    /// A request of which at least one call is pending
    pub(super) fn new(
        settings: Settings,
        mut calls: Vec<Call>,
        is_batch: bool,
        stale_rows: Option<StaleRows>,
    ) -> Self {
        // The last one of those that are pending; any would do, because all have to be met.
        let unmet = calls.iter().rev().find_map(|call| match call {
            Call::Pending(PendingCall { condition, generation, .. }) => {
                Some((*condition, *generation))
            }
            _ => None,
        });
        let (condition, generation) = unmet.unwrap_or((WaitCondition::Anything, 0));
        let calls = match calls.pop() {
            Some(Call::Pending(PendingCall { call, .. })) if !is_batch => RetainedCalls::One(call),
            last => RetainedCalls::Batch(
                calls.into_iter().chain(last).filter_map(BatchEntry::new).collect(),
            ),
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
        let (single, batch) = match &self.retained.calls {
            RetainedCalls::One(call) => (Some(call), &[][..]),
            RetainedCalls::Batch(entries) => (None, &entries[..]),
        };
        let pending = batch.iter().filter_map(|entry| match entry {
            BatchEntry::Pending(call) => Some(call),
            BatchEntry::Answered(_) | BatchEntry::Permanent(_) => None,
        });
        single.into_iter().chain(pending).map(StatusCall::hash)
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
        // wakes on, the condition is unknown. Waiters that took in another block since would miss
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

impl BatchEntry {
    fn new(call: Call) -> Option<Self> {
        Some(match call {
            Call::Pending(PendingCall { call, .. }) => Self::Pending(call),
            Call::Answered(_, Some(call)) => Self::Answered(call),
            Call::Answered(response, None) => Self::Permanent(response),
            // No call needs rows while another one waits for blocks.
            Call::Running(_) => return None,
            #[cfg(feature = "archive")]
            Call::Archived(call) => Self::Answered(RetainedCall::Archived(call)),
        })
    }

    fn resume(self, settings: &Settings, end_reason: Option<EndReason>) -> Call {
        match self {
            Self::Pending(call) => call.resume(settings, end_reason),
            Self::Answered(call) => call.resume(settings, end_reason),
            Self::Permanent(response) => Call::Answered(response, None),
        }
    }
}

impl RetainedRequest {
    /// What is retained of the transactions that may become invalid, of the calls that wait
    pub(super) fn validities_mut(&mut self) -> impl Iterator<Item = &mut Validity> {
        let (single, batch) = match &mut self.calls {
            RetainedCalls::One(call) => (Some(call), &mut [][..]),
            RetainedCalls::Batch(entries) => (None, &mut entries[..]),
        };
        let pending = batch.iter_mut().filter_map(|entry| match entry {
            BatchEntry::Pending(call) => Some(call),
            BatchEntry::Answered(_) | BatchEntry::Permanent(_) => None,
        });
        single.into_iter().chain(pending).filter_map(StatusCall::validity_mut)
    }

    /// Number of calls of the request
    pub(super) const fn calls(&self) -> usize {
        match &self.calls {
            RetainedCalls::One(_) => 1,
            RetainedCalls::Batch(entries) => entries.len(),
        }
    }

    /// The query of one more evaluation; with an `end_reason` it always ends in a response
    pub(super) fn into_query(
        self,
        end_reason: Option<EndReason>,
        stale_rows: Option<StaleRows>,
    ) -> RequestQuery {
        let Self { settings, calls } = self;
        let (calls, is_batch) = match calls {
            RetainedCalls::One(call) => ([call.resume(&settings, end_reason)].into(), false),
            RetainedCalls::Batch(entries) => (
                entries.into_iter().map(|entry| entry.resume(&settings, end_reason)).collect(),
                true,
            ),
        };
        RequestQuery::from_calls(settings, calls, is_batch, stale_rows)
    }
}
