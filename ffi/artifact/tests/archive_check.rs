//! The conformance check of archives, on archives in C.

use std::process::Command;

use crate::c;

/// The defects of the archive in C from 1 on, and a part of what the check says about each
const DEFECTS: [&str; 7] = [
    "violated requirement \"a key with two contents is an error of kind Conflict\": ",
    "violated requirement \"a removal removes all that the keys held\": ",
    "violated requirement \"rows that were put are read in the order of the keys\": ",
    "passed a row of archived_transactions/",
    "the archive's get_many passed a row that its sink refused",
    "the archive's get_many passed a row that its sink refused",
    "violated requirement \"rows that were put are read in the order of the keys\": ",
];

#[test]
fn the_check_accepts_conforming_archives_only() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/archive_check.c"), directory.path());
    c::run(Command::new(&program).arg("0"));
    let defects = (1..).map(|number: u32| number.to_string()).zip(DEFECTS);
    let none = ("none".to_owned(), "the archive's create returned 1: no memory");
    for (defect, expected) in defects.chain([none]) {
        for _ in 0..10 {
            let output = Command::new(&program).arg(&defect).output().expect("the program runs");
            let message = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(6), "MILEPOST_STATUS_STORAGE: {message}");
            assert!(message.contains(expected), "{defect}: {message}");
        }
    }
}
