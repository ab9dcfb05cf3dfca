//! Recorded data of the network, where it is at hand: blocks, answers, transactions.
//!
//! It lies in `../shared/data` beside the repository, or below the folder that `MILEPOST_SHARED`
//! names. It is not part of the repository, and no test needs it: without it, a test that would read
//! it prints so and passes.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folder of this name; a line is printed when it is not there
pub fn folder(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = env::var_os("MILEPOST_SHARED").map_or_else(beside, PathBuf::from);
    let folder = shared.join("data").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no recorded data in {}", folder.display());
    None
}

/// The files of a folder whose names begin so, by name, with their bytes; none without the folder
///
/// # Panics
///
/// When the folder is there and cannot be read.
pub fn files(name: &str, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let Some(folder) = folder(name) else { return Vec::new() };
    let entries = fs::read_dir(folder).expect("recorded data can be listed");
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let named = paths.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)));
    let mut files: Vec<(String, Vec<u8>)> = named
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, path)| (name, fs::read(path).expect("recorded data can be read")))
        .collect();
    files.sort();
    files
}
