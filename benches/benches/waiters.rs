//! Requests that wait: coming, going, and being woken by a block, with few and with many open.
//!
//! What is compared is in the crate's documentation. Figures of one size are taken from one crowd,
//! which is made when the first of them is asked for. Room is refilled between measurements, by the
//! same clock that does not count it.

use core::cell::LazyCell;
use core::time::Duration;

use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main,
};
use milepost_benches::{Cpu, Crowd};

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Open requests
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Beyond this asking all takes longer than there is time between blocks
const MOST_ASKED: usize = 100_000;
/// Open requests beside a node; with more, its block takes longer than there is time between blocks
#[cfg(feature = "peers")]
const SIZES_BESIDE_A_NODE: [usize; 2] = [1_000, 10_000];
/// Requests that come or go in one measurement
const AT_A_TIME: usize = 100;

fn group<'criterion>(
    criterion: &'criterion mut Criterion<Cpu>,
    name: &str,
) -> BenchmarkGroup<'criterion, Cpu> {
    let mut group = criterion.benchmark_group(name);
    // What is measured is a small part of a round; most of it is making the next block.
    group.sampling_mode(SamplingMode::Flat);
    group.sample_size(40);
    group.warm_up_time(Duration::from_secs(1));
    group.measurement_time(Duration::from_secs(3));
    group
}

/// Measures `round` so many times; it gives what one took
fn rounds(count: u64, mut round: impl FnMut() -> Duration) -> Duration {
    (0..count).map(|_| round()).sum()
}

/// Hands a block in, so that whom it concerns is found and woken
fn waking(crowd: &mut Crowd) -> Duration {
    let block = crowd.next_block();
    let ((), took) = Cpu::time(|| crowd.wake(&block));
    let answers = crowd.answer();
    crowd.refill(block, &answers);
    took
}

/// The same, and then they are asked until each is answered or asleep again
fn answering(crowd: &mut Crowd) -> Duration {
    let block = crowd.next_block();
    let (answers, took) = Cpu::time(|| {
        crowd.wake(&block);
        crowd.answer()
    });
    crowd.refill(block, &answers);
    took
}

fn waiters(criterion: &mut Criterion<Cpu>) {
    for open in SIZES {
        let mut crowd = LazyCell::new(|| {
            let (crowd, took) = Cpu::time(|| Crowd::new(open, open as u64));
            println!("{open} open requests, made in {took:.1?}");
            crowd
        });
        let id = |what| BenchmarkId::new(what, open);

        let mut requests = group(criterion, "waiters");
        requests.bench_function(id("admit 100"), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || {
                    let newcomers = crowd.newcomers(AT_A_TIME);
                    let ((), took) = Cpu::time(|| crowd.admit(newcomers));
                    crowd.thin_out(AT_A_TIME);
                    took
                })
            });
        });
        requests.bench_function(id("cancel 100"), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || {
                    let leaving = crowd.leaving(AT_A_TIME);
                    let ((), took) = Cpu::time(|| crowd.cancel(&leaving));
                    crowd.return_to(leaving);
                    took
                })
            });
        });
        requests.finish();

        let mut blocks = group(criterion, "block");
        blocks.bench_function(id("wake"), |bencher| {
            bencher.iter_custom(|count| rounds(count, || waking(&mut crowd)));
        });
        blocks.bench_function(id("answer"), |bencher| {
            bencher.iter_custom(|count| rounds(count, || answering(&mut crowd)));
        });
        if open <= MOST_ASKED {
            let mut waits = LazyCell::new(|| crowd.waits());
            blocks.bench_function(id("ask all"), |bencher| {
                bencher.iter_custom(|count| {
                    rounds(count, || {
                        let (answers, took) = Cpu::time(|| crowd.ask_all(&mut waits));
                        assert_eq!(answers, 0);
                        took
                    })
                });
            });
            let mut status = Vec::new();
            blocks.bench_function(id("build all"), |bencher| {
                bencher.iter_custom(|count| {
                    rounds(count, || {
                        let (built, took) = Cpu::time(|| crowd.build_all(&mut status));
                        assert_eq!(built, open / 4 * 3);
                        took
                    })
                });
            });
        }
        blocks.finish();
    }
}

/// The same block with outcomes as long as on a chain, and a node for which as many wait
#[cfg(feature = "peers")]
fn beside_a_node(criterion: &mut Criterion<Cpu>) {
    for open in SIZES_BESIDE_A_NODE {
        let mut crowd = LazyCell::new(|| Crowd::beside_a_node(open, open as u64));
        let mut blocks = group(criterion, "block beside a node");
        blocks.bench_function(BenchmarkId::new("ours", open), |bencher| {
            bencher.iter_custom(|count| rounds(count, || waking(&mut crowd)));
        });
        blocks.bench_function(BenchmarkId::new("ours with the answers", open), |bencher| {
            bencher.iter_custom(|count| rounds(count, || answering(&mut crowd)));
        });
        blocks.sample_size(15);
        blocks.bench_function(BenchmarkId::new("peer", open), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || {
                    let (built, took) = Cpu::time(|| crowd.build_all_as_a_node());
                    assert_eq!(built, open / 4 * 3);
                    took
                })
            });
        });
        blocks.finish();
    }
}

#[cfg(feature = "peers")]
criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = beside_a_node, waiters
}
#[cfg(not(feature = "peers"))]
criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = waiters
}
criterion_main!(benches);
