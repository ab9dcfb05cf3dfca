//! The check of storages, on storages in C.

mod c;

use std::process::Command;

#[test]
fn storages_are_checked_through_c() {
    let directory = tempfile::tempdir().expect("a place for the program");
    let program = c::program(&c::root().join("tests/c/check.c"), directory.path());
    c::run(Command::new(&program).arg("good"));
    c::run(Command::new(&program).arg("many"));
    let output = Command::new(&program).arg("broken").output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(6), "MILEPOST_STATUS_STORAGE: {said}");
    assert!(said.starts_with("broken duty \"a removed row is gone, and no other\": "), "{said}");
}
