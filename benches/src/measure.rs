//! How the benches of what takes microseconds measure.
//!
//! What is measured is given its input ready made, and what it leaves is freed within the time that is
//! measured, as a server would: otherwise the allocator would have nothing to hand out again.

use core::hint::black_box;
use core::time::Duration;

use criterion::{BenchmarkGroup, Criterion};

use crate::Cpu;

/// Inputs that are made at a time: the clock is read once for them
///
/// Reading it takes some 300 nanoseconds, so 5 of them are counted for each. More inputs would not
/// stay in the cache next to the core, where a server has the one that it works on.
const AT_A_TIME: u64 = 64;

/// A group whose figures take 2 seconds each
pub fn group<'criterion>(
    criterion: &'criterion mut Criterion<Cpu>,
    name: &str,
) -> BenchmarkGroup<'criterion, Cpu> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(30);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    group
}

/// Copies an answer to a buffer in the way that takes least: by pieces that C libraries copy by vectors
///
/// The floor of whoever copies; see what the engine says about copies in its `engine/at_hand.rs`.
pub fn copy(answer: &[u8], out: &mut Vec<u8>) {
    answer.chunks(1_984).for_each(|piece| out.extend_from_slice(piece));
}

/// The time that `work` takes on so many inputs; what it gives is freed in that time
pub fn with_input<Input, Output>(
    count: u64,
    mut make: impl FnMut() -> Input,
    mut work: impl FnMut(Input) -> Output,
) -> Duration {
    let mut taken = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let now = left.min(AT_A_TIME);
        left -= now;
        let inputs: Vec<Input> = (0..now).map(|_| make()).collect();
        let ((), took) = Cpu::time(|| {
            for input in inputs {
                black_box(work(black_box(input)));
            }
        });
        taken += took;
    }
    taken
}
