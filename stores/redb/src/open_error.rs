//! The error of opening a file: kind, path, detail and advice.

use core::error;
use core::fmt;
use std::path::{Path, PathBuf};

use milepost::{Error, ErrorKind};

/// Why a file was not opened
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// The file is not a storage of this crate
    NotAStorage,
    /// The file is a storage of another format version, older or newer
    Version,
    /// The file is a damaged storage
    Damaged,
    /// The file is open already, in this process or another
    Locked,
    /// An error of the operating system
    Io,
}

impl OpenErrorKind {
    /// What a user can do
    const fn advice(self) -> &'static str {
        match self {
            Self::NotAStorage => "choose another path, or move the file away",
            Self::Version => {
                "open it with the release that wrote it, or move it away and import again"
            }
            Self::Damaged => "restore a copy, or move it away and import again",
            Self::Locked => "close it there first",
            Self::Io => "check the path, its permissions and the disk",
        }
    }
}

/// Why a file was not opened; the file is unchanged
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

    /// The kind of the error
    pub const fn kind(&self) -> OpenErrorKind {
        self.kind
    }

    /// The path of the file
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The message, without the path and the advice
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
            OpenErrorKind::Version => ErrorKind::Version,
            _ => ErrorKind::Storage,
        };
        Self::new(kind, error)
    }
}
