//! The two workspaces of the repository, as `cargo` builds and tests them.
//!
//! That of the node's crates is built into a directory of its own, because it locks other versions.
//! What is run in them is left to the steps.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, cargo, run};

/// A `cargo` in the workspace of the node's crates, which is built into a directory of its own
pub(crate) fn interop_cargo(command: &str) -> Result<Command, String> {
    let mut cargo = cargo(&format!("{command} --manifest-path interop/Cargo.toml --target-dir"));
    cargo.arg(interop_target()?);
    Ok(cargo)
}

/// Where the workspace of the node's crates is built
pub(crate) fn interop_target() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("interop"))
}

/// All packages whose tests run together, with the features that any of them needs: what they
/// depend on is built once for all steps
///
/// The C library has the name of the engine's, and its tests are a step of their own.
pub(crate) const WORKSPACE: &str =
    "--workspace --exclude milepost-capi --features milepost-server/cassandra";

/// As [`WORKSPACE`], with the C library: for lints, and for its tests, which build the library
/// themselves
pub(crate) const WORKSPACE_WITH_C: &str = "--workspace --features milepost-server/cassandra";

/// The variable with the path of the server, for tests that start it
pub(crate) const SERVER_PROGRAM: &str = "SERVER_PROGRAM";

/// Builds programs as the tests of [`WORKSPACE`] have them; their folder
pub(crate) fn build_programs(programs: &[&str]) -> Result<PathBuf, String> {
    // With a test, a small one: without any, the features that only tests ask for are left out, and
    // all would be built once more.
    let mut build = cargo(&format!("build {WORKSPACE} --test chain"));
    run(build.args(programs.iter().map(|program| format!("--bin={program}"))))?;
    programs_folder()
}

/// Where programs are built
pub(crate) fn programs_folder() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("debug"))
}

/// Makes a `cargo` compile the packages of its workspace with the lints of clippy, as errors
///
/// `cargo clippy` would compile all that they depend on once more, if only to check it: with the
/// crates of the node that takes 6 minutes. Clippy's driver is the compiler with more lints.
pub(crate) fn with_lints(mut command: Command) -> Command {
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    // As `cargo clippy` hands over `-D warnings`.
    command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    command
}
