//! The C examples, and the first one in C++, compiled and run as a reader would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use milepost_tests::shown::{assert_answer, code};
use milepost_tests::vectors::Fixture;

use crate::c;

/// The blocks of a fixture, the first of which fills 3 MiB, as real ones do
fn large_blocks(fixture: &Fixture, directory: &Path) -> Vec<PathBuf> {
    let mut blocks = fixture.blocks.clone();
    let first = blocks.first_mut().expect("a block");
    let block = fs::read(&first).expect("a block can be read");
    *first = directory.join("large.json");
    fs::write(&first, [vec![b' '; 3 << 20], block].concat()).expect("a block is written");
    blocks
}

#[test]
fn the_example_answers_a_request_over_its_own_storage() {
    let (vector, fixture) = c::vector("milestone-final");
    let directory = tempfile::tempdir().expect("a directory for the program");
    let source = c::root().join("bindings/c/example.c");
    let lines = fs::read_to_string(&source).expect("the example").lines().count();
    assert!(lines <= 64, "{lines} lines are too many to read at once");
    let program = c::program(&source, directory.path());
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");

    let blocks = large_blocks(&fixture, directory.path());
    let response = c::run(Command::new(&program).arg(&request).args(&blocks));
    assert_eq!(response.as_bytes(), vector.response);

    let not_a_block = c::root().join("Cargo.toml");
    let failed = Command::new(&program).arg(&request).arg(not_a_block).output();
    let failed = failed.expect("the example runs");
    assert_eq!(failed.status.code(), Some(1), "MILEPOST_STATUS_SYNTAX");
    assert!(String::from_utf8_lossy(&failed.stderr).contains("expected"), "{failed:?}");
}

#[test]
fn the_first_programs_answer_from_recorded_blocks() {
    let directory = tempfile::tempdir().expect("a directory for the programs");
    for (source, readme, language) in [
        ("bindings/c/answer.c", "bindings/c/README.md", "c"),
        ("bindings/cpp/examples/answer.cpp", "bindings/cpp/README.md", "cpp"),
    ] {
        let text = fs::read_to_string(c::root().join(source)).expect("the program");
        let readme = fs::read_to_string(c::root().join(readme)).expect("the readme");
        assert_eq!(code(&readme, language)[0], text, "{source}");
        let program = c::program(&c::root().join(source), directory.path());
        let blocks = c::root().join("core/blocks.jsonl");
        let answer = c::run(Command::new(&program).arg(blocks));
        assert_answer(code(&readme, "json")[0], &answer);
        let failed = Command::new(&program).arg("none.jsonl").output().expect("the program runs");
        assert!(!failed.status.success(), "{source} succeeds without blocks");
    }
}

#[test]
fn a_watch_prints_each_state() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("bindings/c/watch.c"), directory.path());
    c::check_watch(&program);
}

#[test]
fn a_file_keeps_imported_blocks() {
    let (vector, fixture) = c::vector("milestone-final");
    let directory = tempfile::tempdir().expect("a directory for the program and its file");
    let program = c::program(&c::root().join("bindings/c/store.c"), directory.path());
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let rows = directory.path().join("rows.redb");

    let respond = |blocks: &[PathBuf]| {
        let mut command = Command::new(&program);
        c::run(command.arg(&rows).arg(&request).args(blocks)).into_bytes()
    };
    let blocks = large_blocks(&fixture, directory.path());
    let (first, rest) = blocks.split_at(blocks.len() / 2);
    assert_ne!(respond(first), vector.response, "some of its blocks are missing");
    assert_eq!(respond(rest), vector.response, "the first blocks were kept");
    assert_eq!(respond(&[]), vector.response, "all blocks were kept");

    fs::write(&rows, "no rows").expect("the file is overwritten");
    let failed = Command::new(&program).arg(&rows).arg(&request).output();
    let failed = failed.expect("the example runs");
    assert!(!failed.status.success() && !failed.stderr.is_empty(), "{failed:?}");
}

#[test]
fn an_archive_keeps_finalized_transactions() {
    let (vector, fixture) = c::vector("milestone-final");
    let directory = tempfile::tempdir().expect("a directory for the program and its file");
    let program = c::program(&c::root().join("bindings/c/archive.c"), directory.path());
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let rows = directory.path().join("rows.log");
    let respond = |blocks: &[PathBuf]| {
        let mut command = Command::new(&program);
        c::run(command.arg(&rows).arg(&request).args(blocks)).into_bytes()
    };
    let unknown = respond(&[]);
    assert_ne!(unknown, vector.response);
    assert_eq!(respond(&large_blocks(&fixture, directory.path())), vector.response);
    assert_eq!(respond(&[]), vector.response, "the transaction is in the archive");
    let archived = fs::read(&rows).expect("the rows");

    // The last record is that of the progress: what is left of one that is torn is cut off.
    fs::write(&rows, &archived[..archived.len() - 1]).expect("the rows are cut");
    assert_eq!(respond(&[]), vector.response);
    let left = fs::metadata(&rows).expect("the rows").len();
    assert!(0 < left && left < archived.len() as u64 - 1, "{left} bytes are left");
    fs::write(&rows, []).expect("the rows are removed");
    assert_eq!(respond(&[]), unknown);

    let failed = Command::new(&program).arg(directory.path()).arg(&request).output();
    let failed = failed.expect("the example runs");
    assert!(!failed.status.success() && !failed.stderr.is_empty(), "{failed:?}");
}
