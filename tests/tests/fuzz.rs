//! Every target of the engine over its inputs and changes of them, and the lists of targets.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

#[test]
fn every_target_is_tested_and_has_a_program() {
    // The library for C has a test of its own.
    let tested: BTreeSet<&str> = HERE.iter().copied().chain(["c_interface"]).collect();
    assert_eq!(tested, TARGETS.iter().map(|target| target.name).collect());
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("the programs");
    let programs = manifest.split("[[bin]]\nname = \"").skip(1);
    let programs: BTreeSet<&str> =
        programs.map(|bin| bin.split('"').next().expect("a name")).collect();
    assert_eq!(tested, programs);
}

#[test]
fn kept_inputs_and_findings_are_those_of_a_target() {
    for folder in ["fuzz/corpus", "fuzz/findings"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder of inputs") {
            let path = entry.expect("a file").path();
            let is_of_target =
                TARGETS.iter().any(|target| path.ends_with(format!("{}.txt", target.name)));
            assert!(is_of_target, "{}", path.display());
        }
    }
}
