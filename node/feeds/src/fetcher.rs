//! One block of a source or of several, with repetitions until there is a result.
//!
//! A request that fails at one source goes to the others before it waits. Waits double up to a
//! bound, with a random part, and are at least what the source asks for. What may pass is repeated
//! for ever; a message that stays malformed is an error after some attempts, all but the first of
//! which bypass caches.

use core::time::Duration;

use alloc::sync::Arc;
use milepost::config::TrackedShards;
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::BlockPoint;
use tokio::time::{self, Instant};

use crate::error::{FollowError, FollowErrorKind};
use crate::event::Event;
use crate::message::FeedBlock;
use crate::settings::Settings;
use crate::source::{BlockRequest, Fetched, Finality, Source, SourceError, SourceErrorKind};
use crate::sources::{Round, Sources};

/// Number of heights of an archive
pub(crate) const ARCHIVE_HEIGHTS: u64 = 10;
/// Attempts after which a message that is malformed each time is an error: at the default waits,
/// about five minutes
const MAX_BAD_MESSAGES: u32 = 15;
/// Attempts after which a block is not found by its hash: at the default waits, about two minutes
const MAX_LOOKUPS: u32 = 8;
const NO_FINAL_BLOCK: &str = "the feed has no final block";
/// Number of heights at which a source is asked for the block after one that it does not have
const MAX_SKIPPED: u64 = 20;
/// Maximum wait that a source can ask for
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
/// Characters of the name of a chain that an error has
const MAX_NAME: usize = 64;
/// The wait for a height that is above what the feed has
const TOO_HIGH_DELAY: Duration = Duration::from_secs(1);

/// Fetches from sources; a clone shares them
pub(crate) struct Fetcher<S> {
    pub(crate) sources: Arc<Sources<S>>,
    pub(crate) settings: Settings,
}

impl<S> Clone for Fetcher<S> {
    fn clone(&self) -> Self {
        Self { sources: Arc::clone(&self.sources), settings: self.settings.clone() }
    }
}

/// What is asked for
#[derive(Clone, Copy)]
enum Query {
    Block(BlockRequest),
    Hash(CryptoHash),
    LastFinal,
}

/// The waits between the attempts of one request
struct Backoff<'settings> {
    settings: &'settings Settings,
    next: Duration,
    random: u64,
    bad_messages: u32,
}

impl<S: Source> Fetcher<S> {
    /// The block at a height; `None` if the source says that there is none, or, past caches, if
    /// all of them say so
    pub(crate) async fn block(
        &self,
        request: BlockRequest,
    ) -> Result<Option<FeedBlock>, FollowError> {
        self.fetch(Query::Block(request)).await
    }

    /// The block with a hash; `None` if no source finds it so
    pub(crate) async fn block_by_hash(
        &self,
        hash: CryptoHash,
    ) -> Result<Option<FeedBlock>, FollowError> {
        self.fetch(Query::Hash(hash)).await
    }

    /// The last final block of the feed
    pub(crate) async fn last_final(&self) -> Result<FeedBlock, FollowError> {
        let block = self.fetch(Query::LastFinal).await?;
        block.ok_or_else(|| FollowError::new(FollowErrorKind::Missing, NO_FINAL_BLOCK))
    }

