//! The page that draws a transaction's progress: built by Vite, tested in a browser against a
//! running server.
//!
//! The page takes the engine from the npm package, so that is built first; a page built before it
//! does without. The server is built after the page, because it embeds the page.

use std::process::Command;

use crate::npm;
use crate::setup;
use crate::shell::{program_at_root, run};

/// The folder of the page
const PAGE: &str = "bindings/js/page";
/// Where it is built
pub(crate) const SITE: &str = "bindings/js/page/dist/site";

/// Builds the npm package, and with it the page into the folder from which the next build of the
/// server embeds it
pub(crate) fn build() -> Result<(), String> {
    setup::run(&["page"])?;
    npm::build()?;
    run(npm("run").arg("build"))
}

/// Builds the page and a server with it, and uses it as people do
pub(crate) fn test() -> Result<(), String> {
    build()?;
    run(npm("test").envs(npm::test_programs()?))
}

fn npm(command: &str) -> Command {
    let mut npm = program_at_root("npm");
    npm.args(["--prefix", PAGE, command]);
    npm
}
