//! The ratios of the benches: criterion's figures, paired and compared with their targets.
//!
//! Writes `docs/BENCHMARKS.md`, with a plot; missed targets are written too. Figures of a subset of
//! the benches are printed and not written, so the page is always of one run.

mod figures;
mod page;

use std::path::Path;
use std::time::SystemTime;

use figures::{Figure, Figures};

use crate::evidence;
use crate::machine::Machine;
use crate::plot::{Axes, Curve, Labels, plot};

/// The curves of the plot: group, side, label, colour
const CURVES: [(&str, &str, &str, &str); 3] = [
    ("response in memory", "peer", "the node's path, in memory", "#c2410c"),
    ("response on redb", "ours", "milepost, in a file", "#0369a1"),
    ("response in memory", "ours", "milepost, in memory", "#15803d"),
];

/// Writes the page and the plot from the figures below a folder that were written since `start`
pub(crate) fn write(folder: &Path, start: SystemTime, disk: &str) -> Result<(), String> {
    let figures = read(folder, start)?;
    super::write("docs/cost-by-receipts.svg", &cost_by_receipts(&figures)?)?;
    super::write("docs/BENCHMARKS.md", &page::page(&figures, disk, &Machine::now()))?;
    evidence::write_link("bench")
}

/// The cost of a response against its receipts
fn cost_by_receipts(figures: &Figures) -> Result<String, String> {
    let labels = Labels {
        title: "Cost of a response by its receipts",
        across: "receipts",
        up: "processor time of a response",
        axes: Axes::NumberAndTime,
    };
    // Sizes that are not numbers are left out.
    let point = |figure: &Figure| Some((figure.size.parse().ok()?, figure.median));
    let curve = |(group, side, label, colour): (&str, &str, _, _)| {
        let all = figures.group(group).filter(|figure| figure.side == side);
        let mut points: Vec<(f64, f64)> = all.filter_map(point).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Curve { label, colour, points }
    };
    plot(labels, &CURVES.map(curve))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_are_no_numbers_are_not_in_the_plot() {
        let figure = |size: &str, median| Figure {
            group: "response in memory".into(),
            side: "peer".into(),
            size: size.into(),
            median,
        };
        let figures =
            Figures(vec![figure("100", 1e6), figure("1", 1e4), figure("1 MiB deployment", 1e6)]);
        let svg = cost_by_receipts(&figures).unwrap();
        assert!(svg.contains("points=\"70.0,410.0 530.0,40.0\"") && !svg.contains("MiB"), "{svg}");
        assert!(cost_by_receipts(&Figures::default()).is_err());
    }
}
