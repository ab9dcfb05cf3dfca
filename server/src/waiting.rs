//! Requests that wait: asked again after every commit, until they are answered or time is up.
//!
//! No wake-up is lost, because a request listens before it asks; and no request outlives its
//! client, because the future that waits is dropped with the connection. Who exactly must be woken by
//! which fact is not known here: every commit wakes everyone.

use alloc::sync::Arc;

use hyper::body::Bytes;
use milepost::engine::{Answer, Reply};
use tokio::time::{self, Instant};

use crate::metrics::{Metrics, WaitEnd};
use crate::node::Node;

/// Answers a request body, at once or when its milestone is reached, at the latest after the wait
/// timeout or when the service stops
pub(crate) async fn answer(node: &Arc<Node>, body: Bytes, path_method: Option<String>) -> Answer {
    let deadline = Instant::now() + node.wait_timeout;
    // Subscribed before asking: a commit that comes in after the question was asked and before
    // the request sleeps counts as unseen, so `changed` returns at once. The other way round that
    // commit would be seen by neither, and the request would sleep through its own milestone.
    let mut commits = node.commits();
    let mut wait = match node.ask(body, path_method).await {
        Reply::Answer(answer) => return answer,
        Reply::Wait(wait) => wait,
    };
    let mut place = WaitPlace::take(&node.metrics);
    loop {
        let end = tokio::select! {
            // Time first: a chain that commits faster than it is asked must not keep anyone here.
            biased;
            () = node.stopping() => Some(WaitEnd::Stopped),
            () = time::sleep_until(deadline) => Some(WaitEnd::Timeout),
            // An error would mean that nothing is committed any more; `node` holds the sender.
            _ = commits.changed() => None,
        };
        if let Some(end) = end {
            place.end = end;
            return node.ask_last(wait).await;
        }
        let number = *commits.borrow_and_update();
        match node.ask_again(wait).await {
            Reply::Answer(answer) => {
                place.end = WaitEnd::Reached;
                node.metrics.commits.answered(number);
                return answer;
            }
            Reply::Wait(still) => wait = still,
        }
    }
}

/// One place among those that wait; it is free again when this is dropped, for whatever reason
struct WaitPlace<'node> {
    metrics: &'node Metrics,
    end: WaitEnd,
}

impl<'node> WaitPlace<'node> {
    fn take(metrics: &'node Metrics) -> Self {
        metrics.wait_began();
        // Until something else is said, the future can only end because the client goes away.
        Self { metrics, end: WaitEnd::Gone }
    }
}

impl Drop for WaitPlace<'_> {
    fn drop(&mut self) {
        self.metrics.wait_ended(self.end);
    }
}
