//! The archive in Apache Cassandra: tests that start nodes of a cluster.
//!
//! `cargo xtask setup cassandra` installs Java 17, which this release of Cassandra needs, and the
//! jars; the tests start the nodes themselves, on loopback addresses, and end them.

use std::process::Command;

use crate::setup;
use crate::shell::{cargo, output};
use crate::verify::count;
use crate::workspace::{WORKSPACE, development};

/// The folder of the crate that starts nodes, with the list of their jars
const NODES: &str = "node/testing";
/// Prints the path of a Java 17, wherever Debian puts it for this processor
const JAVA_17: &str = "ls /usr/lib/jvm/java-17-openjdk-*/bin/java";

/// One node: conformance, large rows, errors, restarts; and servers that share it
pub(crate) fn test() -> Result<(), String> {
    ignored(&format!("{WORKSPACE} --test cassandra"), "node::")?;
    ignored(&format!("{WORKSPACE} --test program"), "cluster::")
}

/// Three nodes, which are killed and paused under load; prints figures
pub(crate) fn faults() -> Result<(), String> {
    ignored(&format!("{WORKSPACE} --test cassandra"), "faults::")?;
    ignored(&format!("{WORKSPACE} --test program"), "cluster_faults::")
}

/// One node with a million transactions, which are read; prints figures
pub(crate) fn growth() -> Result<(), String> {
    ignored("--release -p milepost-cassandra --test cassandra", "growth::")
}

/// Runs tests that need nodes, which other runs leave out
fn ignored(program: &str, module: &str) -> Result<(), String> {
    let found = output(Command::new("sh").args(["-c", JAVA_17]))?;
    let java = found.lines().next().ok_or("no Java 17")?;
    let tests = format!("test {program} {module} -- --ignored --nocapture");
    let is_release = program.contains("--release");
    let mut tests = if is_release { cargo(&tests) } else { development(&tests) };
    count(tests.env("JAVA_17", java).env("CASSANDRA_JARS", setup::jars(NODES)?))
}
