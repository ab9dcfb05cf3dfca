//! What the development build is, and the two workspaces beside it.
//!
//! Every command of the tests that builds for this machine names the same packages and features, so
//! one compilation of a dependency serves lints, tests, and the programs that tests start.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, cargo, run};

/// All packages, with the features that any of their tests needs
pub(crate) const WORKSPACE: &str = "--workspace --features milepost-server/cassandra";

/// The variable with the path of the server, for tests that start it
pub(crate) const SERVER_PROGRAM: &str = "SERVER_PROGRAM";

/// A `cargo` for the development build
///
/// The compiler of the workspace's own packages is Clippy's driver, which is the compiler with more
/// lints: `cargo clippy` would check every dependency once more. It leaves out optimisations that
/// lints do not see through, so nothing that is measured or published is built like this.
pub(crate) fn development(arguments: &str) -> Command {
    let mut command = cargo(arguments);
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    command
}

/// Builds programs as the tests have them; their folder
pub(crate) fn build_programs(programs: &[&str]) -> Result<PathBuf, String> {
    // With a test, a small one: without any, the features that only tests ask for are left out, and
    // all would be built once more.
    let mut build = development(&format!("build {WORKSPACE} --test practice"));
    run(build.args(programs.iter().map(|program| format!("--bin={program}"))))?;
    programs_folder()
}

/// Where the development build has its programs and libraries
pub(crate) fn programs_folder() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("debug"))
}

/// A `cargo` in the workspace of the node's crates, which locks other versions and so is built into
/// a directory of its own
pub(crate) fn interop_cargo(command: &str) -> Result<Command, String> {
    let arguments = format!("{command} --manifest-path interop/Cargo.toml --target-dir");
    let is_test = command.starts_with("test");
    let mut command = if is_test { development(&arguments) } else { cargo(&arguments) };
    command.arg(interop_target()?);
    Ok(command)
}

/// Where the workspace of the node's crates is built
pub(crate) fn interop_target() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("interop"))
}
