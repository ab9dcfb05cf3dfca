//! A circuit breaker: an upstream that fails is left alone for a while.
//!
//! After some failures in a row, or when the upstream asks for a pause, it opens. After the pause
//! one request goes through in each further pause until one succeeds.

use core::time::Duration;
use std::sync::Mutex;

use tokio::time::Instant;

use crate::locks::lock;

/// Failures in a row that open it: more than one request that was lost by a restart
const MAX_FAILURES: u32 = 5;
/// The first pause, which doubles with each failure up to the maximum
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Whether an upstream is asked
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Failures since the last success
    failures: u32,
    /// While it is open: the pause, and when the next request goes through
    open: Option<(Duration, Instant)>,
}

impl CircuitBreaker {
    /// Whether a request may be sent now; otherwise how long none may
    pub(super) fn admit(&self) -> Result<(), Duration> {
        let mut state = lock(&self.0);
        let Some((pause, next)) = &mut state.open else { return Ok(()) };
        let now = Instant::now();
        if now < *next {
            return Err(*next - now);
        }
        // Others wait for what comes of this request; if it is cancelled, for one pause.
        *next = now + *pause;
        Ok(())
    }

    /// Whether it is open
    pub(super) fn is_open(&self) -> bool {
        lock(&self.0).open.is_some()
    }

    /// Takes in that the upstream responded
    pub(super) fn succeeded(&self) {
        *lock(&self.0) = State::default();
    }

    /// Takes in that the upstream failed, and the pause that it asks for
    pub(super) fn failed(&self, retry_after: Option<Duration>) {
        let mut state = lock(&self.0);
        state.failures = state.failures.saturating_add(1);
        let pause = match (retry_after, state.open) {
            (Some(pause), _) => pause,
            (None, Some((pause, _))) => (pause * 2).clamp(PAUSE, MAX_PAUSE),
            (None, None) if state.failures < MAX_FAILURES => return,
            (None, None) => PAUSE,
        };
        state.open = Some((pause, Instant::now() + pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_open_it_and_a_success_closes_it() {
        let breaker = CircuitBreaker::default();
        for _ in 1..MAX_FAILURES {
            breaker.failed(None);
            assert_eq!(breaker.admit(), Ok(()));
        }
        breaker.failed(None);
        assert_eq!(breaker.admit(), Err(PAUSE));
        tokio::time::advance(PAUSE).await;
        assert_eq!(breaker.admit(), Ok(()));
        assert_eq!(breaker.admit(), Err(PAUSE), "one request tries, and no second one");
        breaker.failed(None);
        assert_eq!(breaker.admit(), Err(PAUSE * 2));
        for _ in 0..10 {
            breaker.failed(None);
        }
        assert_eq!(breaker.admit(), Err(MAX_PAUSE));
        breaker.succeeded();
        assert!(breaker.admit() == Ok(()) && !breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_is_asked_for_is_kept() {
        let breaker = CircuitBreaker::default();
        breaker.failed(Some(Duration::from_secs(7)));
        assert_eq!(breaker.admit(), Err(Duration::from_secs(7)));
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(breaker.admit(), Ok(()));
    }
}
