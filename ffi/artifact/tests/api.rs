//! C programs that check the library themselves.

mod c;

use std::fs;
use std::process::Command;

#[test]
fn functions_without_vectors_work() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/api.c"), directory.path());
    c::run(&mut Command::new(program));
}

#[test]
fn endpoints_without_an_engine_work() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/remote.c"), directory.path());
    c::run(&mut Command::new(program));
}

#[test]
fn answers_go_on_while_a_commit_runs() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/snapshots.c"), directory.path());
    c::run(&mut Command::new(program));
}

#[test]
fn threads_share_an_engine() {
    let (vector, fixture) = c::vector("wait-reached-final");
    let directory = tempfile::tempdir().expect("a directory for the program");
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let program = c::program(&c::root().join("tests/c/threads.c"), directory.path());
    println!("{}", c::run(Command::new(program).arg(&request).args(&fixture.blocks)));
}
