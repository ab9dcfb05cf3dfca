//! A budget of requests per minute.
//!
//! Requests are spaced evenly, with a small burst (a generic cell rate algorithm, ITU-T I.371), so
//! that no minute has more than the budget and the newest block never waits for one. A server that
//! asks for a pause stops all requests.

use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use tokio::time::{self, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// A maximum number of requests in any minute; 170 by default, as a public feed allows 180
#[derive(Debug)]
pub struct Budget {
    per_minute: u32,
    /// The number of requests that can follow each other at once
    burst: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the next request would be if requests were evenly spaced
    next: Option<Instant>,
    paused_until: Option<Instant>,
}

impl Budget {
    /// A budget of this number of requests per minute, at least 1
    pub const fn new(per_minute: u32) -> Self {
        let per_minute = if per_minute == 0 { 1 } else { per_minute };
        let burst = per_minute / 10;
        let state = Mutex::new(State { next: None, paused_until: None });
        Self { per_minute, burst, state }
    }

    /// The number of requests per minute
    pub const fn per_minute(&self) -> u32 {
        self.per_minute
    }

    /// Waits until a request can be sent
    pub(crate) async fn acquire(&self) {
        let at = self.reserve(Instant::now());
        time::sleep_until(at).await;
        // A pause may have begun in the meantime.
        loop {
            let paused_until = self.lock().paused_until;
            match paused_until.filter(|until| *until > Instant::now()) {
                Some(until) => time::sleep_until(until).await,
                None => return,
            }
        }
    }

    /// Sends no request for this time
    pub(crate) fn pause(&self, duration: Duration) {
        let until = Instant::now() + duration;
        let mut state = self.lock();
        state.paused_until = state.paused_until.max(Some(until));
    }

    /// Takes the next place in the sequence of requests; returns its time
    fn reserve(&self, now: Instant) -> Instant {
        // In any minute there are the evenly spaced ones and one burst.
        let interval = MINUTE / (self.per_minute - self.burst);
        let mut state = self.lock();
        let next = state.next.map_or(now, |next| next.max(now));
        state.next = Some(next + interval);
        let allowance = interval * self.burst.saturating_sub(1);
        next.checked_sub(allowance).map_or(now, |at| at.max(now))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A place that was taken by a thread that panicked stays taken.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(170)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_requests_than_the_budget() {
        for per_minute in [1, 7, 170] {
            let (budget, start) = (Budget::new(per_minute), Instant::now());
            let mut times = Vec::new();
            for _ in 0..per_minute * 3 {
                budget.acquire().await;
                times.push(start.elapsed());
            }
            for (index, time) in times.iter().enumerate() {
                let in_minute = times[index..].iter().take_while(|it| **it < *time + MINUTE);
                assert!(in_minute.count() <= per_minute as usize, "{per_minute} from {time:?}");
            }
            // And it is used: three minutes have at least two and a half budgets.
            assert!(times.last().unwrap().as_secs_f64() < 60.0 * 3.4, "{per_minute}: {times:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_stops_all_requests() {
        let (budget, start) = (Budget::default(), Instant::now());
        budget.pause(Duration::from_secs(20));
        budget.pause(Duration::from_secs(5));
        budget.acquire().await;
        assert_eq!(start.elapsed().as_secs(), 20);
    }
}
