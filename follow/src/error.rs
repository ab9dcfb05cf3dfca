//! Why a follower ended before its first block.

use alloc::string::{String, ToString as _};
use core::fmt;

/// Why a follower ended; asking again does not help
///
/// A follower ends only at a start: when no feed can serve its first block, for a reason that a
/// person has to see. A feed that has served blocks is asked again for as long as it takes.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FollowError {
    /// What kind of error it is
    pub kind: FollowErrorKind,
    /// The reason, in a sentence
    pub detail: String,
}

/// The kind of a [`FollowError`]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FollowErrorKind {
    /// Each feed belongs to another chain than the blocks of the host
    OtherChain,
    /// No feed has a block that is needed
    Missing,
    /// The feed refuses this client
    PermissionDenied,
    /// The feed is not set up to serve whole blocks
    Unsupported,
    /// The feed keeps sending messages that are malformed or incomplete
    Message,
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
