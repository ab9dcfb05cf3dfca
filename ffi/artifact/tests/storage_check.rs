//! The conformance check of storages, on storages in C.

use std::process::Command;

use crate::c;

#[test]
fn the_check_accepts_conforming_storages_only() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/storage_check.c"), directory.path());
    c::run(Command::new(&program).arg("good"));
    c::run(Command::new(&program).arg("many"));
    c::run(Command::new(&program).arg("single"));
    c::run(Command::new(&program).arg("snapshots"));
    let output = Command::new(&program).arg("same").output().expect("the program runs");
    assert_eq!(output.status.code(), Some(6), "MILEPOST_STATUS_STORAGE: {output:?}");
    let output = Command::new(&program).arg("broken").output().expect("the program runs");
    let message = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(6), "MILEPOST_STATUS_STORAGE: {message}");
    let expected = "violated requirement \"a remove removes the row, and no other row\": ";
    assert!(message.starts_with(expected), "{message}");
    let output = Command::new(&program).arg("none").output().expect("the program runs");
    let message = String::from_utf8_lossy(&output.stdout);
    assert!(message.contains("the storage's create returned 1: no memory"), "{message}");
}
