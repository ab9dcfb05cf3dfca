//! Files and directories of a feed, with errors that name the path.

use alloc::borrow::Cow;
use core::fmt::Display;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Maximum size of a message, or of a file that is a part of one: more than ten times the largest
/// blocks of large networks
const MAX_FILE_LEN: u64 = 512 << 20;

/// The bytes of a file of at most [`MAX_FILE_LEN`]
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    check_length(path, fs::metadata(path).map_err(|error| with_path(path, error))?.len())?;
    fs::read(path).map_err(|error| with_path(path, error))
}

/// Checks the length of a file, or of what is read of it, against [`MAX_FILE_LEN`]
pub(super) fn check_length(path: &Path, length: u64) -> Result<(), String> {
    if length > MAX_FILE_LEN {
        return Err(with_path(path, format!("{length} bytes, the limit is {MAX_FILE_LEN}")));
    }
    Ok(())
}

pub(super) fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| with_path(path, error))
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

/// The last part of a path
pub(super) fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// The text of an error, after the path of its file
pub(super) fn with_path(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}
