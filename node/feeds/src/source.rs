//! A feed as the follower's host asks it: one attempt for each request.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use alloc::sync::Arc;
use milepost_follow::{Ask, FeedSettings, Response, SourceError};
use tokio::time::{self, Instant};

/// A feed of block messages
///
/// Each call is one attempt: the follower decides when to repeat it, how long to wait before, and
/// whether to believe the result. Calls run on tasks of their own, some at a time.
///
/// A source says what it has and nothing else. For a height that is not produced yet it may wait,
/// some seconds at most, or return
/// [`SourceErrorKind::TooHigh`](milepost_follow::SourceErrorKind::TooHigh). A source of final
/// blocks only returns them for both values of [`Finality`](milepost_follow::Finality).
pub trait Source: Send + Sync + 'static {
    /// Its abilities and its budget
    fn settings(&self) -> FeedSettings;

    /// The answer to a request; each request to a server but the first takes its place with `pace`
    ///
    /// # Errors
    ///
    /// Why there is none, as far as it is known.
    fn answer(
        &self,
        ask: Ask,
        pace: &Pace,
    ) -> impl Future<Output = Result<Response, SourceError>> + Send;
}

/// Keeps the requests of one answer within the budget of the feed
#[derive(Debug)]
pub struct Pace {
    /// Whether a request was sent, which the follower counted when it asked
    has_begun: AtomicBool,
    follower: Option<(Arc<Mutex<milepost_follow::Follower>>, u64)>,
    start: Instant,
}

impl Pace {
    pub(crate) fn new(
        follower: &Arc<Mutex<milepost_follow::Follower>>,
        id: u64,
        start: Instant,
    ) -> Self {
        let follower = Some((Arc::clone(follower), id));
        Self { has_begun: AtomicBool::new(false), follower, start }
    }

    /// Without a budget, for requests of no follower
    pub fn unlimited() -> Self {
        Self { has_begun: AtomicBool::new(false), follower: None, start: Instant::now() }
    }

    /// Waits until one more request can be sent
    pub async fn acquire(&self) {
        let Some((follower, id)) = &self.follower else { return };
        if !self.has_begun.swap(true, Relaxed) {
            return;
        }
        let at = {
            let mut follower = follower.lock().unwrap_or_else(PoisonError::into_inner);
            follower.request_more(*id, millis(self.start))
        };
        time::sleep_until(self.start + Duration::from_millis(at)).await;
    }
}

/// The time since a start, as the follower reads it
pub(crate) fn millis(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
