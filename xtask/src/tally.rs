//! Counts tests by the closing lines that test programs print.
//!
//! Two forms are known: the line of a Rust test binary and the lines of Node.js's TAP reporter. Any
//! other line counts nothing, so all output of a program can be passed through.

/// Tests that passed and failed
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

/// Which closing lines a program prints
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    /// `test result: ok. 12 passed; 0 failed; …`
    Cargo,
    /// `# pass 12` and `# fail 0`
    Tap,
}

impl Tally {
    /// Adds the counts of a closing line of this format
    pub(crate) fn add(&mut self, format: Format, line: &str) {
        match format {
            Format::Cargo => self.add_cargo(line),
            Format::Tap => self.add_tap(line),
        }
    }

    fn add_cargo(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        for count in counts.split([';', '.']) {
            let mut words = count.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok());
            match (number, words.next()) {
                (Some(number), Some("passed")) => self.passed += number,
                (Some(number), Some("failed")) => self.failed += number,
                _ => {}
            }
        }
    }

    fn add_tap(&mut self, line: &str) {
        let number = |count: &str| count.parse::<u64>().unwrap_or(0);
        match line.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')) {
            Some(("pass", count)) if line.starts_with("# ") => self.passed += number(count),
            Some(("fail", count)) if line.starts_with("# ") => self.failed += number(count),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(format: Format, lines: &[&str]) -> (u64, u64) {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.add(format, line));
        (tally.passed, tally.failed)
    }

    #[test]
    fn closing_lines_of_rust_tests_are_added_up() {
        let lines = [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            "the test result: ok. 100 passed; 100 failed",
            "# pass 7",
        ];
        assert_eq!(sum(Format::Cargo, &lines), (15, 2));
    }

    #[test]
    fn closing_lines_of_node_tests_are_added_up() {
        let lines = [
            "ok 1 - a # fail 7",
            "# tests 5",
            "# pass 3",
            "# fail 2",
            "# cancelled 0",
            "test result: ok. 12 passed; 0 failed",
        ];
        assert_eq!(sum(Format::Tap, &lines), (3, 2));
    }
}
