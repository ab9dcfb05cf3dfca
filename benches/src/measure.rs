//! How the benches of what takes microseconds measure.
//!
//! What is measured is given its input ready made, and what it leaves is freed within the time that is
//! measured, as a server would: otherwise the allocator would have nothing to hand out again.

use core::hint::black_box;
use core::time::Duration;

use criterion::{BenchmarkGroup, Criterion, SamplingMode};

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

/// A group whose figures are of rounds, most of whose time is spent on making the next one ready
pub fn round_group<'criterion>(
    criterion: &'criterion mut Criterion<Cpu>,
    name: &str,
) -> BenchmarkGroup<'criterion, Cpu> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    group.sample_size(40);
    group.warm_up_time(Duration::from_secs(1));
    group.measurement_time(Duration::from_secs(3));
    group
}

/// The time of so many rounds; `round` gives what is measured of one
pub fn rounds(count: u64, mut round: impl FnMut() -> Duration) -> Duration {
    (0..count).map(|_| round()).sum()
}

/// The time that so many copies of an answer take, into a buffer that is used again: the floor of whoever copies
///
/// By pieces that C libraries copy by vectors, which takes least; see what the engine says about copies in
/// its `engine/at_hand.rs`.
pub fn copying(count: u64, answer: &[u8]) -> Duration {
    let mut out = Vec::with_capacity(answer.len());
    with_input(
        count,
        || answer,
        |answer| {
            out.clear();
            answer.chunks(1_984).for_each(|piece| out.extend_from_slice(piece));
            black_box(&out);
        },
    )
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
