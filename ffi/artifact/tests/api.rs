//! C programs that check the library themselves.

use std::fs;
use std::process::Command;

use milepost_practice::{Practice, Settings};

use crate::c;

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
fn answers_go_on_while_an_archive_is_called() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let source = c::root().join("tests/c/archive_threads.c");
    c::run(&mut Command::new(c::program(&source, directory.path())));
}

#[test]
fn answers_are_proven_and_verified() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let settings = Settings { transactions: 1..=2, late_outcomes: 0, ..Settings::demo(3) };
    let mut practice = Practice::new(Settings { delays: 0, ..settings });
    let messages: Vec<_> = (0..20).map(|_| practice.next_message()).collect();
    let transaction = messages.iter().flat_map(|message| &message.transactions).next();
    let transaction = transaction.expect("a transaction").hash.to_string();
    let trusted = messages.last().expect("a block").hash.to_string();
    let path = |height: u64| directory.path().join(format!("{height}.json"));
    for message in &messages {
        fs::write(path(message.height), &message.json).expect("the block is written");
    }
    let program = c::program(&c::root().join("tests/c/proofs.c"), directory.path());
    let paths = messages.iter().map(|message| path(message.height));
    c::run(Command::new(program).arg(transaction).arg(trusted).args(paths));
}

#[test]
fn an_archive_has_what_the_storage_forgets() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/archive.c"), directory.path());
    c::run(Command::new(program).args(c::archive_arguments(directory.path())));
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
