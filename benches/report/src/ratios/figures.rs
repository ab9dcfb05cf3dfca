//! The figures that criterion wrote: medians by group, side and size.
//!
//! Reads few members of its files, by searching for their names; one program writes them in one
//! form, so this needs no JSON parser. Figures of earlier runs in the same folder are recognised by
//! their time.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// One figure
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// What is measured: `response in memory`
    pub(super) group: String,
    /// The side, and its variant: `ours`, `peer with the request`
    pub(super) side: String,
    /// The size of the input: `10`
    pub(super) size: String,
    /// Nanoseconds
    pub(super) median: f64,
}

/// The figures of a run
#[derive(Debug, Default)]
pub(super) struct Figures(pub(super) Vec<Figure>);

impl Figures {
    /// The figures below this folder that were written since `start`
    pub(super) fn since(start: SystemTime, folder: &Path) -> Result<Self, String> {
        let mut figures = Self::default();
        figures.collect(start, folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        figures.0.sort_by(|one, other| {
            let key = |figure: &Figure| (figure.group.clone(), figure.side.clone());
            key(one).cmp(&key(other)).then(order(&one.size).cmp(&order(&other.size)))
        });
        Ok(figures)
    }

    fn collect(&mut self, start: SystemTime, folder: &Path) -> std::io::Result<()> {
        let estimates = folder.join("new/estimates.json");
        if estimates.is_file() && fs::metadata(&estimates)?.modified()? >= start {
            let name = fs::read_to_string(folder.join("new/benchmark.json"))?;
            self.0.extend(figure(&name, &fs::read_to_string(estimates)?));
            return Ok(());
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.collect(start, &entry.path())?;
            }
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The figures of a group
    pub(super) fn group(&self, name: &str) -> impl Iterator<Item = &Figure> {
        self.0.iter().filter(move |figure| figure.group == name)
    }

    /// The median of this figure, in nanoseconds
    pub(super) fn median(&self, group: &str, side: &str, size: &str) -> Option<f64> {
        let mut figures = self.group(group);
        let found = figures.find(|figure| figure.side == side && figure.size == size)?;
        Some(found.median)
    }
}

/// The sort key of a size: numbers by their value, before other texts
fn order(size: &str) -> (u64, &str) {
    (size.parse().unwrap_or(u64::MAX), size)
}

/// The figure of a bench with this description and these estimates
fn figure(description: &str, estimates: &str) -> Option<Figure> {
    let (_, median) = estimates.split_once("\"median\":")?;
    let (_, median) = median.split_once("\"point_estimate\":")?;
    let median = median.split([',', '}']).next()?.trim().parse().ok()?;
    let side = text(description, "function_id")?;
    // Criterion does not split a name with a slash.
    let (side, size) = match (side.split_once('/'), text(description, "value_str")) {
        (_, Some(size)) => (side, size),
        (Some((side, size)), None) => (side.to_owned(), size.to_owned()),
        (None, None) => (side, String::new()),
    };
    Some(Figure { group: text(description, "group_id")?, side, size, median })
}

/// The text of a member, if it is a string without escapes
fn text(json: &str, name: &str) -> Option<String> {
    let (_, value) = json.split_once(&format!("\"{name}\":"))?;
    let (value, _) = value.trim_start().strip_prefix('"')?.split_once('"')?;
    (!value.contains('\\')).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATES: &str = r#"{"mean":{"point_estimate":9.0},"median":{"confidence_interval":
        {"lower_bound":1.0},"point_estimate":167018.5,"standard_error":5.0},"std_dev":{"point_estimate":3.0}}"#;

    #[test]
    fn a_figure_is_read_from_what_criterion_writes() {
        let of = |description| figure(description, ESTIMATES).unwrap();
        let expected = Figure {
            group: "response".into(),
            side: "peer".into(),
            size: "3".into(),
            median: 167_018.5,
        };
        assert_eq!(of(r#"{"group_id":"response","function_id":"peer","value_str":"3"}"#), expected);
        assert_eq!(
            of(r#"{"group_id":"response","function_id":"peer/3","value_str":null}"#),
            expected
        );
        assert_eq!(figure("{}", ESTIMATES), None);
    }

    #[test]
    fn sizes_are_in_numeric_order() {
        let mut sizes = ["form B", "100", "3", "1 MiB", "20"];
        sizes.sort_by(|one, other| order(one).cmp(&order(other)));
        assert_eq!(sizes, ["3", "20", "100", "1 MiB", "form B"]);
    }
}
