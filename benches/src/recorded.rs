//! Block messages: from the practice chain, and recorded ones where they are at hand.
//!
//! Recorded blocks lie in `../shared/data/lake` beside the repository, or below the folder that
//! `MILEPOST_SHARED` names. They are not part of the repository, and without them the practice chain
//! has to do.

use std::path::{Path, PathBuf};
use std::{env, fs};

use milepost_practice::{Practice, Settings};

/// A block of a practice chain with so many new transactions in each, in four shards
///
/// It is some blocks into the chain, so receipts of earlier ones are executed in it.
pub fn practice_block(transactions: u64) -> Vec<u8> {
    let mut practice = Practice::new(Settings {
        transactions: transactions..=transactions,
        skips: 0,
        missing_chunks: 0,
        late_outcomes: 0,
        ..Settings::demo(11)
    });
    let mut messages = core::iter::from_fn(|| Some(practice.next_message().json));
    messages.nth(12).expect("the chain has no end")
}

/// The recorded block messages with their names, in the order of these; none without the folder
///
/// # Panics
///
/// When the folder is there and cannot be read.
pub fn recorded_blocks() -> Vec<(String, Vec<u8>)> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let folder =
        env::var_os("MILEPOST_SHARED").map_or_else(beside, PathBuf::from).join("data/lake");
    let Ok(entries) = fs::read_dir(&folder) else {
        println!("left out: no recorded blocks in {}", folder.display());
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let mut blocks: Vec<(String, Vec<u8>)> = paths
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .map(|(name, path)| (name, fs::read(path).expect("recorded blocks can be read")))
        .collect();
    blocks.sort();
    blocks
}
