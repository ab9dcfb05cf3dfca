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
        // Where the library reads what was freed, its own code is watched, and named.
        let named = *defect != "inside" || report.contains("milepost");
        assert!(named, "{defect}: not found in the library\n{report}");
    }
}
