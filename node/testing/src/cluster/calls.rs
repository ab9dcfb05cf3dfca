//! Calls of a load while nodes are stopped: how many were answered, how many failed, how long they
//! took.
//!
//! A report is about what there was since the last one.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Calls since the last report
#[derive(Debug, Default)]
pub struct Calls {
    answered: AtomicUsize,
    failed: AtomicUsize,
    /// Of those that were answered, in microseconds
    times: Mutex<Vec<u128>>,
}

impl Calls {
    /// Adds a call that began at this time
    pub fn add(&self, begin: Instant, is_answered: bool) {
        if is_answered {
            self.answered.fetch_add(1, Ordering::AcqRel);
            let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
            times.push(begin.elapsed().as_micros());
        } else {
            self.failed.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// How many were answered
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::Acquire)
    }

    /// How many failed
    pub fn failed(&self) -> usize {
        self.failed.load(Ordering::Acquire)
    }

    /// Numbers and times, in one line; forgets them
    pub fn report(&self) -> String {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let mut times = core::mem::take(&mut *times);
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).or(times.last());
        let milliseconds =
            |part| at(part).map_or("-".to_owned(), |time| format!("{:.1}", *time as f64 / 1000.0));
        format!(
            "{} answered, {} failed, p50 {} ms, p99 {} ms, slowest {} ms",
            self.answered.swap(0, Ordering::AcqRel),
            self.failed.swap(0, Ordering::AcqRel),
            milliseconds(50),
            milliseconds(99),
            milliseconds(100)
        )
    }
}
