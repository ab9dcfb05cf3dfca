//! A budget of requests per minute.
//!
//! Requests are spaced evenly, with a small burst (a generic cell rate algorithm, ITU-T I.371), so
//! that no minute has more than the budget and the newest block rarely waits for one.

/// A minute, in milliseconds
const MINUTE: u64 = 60_000;
/// Times are kept in a thousandth of a millisecond: the spacing of a large budget is below one
const SCALE: u64 = 1_000;

/// A maximum number of requests in any minute
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// The time between two requests at an even rate
    interval: u64,
    /// How much earlier than at an even rate a request may come
    allowance: u64,
    /// When the next request would be if requests were evenly spaced
    next: u64,
}

impl Budget {
    /// A budget of this number of requests per minute, at least 1
    pub(crate) fn new(per_minute: u32) -> Self {
        let per_minute = per_minute.max(1);
        // In any minute there are the evenly spaced ones and one burst: a twentieth, so that
        // catching up uses 95 % of the budget.
        let burst = u64::from(per_minute / 20);
        let interval = (MINUTE * SCALE).div_ceil(u64::from(per_minute) - burst);
        Self { interval, allowance: interval * burst.saturating_sub(1), next: 0 }
    }

    /// The first time at which a request can be sent, at the earliest now
    pub(crate) fn next_at(&self, now: u64) -> u64 {
        let next = self.next.max(now.saturating_mul(SCALE));
        next.saturating_sub(self.allowance).div_ceil(SCALE).max(now)
    }

    /// Takes the next place in the sequence of requests; returns its time
    pub(crate) fn reserve(&mut self, now: u64) -> u64 {
        let at = self.next_at(now);
        self.next = self.next.max(now.saturating_mul(SCALE)).saturating_add(self.interval);
        at
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn no_minute_has_more_requests_than_the_budget() {
        for per_minute in [1, 7, 20, 170, 6_000, 100_000] {
            let mut budget = Budget::new(per_minute);
            let (mut now, mut times) = (5_000, Vec::new());
            for _ in 0..u64::from(per_minute) * 3 {
                now = budget.reserve(now);
                times.push(now);
            }
            for (time, over) in times.iter().zip(times.iter().skip(per_minute as usize)) {
                assert!(over - time >= MINUTE, "{per_minute} from {time}");
            }
            // And 95 % of it is used.
            let minutes = (now - 5_000) as f64 / MINUTE as f64;
            assert!(minutes < 3.0 / 0.949, "{per_minute}: {minutes}");
        }
    }

    #[test]
    fn a_burst_is_there_again_after_a_pause() {
        let mut budget = Budget::new(170);
        let burst =
            |budget: &mut Budget, now| (0..).take_while(|_| budget.reserve(now) == now).count();
        assert_eq!(burst(&mut budget, 0), 8);
        assert_eq!(burst(&mut budget, 60_000), 8);
    }
}
