//! Programs of calls of the C interface, which the fuzz target `c_interface` runs, too.

mod c_interface;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use milepost_tests::fuzz;
use {milepost as _, milepost_redb as _, serde as _, serde_json as _};

/// Changed programs; each makes up to 64 calls, some of which import blocks
const CHANGES: usize = 300;

#[test]
fn no_program_panics() {
    fuzz::target("c_interface").replay(CHANGES, c_interface::run);
}

/// The functions of a text, without those in comments
fn functions(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
    let words = lines.flat_map(|line| {
        line.split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '_')
    });
    words
        .filter_map(|word| word.strip_suffix('('))
        .filter(|word| word.starts_with("milepost_"))
        .collect()
}

#[test]
fn programs_can_call_every_function() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = fs::read_to_string(here.join("../include/milepost.h")).expect("the header");
    let mut calls = String::new();
    for entry in fs::read_dir(here.join("tests/c_interface")).expect("the calls") {
        calls += &fs::read_to_string(entry.expect("a file").path()).expect("a source");
    }
    // Lists of handles call what they free by name.
    let calls = calls.replace("_free)", "_free(");
    let (declared, called) = (functions(&header), functions(&calls));
    assert!(declared.len() > 70, "{declared:?}");
    let missing: Vec<_> = declared.difference(&called).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
