//! Whether the chosen checker works: it must detect programs with a known defect.

use std::process::Command;

use crate::c::{self, Tool};

/// Defects that the tool has to detect, and a part of its report
fn defects() -> &'static [(&'static str, &'static str)] {
    match Tool::from_env() {
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
fn defects_are_detected() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/c/defects.c"), directory.path());
    c::run(Command::new(&program).arg("none"));
    for (defect, word) in defects() {
        let output = Command::new(&program).arg(defect).output().expect("the program runs");
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{defect} is not detected");
        assert!(report.contains(word), "{defect}: no `{word}` in\n{report}");
    }
}

/// With an uninstrumented library only defects of the program would be detected
#[test]
fn the_library_is_instrumented() {
    let call = match Tool::from_env() {
        Tool::None | Tool::Valgrind => return println!("the library needs no instrumentation"),
        Tool::Address => "__asan_report_load1",
        Tool::Thread => "__tsan_read1",
    };
    let library = c::library().join("libmilepost.a");
    let symbols = c::run(Command::new("nm").arg("--undefined-only").arg(&library));
    assert!(symbols.lines().any(|line| line.ends_with(call)), "no {call} in {}", library.display());
}
