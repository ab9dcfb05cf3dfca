//! The evaluation of a pending request: why it runs, and whether it is the last.
//!
//! An evaluation is handed out when a request is woken. To run it takes a snapshot and no endpoint,
//! so any number of them run on any threads; its result goes back to the endpoint.

use core::fmt;

use super::pending_request::RetainedRequest;
use super::{RequestQuery, RequestState};
use crate::storage::Snapshot;

/// Why a request stops waiting
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EndReason {
    /// Its deadline has passed
    Timeout,
    /// Too many requests are pending
    OverLimit {
        /// Number of pending calls
        pending: usize,
        /// Maximum number of pending calls
        limit: usize,
        /// Number of calls of this request
        calls: usize,
    },
    /// The endpoint was shut down
    Shutdown,
}

impl fmt::Display for EndReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => formatter.write_str("the deadline has passed"),
            Self::OverLimit { pending, limit, calls } => write!(
                formatter,
                "too many pending requests: {pending} of {limit}, and this one needs {calls}"
            ),
            Self::Shutdown => formatter.write_str("the service stops"),
        }
    }
}

/// Rows that were older than the newest block that the waiters know of
#[derive(Clone, Copy, Debug)]
pub(super) struct StaleRows {
    /// The generation of the rows
    pub(super) rows: u64,
    /// The generation of the waiters
    pub(super) waiters: u64,
}

/// A pending request that is to be evaluated again
///
/// Run it over a snapshot, or as a query over remote rows, and pass the result to
/// [`Endpoint::handle_evaluation`](super::Endpoint::handle_evaluation). With an
/// [`end_reason`](Self::end_reason) the result is always a response.
#[derive(Debug)]
pub struct Evaluation {
    pub(super) request: RetainedRequest,
    pub(super) end_reason: Option<EndReason>,
    /// The rows of the evaluation before, if they were too old to wait with
    pub(super) stale_rows: Option<StaleRows>,
}

impl Evaluation {
    /// Why this evaluation is the last, if it is
    pub const fn end_reason(&self) -> Option<EndReason> {
        self.end_reason
    }

    /// Runs the evaluation over a snapshot in memory or on disk, where reads block
    pub fn run(self, snapshot: &(impl Snapshot + ?Sized)) -> RequestState {
        self.into_query().run(snapshot)
    }

    /// The evaluation as a query, for rows that are fetched in other ways
    pub fn into_query(self) -> RequestQuery {
        self.request.into_query(self.end_reason, self.stale_rows)
    }
}
