//! The evaluation of a pending request: why it runs, and whether it is the last.
//!
//! An evaluation is handed out when a request is woken. To run it takes a snapshot and no endpoint,
//! so any number of them run on any threads; its result goes back to the endpoint.

use super::end_reason::StaleRows;
use super::pending_request::RetainedRequest;
use super::{EndReason, RequestQuery, RequestState};
use crate::storage::Snapshot;

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
