//! The target of rows over its inputs and changes of them, and the list of programs.

use milepost_testing::fuzz::{TARGETS, row_kinds};
use milepost_tests::fuzz::assert_listed;

#[test]
fn rows_of_any_bytes_are_read_or_refused() {
    TARGETS[1].replay(3_000, row_kinds);
}

#[test]
fn every_target_has_a_program() {
    assert_listed("node/fuzz", &TARGETS);
}
