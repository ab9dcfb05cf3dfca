//! A block for which many wait: ours beside a node, which builds the status of every open request.
//!
//! Outcomes are as long as on a network. Beyond 10 thousand open requests the node's block takes longer
//! than there is time between blocks. What ours costs with more is in the bench of this name without a
//! peer.

use core::cell::LazyCell;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost_benches::{Cpu, Crowd, round_group, rounds};
use milepost_peer_benches::CrowdBesideANode;

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Open requests
const SIZES: [usize; 2] = [1_000, 10_000];

fn waiters(criterion: &mut Criterion<Cpu>) {
    for open in SIZES {
        let mut both = LazyCell::new(|| CrowdBesideANode::new(open, open as u64));
        let mut blocks = round_group(criterion, "block beside a node");
        blocks.bench_function(BenchmarkId::new("ours", open), |bencher| {
            bencher.iter_custom(|count| rounds(count, || both.with_crowd(Crowd::time_wake)));
        });
        blocks.bench_function(BenchmarkId::new("ours with the answers", open), |bencher| {
            bencher.iter_custom(|count| rounds(count, || both.with_crowd(Crowd::time_answer)));
        });
        blocks.sample_size(15);
        blocks.bench_function(BenchmarkId::new("peer", open), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || {
                    let (built, took) = Cpu::time(|| both.build_all());
                    assert_eq!(built, open / 4 * 3);
                    took
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
