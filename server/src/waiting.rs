//! Pending requests: each waits until its condition may be met, its deadline passes, or the service
//! shuts down.
//!
//! A request is evaluated, handed to the endpoint, woken and evaluated again, all in the task of
//! its connection; a client that disconnects drops the task and so cancels the request. What wakes
//! a request, and why it stops waiting, is decided by the endpoint. One task handles all timeouts.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::mem;
use core::time::Duration;

use hyper::body::Bytes;
use milepost::endpoint::{PendingRequest, RequestState, Response, ResponseBody};
use milepost::waiting::RequestHandle;
use tokio::sync::oneshot;
use tokio::time::{self, Instant};

use crate::metrics::{MethodLabel, WaitEnd};
use crate::service::{Service, Wakeup, panic_response};

/// Answers a request body received at `since`: immediately, when its milestone is reached, after
/// the wait timeout, or when the service shuts down
pub(crate) async fn respond(
    service: &Arc<Service>,
    body: Bytes,
    url_method: Option<Cow<'static, str>>,
    since: Instant,
) -> (MethodLabel, ResponseBody) {
    let (label, state) = service.respond(body, url_method).await;
    let body = match state {
        RequestState::Ready(body) => body,
        // Boxed, so that requests which do not wait have a smaller future.
        RequestState::Pending(pending) => {
            ResponseBody::Contiguous(Box::pin(wait(service, pending, since)).await)
        }
    };
    (label, body)
}

/// Waits until a pending request has a response
async fn wait(service: &Arc<Service>, pending: PendingRequest, since: Instant) -> Response {
    let (mut entry, mut woken) = Entry::new(service, pending, since);
    loop {
        // The sender is dropped unused only with the entry, which is still there.
        let Ok(Wakeup { evaluation, commit }) = woken.await else { return panic_response() };
        let end_reason = evaluation.end_reason();
        match service.evaluate(evaluation).await {
            RequestState::Ready(response) => {
                entry.end = WaitEnd::of(end_reason);
                if let Some(commit) = commit {
                    commit.answered();
                }
                return response;
            }
            RequestState::Pending(pending) => woken = entry.wait_again(pending),
        }
    }
}

/// The entry of a request at the endpoint, which is removed when this is dropped
struct Entry<'service> {
    service: &'service Service,
    handle: RequestHandle,
    /// Whether the request waited, and was not only handed in
    has_waited: bool,
    end: WaitEnd,
}

impl<'service> Entry<'service> {
    /// Hands in a request; the receiver resolves when it is to be evaluated again
    fn new(
        service: &'service Service,
        pending: PendingRequest,
        since: Instant,
    ) -> (Self, oneshot::Receiver<Wakeup>) {
        let (sender, woken) = oneshot::channel();
        let received = service.time_of(since);
        let (handle, woken_count) = service.call_endpoint(None, |endpoint| {
            endpoint.handle_pending(received, pending, None, sender)
        });
        let mut entry = Self { service, handle, has_waited: false, end: WaitEnd::Disconnected };
        entry.count(woken_count);
        (entry, woken)
    }

    /// Hands in a request that was evaluated again
    fn wait_again(&mut self, pending: PendingRequest) -> oneshot::Receiver<Wakeup> {
        let (sender, woken) = oneshot::channel();
        let state = RequestState::Pending(pending);
        let ((), woken_count) = self.service.call_endpoint(None, |endpoint| {
            endpoint.handle_evaluation(self.handle, state, sender);
        });
        self.count(woken_count);
        woken
    }

    /// Counts the request as waiting, unless it was woken at once
    fn count(&mut self, woken_count: usize) {
        if woken_count == 0 && !mem::replace(&mut self.has_waited, true) {
            self.service.metrics.wait_started();
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.service.call_endpoint(None, |endpoint| endpoint.cancel(self.handle));
        if self.has_waited {
            self.service.metrics.wait_ended(self.end);
        }
    }
}

/// Wakes expired requests, until the service shuts down
pub(crate) async fn run_timeouts(service: Arc<Service>) {
    loop {
        let next = service.next_timeout();
        let timeout = async {
            match next {
                Some(at) => time::sleep_until(service.start + Duration::from_millis(at)).await,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            () = timeout => service.handle_timeout(),
            // A notification since `next_timeout` was read is stored, so it is not missed.
            () = service.earlier_timeout.notified() => {}
            () = service.shutdown_signal() => return,
        }
    }
}
