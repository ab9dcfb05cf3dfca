//! Simulation of the endpoint and of the engine, compared with one naive oracle.
//!
//! For the endpoint, a seed determines a chain (forks, late finality, late refunds, repeated
//! blocks, what no valid chain has), requests that are sent, cancelled and expire, and the way in
//! which the endpoint is driven. For the engine alone ([`run_practice`]), it determines a practice
//! chain, whose blocks have all that blocks of a network have, and its configurations. After every
//! event the oracle evaluates every pending request from whole blocks; the responses must be the
//! same, byte for byte, at the same event. A failing seed can be replayed alone. Proofs are left to
//! other tests.

#![forbid(unsafe_code)]

mod block;
mod chain;
mod client;
mod configs;
mod content;
mod coverage;
mod hashes;
mod host_evaluated;
mod oracle;
mod practice;
mod practice_chain;
mod remote_rows;
mod requests;
mod run;
mod scenario;
mod store;

pub use coverage::Coverage;
pub use practice::{Counts, run_practice, run_practice_seeds};
pub use run::run;

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn a_few_seeds_agree_with_the_oracle() {
        for seed in 0..100 {
            run(seed, false).unwrap_or_else(|error| panic!("seed {seed} failed: {error}"));
        }
    }

    #[test]
    fn a_seed_has_the_same_run_alone() {
        let alone = run(42, false).unwrap().to_string();
        for seed in 38..42 {
            run(seed, false).unwrap();
        }
        assert_eq!(run(42, false).unwrap().to_string(), alone);
    }

    #[test]
    fn counters_below_their_minimum_are_reported() {
        let mut coverage = run(0, false).unwrap();
        assert!(coverage.missing().is_empty());
        for _ in 0..10 {
            coverage.merge(&coverage.clone());
        }
        assert!(!coverage.missing().is_empty());
    }
}
