//! Every target of the engine over its inputs and changes of them, and the lists of targets.

use std::collections::BTreeSet;

use milepost_tests::fuzz::{self, TARGETS};

/// A test of this name runs the target of this name over so many changed inputs
macro_rules! targets {
    ($($target:ident $changes:literal,)*) => {
        $(#[test]
        fn $target() {
            fuzz::target(stringify!($target)).replay($changes, fuzz::$target);
        })*

        const HERE: &[&str] = &[$(stringify!($target)),*];
    };
}

// Some seconds of processor time each, without optimisation.
targets! {
    answer 300,
    base58 20_000,
    base64 20_000,
    block_message 300,
    canonical_json 10_000,
    configuration 300,
    params 3_000,
    proof 300,
    request_body 5_000,
    rows 2_000,
    signed_transaction 3_000,
}

#[test]
fn every_target_is_tested_and_has_a_program() {
    // The library for C has a test of its own.
    let tested: BTreeSet<&str> = HERE.iter().copied().chain(["c_interface"]).collect();
    assert_eq!(tested, TARGETS.iter().map(|target| target.name).collect());
    fuzz::assert_listed("fuzz", &TARGETS);
}
