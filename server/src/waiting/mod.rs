//! Pending requests: each waits until its condition may be met, its deadline passes, or the service
//! shuts down.
//!
//! A request queries the store, is inserted into the waiters, woken and queried again, all in the
//! task of its connection; a client that disconnects drops the task and so removes the request. No
//! wake-up is lost, because the waiters reject a request that read an older generation than theirs.
//! One task handles all timeouts.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::time::Duration;

use hyper::body::Bytes;
use milepost::endpoint::{PendingRequest, RequestState, Response, ResponseBody};
use milepost::status::WaitCondition;
use milepost::waiting::{RequestHandle, WaitKey};
use tokio::sync::oneshot;
use tokio::time::{self, Instant};

use crate::metrics::{Commit, WaitEnd};
use crate::service::Service;
use shared_waiters::{InsertError, Inserted};

pub(crate) mod shared_waiters;

/// The locks of `shared_waiters`; the model checker replaces them by its own
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
}

/// Why a request is woken
pub(crate) enum WakeReason {
    /// A commit changed something that its condition depends on
    ChainUpdate(Arc<Commit>),
    /// Its deadline passed
    Expired,
    /// The service shuts down
    Shutdown,
}

/// Wakes a request
pub(crate) type WakeSender = oneshot::Sender<WakeReason>;

/// Answers a request body received at `since`: immediately, when its milestone is reached, after
/// the wait timeout, or when the service shuts down
pub(crate) async fn respond(
    service: &Arc<Service>,
    body: Bytes,
    url_method: Option<Cow<'static, str>>,
    since: Instant,
) -> ResponseBody {
    match service.respond(body, url_method).await {
        RequestState::Ready(body) => body,
        // Boxed, so that requests which do not wait have a smaller future.
        RequestState::Pending(pending) => {
            let deadline = service.deadline(since);
            ResponseBody::Contiguous(Box::pin(wait(service, pending, deadline)).await)
        }
    }
}

/// Waits until a pending request has a response
async fn wait(service: &Arc<Service>, mut pending: PendingRequest, deadline: u64) -> Response {
    let mut guard = WaitGuard { service, handle: None, end: WaitEnd::Disconnected };
    // The generation that was rejected as stale, while no newer one could be read.
    let mut stale = None;
    loop {
        // A snapshot no newer than a rejected one would be rejected again. The request then waits
        // for any block instead. Stores whose snapshots include the last commit never get here.
        let condition = match stale {
            Some(generation) if pending.generation() <= generation => WaitCondition::Anything,
            _ => pending.condition(),
        };
        let key = WaitKey { generation: pending.generation(), condition };
        let reason = match guard.insert(pending.calls(), key, deadline) {
            Ok(woken) => Some(woken.await.unwrap_or(WakeReason::Shutdown)),
            Err(InsertError::Stale) => {
                stale = Some(pending.generation());
                None
            }
            Err(InsertError::Full { waiting, limit }) => {
                return service.finish(pending.resume_over_limit(waiting, limit)).await;
            }
            Err(InsertError::Expired) => Some(WakeReason::Expired),
            Err(InsertError::Shutdown) => Some(WakeReason::Shutdown),
        };
        match reason {
            Some(WakeReason::Expired) => {
                guard.end = WaitEnd::Timeout;
                return service.finish(pending.resume_expired()).await;
            }
            Some(WakeReason::Shutdown) => {
                guard.end = WaitEnd::Shutdown;
                return service.finish(pending.resume_refused(SHUTDOWN)).await;
            }
            Some(WakeReason::ChainUpdate(_)) | None => {}
        }
        match service.resume(pending).await {
            RequestState::Ready(response) => {
                guard.end = WaitEnd::Reached;
                if let Some(WakeReason::ChainUpdate(commit)) = reason {
                    commit.answered();
                }
                return response;
            }
            RequestState::Pending(still_pending) => pending = still_pending,
        }
    }
}

/// The error text of requests that are pending at a shutdown
const SHUTDOWN: &str = "the service stops";

/// The entry of a request in the waiters, which is removed when this is dropped
struct WaitGuard<'service> {
    service: &'service Service,
    handle: Option<RequestHandle>,
    end: WaitEnd,
}

impl WaitGuard<'_> {
    /// Inserts the request; the receiver resolves when it is to be queried again
    fn insert(
        &mut self,
        calls: usize,
        key: WaitKey,
        deadline: u64,
    ) -> Result<oneshot::Receiver<WakeReason>, InsertError> {
        let (waker, woken) = oneshot::channel();
        let Inserted { handle, is_earliest } =
            self.service.waiters.insert(self.handle, waker, calls, key, deadline)?;
        if self.handle.replace(handle).is_none() {
            self.service.metrics.wait_started();
        }
        if is_earliest {
            self.service.earlier_timeout.notify_one();
        }
        Ok(woken)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            self.service.waiters.remove(handle);
            self.service.metrics.wait_ended(self.end);
        }
    }
}

/// Wakes expired requests, until the service shuts down
pub(crate) async fn run_timeouts(service: Arc<Service>) {
    loop {
        let next = service.waiters.next_timeout();
        let timeout = async {
            match next {
                Some(at) => time::sleep_until(service.start + Duration::from_millis(at)).await,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            () = timeout => {
                for wakeup in service.waiters.handle_timeout(service.now()) {
                    // Fails if the request was cancelled in between.
                    let _ = wakeup.request.send(WakeReason::Expired);
                }
            }
            // A notification since `next_timeout` was read is stored, so it is not missed.
            () = service.earlier_timeout.notified() => {}
            () = service.shutdown_signal() => return,
        }
    }
}
