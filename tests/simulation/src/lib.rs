//! Simulation of the endpoint: random chains and requests, compared with a naive oracle.
//!
//! A seed determines a chain (forks, late finality, late refunds, repeated blocks), requests that
//! are sent, cancelled and expire, and the way in which the endpoint is driven. After every event
//! the oracle evaluates every pending request from whole blocks; the endpoint must give the same
//! responses, byte for byte, at the same event. A failing seed can be replayed alone. Signatures,
//! proofs and configurations are left to other tests.

#![forbid(unsafe_code)]

mod block;
mod chain;
mod client;
mod content;
mod coverage;
mod hashes;
mod host_evaluated;
mod oracle;
mod remote_rows;
mod requests;
mod run;
mod scenario;

pub mod store;

pub use coverage::Coverage;
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
