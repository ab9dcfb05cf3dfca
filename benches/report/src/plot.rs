//! A plot with a logarithmic axis of times or numbers, against a number.
//!
//! An SVG of lines, their points and their labels, on a white background. What is drawn is passed
//! in; a curve without points is left out.

use core::fmt::Write as _;

/// Distance of the labels of curves that end in one place
const LABEL_HEIGHT: f64 = 15.0;
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 460.0;
/// Left, right, top, bottom
const MARGINS: [f64; 4] = [70.0, 190.0, 40.0, 50.0];

/// A line of the plot
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) label: &'static str,
    pub(crate) colour: &'static str,
    /// Numbers, and times in nanoseconds or other numbers above 0, by ascending numbers
    pub(crate) points: Vec<(f64, f64)>,
}

/// What a plot says in words
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels {
    pub(crate) title: &'static str,
    pub(crate) across: &'static str,
    pub(crate) up: &'static str,
    pub(crate) axes: Axes,
}

/// What the axes show
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Axes {
    /// A number across, logarithmic, and times
    NumberAndTime,
    /// Minutes across from 0 on, and numbers
    MinutesAndNumber,
}

/// An axis, drawn between two coordinates
struct Axis {
    is_logarithmic: bool,
    /// Those that are named; the first and the last are the ends
    values: Vec<f64>,
    from: f64,
    to: f64,
}

impl Axis {
    /// The axis over the powers of ten around these values
    fn logarithmic(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let first = values.clone().fold(f64::INFINITY, f64::min).log10().floor() as i32;
        let last = (values.fold(0.0, f64::max).log10().ceil() as i32).max(first + 1);
        let values = (first..=last).map(|power| 10_f64.powi(power)).collect();
        Self { is_logarithmic: true, values, from, to }
    }

    /// The axis from 0 to the largest of these values, in six steps
    fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let step = (values.fold(0.0, f64::max) / 6.0).ceil().max(1.0);
        let values = (0..=6).map(|number| step * f64::from(number)).collect();
        Self { is_logarithmic: false, values, from, to }
    }

    fn coordinate(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let end = |value: Option<&f64>| scale(value.copied().unwrap_or(1.0));
        let (first, last) = (end(self.values.first()), end(self.values.last()));
        let share = (scale(value) - first) / (last - first);
        self.from + share * (self.to - self.from)
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
    let (x_values, y_values) = (all.iter().map(|point| point.0), all.iter().map(|point| point.1));
    let up = Axis::logarithmic(y_values, bottom, top);
    let across = match labels.axes {
        Axes::NumberAndTime => Axis::logarithmic(x_values, left, right),
        Axes::MinutesAndNumber => Axis::linear(x_values, left, right),
    };
    let name = |value: f64| match labels.axes {
        Axes::NumberAndTime => time(value),
        Axes::MinutesAndNumber => value.to_string(),
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n",
        labels.title
    );
    for &value in &across.values {
        let x = across.coordinate(value);
        let _ = write!(
            svg,
            "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#d4d4d4\"/>\n\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>\n",
            bottom + 18.0
        );
    }
    for &value in &up.values {
        let y = up.coordinate(value);
        let _ = write!(
            svg,
            "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#d4d4d4\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            left - 8.0,
            y + 4.0,
            name(value)
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
    let mut label_heights: Vec<f64> = Vec::new();
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
        // Curves that end in one place have their labels below each other.
        let height = label_heights.iter().fold(end_y + 4.0, |height, other: &f64| {
            if (height - other).abs() < LABEL_HEIGHT { other + LABEL_HEIGHT } else { height }
        });
        label_heights.push(height);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{height:.1}\" fill=\"{colour}\">{label}</text>",
            end_x + 8.0,
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
        let axes = Axes::NumberAndTime;
        let labels = Labels { title: "cost", across: "receipts", up: "time", axes };
        let curve =
            |points: &[(f64, f64)]| Curve { label: "ours", colour: "red", points: points.into() };
        let svg = plot(labels, &[curve(&[(1.0, 1e4), (100.0, 1e6)]), curve(&[])]).unwrap();
        // From one corner of the plot to the other.
        assert!(svg.contains("points=\"70.0,410.0 530.0,40.0\""), "{svg}");
        assert!(svg.contains(">100 us</text>") && svg.matches(">ours<").count() == 1, "{svg}");
        assert!(plot(labels, &[curve(&[])]).is_err());
    }

    #[test]
    fn minutes_begin_at_zero() {
        let labels =
            Labels { title: "soak", across: "minutes", up: "", axes: Axes::MinutesAndNumber };
        let points = vec![(30.0, 100.0), (60.0, 1.0)];
        let svg = plot(labels, &[Curve { label: "MB", colour: "red", points }]).unwrap();
        assert!(svg.contains("points=\"300.0,40.0 530.0,410.0\""), "{svg}");
        assert!(svg.contains(">50</text>") && svg.contains(">10</text>"), "{svg}");
    }
}
