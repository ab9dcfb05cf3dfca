//! Settings of a follower and of its feeds, with their defaults.
//!
//! The defaults are those of a public feed with a block each 0.6 seconds; where to start is no
//! setting but an argument of the follower.

use alloc::string::String;
use core::time::Duration;

use milepost::config::TrackedShards;
use milepost::primitives::BlockHeight;

/// Settings of a follower
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) retry: u64,
    pub(crate) max_retry: u64,
    pub(crate) frozen_after: u64,
    pub(crate) return_after: u64,
    pub(crate) start_margin: u64,
    pub(crate) max_catch_up: u64,
    pub(crate) skip: Option<BlockHeight>,
    pub(crate) track_shards: TrackedShards,
    pub(crate) chain_id: Option<String>,
    pub(crate) seed: u64,
}

/// The whole milliseconds of a duration
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Settings {
    /// The time for which a feed is left alone after a failure, which doubles with each further one
    /// up to a maximum; a quarter of a second and 30 s by default
    ///
    /// Each wait is shortened at random by up to half. A feed that asks for a longer one gets it. A
    /// feed that refuses the client is left for four times the first, and twice the maximum.
    #[must_use]
    pub fn with_retry(mut self, first: Duration, max: Duration) -> Self {
        self.retry = millis(first);
        self.max_retry = millis(max);
        self
    }

    /// The time without a new block after which all feeds are asked for the next one; 30 s by
    /// default
    #[must_use]
    pub fn with_frozen_after(mut self, frozen_after: Duration) -> Self {
        self.frozen_after = millis(frozen_after).max(1);
        self
    }

    /// The time for which a feed that is behind or keeps failing is asked after the others, which
    /// doubles up to an hour as long as it fails early; five minutes by default
    #[must_use]
    pub fn with_return_after(mut self, return_after: Duration) -> Self {
        self.return_after = millis(return_after);
        self
    }

    /// How many heights before the last final block a host without a stored chain starts, unless it
    /// starts at a height; 0 by default
    ///
    /// The outcomes of a transaction that is in flight at the start are whole only if its first
    /// block is imported. A feed that does not have that many blocks starts with its first one.
    #[must_use]
    pub const fn with_start_margin(mut self, heights: u64) -> Self {
        self.start_margin = heights;
        self
    }

    /// The number of heights behind the last final block of the feed up to which a stored chain is
    /// continued; any by default
    ///
    /// One that is further behind is left: the chain begins anew, as without one, with a gap.
    #[must_use]
    pub const fn with_max_catch_up(mut self, heights: u64) -> Self {
        self.max_catch_up = heights;
        self
    }

    /// The height of a block that no feed has any more, such as the last one below all feeds: the
    /// next block is handed out without it; none by default
    ///
    /// For the engine, the complete heights end before the gap and begin anew after it.
    #[must_use]
    pub const fn with_skip(mut self, height: BlockHeight) -> Self {
        self.skip = Some(height);
        self
    }

    /// The shards that messages must have, for a feed that has some only; all by default
    #[must_use]
    pub const fn with_track_shards(mut self, track_shards: TrackedShards) -> Self {
        self.track_shards = track_shards;
        self
    }

    /// The name of the chain: a feed that says that it has another one is not believed; by default
    /// any is
    #[must_use]
    pub fn with_chain_id(mut self, chain_id: impl Into<String>) -> Self {
        self.chain_id = Some(chain_id.into());
        self
    }

    /// The seed of the random part of waits, different in each process; 0 by default
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: 250,
            max_retry: 30_000,
            frozen_after: 30_000,
            return_after: 300_000,
            start_margin: 0,
            max_catch_up: u64::MAX,
            skip: None,
            track_shards: TrackedShards::ALL,
            chain_id: None,
            seed: 0,
        }
    }
}

/// The abilities of a feed
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FeedSettings {
    /// The maximum number of requests in any minute; 170 by default, as a public feed allows 180
    pub requests_per_minute: u32,
    /// Whether it serves ten heights of the final chain at once, as far as it has them
    pub archives: bool,
    /// Whether it serves blocks by their hashes
    pub by_hash: bool,
}

impl Default for FeedSettings {
    fn default() -> Self {
        Self { requests_per_minute: 170, archives: false, by_hash: false }
    }
}

impl FeedSettings {
    /// The same with another budget
    #[must_use]
    pub const fn with_requests_per_minute(mut self, requests: u32) -> Self {
        self.requests_per_minute = requests;
        self
    }

    /// The same for a feed that serves ten heights of the final chain at once
    #[must_use]
    pub const fn with_archives(mut self) -> Self {
        self.archives = true;
        self
    }

    /// The same for a feed that serves blocks by their hashes
    #[must_use]
    pub const fn with_blocks_by_hash(mut self) -> Self {
        self.by_hash = true;
        self
    }
}
