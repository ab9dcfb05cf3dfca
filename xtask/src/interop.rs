//! The workspace of the node's own crates: its tests, and the records of what these crates say.
//!
//! The crates are pinned, so what they say of a fixed input is kept in `tests/vectors/oracle`, and
//! the ordinary tests compare with it. A change of an input or of a wire type needs this command.

use std::fs;
use std::path::Path;

use crate::bench;
use crate::shell::{self, program_at_root, root, run as run_command};
use crate::verify::count;
use crate::workspace::{SERVER_PROGRAM, build_programs, interop_cargo};

/// Writes the records by the tests that make them; with `--check` compares, and runs all tests
///
/// # Errors
///
/// When a record differs, a test fails, or one does not compile without warnings.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        [] => record(&root().join(RECORDS)),
        ["--check"] => check(),
        _ => Err("`interop` takes `--check` or nothing".to_owned()),
    }
}

/// Compares the records and the servers of the bench over HTTP, and runs all tests and each bench
pub(crate) fn check() -> Result<(), String> {
    let mut build = interop_cargo("test --all-targets --no-run")?;
    run_command(build.env(LINTS.0, LINTS.1))?;
    let found = shell::target()?.join("oracle");
    record(&found)?;
    let records = root().join(RECORDS);
    run_command(program_at_root("diff").arg("--recursive").args([&records, &found]))
        .map_err(|_| "the node says something else than recorded; run `cargo xtask interop`")?;
    let programs = build_programs(&["milepost", "http-bench"])?;
    bench::compare_servers()?;
    let mut tests = interop_cargo("test --no-fail-fast")?;
    tests.env(LINTS.0, LINTS.1);
    run_command(&mut interop_cargo("test --bench *")?)?;
    count(tests.env(SERVER_PROGRAM, programs.join("milepost")))
}

/// Makes every lint an error, as `cargo clippy` hands over `-D warnings`
const LINTS: (&str, &str) = ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");

/// What the node's crates say, in files that ordinary tests read
const RECORDS: &str = "tests/vectors/oracle";

/// Runs the tests of the oracle, which write records into a directory
fn record(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut tests = interop_cargo(
        "test -p milepost-interop --test views --test transaction \
                                   --test config --test practice",
    )?;
    count(tests.env("MILEPOST_RECORD", directory).env(LINTS.0, LINTS.1))
}
