//! Broken storages in C and C++, and the verdict of the conformance check on them.
//!
//! The verdicts are those of the table in `docs/CONFORMANCE.md`.

use std::path::Path;
use std::process::Command;

use milepost_tests::conformance_table;

use crate::c;

/// Compares runs with the table: these numbers for a verdict of "refuse", for one of "pass", and on
/// the storage that is correct
fn compare([refuse, pass, correct]: [u32; 3], processors: Option<&str>) {
    let directory = tempfile::tempdir().expect("a directory for the programs");
    for source in ["tests/c/broken_storages.c", "tests/cpp/broken_storages.cpp"] {
        let program = c::program(&c::root().join(source), directory.path());
        for (name, verdicts) in conformance_table::storages() {
            let isolations = ["exclusive", "snapshots", "read committed"];
            for (isolation, verdict) in isolations.into_iter().zip(&verdicts) {
                let runs = match &verdict[..] {
                    "–" => continue,
                    "refuse" => refuse,
                    _ if name == "correct" => correct,
                    _ => pass,
                };
                let mut command = command(&program, processors);
                let printed = c::run(command.args([&name, isolation, &runs.to_string()]));
                let expected = if verdict == "refuse" { runs } else { 0 };
                let (refused, message) = printed.split_once(' ').expect("a number and a text");
                assert_eq!(refused, expected.to_string(), "{source} {name} {isolation}: {message}");
                if verdict == "refuse" {
                    assert!(message.starts_with("violated requirement \""), "{message}");
                }
            }
        }
    }
}

/// A program on these processors
fn command(program: &Path, processors: Option<&str>) -> Command {
    let Some(processors) = processors else { return Command::new(program) };
    let mut command = Command::new("taskset");
    command.args(["-c", processors]).arg(program);
    command
}

#[test]
fn ten_runs_of_the_check_have_the_verdicts_of_the_table() {
    compare([10, 1, 1], None);
}

#[test]
#[ignore = "100 minutes with those of all languages: `cargo xtask verify conformance`"]
fn a_hundred_runs_have_the_verdicts_of_the_table() {
    // A thousand under three isolations.
    compare([100, 10, 334], None);
}

#[test]
#[ignore = "100 minutes with those of all languages: `cargo xtask verify conformance`"]
fn a_hundred_runs_on_one_processor_have_the_verdicts_of_the_table() {
    compare([100, 1, 10], Some("0"));
}
