//! The clock of the benches: processor time of the measuring thread.
//!
//! Time in which the thread does not run is not counted, whether it was preempted or blocked.
//! Reading this clock is a system call of some hundred nanoseconds, so one measurement must be much
//! longer.

use core::time::Duration;

use cpu_time::ThreadTime;
#[cfg(feature = "measure")]
use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// Processor time of the measuring thread
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Cpu {
    /// The result of `work`, and the processor time that it took
    pub fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
        let start = ThreadTime::now();
        let result = work();
        (result, start.elapsed())
    }
}

#[cfg(feature = "measure")]
impl Measurement for Cpu {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }

    fn end(&self, start: ThreadTime) -> Duration {
        start.elapsed()
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        // The same unit as wall-clock time.
        WallTime.formatter()
    }
}
