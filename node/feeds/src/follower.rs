//! Drives the rules of `milepost-follow` by tokio: requests on tasks, time by its clock.

use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloc::sync::Arc;
use milepost::storage::BlockPoint;
use milepost_follow::{
    Event, FeedBlock, FollowError, Follower as Rules, Request, Response, Settings, Start,
    StoredChain,
};
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use crate::source::{Pace, Source, millis};

/// The longest sleep, which tokio can represent
const MAX_SLEEP: Duration = Duration::from_secs(86_400);

/// Follows sources; hands out each block after its parent
///
/// A block is handed out once, except after a start at a stored chain: blocks between its last
/// final block and its head can come again, and the engine finds that they are known.
pub struct Follower<S> {
    rules: Arc<Mutex<Rules>>,
    sources: Vec<Arc<S>>,
    tasks: JoinSet<(u64, Response)>,
    start: Instant,
    observer: Box<dyn Fn(Event) + Send + Sync>,
}

impl<S: Source> Follower<S> {
    /// A follower of sources of one chain, at least one, the preferred one first; `stored` is the
    /// chain that the host has, if it has one
    ///
    /// Created in a runtime of tokio with timers.
    pub fn new(
        sources: Vec<Arc<S>>,
        start: Start,
        stored: Option<StoredChain>,
        settings: Settings,
    ) -> Self {
        let feeds: Vec<_> = sources.iter().map(|source| source.settings()).collect();
        Self {
            rules: Arc::new(Mutex::new(Rules::new(&feeds, start, stored, settings, 0))),
            sources,
            tasks: JoinSet::new(),
            start: Instant::now(),
            observer: Box::new(|_| {}),
        }
    }

    /// The same with a function that is called with every event; it must not block
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// The next block; waits until there is one
    ///
    /// Can be cancelled: no block is lost.
    ///
    /// # Errors
    ///
    /// As [`milepost_follow::Follower::error`]. After an error the follower is used no more.
    pub async fn next(&mut self) -> Result<FeedBlock, FollowError> {
        loop {
            let now = millis(self.start);
            let (block, timeout, error) = {
                let mut rules = lock(&self.rules);
                rules.handle_timeout(now);
                let block = rules.poll_block();
                while let Some(request) = rules.poll_request(now) {
                    let source = Arc::clone(&self.sources[request.feed]);
                    let pace = Pace::new(&self.rules, request.id, self.start);
                    self.tasks.spawn(answer(source, request, pace, self.start));
                }
                (block, rules.poll_timeout(), rules.error().cloned())
            };
            self.observe();
            match (block, error) {
                (Some(block), _) => return Ok(block),
                (None, Some(error)) => return Err(error),
                (None, None) => {}
            }
            let timeout = Duration::from_millis(timeout).min(self.start.elapsed() + MAX_SLEEP);
            tokio::select! {
                // So that a paused clock gives the same run again.
                biased;
                Some(answered) = self.tasks.join_next() => {
                    // A source that panicked does not answer, and its request times out.
                    if let Ok((id, response)) = answered {
                        lock(&self.rules).handle_response(id, response, millis(self.start));
                    }
                }
                () = time::sleep_until(self.start + timeout) => {}
            }
        }
    }

    /// Begins again after the chain of the host, which cannot import a block; see
    /// [`milepost_follow::Follower::block_refused`]
    pub fn block_refused(&mut self, block: &FeedBlock, stored: Option<StoredChain>, reason: &str) {
        lock(&self.rules).block_refused(block, stored, reason, millis(self.start));
        self.observe();
    }

    /// The highest block that was handed out
    pub fn head(&self) -> Option<BlockPoint> {
        lock(&self.rules).head()
    }

    fn observe(&self) {
        loop {
            let event = lock(&self.rules).poll_event();
            match event {
                Some(event) => (self.observer)(event),
                None => return,
            }
        }
    }
}

async fn answer<S: Source>(
    source: Arc<S>,
    request: Request,
    pace: Pace,
    start: Instant,
) -> (u64, Response) {
    let deadline = start + Duration::from_millis(request.deadline);
    let answer = time::timeout_at(deadline, source.answer(request.ask, &pace));
    let response = match answer.await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => Response::Failed(error),
        // The rules have given it up.
        Err(_) => Response::Absent { newest: None },
    };
    (request.id, response)
}

fn lock(rules: &Mutex<Rules>) -> MutexGuard<'_, Rules> {
    // The rules do not panic, and a host that does in an observer holds no lock.
    rules.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S> core::fmt::Debug for Follower<S> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Follower").field("rules", &self.rules).finish_non_exhaustive()
    }
}
