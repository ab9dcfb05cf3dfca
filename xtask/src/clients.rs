//! Published clients against a server that forwards to a practice chain, and published generators
//! of clients that read its discovery documents.
//!
//! They are real packages at fixed versions, which `cargo xtask setup clients` installs; the tests
//! start the server and its upstream themselves, on ports of this machine.

use crate::setup::{jars, python_environment};
use crate::shell::{program_at_root, run};
use crate::workspace::{SERVER_PROGRAM, build_programs};

/// The folder of the tests
const CLIENTS: &str = "node/testing/clients";

/// Builds the server and the upstream, and runs the clients
pub(crate) fn test() -> Result<(), String> {
    let programs = build_programs(&["milepost", "practice-node"])?;
    let mut tests = program_at_root("node");
    tests.args(["--test", "--test-reporter=tap", CLIENTS]);
    tests.env("PYTHON", python_environment(CLIENTS)?.join("bin/python"));
    tests.env("GENERATOR_JARS", jars(CLIENTS)?);
    tests.env(SERVER_PROGRAM, programs.join("milepost"));
    run(tests.env("PRACTICE_NODE", programs.join("practice-node")))
}
