//! Writes the shared vectors from their declarations, or compares.
//!
//! The work is done by a program of the tests crate, which knows the declarations; it is built
//! without the crate's development dependencies, so it is there in seconds.

use crate::shell::{self, cargo};

/// Writes the vectors, or with `--check` says whether they are written
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let word = match arguments {
        [] => "write",
        ["--check"] => "check",
        [unknown, ..] => return Err(format!("`vectors` takes only `--check`, not `{unknown}`")),
    };
    shell::run(&mut cargo(&format!("run --quiet -p milepost-tests --bin vectors -- {word}")))
}
