//! Why a command ends: a sentence, and the exit code of the program.

use core::fmt::{self, Display};

use milepost::{Error, ErrorKind};

/// Why a command ends
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Failure {
    pub(crate) text: String,
    /// The exit code of the program
    pub(crate) code: u8,
}

impl Failure {
    /// The options contradict each other or the store, which another start does not change
    pub(crate) const fn usage(text: String) -> Self {
        Self { text, code: 2 }
    }

    /// The store or an archive is lost or damaged, which another start does not change
    pub(crate) const fn damaged(text: String) -> Self {
        Self { text, code: 3 }
    }

    /// One of this kind of error with another text
    pub(crate) fn of_kind(kind: ErrorKind, text: String) -> Self {
        match kind {
            ErrorKind::Corrupt => Self::damaged(text),
            _ => text.into(),
        }
    }

    /// Two parts of a start that belong to different chains
    pub(crate) fn chains_differ(place: &str, chain: &str, other: &str, other_chain: &str) -> Self {
        Self::usage(chains_differ(place, chain, other, other_chain))
    }
}

/// The sentence about two parts of a start that belong to different chains
pub(crate) fn chains_differ(place: &str, chain: &str, other: &str, other_chain: &str) -> String {
    format!("{place} belongs to {chain}, and {other} to {other_chain}")
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, code: 1 }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of_kind(error.kind(), error.to_string())
    }
}
