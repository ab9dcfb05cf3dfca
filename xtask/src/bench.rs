//! Starts the benches; criterion reports their figures.
//!
//! Benches beside the node's path are in the workspace of the node's crates, the others in the main
//! one; criterion keeps the figures of both in one folder.

use std::process::Command;

use crate::shell::{self, cargo, program_at_root, run as run_command};
use crate::workspace::{interop_cargo, interop_target};

/// Runs the benches with a text in their names, or all and the bytes on disk: `[--rocksdb] [NAME]`
///
/// # Errors
///
/// When the arguments are others, or a bench fails.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let (with_rocksdb, filter) = match arguments {
        ["--rocksdb", filter @ ..] => (true, filter),
        filter => (false, filter),
    };
    if filter.len() > 1 || filter.iter().any(|filter| filter.starts_with('-')) {
        return Err("`bench` takes `[--rocksdb] [NAME]`, a part of the names of benches".to_owned());
    }
    // Both sides allocate as a node does.
    let features = if with_rocksdb { "jemalloc,rocksdb" } else { "jemalloc" };
    if filter.is_empty() {
        run_command(&mut cargo("run --release -p milepost-node-benches --bin disk"))?;
        if with_rocksdb {
            let mut disk = interop_cargo("run --release -p milepost-interop --bin disk")?;
            run_command(disk.args(["--features", features]))?;
        }
    }
    let folder = shell::target()?.join("criterion");
    let measure = |command: &mut Command| {
        command.env("CRITERION_HOME", &folder).arg("--");
        run_command(command.args(filter))
    };
    measure(&mut cargo("bench -p milepost-benches --features jemalloc"))?;
    measure(interop_cargo("bench -p milepost-interop")?.args(["--features", features]))
}

/// Measures requests over HTTP
pub(crate) fn run_http() -> Result<(), String> {
    let servers = "-p milepost-server -F milepost-server/jemalloc -p milepost-node-benches";
    run_command(&mut cargo(&format!("build --release {servers}")))?;
    let peer = "build --release -p milepost-node-interop --features jemalloc";
    run_command(&mut interop_cargo(peer)?)?;
    http_bench("measure", "release")
}

/// Compares the responses of the unoptimised servers of the bench over HTTP
pub(crate) fn compare_servers() -> Result<(), String> {
    http_bench("check", "debug")
}

fn http_bench(command: &str, profile: &str) -> Result<(), String> {
    let program = shell::target()?.join(profile).join("http-bench");
    let peer = interop_target()?.join(profile).join("http-peer");
    run_command(program_at_root(program).arg(command).arg(peer))
}
