//! The target of rows over its inputs and changes of them, and the list of programs.

use std::collections::BTreeSet;

use milepost_testing::fuzz::{TARGETS, row_kinds};

#[test]
fn rows_of_any_bytes_are_read_or_refused() {
    TARGETS[1].replay(3_000, row_kinds);
}

#[test]
fn every_target_has_a_program() {
    let programs = include_str!("../../fuzz/Cargo.toml").split("[[bin]]\nname = \"").skip(1);
    let programs: BTreeSet<&str> =
        programs.map(|bin| bin.split('"').next().expect("a name")).collect();
    assert_eq!(programs, TARGETS.iter().map(|target| target.name).collect());
}
