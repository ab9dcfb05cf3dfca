//! The number of the last acknowledged commit, in a file beside the storage.
//!
//! redb reads the newer of two states, which one bit of its file selects: with another bit the
//! state before the last commit is read, as if that commit had not finished. So commits are
//! numbered: the number is a row of each, and is noted in `FILE.acknowledged` when the commit is
//! durable. A file with a smaller number than was noted for it is damaged. A note is not synced
//! and may be missing: any earlier number is true as well.

use core::hash::{BuildHasher as _, Hasher as _};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::RandomState;
use std::io::{self, ErrorKind as IoErrorKind, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use milepost::storage::{Key, Table};

use crate::{OpenError, OpenErrorKind, checksum};

/// A commit: which file it is of, and its number in it
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Commit {
    /// Chosen at random, so that a note about another file at the same path says nothing
    file: u64,
    number: u64,
}

impl Commit {
    /// The commit that creates a file, or the last one of a release without numbers
    pub(crate) fn first() -> Self {
        // The keys of a hasher are the random numbers of the standard library.
        Self { file: RandomState::new().build_hasher().finish(), number: 0 }
    }

    pub(crate) const fn next(self) -> Self {
        Self { file: self.file, number: self.number.saturating_add(1) }
    }

    /// The row and the note: file and number, little endian, and their checksum
    pub(crate) fn encode(self) -> Vec<u8> {
        let checksum = checksum::of(&self.key(), &self.number.to_le_bytes());
        [self.file.to_le_bytes(), self.number.to_le_bytes(), checksum].as_flattened().to_vec()
    }

    /// `None` if the bytes are not whole
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let ([file, number, _], []) = bytes.as_chunks() else { return None };
        let commit = Self { file: u64::from_le_bytes(*file), number: u64::from_le_bytes(*number) };
        (commit.encode() == bytes).then_some(commit)
    }

    /// The key that the checksum covers, as that of a row does
    fn key(self) -> Key {
        Key::number(Table::Chain, self.file)
    }
}

/// Checks that a file whose last commit is this one has what was acknowledged of it
pub(crate) fn check(path: &Path, last: Option<Commit>) -> Result<(), OpenError> {
    let beside = path_beside(path);
    let bytes = match fs::read(&beside) {
        Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(path, &beside, error)),
        Ok(bytes) => bytes,
    };
    // Not whole if it was never written, or torn by a power failure.
    let Some(noted) = Commit::decode(&bytes) else { return Ok(()) };
    let last = match last {
        Some(last) if last.file != noted.file || last.number >= noted.number => return Ok(()),
        Some(last) => format!("{} is the last one", last.number),
        None => "none has a number".to_owned(),
    };
    let (number, beside) = (noted.number, beside.display());
    Err(OpenError::new(
        OpenErrorKind::Damaged,
        path,
        format_args!(
            "commit {number} was acknowledged, and {last}: the file lost what was written, or is \
             an older copy; to continue with what it has, delete {beside}"
        ),
    ))
}

/// Whether a commit is noted beside a file that is not there
pub(crate) fn is_gone(path: &Path) -> Result<bool, OpenError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == IoErrorKind::NotFound => is_noted(path),
        _ => Ok(false),
    }
}

/// Whether a whole note is beside this path
pub(crate) fn is_noted(path: &Path) -> Result<bool, OpenError> {
    let beside = path_beside(path);
    match fs::read(&beside) {
        Err(error) if error.kind() == IoErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error(path, &beside, error)),
        Ok(bytes) => Ok(Commit::decode(&bytes).is_some()),
    }
}

/// Removes the note beside this path, if there is one
pub(crate) fn forget(path: &Path) -> Result<(), OpenError> {
    let beside = path_beside(path);
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != IoErrorKind::NotFound => Err(io_error(path, &beside, error)),
        _ => Ok(()),
    }
}

/// The error of the file beside a storage
fn io_error(path: &Path, beside: &Path, error: io::Error) -> OpenError {
    OpenError::caused_by(OpenErrorKind::Io, path, format_args!("{}: ", beside.display()), error)
}

fn path_beside(path: &Path) -> PathBuf {
    let mut beside = OsString::from(path);
    beside.push(".acknowledged");
    beside.into()
}

/// The file with the note
#[derive(Debug)]
pub(crate) struct Acknowledged(Mutex<File>);

impl Acknowledged {
    /// Opens the file beside this one, or creates it without a note
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let beside = path_beside(path);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&beside);
        file.map(|file| Self(Mutex::new(file))).map_err(|error| io_error(path, &beside, error))
    }

    /// Notes a commit that is durable
    pub(crate) fn note(&self, commit: Commit) {
        // Poisoned by a panic between two calls, which the next note does not depend on.
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If it fails, an earlier note remains, or none.
        let _ = file.rewind().and_then(|()| file.write_all(&commit.encode()));
    }
}
