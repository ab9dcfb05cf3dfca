//! Writes the header of the C interface from the sources, or compares.
//!
//! The work is done by a crate of its own, which depends on cbindgen, so that this program stays
//! quick to build.

use crate::shell::{self, cargo};

/// Writes the header, or with `--check` fails when it is not up to date
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let word = match arguments {
        [] => "write",
        ["--check"] => "check",
        [unknown, ..] => return Err(format!("`header` takes only `--check`, not `{unknown}`")),
    };
    shell::run(&mut cargo(&format!("run --quiet -p milepost-header -- {word}")))
}
