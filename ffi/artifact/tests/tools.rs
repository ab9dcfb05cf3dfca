//! Whether the tool that watches is really there: programs with a defect must be reported.

mod c;

use std::process::Command;

use c::Tool;

/// The defects that a tool has to find, and a word of its report
fn defects() -> &'static [(&'static str, &'static str)] {
    match Tool::chosen() {
        Tool::None => &[],
        Tool::Address => &[
            ("heap", "heap-use-after-free"),
            ("inside", "heap-use-after-free"),
            ("undefined", "signed integer overflow"),
            ("leak", "LeakSanitizer"),
        ],
        Tool::Thread => &[("race", "data race"), ("inside", "heap-use-after-free")],
        Tool::Valgrind => {
            &[("heap", "Invalid read"), ("inside", "Invalid read"), ("leak", "definitely lost")]
        }
    }
}

#[test]
fn what_is_wrong_is_found() {
    let directory = tempfile::tempdir().expect("a place for the program");
    let program = c::program(&c::root().join("tests/c/defects.c"), directory.path());
    c::run(Command::new(&program).arg("none"));
    for (defect, word) in defects() {
        let output = Command::new(&program).arg(defect).output().expect("the program runs");
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{defect} goes unnoticed");
        assert!(report.contains(word), "{defect}: no `{word}` in\n{report}");
    }
}

/// A program that is watched over a library that is not would find only half
#[test]
fn the_library_is_watched_too() {
    let call = match Tool::chosen() {
        Tool::None | Tool::Valgrind => return println!("nothing is built into the library"),
        Tool::Address => "__asan_report_load1",
        Tool::Thread => "__tsan_read1",
    };
    let library = c::library().join("libmilepost.a");
    let symbols = c::run(Command::new("nm").arg("--undefined-only").arg(&library));
    assert!(symbols.lines().any(|line| line.ends_with(call)), "no {call} in {}", library.display());
}
