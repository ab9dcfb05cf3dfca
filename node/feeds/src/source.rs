//! What a follower needs of a feed: the block of a height, and the last final block.
//!
//! A source makes one attempt and says what came of it; it neither repeats nor believes anything.
//! What an error means for the follower is its kind, not its text.

use core::fmt;
use core::time::Duration;

use milepost::primitives::{BlockHeight, CryptoHash};

/// A feed of block messages
///
/// Each call is one attempt: the follower decides when to repeat it, how long to wait before, and
/// whether to believe the result. Calls run on tasks of their own, up to three at a time.
///
/// A source says what it has and nothing else. For a height that is not produced yet it may wait,
/// some seconds at most, or return [`SourceErrorKind::TooHigh`]. A source of final blocks only
/// returns them for both values of [`Finality`].
pub trait Source: Send + Sync + 'static {
    /// The message of the block at a height
    ///
    /// # Errors
    ///
    /// Why there is none, as far as it is known.
    fn block(
        &self,
        request: BlockRequest,
    ) -> impl Future<Output = Result<Fetched, SourceError>> + Send;

    /// The messages of the final chain at ten heights, from `first` on, which is a multiple of ten;
    /// `None` if the source does not have them together, as is the default
    ///
    /// The follower catches up by it, and takes single blocks where it gets `None` or an error.
    ///
    /// # Errors
    ///
    /// Why there are none, as far as it is known.
    fn archive(
        &self,
        first: BlockHeight,
    ) -> impl Future<Output = Result<Option<Vec<Vec<u8>>>, SourceError>> + Send {
        let _ = first;
        core::future::ready(Ok(None))
    }

    /// The message of the block with a hash, on whatever branch; `None` if the source does not find
    /// blocks by their hashes, as is the default
    ///
    /// The follower asks for the ancestors of a block by it when the chain of the source has
    /// changed to another branch, and takes the final chain where it gets `None`.
    ///
    /// # Errors
    ///
    /// Why there is none, as far as it is known.
    fn block_by_hash(
        &self,
        hash: CryptoHash,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, SourceError>> + Send {
        let _ = hash;
        core::future::ready(Ok(None))
    }

    /// The name of the chain (`chain_id` of its configurations); `None` if the source does not say
    /// it, as is the default
    ///
    /// Asked for once, and only if [`Settings::with_chain_id`](crate::Settings::with_chain_id)
    /// names the chain.
    ///
    /// # Errors
    ///
    /// Why there is none, as far as it is known.
    fn chain_id(&self) -> impl Future<Output = Result<Option<String>, SourceError>> + Send {
        core::future::ready(Ok(None))
    }

    /// The message of the last final block
    ///
    /// # Errors
    ///
    /// Why there is none, as far as it is known.
    fn last_final(&self) -> impl Future<Output = Result<Fetched, SourceError>> + Send;
}

/// A request for the block at a height
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
}

/// Which chain of a feed is asked
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "feeds have these two streams")]
pub enum Finality {
    /// Blocks as soon as they are produced, which may be on a fork
    Optimistic,
    /// Final blocks
    Final,
}

/// What a source has at a height
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there is a block or there is none")]
pub enum Fetched {
    /// The text of a block message
    Message(Vec<u8>),
    /// No block, as the source says; not believed before the next block confirms it
    Empty,
}

/// Why a source returned nothing
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SourceError {
    /// What the follower does about it
    pub kind: SourceErrorKind,
    /// The HTTP status, if the source has one
    pub status: Option<u16>,
    /// How long the source asks to be left alone
    pub retry_after: Option<Duration>,
    /// What happened, for people; without secrets
    pub detail: String,
}

/// What a follower does about a [`SourceError`]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The height is above what the feed has: the follower waits
    TooHigh,
    /// The feed does not have blocks that old: the follower stops
    TooLow,
    /// The feed refuses this client: the follower stops
    PermissionDenied,
    /// The feed is not set up to serve whole blocks, or not this one: the follower stops
    Unsupported,
    /// Anything that may pass: the follower asks again
    Temporary,
}

impl SourceErrorKind {
    /// Whether asking this source again does not help
    pub(crate) const fn is_for_good(self) -> bool {
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
