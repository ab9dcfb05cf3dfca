//! Simulation of the whole server: feed, store, waiting, watches, stop and restart, from a seed.
//!
//! A seed determines a practice chain, the faults of its feeds, clients, and the processes of a
//! server and of a second one that lags, each over a store that stays or is lost. All of it is that
//! of the program, on one thread with a clock that jumps; connections are pipes in memory. Each
//! response is compared with a [`Model`](model::Model) of the server, by content and time; the
//! events of a watcher, with those that one [observer] of the chain could have seen.

mod chain;
mod clients;
mod figures;
mod http_client;
mod model;
mod observer;
mod processes;
mod source;
mod streams;
mod world;

use core::iter;
use std::env;
use std::thread;
use std::time::Instant;

use figures::Figures;
use processes::run;

/// Seeds of every run of the tests
const SEEDS: u64 = 300;
/// The variable with a number of seeds, from 0 on
const SEEDS_VARIABLE: &str = "MILEPOST_SIMULATION_SEEDS";
/// The variable with one seed, whose events are printed
const SEED_VARIABLE: &str = "MILEPOST_SIMULATION_SEED";

fn variable(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn what_clients_get_is_what_the_model_says() {
    if let Some(seed) = variable(SEED_VARIABLE) {
        let run = run(seed, true).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        println!("{}", run.figures);
        return;
    }
    let seeds = variable(SEEDS_VARIABLE).unwrap_or(SEEDS);
    let start = Instant::now();
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = |first: u64| {
        let mut figures = Figures::default();
        for seed in (first..seeds).step_by(threads as usize) {
            let run = run(seed, false).unwrap_or_else(|error| {
                panic!("seed {seed}: {error}\nalone: with {SEED_VARIABLE}={seed}")
            });
            figures.add(&run.figures);
        }
        figures
    };
    let figures = thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        let mut figures = Figures::default();
        for part in parts {
            figures.add(&part.join().expect("a seed failed, as is said above"));
        }
        figures
    });
    println!("{figures}");
    println!("{:>12.1} seconds", start.elapsed().as_secs_f64());
    // Otherwise the seeds are too tame to show anything.
    let mut missing = figures.missing();
    missing.retain(|name| !figures::RARE.contains(name));
    assert!(seeds < SEEDS || missing.is_empty(), "never: {missing:?}");
}

#[test]
fn a_seed_has_the_same_run_again() {
    for seed in 0..5 {
        let digests = iter::repeat_with(|| run(seed, false).expect("a run").digest);
        let digests: Vec<_> = digests.take(2).collect();
        assert_eq!(digests[0], digests[1], "seed {seed}");
    }
}
