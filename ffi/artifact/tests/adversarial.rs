//! Every kind of invalid call from C, for every function, and faulty storages.
//!
//! The list of functions is generated from the sources of the library, so a new function is tested
//! as soon as it exists, and one with a parameter of an unknown form fails the test.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use xtask_generate::header::{Function, Kind, read, tables};

use crate::c;

/// The vector whose fixture runs over a faulty storage: a transaction whose receipts create others,
/// until all is final
const VECTOR: &str = "wait-reached-final";

/// Runs a program and returns the numbers in the last line of its output
fn attack(program: &str, arguments: &[PathBuf]) -> Vec<usize> {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let source = read(&c::root()).expect("the sources can be parsed");
    let tables = tables(&source.functions, cfg!(debug_assertions)).expect("all forms are known");
    fs::write(directory.path().join("functions.inc"), tables).expect("the tables are written");
    let source = c::root().join("tests/c").join(program);
    let program = c::program(&source, directory.path());
    let output = c::run(Command::new(program).args(arguments).current_dir(directory.path()));
    println!("{output}");
    let summary = output.lines().last().expect("a summary");
    summary.split(' ').filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn every_invalid_call_returns_a_status() {
    let functions = read(&c::root()).expect("the sources can be parsed").functions;
    let is_called = |function: &&Function| !matches!(function.kind, Kind::Free | Kind::Constant);
    let [calls, failures, tested] = attack("adversarial_calls.c", &[])[..] else {
        panic!("expected three numbers")
    };
    assert_eq!((failures, tested), (0, functions.iter().filter(is_called).count()));
    assert!(calls > 1_000, "only {calls} calls were made");
}

#[test]
fn a_storage_may_fail_at_any_call() {
    let (vector, fixture) = c::vector(VECTOR);
    let directory = tempfile::tempdir().expect("a directory for the request");
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let arguments: Vec<PathBuf> = [request].into_iter().chain(fixture.blocks).collect();
    let [calls, failures, positions] = attack("adversarial_storage.c", &arguments)[..] else {
        panic!("expected three numbers")
    };
    assert_eq!(failures, 0);
    assert!(calls > 100 && positions > 8, "{calls} calls, {positions} positions");
}

#[test]
fn a_parameter_of_unknown_form_is_an_error() {
    let mut functions = read(&c::root()).expect("the sources can be parsed").functions;
    functions[0].parameters[0].type_name = "*const milepost_unknown".into();
    let error = tables(&functions, true).expect_err("the form is unknown");
    assert!(error.ends_with("has an unknown form"), "{error}");
}
