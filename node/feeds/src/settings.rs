//! Settings of a follower, with their defaults.
//!
//! The defaults are those of a public feed with a block each 0.6 seconds; where to start is no
//! setting but an argument of the follower.

use alloc::sync::Arc;
use core::fmt;
use core::hash::BuildHasher as _;
use core::time::Duration;
use std::hash::RandomState;

use milepost::config::TrackedShards;

use crate::event::Event;

/// Settings of a follower
#[derive(Clone)]
pub struct Settings {
    pub(crate) lookahead: u64,
    pub(crate) retry: Duration,
    pub(crate) max_retry: Duration,
    pub(crate) frozen_after: Duration,
    pub(crate) return_after: Duration,
    pub(crate) max_unfinalized: usize,
    pub(crate) start_margin: u64,
    pub(crate) track_shards: TrackedShards,
    pub(crate) chain_id: Option<String>,
    pub(crate) seed: u64,
    pub(crate) observer: Option<Arc<dyn Fn(Event) + Send + Sync>>,
}

impl Settings {
    /// The number of heights that are asked above the next one, at most 9: feeds refuse more than
    /// ten above their newest block; 2 by default
    #[must_use]
    pub const fn with_lookahead(mut self, lookahead: u64) -> Self {
        self.lookahead = if lookahead < 9 { lookahead } else { 9 };
        self
    }

    /// The wait before the first repetition of a failed request, which doubles with each further
    /// one up to a maximum; half a second and 30 s by default
    ///
    /// Each wait is shortened at random by up to half. A source that asks for a longer one gets it.
    #[must_use]
    pub const fn with_retry(mut self, first: Duration, max: Duration) -> Self {
        self.retry = first;
        self.max_retry = max;
        self
    }

    /// The time without a new block after which the feed counts as frozen; 30 s by default
    #[must_use]
    pub const fn with_frozen_after(mut self, frozen_after: Duration) -> Self {
        self.frozen_after = frozen_after;
        self
    }

    /// The time after which the first of several sources is asked first again after it failed,
    /// which doubles up to an hour as long as it fails early; five minutes by default
    #[must_use]
    pub const fn with_return_after(mut self, return_after: Duration) -> Self {
        self.return_after = return_after;
        self
    }

    /// The maximum number of blocks from the last final one on; 1000 by default
    ///
    /// The engine keeps no more blocks of forks than about that.
    #[must_use]
    pub const fn with_max_unfinalized(mut self, blocks: usize) -> Self {
        self.max_unfinalized = blocks;
        self
    }

    /// How many heights before the last final block a host without a stored chain starts, unless it
    /// starts at a height; 0 by default
    ///
    /// The outcomes of a transaction that is in flight at the start are whole only if its first
    /// block is taken in. A feed that does not have that many blocks starts with the oldest that it
    /// was found to have, by halving the number.
    #[must_use]
    pub const fn with_start_margin(mut self, heights: u64) -> Self {
        self.start_margin = heights;
        self
    }

    /// The shards that messages must have, for a feed that has some only; all by default
    #[must_use]
    pub const fn with_track_shards(mut self, track_shards: TrackedShards) -> Self {
        self.track_shards = track_shards;
        self
    }

    /// The name of the chain: a source that says that it is of another one is not believed; by
    /// default any is
    #[must_use]
    pub fn with_chain_id(mut self, chain_id: impl Into<String>) -> Self {
        self.chain_id = Some(chain_id.into());
        self
    }

    /// The seed of the random part of waits; different in each process by default
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Called with every event, on the tasks of the follower; it must not block
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    pub(crate) fn observe(&self, event: Event) {
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lookahead: 2,
            retry: Duration::from_millis(500),
            max_retry: Duration::from_secs(30),
            frozen_after: Duration::from_secs(30),
            return_after: Duration::from_secs(300),
            max_unfinalized: 1_000,
            start_margin: 0,
            track_shards: TrackedShards::ALL,
            chain_id: None,
            seed: RandomState::new().hash_one(0),
            observer: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("lookahead", &self.lookahead)
            .field("retry", &self.retry)
            .field("max_retry", &self.max_retry)
            .field("frozen_after", &self.frozen_after)
            .field("start_margin", &self.start_margin)
            .field("track_shards", &self.track_shards)
            .field("chain_id", &self.chain_id)
            .field("return_after", &self.return_after)
            .field("max_unfinalized", &self.max_unfinalized)
            .finish_non_exhaustive()
    }
}
