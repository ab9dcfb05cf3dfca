//! The verdicts of the conformance kit, as the table in `docs/CONFORMANCE.md` has them.

use std::fs;
use std::path::Path;

/// The broken storages by name, each with the verdicts in the order of the columns
///
/// # Panics
///
/// If the page cannot be read.
pub fn storages() -> Vec<(String, Vec<String>)> {
    table("| broken storage |")
}

/// The rows of the table whose header begins like this
fn table(header: &str) -> Vec<(String, Vec<String>)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/CONFORMANCE.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let rows = page.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let row = |line| {
        let mut cells = cells(line).into_iter();
        (cells.next().unwrap_or_default(), cells.collect())
    };
    rows.take_while(|line| line.starts_with('|')).map(row).collect()
}
