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

/// All packages whose tests run together; the C library has the name of the engine's, and its tests
/// are a step of their own
pub(crate) const WORKSPACE: &str = "--workspace --exclude milepost-capi";

/// Builds the server with the features of `tests`, so its dependencies are built once for both
///
/// A test of a package needs the package's programs; `cargo build` would leave out the features
/// that tests ask for.
pub(crate) fn build_server() -> Result<(), String> {
    run(&mut cargo(&format!("test {WORKSPACE} --no-run --test program")))
}
