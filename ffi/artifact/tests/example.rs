//! The example for C, built and run as a reader would: with a vector, its blocks and its answer.

mod c;

use std::fs;
use std::process::Command;

use milepost_tests::vectors;

#[test]
fn it_answers_a_request_over_a_storage_of_its_own() {
    let manifest = vectors::load().expect("the manifest and its files");
    let vector = manifest.vectors.iter().find(|vector| vector.name == "milestone-final");
    let vector = vector.expect("the vector");
    let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene).expect("its scene");
    let directory = tempfile::tempdir().expect("a place for the program");
    let program = c::program(&c::root().join("bindings/c/example.c"), directory.path());
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");

    let answered = c::run(Command::new(&program).arg(&request).args(&scene.blocks));
    assert_eq!(answered.as_bytes(), vector.answer);

    let no_block = c::root().join("Cargo.toml");
    let refused = Command::new(&program).arg(&request).arg(no_block).output();
    let refused = refused.expect("the example runs");
    assert_eq!(refused.status.code(), Some(1), "the status of a syntax error");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("expected"), "{refused:?}");
}

#[test]
fn it_is_the_one_in_the_readme() {
    let readme = fs::read_to_string(c::root().join("README.md")).expect("the readme");
    let example = fs::read_to_string(c::root().join("bindings/c/example.c")).expect("the example");
    assert!(readme.contains(&format!("```c\n{example}```")), "the readme shows another program");
    assert!(example.lines().count() <= 64, "the example is too long to be read at once");
}

#[test]
fn a_file_keeps_what_was_taken_in() {
    let manifest = vectors::load().expect("the manifest and its files");
    let vector = manifest.vectors.iter().find(|vector| vector.name == "milestone-final");
    let vector = vector.expect("the vector");
    let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene).expect("its scene");
    let directory = tempfile::tempdir().expect("a place for the program and its file");
    let program = c::program(&c::root().join("bindings/c/store.c"), directory.path());
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let rows = directory.path().join("rows.redb");

    let ask = |blocks: &[std::path::PathBuf]| {
        let mut command = Command::new(&program);
        c::run(command.arg(&rows).arg(&request).args(blocks))
    };
    let (first, rest) = scene.blocks.split_at(scene.blocks.len() / 2);
    assert_ne!(ask(first).as_bytes(), vector.answer, "not all of its blocks are in");
    assert_eq!(ask(rest).as_bytes(), vector.answer, "the others were kept");
    assert_eq!(ask(&[]).as_bytes(), vector.answer, "all of them were");

    fs::write(&rows, "no rows").expect("the file is written over");
    let refused = Command::new(&program).arg(&rows).arg(&request).output();
    let refused = refused.expect("the example runs");
    assert!(!refused.status.success() && !refused.stderr.is_empty(), "{refused:?}");
}
