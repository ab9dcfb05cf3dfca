//! How a request of an endpoint comes to wait, or is evaluated once more instead.
//!
//! It does not wait if a block came in since its evaluation, if it cannot have a place, after a
//! shutdown, or if its transaction is found to be invalid: each ends in a response, or in an
//! evaluation of newer rows.

use super::end_reason::StaleRows;
use super::endpoint::{Evaluator, Waiting};
use super::{EndReason, Endpoint, Evaluation, Output, PendingRequest};
use crate::waiting::{InsertError, InsertErrorKind, RequestHandle};

impl<T> Endpoint<T> {
    /// Lets a request wait that was evaluated, or has it evaluated again
    pub(super) fn suspend(
        &mut self,
        handle: RequestHandle,
        pending: PendingRequest,
        evaluator: Evaluator,
        tag: T,
    ) {
        let (newest, rows) = (self.waiters.generation(), pending.generation());
        let (request, key) = pending.into_parts(newest);
        if !self.waiters.contains(handle) {
            return;
        }
        let (request, is_changed) = self.validity.insert(handle, request, rows);
        let calls = request.calls();
        let waiting = Waiting { request, evaluator, tag };
        let (waiting, end_reason, stale_rows) = if self.stopping {
            (waiting, Some(EndReason::Shutdown), None)
        } else if is_changed {
            (waiting, None, None)
        } else {
            let Err(InsertError { request, kind }) =
                self.waiters.insert(handle, waiting, calls, key)
            else {
                if let Evaluator::Endpoint = evaluator {
                    self.outputs.push_back(Output::Pending { handle });
                }
                return;
            };
            match kind {
                InsertErrorKind::Cancelled => return,
                InsertErrorKind::Expired => (request, Some(EndReason::Timeout), None),
                InsertErrorKind::Full => {
                    let (pending, limit) = (self.waiters.len(), self.waiters.limit());
                    (request, Some(EndReason::OverLimit { pending, limit, calls }), None)
                }
                InsertErrorKind::Stale => {
                    let stale_rows = StaleRows { rows, waiters: newest };
                    (request, None, Some(stale_rows))
                }
            }
        };
        let Waiting { request, tag, .. } = waiting;
        let evaluation = Evaluation { request, end_reason, stale_rows };
        self.evaluate(handle, evaluation, evaluator, tag);
    }

    /// Starts an evaluation, or hands it to the host
    pub(super) fn evaluate(
        &mut self,
        handle: RequestHandle,
        evaluation: Evaluation,
        evaluator: Evaluator,
        tag: T,
    ) {
        match evaluator {
            Evaluator::Host => self.outputs.push_back(Output::Wakeup { handle, evaluation, tag }),
            Evaluator::Endpoint => {
                self.start_request(handle, evaluation.into_query(), true, tag);
            }
        }
    }
}
