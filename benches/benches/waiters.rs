//! Requests that wait: coming, going, and being woken by a block, with few and with many open.
//!
//! What is compared is in the crate's documentation. Figures of one size are taken from one crowd,
//! which is made when the first of them is asked for. Room is refilled between measurements, by the
//! same clock that does not count it.

use core::cell::LazyCell;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost_benches::{Cpu, Crowd, round_group, rounds};

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Open requests
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Beyond this asking all takes longer than there is time between blocks
const MOST_ASKED: usize = 100_000;
/// Requests that come or go in one measurement
const AT_A_TIME: usize = 100;

fn waiters(criterion: &mut Criterion<Cpu>) {
    for open in SIZES {
        let mut crowd = LazyCell::new(|| {
            let (crowd, took) = Cpu::time(|| Crowd::new(open, open as u64));
            println!("{open} open requests, made in {took:.1?}");
            crowd
        });
        let id = |what| BenchmarkId::new(what, open);

        let mut requests = round_group(criterion, "waiters");
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

        let mut blocks = round_group(criterion, "block");
        blocks.bench_function(id("wake"), |bencher| {
            bencher.iter_custom(|count| rounds(count, || crowd.time_wake()));
        });
        blocks.bench_function(id("answer"), |bencher| {
            bencher.iter_custom(|count| rounds(count, || crowd.time_answer()));
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

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = waiters
}
criterion_main!(benches);
