//! The page that draws a transaction's progress: built by Vite into the folder of the server, which
//! embeds it, and tested in a browser against a running server.
//!
//! The built files are committed, so a build of the server needs no Node.js. Two lines of the
//! record of generated files hold them current. Every test run compares the page's own sources;
//! `verify` also compares those of the module that checks answers, which most changes of `protocol`
//! leave as it is.

use std::process::Command;

use crate::shell::{program_at_root, run};
use crate::{generate, npm, setup};

/// Builds the page and the module that checks answers into the folder of the server
pub(crate) fn build() -> Result<(), String> {
    setup::run(&["page"])?;
    npm::build_for_page()?;
    run(npm("run").arg("build"))?;
    generate::record_page()
}

/// Draws the picture of the readme in a browser, with the demonstration chain of a running server
pub(crate) fn draw() -> Result<(), String> {
    setup::run(&["page", "browser"])?;
    run(npm("run").arg("picture").envs(npm::test_programs()?))
}

/// Uses the committed page as people do, in a browser with a running server
pub(crate) fn test() -> Result<(), String> {
    generate::check()?;
    generate::check_page_module()?;
    run(npm("test").envs(npm::test_programs()?))
}

fn npm(command: &str) -> Command {
    let mut npm = program_at_root("npm");
    npm.args(["--prefix", "node/page", command]);
    npm
}
