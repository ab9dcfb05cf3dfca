//! The page that shows a transaction's road: built by Vite, tested in a browser against a running node.
//!
//! The page takes the engine from the package beside it, so that is built first; a page built before does
//! without. The node is built after the page, because it embeds the page.

use std::process::Command;

use crate::shell::{self, cargo, program_at_root, run, watch};

const PAGE: &str = "bindings/js/page";

/// Builds the page, from where the next build of the node embeds it
pub(crate) fn build() -> Result<(), String> {
    run(npm("ci").args(["--no-audit", "--no-fund"]))?;
    run(npm("run").arg("build"))
}

/// Builds a node with the page that was built, and drives it as people do; hands every line of the
/// output to `each`
pub(crate) fn test(each: impl FnMut(&str)) -> Result<(), String> {
    run(&mut cargo("build -p milepost-server"))?;
    let program = shell::target()?.join("debug").join("milepost");
    watch(npm("test").env("MILEPOST_BIN", program), each)
}

fn npm(command: &str) -> Command {
    let mut npm = program_at_root("npm");
    npm.args(["--prefix", PAGE, command]);
    npm
}
