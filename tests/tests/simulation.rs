//! Simulation: generated chains, block by block, compared with an oracle.
//!
//! After every few blocks, responses are compared byte for byte with those of an oracle that keeps
//! whole messages and derives everything from those on the canonical chain. Pending requests are
//! resumed after every block and must be ready at the first block at which the oracle has a
//! response. A failing seed is printed, and runs alone with `MILEPOST_SEED=<seed>`.

mod delivery;
mod oracle;
mod pending;
mod run;

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;

use run::Simulation;

/// Counts of events
#[derive(Debug, Default)]
struct Coverage(BTreeMap<String, usize>);

impl Coverage {
    fn add(&mut self, event: &str, count: usize) {
        *self.0.entry(event.to_owned()).or_default() += count;
    }
}

fn body_text(body: Vec<u8>) -> String {
    String::from_utf8(body).expect("a response is UTF-8")
}

/// Seeds of one run, about a minute on 2 cores without optimisation
const SEEDS: u64 = 36;

/// Prints the seed if its run panics
struct PrintOnPanic(u64);

impl Drop for PrintOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with MILEPOST_SEED={}", self.0);
        }
    }
}

fn run(seed: u64) -> Coverage {
    let _guard = PrintOnPanic(seed);
    Simulation::new(seed).run(seed)
}

/// Runs every seed on as many threads as there are cores
fn run_all() -> Coverage {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let mut total = Coverage::default();
    std::thread::scope(|scope| {
        let work = || {
            let mut coverage = Coverage::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= SEEDS {
                    return coverage;
                }
                for (event, count) in run(seed).0 {
                    coverage.add(&event, count);
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            for (event, count) in worker.join().expect("every seed agrees with the oracle").0 {
                total.add(&event, count);
            }
        }
    });
    total
}

#[test]
fn responses_agree_with_the_oracle() {
    if let Some(seed) = std::env::var_os("MILEPOST_SEED") {
        let seed = seed.to_str().and_then(|seed| seed.parse().ok()).expect("a seed is a number");
        println!("{:?}", run(seed));
        return;
    }
    let coverage = run_all();
    println!("{coverage:?}");
    let minimum = [
        ("reorganisations", 200),
        ("reorganisations of several blocks", 100),
        ("blocks reapplied", 100),
        ("fork blocks", 300),
        ("known blocks", 100),
        ("rejected blocks", 100),
        ("rows lost in a reorganisation", 2000),
        ("rows restored", 300),
        ("storages reopened", 20),
        ("INCLUDED", 2000),
        ("EXECUTED_OPTIMISTIC", 1000),
        ("INCLUDED_FINAL", 2000),
        ("EXECUTED", 2000),
        ("FINAL", 10_000),
        ("unknown transactions", 10_000),
        ("unknown transactions of lost forks", 5000),
        ("expired transactions", 100),
        ("pending refunds", 500),
        ("requests suspended", 3000),
        ("requests resumed", 3000),
        ("requests expired", 500),
        ("batches suspended", 100),
        ("configurations", 20_000),
        ("configurations of epochs", 150),
        ("orphans in another epoch", 100),
        ("kept configurations", 500),
        ("skipped blocks", 300),
        ("unknown blocks", 1000),
        ("row counts compared", 300),
        ("finalized transactions", 10_000),
    ];
    for (event, minimum) in minimum {
        let count = coverage.0.get(event).copied().unwrap_or_default();
        assert!(count >= minimum, "{event}: {count}, expected at least {minimum} in {coverage:?}");
    }
}