    async fn fetch(&self, mut query: Query) -> Result<Option<FeedBlock>, FollowError> {
        let height = query.height();
        let mut backoff = Backoff::new(&self.settings, height);
        let mut round = Round::default();
        let mut lookups = 0;
        // The error with which a round of refusals ends: one that may pass, if there was one.
        let mut passing: Option<SourceError> = None;
        // Whether a source of this round said that there is no block.
        let mut is_absent = false;
        loop {
            let Some(index) = round.next(&self.sources) else {
                let detail = self.sources.refusal();
                return Err(FollowError::new(FollowErrorKind::OtherChain, detail));
            };
            let start = Instant::now();
            let error = match self.ask(index, query).await {
                Ok(Some(message)) => match query.read(message, self.settings.track_shards) {
                    Ok(block) => {
                        self.sources.succeeded(index);
                        self.observe_fetched(&block, query.finality(), index, start.elapsed());
                        return Ok(Some(block));
                    }
                    Err(detail) => {
                        if let Query::Block(request) = &mut query {
                            request.bypass_caches = true;
                        }
                        backoff.bad_message(height, detail)?
                    }
                },
                Ok(None) => match query {
                    Query::LastFinal => {
                        SourceError::new(SourceErrorKind::Temporary, NO_FINAL_BLOCK)
                    }
                    Query::Hash(_) | Query::Block(BlockRequest { bypass_caches: true, .. })
                        if !round.is_complete(&self.sources) =>
                    {
                        is_absent = true;
                        continue;
                    }
                    Query::Hash(_) | Query::Block(_) => {
                        self.sources.succeeded(index);
                        return Ok(None);
                    }
                },
                Err(error) => error,
            };
            if error.kind == SourceErrorKind::TooHigh {
                // The newest block is waited for at the source that is asked first.
                if index == self.sources.active() {
                    round.restart();
                }
            } else if let Some(source) = self.sources.failed(index, error.kind.is_for_good()) {
                self.settings.observe(Event::SourceChanged { source });
            }
            lookups += 1;
            if matches!(query, Query::Hash(_)) && lookups >= MAX_LOOKUPS {
                return Ok(None);
            }
            let may_pass = !error.kind.is_for_good();
            let is_round =
                error.kind == SourceErrorKind::TooHigh || round.is_complete(&self.sources);
            if !is_round {
                self.observe_retry(&error, Duration::ZERO, index);
                passing = passing.or_else(|| may_pass.then_some(error));
                continue;
            }
            let error = if may_pass { error } else { passing.take().unwrap_or(error) };
            passing = None;
            // A source that refuses this client says nothing about what another one lacks.
            if core::mem::take(&mut is_absent) && error.kind.is_for_good() {
                return Ok(None);
            }
            let delay = backoff.delay(&error)?;
            self.observe_retry(&error, delay, index);
            time::sleep(delay).await;
        }
    }

    /// One attempt at one source, once it is known to be of the chain that is followed; `None` if
    /// it says that there is no block
    async fn ask(&self, index: usize, query: Query) -> Result<Option<Vec<u8>>, SourceError> {
        self.check_chain(index).await?;
        let source = self.sources.source(index);
        let fetched = match query {
            Query::Block(request) => source.block(request).await?,
            Query::LastFinal => source.last_final().await?,
            Query::Hash(hash) => return source.block_by_hash(hash).await,
        };
        Ok(match fetched {
            Fetched::Message(message) => Some(message),
            Fetched::Empty => None,
        })
    }

    /// Refuses a source that names another chain, or does not have a final block of the chain that
    /// is followed
    async fn check_chain(&self, index: usize) -> Result<(), SourceError> {
        let temporary = |detail| SourceError::new(SourceErrorKind::Temporary, detail);
        if let Some(expected) = &self.settings.chain_id
            && self.sources.is_unnamed(index)
        {
            match self.sources.source(index).chain_id().await? {
                Some(found) if found != *expected => {
                    let shown = found.chars().filter(|it| !it.is_control()).take(MAX_NAME);
                    let found: String = shown.collect();
                    let detail = format!("is of another chain: {found}, and not {expected}");
                    return Err(temporary(self.refuse(index, detail)));
                }
                _ => self.sources.accept_name(index),
            }
        }
        let Some(anchor) = self.sources.unchecked_anchor(index) else { return Ok(()) };
        let BlockPoint { height, hash } = anchor;
        // The next block says whether a height without a block is skipped or the source lacks it.
        for at in height..height.saturating_add(MAX_SKIPPED) {
            let mut request = BlockRequest::new(at, Finality::Final);
            request.bypass_caches = true;
            let Fetched::Message(message) = self.sources.source(index).block(request).await? else {
                continue;
            };
            let found = read(message, Some(at), self.settings.track_shards).map_err(temporary)?;
            let what = match found.prev_height {
                _ if found.block == anchor => {
                    self.sources.accept(index);
                    return Ok(());
                }
                _ if at == height => found.block.hash.to_string(),
                Some(parent) if parent < height => "skipped".to_owned(),
                _ => break,
            };
            let detail = format!(
                "is of another chain: its block at height {height} is {what}, and that of the chain is {hash}"
            );
            return Err(temporary(self.refuse(index, detail)));
        }
        Err(temporary(format!("no block at height {height}")))
    }

    /// Asks a source no more
    fn refuse(&self, source: usize, detail: String) -> String {
        self.sources.refuse(source, detail.clone());
        self.settings.observe(Event::SourceRefused { source, detail: detail.clone() });
        detail
    }

