//! Writes the shared vectors from their declarations, or compares.
//!
//! The work is done by a program of the tests crate, which has the declarations; it is built
//! without the crate's development dependencies, which takes seconds.

use crate::shell::{self, cargo};

/// Writes the vectors, or with `--check` fails when they are not up to date
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let word = match arguments {
        [] => "write",
        ["--check"] => "check",
        [unknown, ..] => return Err(format!("`vectors` takes only `--check`, not `{unknown}`")),
    };
    shell::run(&mut cargo(&format!("run --quiet -p milepost-tests --bin vectors -- {word}")))
}
