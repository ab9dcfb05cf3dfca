//! Blocks that are fetched ahead of the one that is needed next.
//!
//! Each height is asked once, on a task of its own, until it is taken. Below a height that is
//! given, ten heights are asked together where the source has them so. A dropped value ends its
//! tasks.

use alloc::collections::{BTreeMap, BTreeSet};

use milepost::primitives::BlockHeight;
use tokio::task::JoinSet;

use crate::error::{FollowError, FollowErrorKind};
use crate::fetcher::{ARCHIVE_HEIGHTS, Fetcher};
use crate::message::FeedBlock;
use crate::source::{BlockRequest, Finality, Source};

type FetchResult = Result<Option<FeedBlock>, FollowError>;

/// What a task returns
enum Output {
    Block(BlockHeight, FetchResult),
    /// The blocks of an archive, by its first height
    Archive(BlockHeight, Option<Vec<FeedBlock>>),
}

/// Blocks of one stream that are being fetched
pub(crate) struct Ahead {
    finality: Finality,
    bypass_caches: bool,
    /// Archives end below this height
    archives_end: BlockHeight,
    tasks: JoinSet<Output>,
    requested: BTreeSet<BlockHeight>,
    /// Archives that were asked for and whose blocks may not all be taken, by their first height
    archives: BTreeSet<BlockHeight>,
    /// Archives that the source does not have
    unavailable: BTreeSet<BlockHeight>,
    ready: BTreeMap<BlockHeight, FetchResult>,
}

impl Ahead {
    pub(crate) fn new(finality: Finality, bypass_caches: bool) -> Self {
        Self {
            finality,
            bypass_caches,
            archives_end: 0,
            tasks: JoinSet::new(),
            requested: BTreeSet::new(),
            archives: BTreeSet::new(),
            unavailable: BTreeSet::new(),
            ready: BTreeMap::new(),
        }
    }

    /// The same for the final chain, with archives that end below this height
    pub(crate) fn with_archives(end: BlockHeight) -> Self {
        Self { archives_end: end, ..Self::new(Finality::Final, false) }
    }

    /// Asks again for what is not taken yet: another source is asked from now on
    pub(crate) fn restart(&mut self) {
        let (finality, bypass_caches) = (self.finality, self.bypass_caches);
        let archives_end = self.archives_end;
        *self = Self { archives_end, ..Self::new(finality, bypass_caches) };
    }

    /// The block at this height, while those above it are fetched; can be cancelled
    pub(crate) async fn take<S: Source>(
        &mut self,
        height: BlockHeight,
        fetcher: &Fetcher<S>,
    ) -> FetchResult {
        loop {
            if let Some(result) = self.ready.remove(&height) {
                self.requested.remove(&height);
                return result;
            }
            self.request(height, fetcher);
            match self.tasks.join_next().await {
                Some(Ok(Output::Block(height, result))) => {
                    self.ready.insert(height, result);
                }
                Some(Ok(Output::Archive(first, Some(blocks)))) => {
                    self.unpack(first, height, blocks)
                }
                Some(Ok(Output::Archive(first, None))) => {
                    self.unavailable.insert(first);
                }
                // The task of this height is among them until its result is ready.
                Some(Err(_)) | None => {
                    let detail = "the source panicked";
                    return Err(FollowError::new(FollowErrorKind::Source, detail));
                }
            }
        }
    }

    /// Asks for a height, and for those above it
    fn request<S: Source>(&mut self, height: BlockHeight, fetcher: &Fetcher<S>) {
        let first = height - height % ARCHIVE_HEIGHTS;
        let end = |first: BlockHeight| first.saturating_add(ARCHIVE_HEIGHTS);
        if end(first) <= self.archives_end && !self.unavailable.contains(&first) {
            self.archives = self.archives.split_off(&first);
            for first in [first, end(first)] {
                if end(first) <= self.archives_end && self.archives.insert(first) {
                    let fetcher = fetcher.clone();
                    let archive = async move { fetcher.archive(first).await };
                    self.tasks.spawn(async move { Output::Archive(first, archive.await) });
                }
            }
            return;
        }
        let lookahead = if self.bypass_caches { 0 } else { fetcher.settings.lookahead };
        for height in height..=height.saturating_add(lookahead) {
            let is_ready = self.ready.contains_key(&height);
            if !is_ready && self.requested.insert(height) {
                let fetcher = fetcher.clone();
                let mut request = BlockRequest::new(height, self.finality);
                request.bypass_caches = self.bypass_caches;
                self.tasks.spawn(async move {
                    let result = fetcher.block(request).await;
                    Output::Block(height, result)
                });
            }
        }
    }

    /// Makes the heights of an archive ready, from the one that is needed next on; a height without
    /// a message is one that the source says has no block
    fn unpack(&mut self, first: BlockHeight, next: BlockHeight, blocks: Vec<FeedBlock>) {
        let mut blocks: BTreeMap<BlockHeight, FeedBlock> =
            blocks.into_iter().map(|block| (block.block.height, block)).collect();
        for height in first.max(next)..first.saturating_add(ARCHIVE_HEIGHTS) {
            self.ready.insert(height, Ok(blocks.remove(&height)));
        }
    }
}
