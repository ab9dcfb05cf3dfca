//! Why a follower stopped.

use core::fmt;

/// Why a follower stopped; asking again does not help
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FollowError {
    /// What kind of error it is
    pub kind: FollowErrorKind,
    /// What happened, in a sentence
    pub detail: String,
}

/// The kind of a [`FollowError`]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FollowErrorKind {
    /// The feed contradicts a block that was final
    Contradiction,
    /// The feed belongs to another chain than the blocks of the host
    OtherChain,
    /// The feed does not have a block that is needed
    Missing,
    /// The feed refuses this client
    PermissionDenied,
    /// The feed is not set up to serve whole blocks
    Unsupported,
    /// The feed keeps sending messages that are malformed or incomplete
    Message,
    /// More blocks without a final one than a sound chain has
    Unfinalized,
    /// The source panicked
    Source,
}

impl FollowError {
    pub(crate) fn new(kind: FollowErrorKind, detail: impl fmt::Display) -> Self {
        Self { kind, detail: detail.to_string() }
    }
}

impl fmt::Display for FollowError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.detail)
    }
}

impl core::error::Error for FollowError {}
