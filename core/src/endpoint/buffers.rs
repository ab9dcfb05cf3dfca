//! One request about a transaction, over rows in memory, with buffers that are reused.
//!
//! A [`RequestQuery`](super::RequestQuery) can be suspended and has any number of calls, for which
//! it allocates. Here nothing is suspended and there is one call. Both give the same responses,
//! because they run the same [`StatusQuery`] and the same [`StatusCall::evaluate`]. A signed
//! transaction that is in no block is left to a `RequestQuery`, which checks it.

use alloc::vec::Vec;
use core::mem;

use super::call::Call;
use super::retained_call::{RetainedCall, StatusCall};
use super::{PendingRequest, RequestQuery, RequestState, Settings};
use crate::rpc::{Outcomes, RequestId, RpcError, StatusRequest, write_error};
use crate::status::{MAX_RETAINED_NODES, StatusQuery, WalkBuffers};
use crate::storage::{Isolation, Row, Snapshot, run_with_rows};

/// The memory of walks over receipts, reused from request to request
///
/// Holds no rows between requests, and one to two megabytes at most: capacity for more than 4,096
/// receipts is released.
#[derive(Debug, Default)]
pub struct Buffers {
    walk: WalkBuffers,
    rows: Vec<Option<Row>>,
}

impl Buffers {
    /// Appends the response to a request, or returns the request if it has to wait; `transaction`
    /// is the row of the transaction, or that it has none, if the snapshot was asked before
    pub(super) fn respond(
        &mut self,
        id: RequestId,
        request: StatusRequest,
        transaction: Option<Option<Row>>,
        settings: &Settings,
        snapshot: &(impl Snapshot + ?Sized),
        out: &mut Vec<u8>,
    ) -> RequestState<Outcomes> {
        let (mut subject, round) = StatusCall::new(request, settings);
        let walk = mem::take(&mut self.walk);
        let transaction = transaction.filter(|_| snapshot.isolation() == Isolation::Snapshot);
        let query =
            StatusQuery::with_buffers(subject.hash(), settings.max_receipts, transaction, walk);
        // That of a signed transaction is looked up again below, and asks the archive then.
        #[cfg(feature = "archive")]
        let query = match round.signed() {
            Some(_) => query,
            None => query.with_archive(round.lookup(settings)),
        };
        let mut query = query;
        let status = run_with_rows(&mut query, snapshot, &mut self.rows);
        self.rows.clear();
        self.rows.shrink_to(2 * MAX_RETAINED_NODES);
        let status = match status {
            Ok(status) => status,
            Err(error) => {
                self.walk = query.into_buffers();
                let outcome = write_error(&id, RpcError::Internal { error }, out);
                return RequestState::Ready(Outcomes::one(outcome));
            }
        };
        let is_unknown = status.is_none() && round.signed().is_some();
        if is_unknown || subject.depends_on_shards(status.as_ref(), settings) {
            let walk = status.and_then(|status| status.into_buffers());
            self.walk = walk.unwrap_or_else(|| query.into_buffers());
            let call = Call::status(id, subject, round, settings);
            let query = RequestQuery::from_calls(*settings, [call].into(), false, None);
            return query.run(snapshot).map(|response| {
                out.extend_from_slice(&response.body);
                response.outcomes
            });
        }
        let generation = query.generation();
        let evaluated = subject.evaluate(&id, status.as_ref(), None, &round, settings, out);
        if evaluated.is_err() {
            // Without a check, as it is in a block, this cannot fail.
            let _ = subject.retain_validity(status.as_ref(), &round, None);
        }
        let walk = status.and_then(|status| status.into_buffers());
        self.walk = walk.unwrap_or_else(|| query.into_buffers());
        match evaluated {
            Ok(outcome) => RequestState::Ready(Outcomes::one(outcome)),
            Err(condition) => {
                let call = RetainedCall::of_status(id, subject);
                let call = Call::Waiting { call, condition, generation };
                RequestState::Pending(PendingRequest::new(*settings, [call].into(), false, None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{Limits, Method, MethodCall, Request, parse};
    use crate::storage::MemoryStorage;

    #[test]
    fn memory_beyond_that_of_4_096_receipts_is_released() {
        let mut buffers = Buffers { rows: Vec::with_capacity(20_000), ..Buffers::default() };
        let body = br#"{"method":"tx","params":{"tx_hash":"11111111111111111111111111111118",
            "sender_account_id":"a.near","wait_until":"NONE"},"id":1}"#;
        let Request::Single(Ok(MethodCall {
            id, method: Method::TransactionStatus(request), ..
        })) = parse(body, None, &Limits::default())
        else {
            panic!("a request for a status")
        };
        let (storage, mut out) = (MemoryStorage::new(), b"before".to_vec());
        let settings = Settings::default();
        let state = buffers.respond(id, request, None, &settings, &storage, &mut out);
        assert!(matches!(state, RequestState::Ready(_)));
        assert!(out.starts_with(b"before{"));
        assert!(buffers.rows.is_empty());
        assert!((8_192..16_384).contains(&buffers.rows.capacity()), "{}", buffers.rows.capacity());
    }
}
