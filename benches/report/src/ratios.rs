//! The ratios of the benches: criterion's figures, paired and compared with their targets.
//!
//! Writes `docs/BENCHMARKS.md`; missed targets are written too. Figures of a subset of
//! the benches are printed and not written, so the page is always of one run.

mod figures;
mod page;

use std::path::Path;
use std::time::SystemTime;

use figures::Figures;

use crate::machine::Machine;

/// Writes the page from the figures below a folder that were written since `start`
pub(crate) fn write(folder: &Path, start: SystemTime, disk: &str) -> Result<(), String> {
    let figures = read(folder, start)?;
    super::write("docs/BENCHMARKS.md", &page::page(&figures, disk, &Machine::now()))
}

/// Prints the tables of these figures
pub(crate) fn print(folder: &Path, start: SystemTime) -> Result<(), String> {
    print!("\n{}", page::tables(&read(folder, start)?));
    Ok(())
}

fn read(folder: &Path, start: SystemTime) -> Result<Figures, String> {
    let figures = Figures::since(start, folder)?;
    if figures.is_empty() { Err("no bench has a matching name".to_owned()) } else { Ok(figures) }
}
