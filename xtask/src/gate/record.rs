//! The accepted counts in the repository: one line for each path, in the order of the names.
//!
//! They depend on what was used to build: another compiler inlines differently, another C library
//! allocates and copies differently. A count within the limit is accepted under any compiler; an
//! error names both compilers. The file is TOML, of which only what this writes is read.

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

use crate::shell::{output, program_at_root};

const HEAD: &str = "\
# Instructions of the hot paths, as `cargo xtask gate` counts them; see benches/src/bin/gate.rs.
# Written by `cargo xtask gate --accept`.
";

/// What counts depend on, besides the code
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Built {
    pub(crate) compiler: String,
    pub(crate) library: String,
    pub(crate) target: String,
}

/// Instructions by path
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) built: Built,
    pub(crate) counts: BTreeMap<String, u64>,
}

impl Built {
    /// The compiler, the C library and the target of this machine
    pub(crate) fn here() -> Result<Self, String> {
        let said = output(program_at_root("rustc").arg("-vV"))?;
        let target = said.lines().find_map(|line| line.strip_prefix("host: "));
        let library = output(program_at_root("getconf").arg("GNU_LIBC_VERSION"));
        Ok(Self {
            compiler: said.lines().next().unwrap_or_default().to_owned(),
            // Another library than glibc means another target.
            library: library.unwrap_or_default().trim().to_owned(),
            target: target.ok_or("rustc names no host")?.to_owned(),
        })
    }
}

impl Record {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut record = Self::default();
        for (line, number) in text.lines().zip(1..) {
            if line.is_empty() || line.starts_with(['#', '[']) {
                continue;
            }
            let unknown = || format!("gate.toml:{number}: `{line}` is not understood");
            let (key, value) = line.split_once(" = ").ok_or_else(unknown)?;
            let text = value.trim_matches('"').to_owned();
            match key {
                "compiler" => record.built.compiler = text,
                "library" => record.built.library = text,
                "target" => record.built.target = text,
                path => {
                    let count = value.parse::<u64>().map_err(|_| unknown())?;
                    record.counts.insert(path.to_owned(), count);
                }
            }
        }
        Ok(record)
    }

    pub(crate) fn write(&self) -> String {
        let Built { compiler, library, target } = &self.built;
        let mut text = format!(
            "{HEAD}\n[built]\ncompiler = \"{compiler}\"\nlibrary = \"{library}\"\ntarget = \"{target}\"\n\n[instructions]\n"
        );
        for (path, count) in &self.counts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{path} = {count}");
        }
        text
    }

    /// A table of these counts and those that were found
    pub(crate) fn beside(&self, found: &Self) -> String {
        let mut table = format!("{:<24} {:>12} {:>12}\n", "instructions of", "accepted", "now");
        let show = |count: Option<&u64>| count.map_or_else(|| "none".to_owned(), u64::to_string);
        for (path, one, other) in self.pairs(found) {
            let change = one.zip(other).map(|(one, other)| 100.0 * change(*one, *other));
            let change = change.map(|percent| format!("{percent:+8.2} %")).unwrap_or_default();
            let _ = writeln!(table, "{path:<24} {:>12} {:>12} {change}", show(one), show(other));
        }
        table
    }

    /// Fails for paths whose counts differ by more than `tolerance` percent or that only one side
    /// has
    pub(crate) fn judge(&self, found: &Self, tolerance: u64) -> Result<(), String> {
        let moved = |one: Option<&u64>, other: Option<&u64>| match (one, other) {
            (Some(one), Some(other)) => 100 * one.abs_diff(*other) > tolerance * one,
            _ => true,
        };
        let moved: Vec<&str> = self
            .pairs(found)
            .filter(|(_, one, other)| moved(*one, *other))
            .map(|(path, ..)| path)
            .collect();
        if moved.is_empty() {
            return Ok(());
        }
        let mut error =
            format!("not within {tolerance} % of the accepted instructions: {}", moved.join(", "));
        let Built { compiler, library, .. } = &self.built;
        if self.built != found.built {
            let _ = write!(
                error,
                " (accepted with {compiler} and {library}, counted with {} and {})",
                found.built.compiler, found.built.library
            );
        }
        Err(error)
    }

    /// All paths of both sides
    fn pairs<'record>(
        &'record self,
        found: &'record Self,
    ) -> impl Iterator<Item = (&'record str, Option<&'record u64>, Option<&'record u64>)> {
        let paths: BTreeSet<&String> = self.counts.keys().chain(found.counts.keys()).collect();
        paths.into_iter().map(|path| (&path[..], self.counts.get(path), found.counts.get(path)))
    }
}

/// The relative change of a count
fn change(from: u64, to: u64) -> f64 {
    to as f64 / from as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(counts: &[(&str, u64)]) -> Record {
        let built = Built {
            compiler: "rustc 1.95.0 (59807616e 2026-04-14)".into(),
            library: "glibc 2.36".into(),
            target: "x86_64-unknown-linux-gnu".into(),
        };
        let counts = counts.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect();
        Record { built, counts }
    }

    #[test]
    fn what_is_written_is_read() {
        let record = record(&[("answer-final-1", 1_692), ("request-by-hash", 6_957)]);
        assert_eq!(Record::read(&record.write()), Ok(record));
        assert!(Record::read("answer-final-1 = few").is_err());
        assert!(Record::read("answer-final-1").is_err());
    }

    #[test]
    fn three_percent_are_within_three_percent_and_more_is_not() {
        let accepted = record(&[("one", 10_000), ("other", 10)]);
        let judge = |count| accepted.judge(&record(&[("one", count), ("other", 10)]), 3);
        for count in [9_700, 10_000, 10_300] {
            assert_eq!(judge(count), Ok(()), "{count}");
        }
        for count in [0, 9_699, 10_301, 20_000] {
            let refusal = judge(count).unwrap_err();
            assert!(refusal.contains("one") && !refusal.contains("other"), "{refusal}");
        }
    }

    #[test]
    fn a_path_that_one_side_lacks_is_refused() {
        let (short, long) = (record(&[("one", 5)]), record(&[("one", 5), ("other", 5)]));
        assert!(short.judge(&long, 3).unwrap_err().contains("other"));
        assert!(long.judge(&short, 3).unwrap_err().contains("other"));
    }

    #[test]
    fn another_compiler_is_named_only_where_a_count_moved() {
        let (accepted, mut found) = (record(&[("one", 1_000)]), record(&[("one", 1_001)]));
        found.built.compiler = "rustc 1.96.0".into();
        assert_eq!(accepted.judge(&found, 3), Ok(()));
        found.counts.insert("one".into(), 1_100);
        assert!(accepted.judge(&found, 3).unwrap_err().contains("rustc 1.96.0"));
        let refusal = accepted.judge(&record(&[("one", 1_100)]), 3).unwrap_err();
        assert!(!refusal.contains("rustc"), "{refusal}");
    }

    #[test]
    fn a_table_shows_both_sides_and_the_change() {
        let table = record(&[("one", 1_000)]).beside(&record(&[("one", 1_050), ("other", 7)]));
        assert!(table.contains("+5.00 %") && table.contains("none"), "{table}");
    }
}
