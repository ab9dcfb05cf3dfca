//! A block with many pending requests, compared with a node, which builds the status of every one.
//!
//! Outcomes are as long as on a network. With more than 10 thousand open requests, the node takes
//! longer for a block than the time between blocks. The bench `waiters` of `milepost-benches` has
//! larger numbers, without a peer.

use core::cell::LazyCell;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost_benches::{Cpu, OpenRequests, round_group, rounds};
use milepost_interop::peer::FollowedRequests;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Numbers of open requests
const SIZES: [usize; 2] = [1_000, 10_000];

fn waiters(criterion: &mut Criterion<Cpu>) {
    for open in SIZES {
        let mut followed = LazyCell::new(|| FollowedRequests::new(open, open as u64));
        let mut blocks = round_group(criterion, "wake-ups of a block");
        blocks.bench_function(BenchmarkId::new("ours", open), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || followed.with_requests(OpenRequests::time_wake))
            });
        });
        blocks.bench_function(BenchmarkId::new("ours with the responses", open), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || followed.with_requests(OpenRequests::time_respond))
            });
        });
        blocks.sample_size(15);
        blocks.bench_function(BenchmarkId::new("peer", open), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || {
                    let (built, elapsed) = Cpu::time(|| followed.build_all());
                    assert_eq!(built, open / 4 * 3);
                    elapsed
                })
            });
        });
        blocks.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = waiters
}
criterion_main!(benches);
