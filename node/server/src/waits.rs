//! The waiters for blocks: pending requests, and transactions that clients watch.
//!
//! The changes of a commit are handed in before those of the next one, and none is left out. Tasks
//! are woken after the lock of the endpoint is released.

mod shared_endpoint;
mod sync;
mod watching;

use alloc::sync::Arc;
use core::time::Duration;

use milepost::endpoint::{Endpoint, Engine, Evaluation, WaitConfig};
use milepost::import::ChainUpdate;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::metrics::Commit;
use shared_endpoint::SharedEndpoint;
pub(crate) use watching::{Change, TooManyWatches, Watcher, Watching};

/// The message to the task of a pending request that is woken
pub(crate) struct Wakeup {
    pub(crate) evaluation: Evaluation,
    /// The commit that woke it, if one did
    pub(crate) commit: Option<Arc<Commit>>,
}

/// The pending requests and the watched transactions
pub(crate) struct Waits {
    /// How long a request waits that does not say so itself
    pub(crate) timeout: Duration,
    /// The zero of the endpoint's clock, which counts milliseconds
    pub(crate) start: Instant,
    /// Transactions that clients watch
    pub(crate) watching: Arc<Watching>,
    /// Notified when the next timeout of the endpoint becomes earlier
    pub(crate) earlier_timeout: Notify,
    /// The pending requests, each with the sender that wakes its task
    endpoint: SharedEndpoint<oneshot::Sender<Wakeup>>,
}

impl Waits {
    /// Nothing that waits; `config` counts in milliseconds
    pub(crate) fn new(engine: Engine, config: WaitConfig) -> Self {
        Self {
            timeout: Duration::from_millis(config.timeout),
            start: Instant::now(),
            watching: Arc::new(Watching::new(config.max_waiting, config.hash_seed)),
            earlier_timeout: Notify::new(),
            endpoint: SharedEndpoint::new(Endpoint::new(engine, config)),
        }
    }

    /// The time of the endpoint's clock; rounded up, so that no deadline is early
    pub(crate) fn time_of(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.start);
        u64::try_from(elapsed.as_millis()).map_or(u64::MAX, |millis| millis.saturating_add(1))
    }

    /// Calls the endpoint and sends the requests that the call woke to their tasks; returns the
    /// result of the call, and how many it woke
    ///
    /// `commit` is the one whose changes the call hands in.
    pub(crate) fn call<R>(
        &self,
        commit: Option<Arc<Commit>>,
        call: impl FnOnce(&mut Endpoint<oneshot::Sender<Wakeup>>) -> R,
    ) -> (R, usize) {
        let (result, outputs) = self.endpoint.call(call);
        if outputs.is_earlier {
            self.earlier_timeout.notify_one();
        }
        let woken_count = outputs.wakeups.len();
        for (evaluation, sender) in outputs.wakeups {
            // Fails if the request was cancelled in between.
            let _ = sender.send(Wakeup { evaluation, commit: commit.clone() });
        }
        (result, woken_count)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout)
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        // Sends the wake-ups of a call that panicked, as every call does.
        self.call(None, |endpoint| endpoint.next_timeout()).0
    }

    /// Wakes the requests whose deadline has passed
    pub(crate) fn handle_timeout(&self) {
        let now = self.start.elapsed().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.call(None, |endpoint| endpoint.handle_timeout(now));
    }

    /// Wakes the requests and watches that a commit concerns
    pub(crate) fn handle_chain_update(&self, update: &ChainUpdate, commit: Arc<Commit>) {
        self.call(Some(commit), |endpoint| endpoint.handle_chain_update(update));
        self.watching.handle_chain_update(update);
    }

    /// Wakes all pending requests, and lets none wait any more
    pub(crate) fn shutdown(&self) {
        self.call(None, Endpoint::shutdown);
    }
}
