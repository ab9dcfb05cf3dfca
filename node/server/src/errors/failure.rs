//! Why a server or an import ends: a sentence, and the exit code of the program.

use core::fmt::{self, Display};

use milepost::{Error, ErrorKind};

/// Why a server or an import ends
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Failure {
    /// The options contradict each other or the store, which another start does not change
    Usage(String),
    /// The store or an archive is lost or damaged, which another start does not change
    Damaged(String),
    Other(String),
}

impl Failure {
    /// The text, and the exit code of the program
    pub(crate) fn into_text_and_code(self) -> (String, u8) {
        match self {
            Self::Usage(text) => (text, 2),
            Self::Damaged(text) => (text, 3),
            Self::Other(text) => (text, 1),
        }
    }
}

impl Failure {
    /// One with this exit code of the program
    pub(crate) const fn with_code(code: u8, text: String) -> Self {
        match code {
            2 => Self::Usage(text),
            3 => Self::Damaged(text),
            _ => Self::Other(text),
        }
    }

    /// One of this kind of error with another text
    pub(crate) fn of_kind(kind: ErrorKind, text: String) -> Self {
        match kind {
            ErrorKind::Corrupt => Self::Damaged(text),
            _ => Self::Other(text),
        }
    }

    /// Two parts of a start that belong to different chains
    pub(crate) fn chains_differ(place: &str, chain: &str, other: &str, other_chain: &str) -> Self {
        Self::Usage(chains_differ(place, chain, other, other_chain))
    }
}

/// The sentence about two parts of a start that belong to different chains
pub(crate) fn chains_differ(place: &str, chain: &str, other: &str, other_chain: &str) -> String {
    format!("{place} belongs to {chain}, and {other} to {other_chain}")
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(text) | Self::Damaged(text) | Self::Other(text)) = self;
        formatter.write_str(text)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of_kind(error.kind(), error.to_string())
    }
}
