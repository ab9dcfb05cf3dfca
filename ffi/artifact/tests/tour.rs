//! Programs in C that look for themselves whether all is as it should be.

mod c;

use std::fs;
use std::process::Command;

use milepost_tests::vectors;

#[test]
fn what_the_vectors_do_not_show() {
    let directory = tempfile::tempdir().expect("a place for the program");
    let program = c::program(&c::root().join("tests/c/tour.c"), directory.path());
    c::run(&mut Command::new(program));
}

#[test]
fn threads_share_an_engine() {
    let manifest = vectors::load().expect("the manifest and its files");
    let vector = manifest.vectors.iter().find(|vector| vector.name == "wait-reached-final");
    let vector = vector.expect("the vector");
    let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene).expect("its scene");
    let directory = tempfile::tempdir().expect("a place for the program");
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let program = c::program(&c::root().join("tests/c/threads.c"), directory.path());
    println!("{}", c::run(Command::new(program).arg(&request).args(&scene.blocks)));
}
