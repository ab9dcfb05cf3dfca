//! The queries of the service that may need the archive.
//!
//! Each runs over the store first, on the thread that serves the socket. Only one that needs the
//! archive moves to a thread that may block, after it has waited for its turn there.

use alloc::sync::Arc;
use core::time::Duration;

use milepost::endpoint::{Evaluation, RequestState};

use super::RETRY_AFTER;
use super::access::{self, AccessState, ServiceSnapshot};
use crate::http::CLIENT_NETWORK;
use crate::query_error::{QueryError, panic_response};
use crate::service::Service;

/// What a query read
pub(crate) struct Read<T> {
    pub(crate) output: T,
    /// When to try again, if the archive failed
    pub(crate) retry_after: Option<Duration>,
}

impl Service {
    /// Evaluates a pending request again
    pub(crate) async fn evaluate(self: &Arc<Self>, evaluation: Evaluation) -> Read<RequestState> {
        let query = evaluation.into_query();
        let held = move |service: &Self| {
            access::run_request(query, &access::without_archive(service.store()), false)
        };
        let read = match self.run(false, held).await {
            Some(Ok(output)) => Some(Read { output, retry_after: None }),
            // It goes on where it was suspended.
            Some(Err(query)) => {
                let blocking = |_: &Self, snapshot: &ServiceSnapshot<'_>| {
                    access::run_request(*query, snapshot, true).ok()
                };
                let read = self.run_with_archive(blocking).await;
                read.and_then(|Read { output, retry_after }| {
                    output.map(|output| Read { output, retry_after })
                })
            }
            None => None,
        };
        let Some(read) = read else {
            self.failed.note_error(&QueryError::Panicked);
            return Read { output: RequestState::Ready(panic_response()), retry_after: None };
        };
        if let RequestState::Ready(response) = &read.output {
            self.failed.note_errors(response.outcomes.errors());
        }
        read
    }

    /// Runs a query over the store and, if it needs that, once more with the archive; `None` if it
    /// panicked
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        query: impl Fn(&Self, &ServiceSnapshot<'_>) -> T + Send + 'static,
    ) -> Option<Read<T>> {
        let held = move |service: &Self| {
            let snapshot = access::without_archive(service.store());
            let output = query(service, &snapshot);
            match snapshot.archive.state() {
                AccessState::Needed => Err(query),
                AccessState::Fine | AccessState::Failed => Ok(Read { output, retry_after: None }),
            }
        };
        match self.run(is_long, held).await? {
            Ok(read) => Some(read),
            Err(query) => self.run_with_archive(query).await,
        }
    }

    /// As [`read`](Self::read), with why there is no result, and when to try again if that is
    /// because the archive failed
    pub(crate) async fn read_result<T: Send + 'static, E: Into<QueryError> + Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        query: impl Fn(&Self, &ServiceSnapshot<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, QueryError> {
        self.record_failure(match self.read(is_long, query).await {
            Some(Read { output, retry_after }) => {
                output.map_err(|error| error.into().with_retry_after(retry_after))
            }
            None => Err(QueryError::Panicked),
        })
    }

    /// Runs a query that needs the archive, on a thread that may block; `None` if it panicked
    async fn run_with_archive<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Self, &ServiceSnapshot<'_>) -> T + Send + 'static,
    ) -> Option<Read<T>> {
        let archive = Arc::clone(self.archive()?);
        let _turn = archive.lookups.turn().await;
        let client = CLIENT_NETWORK.try_with(|network| *network).ok();
        let blocking = {
            let archive = Arc::clone(&archive);
            move |service: &Self| {
                let snapshot = access::with_archive(service.store(), &archive.lookups, client);
                let output = query(service, &snapshot);
                let failed = snapshot.archive.state() == AccessState::Failed;
                Read { output, retry_after: failed.then_some(RETRY_AFTER) }
            }
        };
        self.run(true, blocking).await
    }
}
