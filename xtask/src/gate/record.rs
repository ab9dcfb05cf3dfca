//! The accepted counts in the repository: one line for each path, in the order of the names.
//!
//! Counts depend on the compiler, which inlines, and on the C library, which allocates and copies;
//! an error names both, as accepted and as found.

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::shell::{output, program_at_root};

/// Instructions by path, and what they were counted with
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    /// Compiler, target and C library; of another target nothing can be compared
    pub(crate) built: BTreeMap<String, String>,
    pub(crate) counts: BTreeMap<String, u64>,
}

impl Record {
    /// An empty one, with the compiler, the C library and the target of this machine
    pub(crate) fn here() -> Result<Self, String> {
        let said = output(program_at_root("rustc").arg("-vV"))?;
        let target = said.lines().find_map(|line| line.strip_prefix("host: "));
        // Another library than glibc means another target.
        let library = output(program_at_root("getconf").arg("GNU_LIBC_VERSION"));
        let built = [
            ("compiler", said.lines().next().unwrap_or_default().to_owned()),
            ("library", library.unwrap_or_default().trim().to_owned()),
            ("target", target.ok_or("rustc names no host")?.to_owned()),
        ];
        let built = built.map(|(name, value)| (name.to_owned(), value)).into();
        Ok(Self { built, counts: BTreeMap::new() })
    }

    pub(crate) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut file: Value = serde_json::from_str(text)?;
        Ok(Self {
            built: serde_json::from_value(file["built"].take())?,
            counts: serde_json::from_value(file["instructions"].take())?,
        })
    }

    pub(crate) fn write(&self) -> String {
        format!("{:#}\n", json!({ "built": self.built, "instructions": self.counts }))
    }

    /// Compares with counts that were found: a table, and an error for paths whose counts differ by
    /// more than `tolerance` percent or that only one side has
    pub(crate) fn judge(&self, found: &Self, tolerance: u64) -> (String, Result<(), String>) {
        let mut table = format!("{:<24} {:>12} {:>12}\n", "instructions of", "accepted", "now");
        let mut moved = Vec::new();
        let paths: BTreeSet<&String> = self.counts.keys().chain(found.counts.keys()).collect();
        for path in paths {
            let count = |record: &Self| record.counts.get(path).copied().unwrap_or(0);
            let (one, other) = (count(self), count(found));
            let percent = 100.0 * (other as f64 / one as f64 - 1.0);
            // Writing to a string cannot fail.
            let _ = writeln!(table, "{path:<24} {one:>12} {other:>12} {percent:+8.2} %");
            // No path takes no instructions, so 0 is one that is missing.
            if one == 0 || 100 * one.abs_diff(other) > tolerance * one {
                moved.push(&path[..]);
            }
        }
        if moved.is_empty() {
            return (table, Ok(()));
        }
        let (accepted, now) = (&self.built, &found.built);
        let paths = moved.join(", ");
        let error = format!(
            "not within {tolerance} % of the accepted instructions: {paths} (accepted with \
             {accepted:?}, counted with {now:?})"
        );
        (table, Err(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(counts: &[(&str, u64)]) -> Record {
        let counts = counts.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect();
        Record { counts, ..Record::here().unwrap() }
    }

    #[test]
    fn what_is_written_is_read() {
        let record = record(&[("answer-final-1", 1_692), ("request-by-hash", 6_957)]);
        assert_eq!(Record::read(&record.write()).unwrap(), record);
        for text in ["", "{}", r#"{"built": {}, "instructions": {"answer-final-1": "few"}}"#] {
            assert!(Record::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn three_percent_are_within_three_percent_and_more_is_not() {
        let accepted = record(&[("one", 10_000), ("other", 10)]);
        let judge = |count| accepted.judge(&record(&[("one", count), ("other", 10)]), 3);
        for count in [9_700, 10_000, 10_300] {
            assert_eq!(judge(count).1, Ok(()), "{count}");
        }
        for count in [0, 9_699, 10_301, 20_000] {
            let refusal = judge(count).1.unwrap_err();
            assert!(refusal.contains("one") && !refusal.contains("other"), "{refusal}");
        }
        assert!(judge(9_500).0.contains("-5.00 %"));
    }

    #[test]
    fn a_path_on_one_side_only_is_refused() {
        let (one, both) = (record(&[("one", 10)]), record(&[("one", 10), ("other", 10)]));
        assert!(one.judge(&both, 3).1.is_err() && both.judge(&one, 3).1.is_err());
    }
}
