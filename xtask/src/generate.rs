//! Writes a committed file from the sources that it is generated from, or compares.
//!
//! The work is done by programs in crates of their own, with what they depend on, so that this one
//! stays quick to build.

use crate::shell::{self, cargo};

/// Runs the program in `package` that writes, or with `--check` fails when a file is not up to date
pub(crate) fn run(package: &str, arguments: &[&str]) -> Result<(), String> {
    let word = match arguments {
        [] => "write",
        ["--check"] => "check",
        [unknown, ..] => return Err(format!("only `--check` is known here, not `{unknown}`")),
    };
    shell::run(&mut cargo(&format!("run --quiet -p {package} -- {word}")))
}
