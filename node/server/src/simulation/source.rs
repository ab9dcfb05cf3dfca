//! The feed as the follower asks it: a feed in memory with faults by the seed.

use alloc::sync::Arc;

use milepost_feeds::{Ask, FeedSettings, Pace, Response, Source, SourceError};
use milepost_testing::feed::Feed;

/// A feed in this process
pub(super) struct MemorySource(pub(super) Arc<Feed>);

impl Source for MemorySource {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default().with_requests_per_minute(u32::MAX)
    }

    async fn answer(&self, ask: Ask, _: &Pace) -> Result<Response, SourceError> {
        self.0.answer(ask).await
    }
}
