//! Blocks that are fetched ahead of the one that is needed next.
//!
//! Each height is asked once, on a task of its own, until it is taken. A dropped value ends its
//! tasks.

use alloc::collections::{BTreeMap, BTreeSet};

use milepost::primitives::BlockHeight;
use tokio::task::JoinSet;

use crate::error::{FollowError, FollowErrorKind};
use crate::fetcher::Fetcher;
use crate::message::FeedBlock;
use crate::source::{BlockRequest, Finality, Source};

type FetchResult = Result<Option<FeedBlock>, FollowError>;

/// Blocks of one stream that are being fetched
pub(crate) struct Ahead {
    finality: Finality,
    bypass_caches: bool,
    tasks: JoinSet<(BlockHeight, FetchResult)>,
    requested: BTreeSet<BlockHeight>,
    ready: BTreeMap<BlockHeight, FetchResult>,
}

impl Ahead {
    pub(crate) fn new(finality: Finality, bypass_caches: bool) -> Self {
        Self {
            finality,
            bypass_caches,
            tasks: JoinSet::new(),
            requested: BTreeSet::new(),
            ready: BTreeMap::new(),
        }
    }

    /// The block at this height, while those above it are fetched; can be cancelled
    pub(crate) async fn take<S: Source>(
        &mut self,
        height: BlockHeight,
        fetcher: &Fetcher<S>,
    ) -> FetchResult {
        let lookahead = if self.bypass_caches { 0 } else { fetcher.settings.lookahead };
        for height in height..=height.saturating_add(lookahead) {
            if self.requested.insert(height) {
                let fetcher = fetcher.clone();
                let mut request = BlockRequest::new(height, self.finality);
                request.bypass_caches = self.bypass_caches;
                self.tasks.spawn(async move { (height, fetcher.block(request).await) });
            }
        }
        loop {
            if let Some(result) = self.ready.remove(&height) {
                self.requested.remove(&height);
                return result;
            }
            match self.tasks.join_next().await {
                Some(Ok((height, result))) => self.ready.insert(height, result),
                // The task of this height is among them until its result is ready.
                Some(Err(_)) | None => {
                    let detail = "the source panicked";
                    return Err(FollowError::new(FollowErrorKind::Source, detail));
                }
            };
        }
    }
}
