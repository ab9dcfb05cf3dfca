//! Events of a follower, for logs and metrics.

use alloc::string::String;

use milepost::primitives::{BlockHeight, CryptoHash};

use crate::request::Finality;

/// An event; durations are in milliseconds, and feeds are numbered from 0 on
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
        duration: u64,
        /// The feed that it came from
        feed: usize,
    },
    /// A request failed; it is repeated at this feed or another one
    #[non_exhaustive]
    Failed {
        /// The HTTP status; `None` if there was no whole response, or a malformed message
        status: Option<u16>,
        /// How long this feed is left alone
        delay: u64,
        /// The failure, for people
        detail: String,
        /// The feed
        feed: usize,
    },
    /// Another feed is asked first from now on
    #[non_exhaustive]
    FeedChanged {
        /// The feed that is asked first
        feed: usize,
        /// The feed that was, until now
        from: usize,
        /// Why
        reason: ChangeReason,
    },
    /// A feed has another chain; it is compared again each minute
    #[non_exhaustive]
    OtherChain {
        /// The feed
        feed: usize,
        /// The evidence; the predicate of a sentence about the feed
        detail: String,
    },
    /// No feed has had a block for half a minute that others build on
    #[non_exhaustive]
    Missing {
        /// Its height
        height: BlockHeight,
        /// Its hash
        hash: CryptoHash,
    },
    /// A block that no feed has was given up
    /// ([`Settings::with_skip`](crate::Settings::with_skip))
    #[non_exhaustive]
    GivenUp {
        /// Its height
        height: BlockHeight,
    },
    /// The feed does not have the blocks before its last final one that were asked for: the chain
    /// begins with the first that it has
    #[non_exhaustive]
    StartsLater {
        /// The height that was asked for
        asked: BlockHeight,
        /// The first height that the feed has
        first: BlockHeight,
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
    /// The parent of a block was not handed out, and is asked for
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
    /// No feed has had a new block for this time; once until there is one
    #[non_exhaustive]
    Frozen {
        /// The time since the newest block arrived
        silence: u64,
    },
    /// There is a new block after [`Self::Frozen`]
    Thawed,
}

/// Why another feed is asked first
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ChangeReason {
    /// The feed before had no new block for this time, and another one had
    #[non_exhaustive]
    Silent {
        /// Milliseconds
        silence: u64,
    },
    /// The feed before is behind another one
    #[non_exhaustive]
    Behind {
        /// Number of heights
        heights: u64,
    },
    /// Requests to the feed before fail
    #[non_exhaustive]
    Failed {
        /// The last failure
        detail: String,
    },
    /// A feed that comes earlier in the order of the host has recovered
    Returned,
}
