//! Files and directories of a feed, with errors that name the path.

use core::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of a file: more than ten times the largest blocks of large networks
const MAX_FILE_LEN: u64 = 512 << 20;

/// The bytes of a file of at most [`MAX_FILE_LEN`]
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let length = fs::metadata(path).map_err(|error| with_path(path, error))?.len();
    if length > MAX_FILE_LEN {
        return Err(with_path(path, format!("file of {length} bytes exceeds {MAX_FILE_LEN}")));
    }
    fs::read(path).map_err(|error| with_path(path, error))
}

/// The paths in a directory, in no particular order
pub(super) fn list(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let read = fs::read_dir(directory).map_err(|error| with_path(directory, error))?;
    let entries: Result<Vec<_>, _> = read.map(|entry| entry.map(|entry| entry.path())).collect();
    entries.map_err(|error| with_path(directory, error))
}

pub(super) fn is_directory(path: &Path) -> Result<bool, String> {
    fs::metadata(path).map(|metadata| metadata.is_dir()).map_err(|error| with_path(path, error))
}

/// The text of an error, after the path of its file
pub(super) fn with_path(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}
