//! A circuit breaker: an upstream that fails is left alone for a while.
//!
//! After some failures in a row, or when the upstream asks for a pause, it opens. After the pause
//! one request goes through in each further pause until one succeeds. Requests that were sent
//! before it opened change nothing, unless the upstream asks for a longer pause.

use core::time::Duration;
use std::sync::Mutex;

use tokio::time::Instant;

use crate::locks::lock;

/// Failures in a row that open it: more than one request that was lost by a restart
pub(super) const MAX_FAILURES: u32 = 5;
/// The first pause, which doubles with each request that goes through up to the maximum
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
    /// The requests that count: those admitted since a pause began or the last one ended
    current: Admission,
}

/// When a request was admitted
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Admission(u64);

impl CircuitBreaker {
    /// Whether a request may be sent now; otherwise how long none may
    pub(super) fn admit(&self) -> Result<Admission, Duration> {
        let mut state = lock(&self.0);
        let admission = state.current;
        let Some((pause, next)) = &mut state.open else { return Ok(admission) };
        let now = Instant::now();
        if now < *next {
            return Err(*next - now);
        }
        // Others wait for what comes of this request; if it is slow or cancelled, for one pause.
        *next = now + *pause;
        *pause = (*pause * 2).clamp(PAUSE, MAX_PAUSE);
        Ok(admission)
    }

    /// Whether it is open
    pub(super) fn is_open(&self) -> bool {
        lock(&self.0).open.is_some()
    }

    /// Notes that the upstream responded
    pub(super) fn succeeded(&self, admission: Admission) {
        let mut state = lock(&self.0);
        if admission == state.current {
            state.failures = 0;
            if state.open.take().is_some() {
                state.current.0 += 1;
            }
        }
    }

    /// Notes that the upstream failed, and the pause that it asks for
    pub(super) fn failed(&self, admission: Admission, retry_after: Option<Duration>) {
        let mut state = lock(&self.0);
        let (is_current, now) = (admission == state.current, Instant::now());
        state.failures = state.failures.saturating_add(u32::from(is_current));
        let pause = match (retry_after, state.open) {
            (Some(pause), Some((_, next))) if !is_current && now + pause <= next => return,
            (Some(pause), _) => pause,
            (None, _) if !is_current => return,
            (None, Some((pause, _))) => pause,
            (None, None) if state.failures < MAX_FAILURES => return,
            (None, None) => PAUSE,
        };
        state.open = Some((pause, now + pause));
        state.current.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request that is admitted now fails
    fn fail(breaker: &CircuitBreaker) {
        breaker.failed(breaker.admit().unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_open_it_and_a_success_closes_it() {
        let breaker = CircuitBreaker::default();
        for _ in 1..MAX_FAILURES {
            fail(&breaker);
        }
        fail(&breaker);
        for pause in [1, 2, 4, 8, 16, 30, 30].map(Duration::from_secs) {
            assert_eq!(breaker.admit(), Err(pause));
            tokio::time::advance(pause).await;
            let admission = breaker.admit().unwrap();
            assert_eq!(breaker.admit(), Err(pause), "one request tries, and no second one");
            breaker.failed(admission, None);
        }
        tokio::time::advance(MAX_PAUSE).await;
        breaker.succeeded(breaker.admit().unwrap());
        for _ in 1..MAX_FAILURES {
            fail(&breaker);
        }
        assert!(breaker.admit().is_ok() && !breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_from_before_a_pause_do_not_change_it() {
        let breaker = CircuitBreaker::default();
        let before = breaker.admit().unwrap();
        for _ in 0..10 {
            breaker.failed(before, None);
        }
        breaker.succeeded(before);
        assert_eq!(breaker.admit(), Err(PAUSE));
        tokio::time::advance(PAUSE).await;
        let admission = breaker.admit().unwrap();
        breaker.failed(before, None);
        breaker.succeeded(admission);
        for _ in 0..10 {
            breaker.failed(before, None);
        }
        assert!(breaker.admit().is_ok() && !breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_without_a_response_become_rarer() {
        let breaker = CircuitBreaker::default();
        breaker.failed(breaker.admit().unwrap(), Some(PAUSE));
        for pause in [1, 1, 2, 4, 8, 16, 30].map(Duration::from_secs) {
            assert_eq!(breaker.admit(), Err(pause));
            tokio::time::advance(pause).await;
            assert!(breaker.admit().is_ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_is_asked_for_is_kept() {
        let breaker = CircuitBreaker::default();
        let (long, before) = (Duration::from_secs(7), breaker.admit().unwrap());
        breaker.failed(before, Some(long - PAUSE));
        breaker.failed(before, Some(long));
        breaker.failed(before, Some(PAUSE));
        breaker.succeeded(before);
        assert_eq!(breaker.admit(), Err(long));
        tokio::time::advance(long).await;
        assert!(breaker.admit().is_ok());
    }
}
