//! Where a store is: in memory, in a file, or in a directory with an archive beside it.

use core::str::FromStr;
use std::path::{self, Path, PathBuf};

/// Where the rows of a store are kept
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StoreLocation {
    /// In memory, until the program ends
    Memory,
    /// In this file
    File(PathBuf),
    /// In a file of this directory, with an archive beside it
    Directory(PathBuf),
}

impl StoreLocation {
    /// A store that is not in memory: a directory if it is one or ends with a slash, else a file
    pub(crate) fn durable(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("no store: a file or a directory".to_owned());
        }
        let is_directory = text.ends_with(path::is_separator) || Path::new(text).is_dir();
        Ok(if is_directory { Self::Directory(text.into()) } else { Self::File(text.into()) })
    }

    /// The file, unless the rows are in memory
    pub(crate) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Memory => None,
            Self::File(path) => Some(path.clone()),
            Self::Directory(path) => Some(path.join("chain.milepost")),
        }
    }
}

impl FromStr for StoreLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => Err("no store: `memory`, a file or a directory".to_owned()),
            "memory" => Ok(Self::Memory),
            _ => Self::durable(text),
        }
    }
}

/// Parses the file of a store, or a directory that has one
pub(crate) fn store_file(text: &str) -> Result<PathBuf, String> {
    StoreLocation::durable(text).map(|location| location.file().unwrap_or_default())
}
