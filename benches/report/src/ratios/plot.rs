//! The cost of a response against its receipts, as a plot with logarithmic axes.
//!
//! An SVG with three lines, their points and their labels, on a white background.

use core::fmt::Write as _;

use super::figures::{Figure, Figures};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 460.0;
/// Left, right, top, bottom
const MARGINS: [f64; 4] = [70.0, 190.0, 40.0, 50.0];

/// The curves: group, side, label, colour
const CURVES: [(&str, &str, &str, &str); 3] = [
    ("response in memory", "peer", "the node's path, in memory", "#c2410c"),
    ("response on redb", "ours", "milepost, in a file", "#0369a1"),
    ("response in memory", "ours", "milepost, in memory", "#15803d"),
];

/// A range of powers of ten
struct Axis {
    first: i32,
    last: i32,
    from: f64,
    to: f64,
}

impl Axis {
    /// The axis over these values, drawn between two coordinates
    fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let first = values.clone().fold(f64::INFINITY, f64::min).log10().floor() as i32;
        let last = values.fold(0.0, f64::max).log10().ceil() as i32;
        Self { first, last: last.max(first + 1), from, to }
    }

    fn coordinate(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        self.from + share * (self.to - self.from)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        (self.first..=self.last).map(|power| 10_f64.powi(power))
    }
}

/// The points of a curve, in the order of receipts
fn points<'figures>(
    figures: &'figures Figures,
    group: &'figures str,
    side: &'figures str,
) -> impl Iterator<Item = (f64, f64)> + Clone {
    let point = |figure: &Figure| Some((figure.size.parse().ok()?, figure.median));
    let all = figures.group(group).filter(move |figure| figure.side == side);
    let mut points: Vec<(f64, f64)> = all.filter_map(point).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points.into_iter()
}

/// The plot of these figures
pub(super) fn cost_by_receipts(figures: &Figures) -> Result<String, String> {
    let all = CURVES.iter().flat_map(|(group, side, ..)| points(figures, group, side));
    let all: Vec<(f64, f64)> = all.collect();
    if all.is_empty() {
        return Err("no figures for the plot".to_owned());
    }
    let [left, right, top, bottom] = MARGINS;
    let (right, bottom) = (WIDTH - right, HEIGHT - bottom);
    let across = Axis::over(all.iter().map(|point| point.0), left, right);
    let up = Axis::over(all.iter().map(|point| point.1), bottom, top);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>Cost of a response by its receipts</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    for value in across.powers() {
        let x = across.coordinate(value);
        let _ = write!(
            svg,
            "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#d4d4d4\"/>\n\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>\n",
            bottom + 18.0
        );
    }
    for value in up.powers() {
        let y = up.coordinate(value);
        let _ = write!(
            svg,
            "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#d4d4d4\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            left - 8.0,
            y + 4.0,
            time(value)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">receipts</text>\n\
         <text x=\"{left}\" y=\"{}\">processor time of a response</text>\n",
        f64::midpoint(left, right),
        bottom + 38.0,
        top - 16.0
    );
    for (group, side, label, colour) in CURVES {
        let points: Vec<(f64, f64)> = points(figures, group, side)
            .map(|(receipts, cost)| (across.coordinate(receipts), up.coordinate(cost)))
            .collect();
        let Some((end_x, end_y)) = points.last() else { continue };
        let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            line.join(" ")
        );
        for (x, y) in &points {
            let _ =
                writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{label}</text>",
            end_x + 8.0,
            end_y + 4.0
        );
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// A power of ten nanoseconds
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds} ns"),
        ..1e6 => format!("{} us", nanoseconds / 1e3),
        ..1e9 => format!("{} ms", nanoseconds / 1e6),
        _ => format!("{} s", nanoseconds / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(side: &str, size: &str, median: f64) -> Figure {
        let (group, side, size) = ("response in memory".into(), side.into(), size.into());
        Figure { group, side, size, median }
    }

    #[test]
    fn points_have_logarithmic_coordinates() {
        let figures = Figures(vec![
            figure("peer", "1", 1e4),
            figure("peer", "1 MiB deployment", 1e6),
            figure("peer", "100", 1e6),
        ]);
        let svg = cost_by_receipts(&figures).unwrap();
        // From one corner of the plot to the other; sizes that are not numbers are left out.
        assert!(svg.contains("points=\"70.0,410.0 530.0,40.0\""), "{svg}");
        assert!(svg.contains(">100 us</text>") && !svg.contains("MiB"), "{svg}");
        assert!(cost_by_receipts(&Figures::default()).is_err());
    }
}
