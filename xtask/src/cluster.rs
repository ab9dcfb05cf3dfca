//! The archive in Apache Cassandra: tests that start nodes of a cluster.
//!
//! `cargo xtask setup cassandra` installs Java 17, which this release of Cassandra needs, and the
//! jars; the tests start the nodes themselves, on loopback addresses, and end them.

use std::process::Command;

use crate::setup;
use crate::shell::{cargo, output, run};

/// The folder of the crate that starts nodes, with the list of their jars
pub(crate) const NODES: &str = "testkit/cluster";
/// Prints the path of a Java 17, wherever Debian puts it for this processor
pub(crate) const JAVA_17: &str = "ls /usr/lib/jvm/java-17-openjdk-*/bin/java";

const SERVER: &str = "-p milepost-server --features cassandra --test program";

/// One node: conformance, large rows, errors, restarts; and servers that share it
pub(crate) fn test() -> Result<(), String> {
    // The step `clippy` leaves out what plain tests do not run.
    run(&mut cargo(
        "clippy -p milepost-cassandra --test node --test faults --test growth -- -D warnings",
    ))?;
    run(&mut cargo(&format!("clippy {SERVER} -- -D warnings")))?;
    run(&mut nodes("test -p milepost-cassandra --test node -- --nocapture")?)?;
    run(&mut nodes(&format!("test {SERVER} cluster::"))?)
}

/// Three nodes, which are killed and paused under load; prints figures
pub(crate) fn faults() -> Result<(), String> {
    fault_tests()?.iter_mut().try_for_each(run)
}

/// The tests of faults, of the archive alone and of servers over it, whose output has the figures
pub(crate) fn fault_tests() -> Result<[Command; 2], String> {
    Ok([
        nodes("test -p milepost-cassandra --test faults -- --nocapture")?,
        nodes(&format!("test {SERVER} cluster_faults:: -- --nocapture"))?,
    ])
}

/// One node with a million transactions, which are read; its output has the figures
pub(crate) fn growth_test() -> Result<Command, String> {
    nodes("test --release -p milepost-cassandra --test growth -- --nocapture")
}

/// A `cargo` whose tests can start nodes
fn nodes(arguments: &str) -> Result<Command, String> {
    let found = output(Command::new("sh").args(["-c", JAVA_17]))?;
    let java = found.lines().next().ok_or("no Java 17")?;
    let mut command = cargo(arguments);
    command.env("MILEPOST_JAVA_17", java).env("MILEPOST_CASSANDRA_JARS", setup::jars()?);
    Ok(command)
}
