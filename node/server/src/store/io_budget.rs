//! Decides which queries read a file on the threads that serve sockets.
//!
//! Handing a query to another thread and its response back takes some 30 us of processor time, more
//! than most responses from a file whose pages are in memory. But a disk may take seconds, and this
//! is not known in advance. So queries run on the serving threads within a budget: never on all of
//! them at a time, so that one stays free whatever the disk does, and none for a second after a
//! slow one. Queries outside of the budget run on the blocking thread pool.

use core::num::NonZero;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::thread;

use tokio::time::Instant;

/// Longer than a query takes without a disk: a transaction of 1,000 receipts takes 6 ms, and a
/// preempted thread runs again after some 3 ms
const SLOW_QUERY: Duration = Duration::from_millis(20);
/// How long the budget is closed after a slow query: a slow disk then blocks connections for at
/// most a fiftieth of their time
const BACKOFF: Duration = Duration::from_secs(1);

/// Number of threads that serve sockets while rows are read from a file: the limit and one more
pub(crate) fn serving_threads() -> usize {
    max_concurrent_queries() + 1
}

fn max_concurrent_queries() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Limits the queries that run on the serving threads
pub(crate) struct IoBudget {
    limit: usize,
    in_use: AtomicUsize,
    start: Instant,
    /// No permit before; microseconds since `start`
    closed_until: AtomicU64,
}

impl IoBudget {
    /// The budget for [`serving_threads`]
    pub(crate) fn new() -> Self {
        Self::with_limit(max_concurrent_queries())
    }

    fn with_limit(limit: usize) -> Self {
        let (in_use, closed_until) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { limit, in_use, start: Instant::now(), closed_until }
    }

    /// A permit for one query, until it is dropped; `None` if the budget is used up or closed
    pub(crate) fn try_acquire(&self) -> Option<IoPermit<'_>> {
        let acquired = Instant::now();
        // Relaxed: the counters order no other memory, the store has its own locks.
        if self.micros(acquired) < self.closed_until.load(Ordering::Relaxed) {
            return None;
        }
        let permit = IoPermit { budget: self, acquired };
        (self.in_use.fetch_add(1, Ordering::Relaxed) < self.limit).then_some(permit)
    }

    fn micros(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.start);
        u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
    }
}

/// Permission to run a query on a serving thread
pub(crate) struct IoPermit<'budget> {
    budget: &'budget IoBudget,
    acquired: Instant,
}

impl Drop for IoPermit<'_> {
    fn drop(&mut self) {
        self.budget.in_use.fetch_sub(1, Ordering::Relaxed);
        let now = Instant::now();
        if now.saturating_duration_since(self.acquired) >= SLOW_QUERY {
            let until = self.budget.micros(now + BACKOFF);
            self.budget.closed_until.fetch_max(until, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    // The clock is paused and moves only by `advance`.

    #[tokio::test(start_paused = true)]
    async fn permits_are_limited() {
        let budget = IoBudget::with_limit(2);
        let first = budget.try_acquire();
        let second = budget.try_acquire();
        assert!(first.is_some() && second.is_some());
        for _ in 0..3 {
            assert!(budget.try_acquire().is_none());
        }
        drop(first);
        let third = budget.try_acquire();
        assert!(third.is_some());
        assert!(budget.try_acquire().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_query_closes_the_budget_for_a_second() {
        let budget = IoBudget::with_limit(2);
        let quick = budget.try_acquire();
        time::advance(SLOW_QUERY - Duration::from_millis(1)).await;
        drop(quick);
        let slow = budget.try_acquire();
        assert!(slow.is_some());
        time::advance(SLOW_QUERY).await;
        drop(slow);
        assert!(budget.try_acquire().is_none());
        time::advance(BACKOFF - Duration::from_millis(1)).await;
        assert!(budget.try_acquire().is_none());
        time::advance(Duration::from_millis(1)).await;
        assert!(budget.try_acquire().is_some());
    }
}
