//! Starts the benches and the program that writes their pages (`benches/report`).
//!
//! Benches beside the node's path are in the workspace of the node's crates, the others in the main
//! one; criterion writes the figures of both into one folder. Measures nothing itself.

use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use crate::shell::{self, cargo, filter, output, run as run_command};
use crate::workspace::{development, interop_cargo, interop_target};

/// Runs the benches with this in their names and prints their figures: `NAME` or `--rocksdb NAME`;
/// or all of them with a node's database, and writes their page: `--rocksdb`
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let (features, filter) = match arguments {
        ["--rocksdb"] => return write_ratios(true),
        [filter] if !filter.starts_with('-') => (FEATURES, filter),
        ["--rocksdb", filter] if !filter.starts_with('-') => (WITH_ROCKSDB, filter),
        _ => {
            return Err("`bench` takes `[--rocksdb] NAME`, a part of the names of benches; \
                        `verify bench` runs all"
                .to_owned());
        }
    };
    let start = measure(features, Some(filter))?;
    run_command(
        report("ratios --print").arg("--since").arg(start).arg("--criterion").arg(folder()?),
    )
}

/// Runs all benches and writes their page
pub(crate) fn write_ratios(with_rocksdb: bool) -> Result<(), String> {
    let mut disk = output(&mut cargo("run --release -p milepost-benches --bin disk"))?;
    let features = if with_rocksdb { WITH_ROCKSDB } else { FEATURES };
    if with_rocksdb {
        let mut peer = interop_cargo("run --release -p milepost-peer-benches --bin disk")?;
        disk.push_str(&output(peer.args(["--features", features]))?);
    }
    let start = measure(features, None)?;
    let mut report = report("ratios");
    report.arg("--since").arg(start).arg("--criterion").arg(folder()?);
    filter(&mut report, &disk).map(|text| print!("{text}"))
}

/// Measures requests over HTTP and writes the page
pub(crate) fn write_http() -> Result<(), String> {
    run_command(&mut cargo("build --release -p milepost-server -p milepost-http-benches"))?;
    let peer = "build --release -p milepost-peer-benches --bin http-peer --features jemalloc";
    run_command(&mut interop_cargo(peer)?)?;
    run_command(&mut http_report("release")?)
}

/// The program that compares what the unoptimised servers of the bench over HTTP answer
pub(crate) fn compare_servers() -> Result<Command, String> {
    let mut report = http_report("debug")?;
    report.arg("--check");
    Ok(report)
}

/// A run of the program that writes pages, with these arguments
pub(crate) fn report(arguments: &str) -> Command {
    development(&format!("run --quiet -p milepost-bench-report -- {arguments}"))
}

/// What the benches are built with: both sides allocate as a node does
const FEATURES: &str = "jemalloc";
/// And with a node's database
const WITH_ROCKSDB: &str = "jemalloc,rocksdb";

/// Runs benches; returns when they began, in seconds since 1970
fn measure(features: &str, filter: Option<&str>) -> Result<String, String> {
    let start = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let start = start.map_err(|error| format!("the clock is before 1970: {error}"))?.as_secs();
    let mut own = cargo("bench -p milepost-benches --features jemalloc");
    let mut peers = interop_cargo("bench -p milepost-peer-benches")?;
    peers.args(["--features", features]);
    for command in [&mut own, &mut peers] {
        command.env("CRITERION_HOME", folder()?);
        run_command(command.args(filter.map(|filter| ["--", filter]).into_iter().flatten()))?;
    }
    Ok(start.to_string())
}

/// Where criterion writes its figures
fn folder() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("criterion"))
}

fn http_report(profile: &str) -> Result<Command, String> {
    let mut command = report("http");
    command.arg("--programs").arg(shell::target()?.join(profile));
    command.arg("--peer").arg(interop_target()?.join(profile).join("http-peer"));
    Ok(command)
}
