//! One block of a source, with repetitions until there is a result.
//!
//! Waits double up to a bound, with a random part, and are at least what the source asks for. What
//! may pass is repeated for ever; a message that stays malformed is an error after some attempts,
//! all but the first of which bypass caches.

use core::time::Duration;

use alloc::sync::Arc;
use milepost::primitives::{BlockHeight, CryptoHash};
use tokio::time;

use crate::error::{FollowError, FollowErrorKind};
use crate::event::Event;
use crate::message::FeedBlock;
use crate::settings::Settings;
use crate::source::{BlockRequest, Fetched, Finality, Source, SourceError, SourceErrorKind};

/// Number of heights of an archive
pub(crate) const ARCHIVE_HEIGHTS: u64 = 10;
/// Attempts after which a message that is malformed each time is an error: at the default waits,
/// about five minutes
const MAX_BAD_MESSAGES: u32 = 15;
/// Attempts after which a block is not found by its hash: at the default waits, about two minutes
const MAX_LOOKUPS: u32 = 8;
/// Maximum wait that a source can ask for
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
/// The wait for a height that is above what the feed has
const TOO_HIGH_DELAY: Duration = Duration::from_secs(1);

/// Fetches from a source; a clone shares it
pub(crate) struct Fetcher<S> {
    pub(crate) source: Arc<S>,
    pub(crate) settings: Settings,
}

impl<S> Clone for Fetcher<S> {
    fn clone(&self) -> Self {
        Self { source: Arc::clone(&self.source), settings: self.settings.clone() }
    }
}

/// The waits between the attempts of one request
struct Backoff<'settings> {
    settings: &'settings Settings,
    next: Duration,
    random: u64,
    bad_messages: u32,
}

impl<S: Source> Fetcher<S> {
    /// The block at a height; `None` if the source says that there is none
    pub(crate) async fn block(
        &self,
        mut request: BlockRequest,
    ) -> Result<Option<FeedBlock>, FollowError> {
        let mut backoff = Backoff::new(&self.settings, request.height);
        loop {
            let fetched = self.source.block(request).await;
            let error = match fetched {
                Ok(Fetched::Empty) => return Ok(None),
                Ok(Fetched::Message(message)) => match read(message, Some(request.height)) {
                    Ok(block) => {
                        self.observe_fetched(&block, request.finality);
                        return Ok(Some(block));
                    }
                    Err(detail) => {
                        request.bypass_caches = true;
                        backoff.bad_message(request.height, detail)?
                    }
                },
                Err(error) => error,
            };
            backoff.wait(error).await?;
        }
    }

    /// The block with a hash; `None` if the source does not find it so
    pub(crate) async fn block_by_hash(
        &self,
        hash: CryptoHash,
    ) -> Result<Option<FeedBlock>, FollowError> {
        let mut backoff = Backoff::new(&self.settings, 0);
        for _ in 0..MAX_LOOKUPS {
            let error = match self.source.block_by_hash(hash).await {
                Ok(None) => return Ok(None),
                Ok(Some(message)) => match FeedBlock::read(message) {
                    Ok(block) if block.block.hash == hash => {
                        self.observe_fetched(&block, Finality::Optimistic);
                        return Ok(Some(block));
                    }
                    Ok(block) => {
                        let detail = format!("block {} in place of {hash}", block.block.hash);
                        SourceError::new(SourceErrorKind::Temporary, detail)
                    }
                    Err(detail) => SourceError::new(SourceErrorKind::Temporary, detail),
                },
                Err(error) => error,
            };
            backoff.wait(error).await?;
        }
        Ok(None)
    }

    /// The blocks of the final chain at ten heights; `None` if single blocks have to be asked for
    pub(crate) async fn archive(&self, first: BlockHeight) -> Option<Vec<FeedBlock>> {
        let messages = self.source.archive(first).await.unwrap_or_else(|error| {
            let SourceError { status, detail, .. } = error;
            self.settings.observe(Event::Retry { status, delay: Duration::ZERO, detail });
            None
        })?;
        let blocks: Option<Vec<FeedBlock>> =
            messages.into_iter().map(|message| FeedBlock::read(message).ok()).collect();
        let heights = first..first.saturating_add(ARCHIVE_HEIGHTS);
        let blocks = blocks?;
        if !blocks.iter().all(|block| heights.contains(&block.block.height)) {
            return None;
        }
        for block in &blocks {
            self.observe_fetched(block, Finality::Final);
        }
        Some(blocks)
    }

    /// The last final block of the feed
    pub(crate) async fn last_final(&self) -> Result<FeedBlock, FollowError> {
        let mut backoff = Backoff::new(&self.settings, 0);
        loop {
            let error = match self.source.last_final().await {
                Ok(Fetched::Empty) => {
                    SourceError::new(SourceErrorKind::Temporary, "the feed has no final block")
                }
                Ok(Fetched::Message(message)) => match read(message, None) {
                    Ok(block) => return Ok(block),
                    Err(detail) => backoff.bad_message(0, detail)?,
                },
                Err(error) => error,
            };
            backoff.wait(error).await?;
        }
    }

    fn observe_fetched(&self, block: &FeedBlock, finality: Finality) {
        self.settings.observe(Event::Fetched {
            height: block.block.height,
            timestamp_nanos: block.timestamp_nanos,
            bytes: block.message.len(),
            finality,
        });
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

    /// Waits before the next attempt, unless there should be none
    async fn wait(&mut self, error: SourceError) -> Result<(), FollowError> {
        let delay = match error.kind {
            SourceErrorKind::TooLow => {
                return Err(FollowError::new(FollowErrorKind::Missing, error.detail));
            }
            SourceErrorKind::PermissionDenied => {
                return Err(FollowError::new(FollowErrorKind::PermissionDenied, error.detail));
            }
            SourceErrorKind::Unsupported => {
                return Err(FollowError::new(FollowErrorKind::Unsupported, error.detail));
            }
            SourceErrorKind::TooHigh => self.jittered(TOO_HIGH_DELAY),
            SourceErrorKind::Temporary => {
                let delay = self.jittered(self.next);
                self.next = (self.next * 2).min(self.settings.max_retry);
                delay.max(error.retry_after.unwrap_or_default().min(MAX_RETRY_AFTER))
            }
        };
        let SourceError { status, detail, .. } = error;
        self.settings.observe(Event::Retry { status, delay, detail });
        time::sleep(delay).await;
        Ok(())
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
fn read(message: Vec<u8>, height: Option<BlockHeight>) -> Result<FeedBlock, String> {
    let block = FeedBlock::read(message)?;
    match height {
        Some(height) if height != block.block.height => {
            Err(format!("block {} in place of block {height}", block.block.height))
        }
        _ => Ok(block),
    }
}
