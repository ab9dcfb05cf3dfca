//! Chains by seed, the waiting machine of the engine, and a naive oracle beside it.
//!
//! A seed draws a chain (forks, late finality, late refunds, blocks fed twice), clients that come, go
//! and time out, and a way to drive the machine. After every event the oracle evaluates every open
//! request from whole blocks; the engine must give the same answers, byte for byte, at the same
//! event. Everything follows from the seed, so one that fails replays alone. Signatures, proofs and
//! configurations are left to other tests.

#![forbid(unsafe_code)]

mod block;
mod chain;
mod client;
mod growth;
mod names;
mod oracle;
mod outside;
mod requests;
mod run;
mod setup;
mod tally;

pub mod store;

pub use run::run;
pub use tally::Tally;

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn a_few_seeds_agree_with_the_oracle() {
        for seed in 0..100 {
            run(seed, false).unwrap_or_else(|why| panic!("seed {seed} failed: {why}"));
        }
    }

    #[test]
    fn a_seed_replays_alone() {
        let alone = run(42, false).unwrap().to_string();
        for seed in 38..42 {
            run(seed, false).unwrap();
        }
        assert_eq!(run(42, false).unwrap().to_string(), alone);
    }

    #[test]
    fn what_is_seen_too_rarely_is_named() {
        let mut tally = run(0, false).unwrap();
        assert!(tally.missing().is_empty());
        for _ in 0..10 {
            tally.merge(&tally.clone());
        }
        assert!(!tally.missing().is_empty());
    }
}
