//! The archive in Apache Cassandra: tests that start nodes of a cluster.
//!
//! `cargo xtask setup cassandra` installs Java 17, which this release of Cassandra needs, and the
//! jars; the tests start the nodes themselves, on loopback addresses, and end them.

use std::process::Command;

use crate::setup;
use crate::shell::{cargo, output, run};
use crate::workspace::WORKSPACE;

/// The folder of the crate that starts nodes, with the list of their jars
pub(crate) const NODES: &str = "testkit/cluster";
/// Prints the path of a Java 17, wherever Debian puts it for this processor
pub(crate) const JAVA_17: &str = "ls /usr/lib/jvm/java-17-openjdk-*/bin/java";

/// Tests that need nodes are left out of others
const IGNORED: &str = "-- --ignored";

/// One node: conformance, large rows, errors, restarts; and servers that share it
pub(crate) fn test() -> Result<(), String> {
    run(&mut nodes(&format!("test {WORKSPACE} --test node {IGNORED} --nocapture"))?)?;
    run(&mut nodes(&format!("test {WORKSPACE} --test program cluster:: {IGNORED}"))?)
}

/// Three nodes, which are killed and paused under load; prints figures
pub(crate) fn faults() -> Result<(), String> {
    fault_tests()?.iter_mut().try_for_each(run)
}

/// The tests of faults, of the archive alone and of servers over it, whose output has the figures
pub(crate) fn fault_tests() -> Result<[Command; 2], String> {
    Ok([
        nodes(&format!("test {WORKSPACE} --test faults {IGNORED} --nocapture"))?,
        nodes(&format!("test {WORKSPACE} --test program cluster_faults:: {IGNORED} --nocapture"))?,
    ])
}

/// One node with a million transactions, which are read; its output has the figures
pub(crate) fn growth_test() -> Result<Command, String> {
    nodes(&format!("test --release -p milepost-cassandra --test growth {IGNORED} --nocapture"))
}

/// A `cargo` whose tests can start nodes
fn nodes(arguments: &str) -> Result<Command, String> {
    let found = output(Command::new("sh").args(["-c", JAVA_17]))?;
    let java = found.lines().next().ok_or("no Java 17")?;
    let mut command = cargo(arguments);
    command.env("JAVA_17", java).env("CASSANDRA_JARS", setup::jars()?);
    Ok(command)
}
