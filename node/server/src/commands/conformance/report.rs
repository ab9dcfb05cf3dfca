//! What differs, as JSON.
//!
//! Texts of a server are shortened, and printed without control characters; a check that differs in
//! many members has the first few.

use serde_json::{Value, json};

use super::INTERFACE;
use crate::commands::receipt_tree::printable;

/// Maximum length of a value in the report
const MAX_VALUE: usize = 160;
/// Maximum number of differences of one check
const MAX_OF_CHECK: usize = 8;

/// The result of a run
#[derive(Default)]
pub(super) struct Report {
    /// Number of requests that were compared
    pub(super) checks: usize,
    differences: Vec<Difference>,
    /// What was not checked, and why
    skipped: Vec<(String, String)>,
    /// What the server says it is
    pub(super) version: Option<String>,
    /// Whether it has the method that version 2.14 of the node added
    pub(super) has_tx_status: Option<bool>,
    /// Whether a time-out has its cause, as in version 2.14 of the node
    pub(super) has_timeout_cause: Option<bool>,
}

struct Difference {
    check: String,
    /// The path in the response; empty for the response itself
    member: String,
    expected: String,
    got: String,
}

impl Report {
    pub(super) fn differs(&self) -> bool {
        !self.differences.is_empty()
    }

    /// Adds a difference, unless the check has many already
    pub(super) fn differs_in(&mut self, check: &str, member: &str, expected: &str, got: &str) {
        let same = self.differences.iter().rev().take_while(|difference| difference.check == check);
        if same.count() < MAX_OF_CHECK {
            self.differences.push(Difference {
                check: check.to_owned(),
                member: shortened(member),
                expected: shortened(expected),
                got: shortened(got),
            });
        }
    }

    /// Adds what was not checked
    pub(super) fn skip(&mut self, what: &str, reason: &str) {
        self.skipped.push((what.to_owned(), shortened(reason)));
    }

    /// What the server looks like
    fn looks_like(&self) -> String {
        let age = match (self.has_tx_status, self.has_timeout_cause) {
            (Some(true), Some(true)) => "the interface of node 2.14 or later",
            (Some(true), _) => "the methods of node 2.14 or later, and the errors before",
            (Some(false), Some(true)) => "the methods before node 2.14, and its errors",
            (Some(false), _) => "a node before 2.14",
            (None, _) => "unknown",
        };
        let version = self.version.as_ref().map(|version| format!("{version}, "));
        version.unwrap_or_default() + age
    }

    /// The report as JSON
    pub(super) fn to_json(&self, url: &str) -> String {
        let differences: Vec<Value> = self.differences.iter().map(Difference::to_json).collect();
        let skipped = self.skipped.iter();
        let skipped = skipped.map(|(what, reason)| json!({ "check": what, "reason": reason }));
        let report = json!({
            "url": url,
            "interface": INTERFACE,
            "looks_like": self.looks_like(),
            "requests": self.checks,
            "differences": differences,
            "not_checked": skipped.collect::<Vec<Value>>(),
        });
        // A value always serializes.
        serde_json::to_string_pretty(&report).unwrap_or_default()
    }
}

impl Difference {
    fn to_json(&self) -> Value {
        let Self { check, member, expected, got } = self;
        json!({ "check": check, "member": member, "expected": expected, "got": got })
    }
}

/// A text of a server, without control characters and not longer than the limit
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_VALUE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    printable(&short)
}

#[test]
fn a_report_prints_no_control_characters_and_is_bounded() {
    let mut report = Report::default();
    for number in 0..100 {
        report.differs_in("one", &number.to_string(), "\u{1b}[31m", &"x".repeat(10_000));
    }
    report.skip("another", "\r\n");
    let text = report.to_json("http://a");
    assert!(text.len() < 4_000 && !text.contains(['\u{1b}', '\r']), "{text}");
    assert!(report.differs());
}
