//! Suspending, cancelling and waking pending requests, with few and with many open.
//!
//! The crate's documentation describes the figures. All figures of one size use one
//! [`OpenRequests`], made when the first of them runs; it is refilled between measurements, outside
//! of the measured time.

use core::cell::LazyCell;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost_benches::{Cpu, OpenRequests, round_group, rounds};

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Numbers of open requests
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// With more open requests, evaluating all takes longer than the time between blocks
const MAX_EVALUATED: usize = 100_000;
/// Requests per round
const ROUND_SIZE: usize = 100;

fn waiters(criterion: &mut Criterion<Cpu>) {
    for open in SIZES {
        let mut open_requests = LazyCell::new(|| {
            let (open_requests, elapsed) = Cpu::time(|| OpenRequests::new(open, open as u64));
            println!("{open} open requests, made in {elapsed:.1?}");
            open_requests
        });
        let id = |name| BenchmarkId::new(name, open);

        let mut requests = round_group(criterion, "waiters");
        requests.bench_function(id("suspend 100"), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || {
                    let new_requests = open_requests.new_requests(ROUND_SIZE);
                    let ((), elapsed) = Cpu::time(|| open_requests.suspend(new_requests));
                    open_requests.cancel_unknown(ROUND_SIZE);
                    elapsed
                })
            });
        });
        requests.bench_function(id("cancel 100"), |bencher| {
            bencher.iter_custom(|count| {
                rounds(count, || {
                    let cancelled = open_requests.take_random(ROUND_SIZE);
                    let ((), elapsed) = Cpu::time(|| open_requests.cancel(&cancelled));
                    open_requests.resubmit(cancelled);
                    elapsed
                })
            });
        });
        requests.finish();

        let mut blocks = round_group(criterion, "block");
        blocks.bench_function(id("wake"), |bencher| {
            bencher.iter_custom(|count| rounds(count, || open_requests.time_wake()));
        });
        blocks.bench_function(id("wake and respond"), |bencher| {
            bencher.iter_custom(|count| rounds(count, || open_requests.time_respond()));
        });
        if open <= MAX_EVALUATED {
            let mut pending = LazyCell::new(|| open_requests.pending_requests());
            blocks.bench_function(id("evaluate all"), |bencher| {
                bencher.iter_custom(|count| {
                    rounds(count, || {
                        let (answered, elapsed) =
                            Cpu::time(|| open_requests.evaluate_all(&mut pending));
                        assert_eq!(answered, 0);
                        elapsed
                    })
                });
            });
            let mut out = Vec::new();
            blocks.bench_function(id("build all"), |bencher| {
                bencher.iter_custom(|count| {
                    rounds(count, || {
                        let (built, elapsed) = Cpu::time(|| open_requests.build_all(&mut out));
                        assert_eq!(built, open / 4 * 3);
                        elapsed
                    })
                });
            });
        }
        blocks.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = waiters
}
criterion_main!(benches);
