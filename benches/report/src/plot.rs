//! A plot with logarithmic axes: times against a number.
//!
//! An SVG of lines, their points and their labels, on a white background. What is drawn is passed
//! in; a curve without points is left out.

use core::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 460.0;
/// Left, right, top, bottom
const MARGINS: [f64; 4] = [70.0, 190.0, 40.0, 50.0];

/// A line of the plot
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) label: &'static str,
    pub(crate) colour: &'static str,
    /// A number, and a time in nanoseconds, by ascending numbers
    pub(crate) points: Vec<(f64, f64)>,
}

/// What a plot says in words
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels {
    pub(crate) title: &'static str,
    pub(crate) across: &'static str,
    pub(crate) up: &'static str,
}

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

/// The plot of these curves
///
/// # Errors
///
/// When there are no points.
pub(crate) fn plot(labels: Labels, curves: &[Curve]) -> Result<String, String> {
    let all: Vec<(f64, f64)> = curves.iter().flat_map(|curve| curve.points.clone()).collect();
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
         <title>{}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n",
        labels.title
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
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
         <text x=\"{left}\" y=\"{}\">{}</text>\n",
        f64::midpoint(left, right),
        bottom + 38.0,
        labels.across,
        top - 16.0,
        labels.up
    );
    for Curve { label, colour, points } in curves {
        let points: Vec<(f64, f64)> = points
            .iter()
            .map(|(number, time)| (across.coordinate(*number), up.coordinate(*time)))
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

    #[test]
    fn points_have_logarithmic_coordinates() {
        let labels = Labels { title: "cost", across: "receipts", up: "time" };
        let curve =
            |points: &[(f64, f64)]| Curve { label: "ours", colour: "red", points: points.into() };
        let svg = plot(labels, &[curve(&[(1.0, 1e4), (100.0, 1e6)]), curve(&[])]).unwrap();
        // From one corner of the plot to the other.
        assert!(svg.contains("points=\"70.0,410.0 530.0,40.0\""), "{svg}");
        assert!(svg.contains(">100 us</text>") && svg.matches(">ours<").count() == 1, "{svg}");
        assert!(plot(labels, &[curve(&[])]).is_err());
    }
}
