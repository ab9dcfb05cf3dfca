//! Recorded data of the network, if it is present: blocks, responses, transactions.
//!
//! The data is in `../shared/data` next to the repository, or in `data` below the folder that
//! `MILEPOST_SHARED` names. It is not part of the repository: without it, a test that reads it
//! prints that it is left out, and passes, unless `MILEPOST_REQUIRE_SHARED` is 1.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Returns the folder of this name; prints a line and returns `None` if it does not exist
///
/// # Panics
///
/// If it does not exist and is required.
pub fn folder(name: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = env::var_os("MILEPOST_SHARED").map_or_else(default, PathBuf::from);
    let folder = shared.join("data").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let is_required = env::var("MILEPOST_REQUIRE_SHARED").is_ok_and(|it| it == "1");
    assert!(!is_required, "no recorded data in {}", folder.display());
    println!("left out: no shared folder, and so no {}", folder.display());
    None
}

/// Returns name and content of the files with this prefix, by name; empty without the folder
///
/// # Panics
///
/// If the folder exists and cannot be read.
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
