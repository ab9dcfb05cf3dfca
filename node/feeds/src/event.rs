//! What happens while a feed is followed, for logs and metrics.

use core::time::Duration;

use milepost::primitives::BlockHeight;

use crate::source::Finality;

/// What happened; the observer of [`Settings`](crate::Settings) gets it
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A message was fetched; it may be handed out later, or not at all
    #[non_exhaustive]
    Fetched {
        /// The height of its block
        height: BlockHeight,
        /// When it was produced, in nanoseconds since 1970
        timestamp_nanos: u64,
        /// The length of the message
        bytes: usize,
        /// The stream that it came from
        finality: Finality,
        /// The time of the request that it came with, in which a feed may wait for the block
        duration: Duration,
        /// The number of the source, from 0 on
        source: usize,
    },
    /// A request failed and is repeated
    #[non_exhaustive]
    Retry {
        /// The HTTP status; `None` if there was no whole response, or a malformed message
        status: Option<u16>,
        /// How long the follower waits first; zero if it asks another source
        delay: Duration,
        /// What failed
        detail: String,
        /// The number of the source
        source: usize,
    },
    /// Another source is asked first from now on, because the one before failed; after a while
    /// the first one is asked first again
    #[non_exhaustive]
    SourceChanged {
        /// The number of the source
        source: usize,
    },
    /// A source is of another chain, and is not asked again
    #[non_exhaustive]
    SourceRefused {
        /// The number of the source
        source: usize,
        /// What says so; the predicate of a sentence about the source
        detail: String,
    },
    /// Heights without a block, proven by the next block
    #[non_exhaustive]
    Skipped {
        /// Number of heights
        count: u64,
    },
    /// A block that is handed out makes another branch canonical
    #[non_exhaustive]
    Reorg {
        /// Number of blocks that leave the canonical chain
        depth: u64,
    },
    /// The parent of a block was not handed out: the follower takes the final chain instead, from
    /// the last final block to this height
    #[non_exhaustive]
    LinkBroken {
        /// The height of the block
        height: BlockHeight,
    },
    /// The final chain is taken to catch up, which is far
    #[non_exhaustive]
    CatchUp {
        /// The first height
        first: BlockHeight,
        /// The height of the feed
        until: BlockHeight,
    },
    /// The feed has had no new block for this time; once until there is one
    #[non_exhaustive]
    Frozen {
        /// The time since the newest block arrived
        silence: Duration,
    },
    /// There is a new block after the feed was frozen
    Thawed,
}
