//! Requests to feeds, and their responses.
//!
//! A host makes one attempt for each request and reports the result; it neither repeats nor
//! checks anything. The kind of a failure decides the reaction of the follower, not its text.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use milepost::primitives::{BlockHeight, CryptoHash};

/// A request that the host sends
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Its number, which its response is handed in with
    pub id: u64,
    /// The number of the feed, from 0 on
    pub feed: usize,
    /// The question
    pub ask: Ask,
    /// When the host can give it up, in milliseconds
    pub deadline: u64,
}

/// A question to a feed
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "a host answers each")]
pub enum Ask {
    /// The message of the block at a height
    ///
    /// For a height that is not produced yet, a feed may hold the response back for some seconds,
    /// or fail with [`SourceErrorKind::TooHigh`].
    Block(BlockRequest),
    /// The message of the block with a hash, on whatever branch; asked only of feeds with
    /// [`FeedSettings::by_hash`](crate::FeedSettings::by_hash)
    BlockByHash(CryptoHash),
    /// The messages of the final chain at ten heights, from a multiple of ten on; asked only of
    /// feeds with [`FeedSettings::archives`](crate::FeedSettings::archives)
    Archive(BlockHeight),
    /// The message of the last final block
    LastFinal,
    /// The newest block, with its shards or without
    Head(Finality),
    /// The name of the chain, `chain_id` of its configurations
    ChainId,
}

/// A request for the block at a height
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub struct BlockRequest {
    /// The height
    pub height: BlockHeight,
    /// Which chain of the feed is asked
    pub finality: Finality,
    /// Whether caches must not answer: an earlier response was wrong
    pub bypass_caches: bool,
}

impl BlockRequest {
    /// A request that caches may answer
    pub const fn new(height: BlockHeight, finality: Finality) -> Self {
        Self { height, finality, bypass_caches: false }
    }

    /// The same past caches
    #[must_use]
    pub const fn past_caches(mut self) -> Self {
        self.bypass_caches = true;
        self
    }
}

/// Which chain of a feed is asked
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "feeds have these two streams")]
pub enum Finality {
    /// Blocks as soon as they are produced, which may be on a fork
    Optimistic,
    /// Final blocks
    Final,
}

/// The response of a feed
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a host makes each")]
pub enum Response {
    /// The text of a block message; for [`Ask::Head`] also of its member `block` alone
    Message(Vec<u8>),
    /// The texts of the block messages of [`Ask::Archive`]
    Archive(Vec<Vec<u8>>),
    /// The name of the chain; `None` if the feed does not say it
    ChainId(Option<String>),
    /// No such block, as the feed says; not believed before the next block confirms it
    Absent {
        /// The height of the feed's newest block, if it is known
        newest: Option<BlockHeight>,
    },
    /// No answer
    Failed(SourceError),
}

/// Why a source returned nothing
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SourceError {
    /// Decides the reaction of the follower
    pub kind: SourceErrorKind,
    /// The HTTP status, if the source has one
    pub status: Option<u16>,
    /// How long the source asks to be left alone
    pub retry_after: Option<Duration>,
    /// The failure, for people; without secrets
    pub detail: String,
}

/// The kind of a [`SourceError`]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The height is above the newest block of the feed: the follower waits
    TooHigh,
    /// The feed does not have blocks that old
    TooLow,
    /// The feed refuses this client
    PermissionDenied,
    /// The feed is not set up to serve whole blocks, or not this one
    Unsupported,
    /// Anything that may pass: the follower asks again
    Temporary,
}

impl SourceErrorKind {
    /// Whether another feed is asked before this one is asked again
    pub(crate) const fn is_refusal(self) -> bool {
        matches!(self, Self::TooLow | Self::PermissionDenied | Self::Unsupported)
    }
}

impl SourceError {
    /// An error of this kind
    pub fn new(kind: SourceErrorKind, detail: impl fmt::Display) -> Self {
        Self { kind, status: None, retry_after: None, detail: detail.to_string() }
    }

    /// The same with the HTTP status of the response
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The same with the time that the source asks to be left alone
    #[must_use]
    pub const fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.detail)
    }
}

impl core::error::Error for SourceError {}
