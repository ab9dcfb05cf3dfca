//! The error of opening a file: kind, path, detail and advice.
//!
//! Its text says what a user can do. What redb or the operating system reported is its source.

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
    /// The kind of the engine's error
    const fn error_kind(self) -> ErrorKind {
        match self {
            Self::Damaged => ErrorKind::Corrupt,
            Self::Version => ErrorKind::Version,
            Self::NotAStorage | Self::Locked | Self::Io => ErrorKind::Storage,
        }
    }

    /// The remedy for a user
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
    /// Its text and its source
    error: Error,
}

impl OpenError {
    pub(crate) fn new(kind: OpenErrorKind, path: &Path, detail: impl fmt::Display) -> Self {
        Self { kind, path: path.to_owned(), error: Error::new(kind.error_kind(), detail) }
    }

    /// An error of the operating system, or of redb with the prefix `redb: `
    pub(crate) fn caused_by(
        kind: OpenErrorKind,
        path: &Path,
        prefix: impl fmt::Display,
        source: impl error::Error + Send + Sync + 'static,
    ) -> Self {
        let error = Error::new(kind.error_kind(), format_args!("{prefix}{source}"));
        let error = error.with_source(source);
        Self { kind, path: path.to_owned(), error }
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
        self.error.detail()
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.path.display(), self.detail(), self.kind.advice())
    }
}

impl error::Error for OpenError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.error.source()
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Self::new(error.kind.error_kind(), &error).with_source(error)
    }
}
