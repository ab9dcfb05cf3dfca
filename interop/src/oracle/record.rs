//! What the node's crates say of fixed inputs, kept in files that the ordinary tests read.
//!
//! A test adds its facts while it compares; they are written when `MILEPOST_RECORD` names a
//! directory, and are the same in every run. A file has a fact in each line, as JSON, and is
//! compressed.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};
use serde_json::Value;

/// The facts of one test
#[derive(Debug)]
pub struct Record {
    path: Option<PathBuf>,
    lines: String,
}

impl Record {
    /// The record of this name
    pub fn new(name: &str) -> Self {
        let directory = env::var_os("MILEPOST_RECORD").map(PathBuf::from);
        let path = directory.map(|directory| directory.join(format!("{name}.jsonl.gz")));
        Self { path, lines: String::new() }
    }

    /// Adds a fact
    pub fn add(&mut self, fact: &Value) {
        if self.path.is_some() {
            self.lines.push_str(&fact.to_string());
            self.lines.push('\n');
        }
    }

    /// Writes the facts, when all comparisons have passed
    ///
    /// # Panics
    ///
    /// When the file cannot be written.
    pub fn finish(self) {
        let Some(path) = self.path else { return };
        // Without a time, so that equal facts are equal files.
        let mut file = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        file.write_all(self.lines.as_bytes()).expect("memory");
        fs::write(path, file.finish().expect("memory")).expect("the record is written");
    }
}
