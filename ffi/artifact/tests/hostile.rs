//! Everything wrong that C can do to the interface, at every function.
//!
//! What there is to call is written from the sources of the library, so a new function is tried as
//! soon as it is there, and one whose parameters are of no known kind fails the test.

mod c;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use milepost_header::{Function, Kind, read, tables};
use milepost_tests::vectors;

/// The vector whose scene is played over a storage that misbehaves
const VECTOR: &str = "wait-reached-final";

/// Runs a program; what it counted
fn attack(program: &str, arguments: &[PathBuf]) -> Vec<usize> {
    let directory = tempfile::tempdir().expect("a place for the program");
    let source = read(&c::root()).expect("the sources can be read");
    write(
        &directory.path().join("functions.inc"),
        &tables(&source.functions, cfg!(debug_assertions)).expect("all of it is known"),
    );
    let source = c::root().join("tests/c").join(program);
    let program = c::program(&source, directory.path());
    let output = c::run(Command::new(program).args(arguments).current_dir(directory.path()));
    println!("{output}");
    let last = output.lines().last().expect("a line that sums up");
    last.split(' ').filter_map(|word| word.parse().ok()).collect()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[test]
fn every_wrong_call_is_told_by_a_status() {
    let functions = read(&c::root()).expect("the sources can be read").functions;
    let called = |function: &&Function| !matches!(function.kind, Kind::Free | Kind::Constant);
    let [calls, wrong, tried] = attack("hostile.c", &[])[..] else {
        panic!("three numbers are counted")
    };
    assert_eq!((wrong, tried), (0, functions.iter().filter(called).count()));
    assert!(calls > 1_000, "only {calls} calls were made");
}

#[test]
fn a_storage_may_misbehave_at_any_call() {
    // A transaction whose receipts make others, until all is final.
    let manifest = vectors::load().expect("the manifest and its files");
    let vector = manifest.vectors.iter().find(|vector| vector.name == VECTOR).expect("the vector");
    let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene).expect("its scene");
    let directory = tempfile::tempdir().expect("a place for the request");
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let arguments: Vec<PathBuf> = [request].into_iter().chain(scene.blocks.clone()).collect();
    let [calls, wrong, places] = attack("storms.c", &arguments)[..] else {
        panic!("three numbers are counted")
    };
    assert_eq!(wrong, 0);
    assert!(calls > 100 && places > 8, "{calls} calls at {places} places were tried");
}

#[test]
fn a_parameter_that_nobody_knows_is_refused() {
    let mut functions = read(&c::root()).expect("the sources can be read").functions;
    functions[0].parameters[0].kind = "*const milepost_stranger".into();
    let refusal = tables(&functions, true).expect_err("a stranger is known");
    assert!(refusal.ends_with("is of no known kind"), "{refusal}");
}
