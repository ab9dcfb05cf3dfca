//! Which questions are asked of a file on the threads that serve sockets, and which beside them.
//!
//! To hand a question over to another thread and its answer back takes some 30 us of processor time,
//! more than most answers take out of a file whose pages are in memory. But a disk may take
//! seconds, and nothing tells before. So questions are asked in place with two precautions: at most
//! so many at a time that one serving thread stays free whatever the disk does, and none for a
//! second after one has taken long. What is turned away here is handed over.

use core::num::NonZero;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::thread;

use tokio::time::Instant;

/// Longer than what a question takes without a disk: a transaction of 1,000 receipts takes 6 ms,
/// and a thread that lost its processor has it back after some 3 ms
const LONG: Duration = Duration::from_millis(20);
/// How long nothing is asked in place after that: slow disks then hold up connections for at most
/// a fiftieth of their time
const REST: Duration = Duration::from_secs(1);

/// Threads that serve sockets while rows are read from a file: one more than may be held up
pub(crate) fn serving_threads() -> usize {
    most_held_up() + 1
}

fn most_held_up() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Counts the questions that are being asked in place
pub(crate) struct Turnstile {
    limit: usize,
    inside: AtomicUsize,
    start: Instant,
    /// Nobody gets in before; microseconds since `start`
    closed_until: AtomicU64,
}

impl Turnstile {
    /// A turnstile for [`serving_threads`]
    pub(crate) fn new() -> Self {
        Self::with_limit(most_held_up())
    }

    fn with_limit(limit: usize) -> Self {
        let (inside, closed_until) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { limit, inside, start: Instant::now(), closed_until }
    }

    /// Lets a question in, until the visit is dropped
    pub(crate) fn enter(&self) -> Option<Visit<'_>> {
        let since = Instant::now();
        // Counters without a word about other memory: what is asked has locks of its own.
        if self.micros(since) < self.closed_until.load(Ordering::Relaxed) {
            return None;
        }
        let visit = Visit { turnstile: self, since };
        (self.inside.fetch_add(1, Ordering::Relaxed) < self.limit).then_some(visit)
    }

    fn micros(&self, instant: Instant) -> u64 {
        let span = instant.saturating_duration_since(self.start);
        u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
    }
}

/// A question that is being asked in place, or was about to be
pub(crate) struct Visit<'turnstile> {
    turnstile: &'turnstile Turnstile,
    since: Instant,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.turnstile.inside.fetch_sub(1, Ordering::Relaxed);
        let now = Instant::now();
        if now.saturating_duration_since(self.since) >= LONG {
            let until = self.turnstile.micros(now + REST);
            self.turnstile.closed_until.fetch_max(until, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    // The clock is paused, and moves only when it is told to.

    #[tokio::test(start_paused = true)]
    async fn one_thread_stays_free() {
        let turnstile = Turnstile::with_limit(2);
        let first = turnstile.enter();
        let second = turnstile.enter();
        assert!(first.is_some() && second.is_some());
        for _ in 0..3 {
            assert!(turnstile.enter().is_none());
        }
        drop(first);
        let third = turnstile.enter();
        assert!(third.is_some());
        assert!(turnstile.enter().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_disk_that_took_long_has_its_rest() {
        let turnstile = Turnstile::with_limit(2);
        let quick = turnstile.enter();
        time::advance(LONG - Duration::from_millis(1)).await;
        drop(quick);
        let slow = turnstile.enter();
        assert!(slow.is_some());
        time::advance(LONG).await;
        drop(slow);
        assert!(turnstile.enter().is_none());
        time::advance(REST - Duration::from_millis(1)).await;
        assert!(turnstile.enter().is_none());
        time::advance(Duration::from_millis(1)).await;
        assert!(turnstile.enter().is_some());
    }
}
