//! Runs the benches with the node's path beside ours, and writes down the ratios.
//!
//! Criterion leaves the median of every figure in a file; here they are paired, put beside their targets
//! and written as `docs/BENCHMARKS.md`, with a plot. What is missed is written down like what is reached.
//! A run of some benches only is printed and not written, so that everything written is of one run.

mod figures;
mod page;
mod plot;

use std::fs;
use std::time::SystemTime;

use figures::Figures;

use crate::shell::{self, cargo, output, root};

/// Runs the benches that the arguments choose, by default all
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        [] | ["--rocksdb"] => {
            let disk = output(&mut cargo("run --release -p milepost-benches --bin disk"))?;
            let figures = measure(if arguments.is_empty() { PEERS } else { ROCKSDB }, None)?;
            write("docs/cost-by-receipts.svg", &plot::cost_by_receipts(&figures)?)?;
            write("docs/BENCHMARKS.md", &page::page(&figures, &disk, &page::machine()?))
        }
        [filter] if !filter.starts_with('-') => {
            print!("\n{}", page::tables(&measure(PEERS, Some(filter))?));
            Ok(())
        }
        ["--rocksdb", filter] if !filter.starts_with('-') => {
            print!("\n{}", page::tables(&measure(ROCKSDB, Some(filter))?));
            Ok(())
        }
        _ => {
            Err("`bench` takes `--http`, or `--rocksdb` and a part of the names of benches"
                .to_owned())
        }
    }
}

/// What the benches are built with
const PEERS: &str = "peers,jemalloc";
/// And with a node's database
const ROCKSDB: &str = "peers,jemalloc,rocksdb";

/// Runs the benches and gives the figures of this run
fn measure(features: &str, filter: Option<&str>) -> Result<Figures, String> {
    let folder = shell::target()?.join("criterion");
    let mut command = cargo(&format!("bench -p milepost-benches --features {features}"));
    if let Some(filter) = filter {
        command.args(["--", filter]);
    }
    let start = SystemTime::now();
    shell::run(&mut command)?;
    let figures = Figures::since(start, &folder)?;
    match figures.is_empty() {
        true => Err(format!("no bench has `{}` in its name", filter.unwrap_or_default())),
        false => Ok(figures),
    }
}

fn write(path: &str, text: &str) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{path}: {error}");
    let place = root().join(path);
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    fs::write(place, text).map_err(told)?;
    println!("written: {path}");
    Ok(())
}
