//! Writes the header of the C interface from the sources, or compares.
//!
//! The work is done by a crate of its own, which knows cbindgen, so that this program goes on
//! needing nothing.

use crate::shell::{self, cargo};

/// Writes the header, or with `--check` says whether it is written
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let word = match arguments {
        [] => "write",
        ["--check"] => "check",
        [unknown, ..] => return Err(format!("`header` takes only `--check`, not `{unknown}`")),
    };
    shell::run(&mut cargo(&format!("run --quiet -p milepost-header -- {word}")))
}
