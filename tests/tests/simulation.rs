//! Simulation: generated chains, block by block, compared with the oracle of `milepost-simulation`.
//!
//! A failing seed is printed, and runs alone with `MILEPOST_SEED=<seed>`.

use milepost_simulation::{run, run_practice, run_practice_seeds};

/// Seeds of one run, about a minute on 2 cores without optimisation
const SEEDS: u64 = 36;

#[test]
fn what_an_endpoint_hands_out_agrees_with_the_oracle() {
    for seed in 0..1_000 {
        if let Err(error) = run(seed, false) {
            panic!("seed {seed}: {error}; `cargo run -p milepost-simulation -- --seed {seed}`");
        }
    }
}

#[test]
fn responses_agree_with_the_oracle() {
    if let Some(seed) = std::env::var_os("MILEPOST_SEED") {
        let seed = seed.to_str().and_then(|seed| seed.parse().ok()).expect("a seed is a number");
        println!("{:?}", run_practice(seed));
        return;
    }
    let coverage = run_practice_seeds(SEEDS);
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
        ("expired transactions", 500),
        ("waits ended by expiry", 60),
        ("pending refunds", 500),
        ("transactions included again", 1000),
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
        let count = coverage.of(event);
        assert!(count >= minimum, "{event}: {count}, expected at least {minimum} in {coverage:?}");
    }
}
