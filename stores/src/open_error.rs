//! Why a file was not opened: kind, path, what was found, what to do about it.

use core::error;
use core::fmt;
use std::path::{Path, PathBuf};

use milepost::{Error, ErrorKind};

/// Why a file was not opened
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// The file is there and is something else
    NotAStorage,
    /// The file is a storage in a format that this version does not read
    Version,
    /// The file is a storage and is damaged
    Damaged,
    /// The file is open already, in this process or another
    Locked,
    /// The operating system refused
    Io,
}

impl OpenErrorKind {
    /// What a person can do about it
    const fn advice(self) -> &'static str {
        match self {
            Self::NotAStorage => "choose another path, or move the file away",
            Self::Version => {
                "open it with the version that wrote it, or move it away and ingest again"
            }
            Self::Damaged => "restore a copy, or move it away and ingest again",
            Self::Locked => "close it there first",
            Self::Io => "check the path, its permissions and the disk",
        }
    }
}

/// A file that was not opened, and is as it was
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenError {
    kind: OpenErrorKind,
    path: PathBuf,
    detail: String,
}

impl OpenError {
    pub(crate) fn new(kind: OpenErrorKind, path: &Path, detail: impl fmt::Display) -> Self {
        Self { kind, path: path.to_owned(), detail: detail.to_string() }
    }

    /// Why it was not opened
    pub const fn kind(&self) -> OpenErrorKind {
        self.kind
    }

    /// The file
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was found, without the path and without advice
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.path.display(), self.detail, self.kind.advice())
    }
}

impl error::Error for OpenError {}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        let kind = match error.kind {
            OpenErrorKind::Damaged => ErrorKind::Corrupt,
            _ => ErrorKind::Storage,
        };
        Self::new(kind, error)
    }
}
