//! Every target of the engine and of its archives over its inputs and changes of them, and the list
//! of targets.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use milepost_fuzz::{TARGETS, replay};
use {bs58 as _, data_encoding as _, milepost as _, milepost_archive as _, milepost_practice as _};
use {milepost_testkit as _, serde_json as _, xxhash_rust as _};

/// A test of this name runs the target of this name over so many changed inputs
macro_rules! targets {
    ($($target:ident $changes:literal,)*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), $changes, milepost_fuzz::$target);
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
    row_kinds 3_000,
    rows 2_000,
    signed_transaction 3_000,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn every_target_is_tested_and_has_a_program() {
    // The server and the library for C have a test of theirs.
    let tested: BTreeSet<&str> = HERE.iter().copied().chain(["c_interface", "http"]).collect();
    assert_eq!(tested, TARGETS.iter().map(|(name, _)| *name).collect());
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
                TARGETS.iter().any(|(name, _)| path.ends_with(format!("{name}.txt")));
            assert!(is_of_target, "{}", path.display());
        }
    }
}