    /// The blocks of the final chain at ten heights; `None` if single blocks have to be asked for
    pub(crate) async fn archive(&self, first: BlockHeight) -> Option<Vec<FeedBlock>> {
        let (index, start) = (self.sources.active(), Instant::now());
        let messages = match self.check_chain(index).await {
            Ok(()) => self.sources.source(index).archive(first).await,
            Err(error) => Err(error),
        };
        let messages = messages.unwrap_or_else(|error| {
            self.observe_retry(&error, Duration::ZERO, index);
            None
        })?;
        let shards = self.settings.track_shards;
        let blocks: Option<Vec<FeedBlock>> =
            messages.into_iter().map(|message| FeedBlock::read(message, shards).ok()).collect();
        let heights = first..first.saturating_add(ARCHIVE_HEIGHTS);
        let (blocks, duration) = (blocks?, start.elapsed());
        if !blocks.iter().all(|block| heights.contains(&block.block.height)) {
            return None;
        }
        for block in &blocks {
            self.observe_fetched(block, Finality::Final, index, duration);
        }
        Some(blocks)
    }

    fn observe_fetched(
        &self,
        block: &FeedBlock,
        finality: Finality,
        source: usize,
        duration: Duration,
    ) {
        self.settings.observe(Event::Fetched {
            height: block.block.height,
            timestamp_nanos: block.timestamp_nanos,
            bytes: block.message.len(),
            finality,
            duration,
            source,
        });
    }

    fn observe_retry(&self, error: &SourceError, delay: Duration, source: usize) {
        let SourceError { status, detail, .. } = error.clone();
        self.settings.observe(Event::Retry { status, delay, detail, source });
    }
}

impl Query {
    /// The height for errors; 0 if it is not known
    const fn height(self) -> BlockHeight {
        match self {
            Self::Block(request) => request.height,
            Self::Hash(_) | Self::LastFinal => 0,
        }
    }

    const fn finality(self) -> Finality {
        match self {
            Self::Block(request) => request.finality,
            Self::Hash(_) => Finality::Optimistic,
            Self::LastFinal => Finality::Final,
        }
    }

    /// Reads a message, which has to be the one that is asked for
    fn read(self, message: Vec<u8>, tracked_shards: TrackedShards) -> Result<FeedBlock, String> {
        match self {
            Self::Block(request) => read(message, Some(request.height), tracked_shards),
            Self::LastFinal => read(message, None, tracked_shards),
            Self::Hash(hash) => match read(message, None, tracked_shards)? {
                block if block.block.hash == hash => Ok(block),
                block => Err(format!("block {} in place of {hash}", block.block.hash)),
            },
        }
    }
}

impl<'settings> Backoff<'settings> {
    fn new(settings: &'settings Settings, salt: u64) -> Self {
        let random = settings.seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { settings, next: settings.retry, random, bad_messages: 0 }
    }

    /// The error of a message that is malformed or incomplete
    fn bad_message(
        &mut self,
        height: BlockHeight,
        detail: String,
    ) -> Result<SourceError, FollowError> {
        self.bad_messages += 1;
        if self.bad_messages >= MAX_BAD_MESSAGES {
            let detail = format!(
                "block {height}: the feed sent a bad message {MAX_BAD_MESSAGES} times: {detail}"
            );
            return Err(FollowError::new(FollowErrorKind::Message, detail));
        }
        Ok(SourceError::new(SourceErrorKind::Temporary, detail))
    }

    /// The wait before the next attempt, unless there should be none
    fn delay(&mut self, error: &SourceError) -> Result<Duration, FollowError> {
        let kind = match error.kind {
            SourceErrorKind::TooLow => FollowErrorKind::Missing,
            SourceErrorKind::PermissionDenied => FollowErrorKind::PermissionDenied,
            SourceErrorKind::Unsupported => FollowErrorKind::Unsupported,
            SourceErrorKind::TooHigh => return Ok(self.jittered(TOO_HIGH_DELAY)),
            SourceErrorKind::Temporary => {
                let delay = self.jittered(self.next);
                self.next = (self.next * 2).min(self.settings.max_retry);
                return Ok(delay.max(error.retry_after.unwrap_or_default().min(MAX_RETRY_AFTER)));
            }
        };
        Err(FollowError::new(kind, &error.detail))
    }

    /// Between half of a wait and all of it
    fn jittered(&mut self, delay: Duration) -> Duration {
        // One step of an xorshift generator (Marsaglia 2003), whose state must not be zero.
        self.random |= 1;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let half = delay / 2;
        let nanos = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX).saturating_add(1);
        half + Duration::from_nanos(self.random % nanos)
    }
}

/// Reads a message, which has to be of this height
fn read(
    message: Vec<u8>,
    height: Option<BlockHeight>,
    tracked_shards: TrackedShards,
) -> Result<FeedBlock, String> {
    let block = FeedBlock::read(message, tracked_shards)?;
    match height {
        Some(height) if height != block.block.height => {
            Err(format!("block {} in place of block {height}", block.block.height))
        }
        _ => Ok(block),
    }
}
