//! Simulation: rough chains by seed, message by message, beside an oracle.
//!
//! After every few messages every answer is compared byte for byte with that of an oracle which
//! keeps whole messages and derives everything from those on the canonical chain. Requests that
//! wait are asked again after every message and must end at the first at which the oracle says so.
//! A seed that fails is named, and runs alone with `MILEPOST_SEED=<seed>`.

mod simulation {
    pub(crate) mod delivery;
    pub(crate) mod oracle;
    pub(crate) mod run;
    pub(crate) mod waits;

    use std::collections::BTreeMap;

    /// How often something happened
    #[derive(Debug, Default)]
    pub(crate) struct Tally(pub(crate) BTreeMap<String, usize>);

    impl Tally {
        pub(crate) fn add(&mut self, what: &str, times: usize) {
            *self.0.entry(what.to_owned()).or_default() += times;
        }
    }

    pub(crate) fn body_text(body: Vec<u8>) -> String {
        String::from_utf8(body).expect("an answer is text")
    }
}

use core::sync::atomic::{AtomicU64, Ordering};

use simulation::Tally;
use simulation::run::Simulation;

/// Seeds of one run; with 2 cores and no optimisation they take about a minute
const SEEDS: u64 = 36;

/// Names the seed when its run ends in a panic
struct Running(u64);

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this failed with MILEPOST_SEED={}", self.0);
        }
    }
}

fn run(seed: u64) -> Tally {
    let _running = Running(seed);
    Simulation::new(seed).run(seed)
}

/// Runs every seed on as many threads as there are cores
fn run_all() -> Tally {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let mut total = Tally::default();
    std::thread::scope(|scope| {
        let work = || {
            let mut tally = Tally::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= SEEDS {
                    return tally;
                }
                for (what, times) in run(seed).0 {
                    tally.add(&what, times);
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            for (what, times) in worker.join().expect("every seed agrees with the oracle").0 {
                total.add(&what, times);
            }
        }
    });
    total
}

#[test]
fn the_engine_answers_as_the_canonical_messages_say() {
    if let Some(seed) = std::env::var_os("MILEPOST_SEED") {
        let seed = seed.to_str().and_then(|seed| seed.parse().ok()).expect("a seed is a number");
        println!("{:?}", run(seed));
        return;
    }
    let tally = run_all();
    println!("{tally:?}");
    let at_least = [
        ("reorganisations", 200),
        ("of several blocks", 100),
        ("redone", 100),
        ("aside", 300),
        ("known", 100),
        ("refused", 100),
        ("disappeared", 2000),
        ("came back", 300),
        ("reopened", 20),
        ("INCLUDED", 2000),
        ("EXECUTED_OPTIMISTIC", 1000),
        ("INCLUDED_FINAL", 2000),
        ("EXECUTED", 2000),
        ("FINAL", 10_000),
        ("unknown", 10_000),
        ("unknown, lost with a fork", 5000),
        ("late refunds", 500),
        ("waits opened", 3000),
        ("waits ended", 3000),
        ("waits expired", 500),
        ("batches that wait", 100),
        ("configurations", 5000),
        ("skipped blocks", 300),
        ("unknown blocks", 1000),
        ("rows counted", 300),
        ("settled", 10_000),
    ];
    for (what, least) in at_least {
        let times = tally.0.get(what).copied().unwrap_or_default();
        assert!(times >= least, "{what}: {times}, at least {least} expected in {tally:?}");
    }
}
