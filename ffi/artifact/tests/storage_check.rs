//! The conformance check of storages, on storages in C.

use std::process::Command;

use crate::c;

#[test]
fn the_check_finalizes_each_storage() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/storage_check.c"), directory.path());
    c::run(Command::new(&program).arg("good"));
    c::run(Command::new(&program).arg("many"));
    let output = Command::new(&program).arg("none").output().expect("the program runs");
    assert_eq!(output.status.code(), Some(6), "MILEPOST_STATUS_STORAGE: {output:?}");
    let message = String::from_utf8_lossy(&output.stdout);
    assert!(message.contains("the storage's create returned 1: no memory"), "{message}");
}
