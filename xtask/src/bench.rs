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
        [] => {
            let disk = output(&mut cargo("run --release -p milepost-benches --bin disk"))?;
            let figures = measure(None)?;
            write("docs/cost-by-receipts.svg", &plot::cost_by_receipts(&figures)?)?;
            write("docs/BENCHMARKS.md", &page::page(&figures, &disk, &page::machine()?))
        }
        [filter] if !filter.starts_with('-') => {
            print!("\n{}", page::tables(&measure(Some(filter))?));
            Ok(())
        }
        _ => Err("`bench` takes nothing, or a part of the names of benches".to_owned()),
    }
}

/// Runs the benches and gives the figures of this run
fn measure(filter: Option<&str>) -> Result<Figures, String> {
    let folder = shell::target()?.join("criterion");
    let mut command = cargo("bench -p milepost-benches --features peers,jemalloc");
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
