//! Criterion groups and loops for operations that take microseconds.
//!
//! Inputs are made before the clock starts. Outputs are dropped while it runs, as in a server;
//! otherwise the allocator could not reuse their memory.

use core::hint::black_box;
use core::time::Duration;

use criterion::{BenchmarkGroup, Criterion, SamplingMode};

use crate::Cpu;

/// Inputs of a batch, for which the clock is read once
///
/// Reading it takes about 300 nanoseconds, so 5 of them are counted for each input. More inputs
/// would not stay in the first-level cache, where a server has its current input.
const BATCH_SIZE: u64 = 64;

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

/// A group whose iterations are rounds that take longer to prepare than to measure
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

/// The time of `count` rounds; `round` returns the measured time of one
pub fn rounds(count: u64, mut round: impl FnMut() -> Duration) -> Duration {
    (0..count).map(|_| round()).sum()
}

/// The time of `count` copies of a response into a reused buffer: the lower bound of any response
/// that is copied
///
/// Copies in chunks of a length that C libraries copy with vector instructions, which is fastest;
/// see `endpoint/fast_path.rs` in the engine.
pub fn copying(count: u64, response: &[u8]) -> Duration {
    let mut out = Vec::with_capacity(response.len());
    with_input(
        count,
        || response,
        |response| {
            out.clear();
            response.chunks(1_984).for_each(|chunk| out.extend_from_slice(chunk));
            black_box(&out);
        },
    )
}

/// The time that `work` takes on `count` inputs, with dropping its outputs
pub fn with_input<Input, Output>(
    count: u64,
    mut make: impl FnMut() -> Input,
    mut work: impl FnMut(Input) -> Output,
) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let batch = left.min(BATCH_SIZE);
        left -= batch;
        let inputs: Vec<Input> = (0..batch).map(|_| make()).collect();
        let ((), elapsed) = Cpu::time(|| {
            for input in inputs {
                black_box(work(black_box(input)));
            }
        });
        total += elapsed;
    }
    total
}
