//! The follower: from the responses of a source to blocks in the order of the chain.
//!
//! It takes the optimistic stream. The ancestors of a block whose parent it did not hand out are
//! asked for by hash, down to a block that it did. Where that fails the block is left aside, and
//! the final chain is taken instead, from the last final block up to that height: every block of
//! it names the one before, so that an ancestor cannot be missed. The final chain is also what it
//! catches up by. A block of it that does not follow what was final ends the follower.

use core::time::Duration;

use alloc::sync::Arc;
use milepost::primitives::BlockHeight;
use milepost::storage::BlockPoint;
use tokio::time::{self, Instant};

use crate::ahead::Ahead;
use crate::error::{FollowError, FollowErrorKind};
use crate::event::Event;
use crate::fetcher::Fetcher;
use crate::message::FeedBlock;
use crate::recent::{Change, Recent};
use crate::settings::Settings;
use crate::source::{BlockRequest, Finality, Source};
use crate::sources::Sources;

/// Number of heights behind the last final block from which on the final chain is taken: blocks
/// that old are served from the archive of a feed
const MAX_OPTIMISTIC_LAG: u64 = 20;
/// Number of heights that a feed may be behind the store, which is some hours
const MAX_FEED_LAG: u64 = 20_000;
/// Number of heights without a block after which each further one is asked more slowly
const MAX_QUICK_EMPTY: u64 = 20;
/// Maximum number of heights without a block; no chain has had so many
const MAX_EMPTY: u64 = 10_000;
/// How often a missing block of the final chain is asked for, past caches
const MAX_MISSING: u32 = 10;
/// How often the follower goes back to the same last final block
const MAX_REWINDS: u32 = 3;

/// Where to start
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a chain has no other places to start at")]
pub enum Start {
    /// After the head of the stored chain; with the last final block if there is none
    Resume,
    /// With the first final block at or above this height
    Height(BlockHeight),
    /// With the last final block of the feed
    LastFinal,
}

/// The chain that the host has already
///
/// The feed has to have the same last final block. The head need not be on the chain of the feed:
/// then the follower goes back to the last final block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "these two blocks say where a chain is")]
pub struct StoredChain {
    /// The newest block
    pub head: BlockPoint,
    /// The last final block, or the earliest one if nothing is final by its headers: chains are
    /// started with a block that is final at the feed
    pub last_final: BlockPoint,
}

/// What the follower does next
#[derive(Clone, Copy, Debug)]
enum Mode {
    Start,
    /// Takes the block at this height from the optimistic stream
    Optimistic {
        next: BlockHeight,
    },
    Final(FinalChain),
    /// Looks how far the feed went while the final chain was taken up to this block
    CaughtUp(BlockPoint),
}

/// Takes the final chain
#[derive(Clone, Copy, Debug)]
struct FinalChain {
    /// The block that the next one must follow, if there is one
    after: Option<BlockPoint>,
    /// The next height
    next: BlockHeight,
    /// Where it was taken up
    first: BlockHeight,
    /// The height at which the optimistic stream is taken again
    until: BlockHeight,
    /// How often the next block was asked for without one that follows
    attempts: u32,
    bypass_caches: bool,
}

/// Follows a source; hands out each block after its parent
///
/// A block is handed out once, except after a start at a stored chain: blocks between its last
/// final block and its head can come again, and the engine finds that they are known.
pub struct Follower<S> {
    fetcher: Fetcher<S>,
    start: Start,
    stored: Option<StoredChain>,
    recent: Recent,
    mode: Mode,
    ahead: Ahead,
    /// A block of the optimistic stream and its ancestors, newest first, down to one whose parent
    /// was not handed out yet
    branch: Vec<FeedBlock>,
    /// Number of heights without a block since the last block
    empty: u64,
    /// How often the follower went back to the last final block
    rewinds: u32,
    /// The next height is not asked before this time
    not_before: Instant,
    newest: BlockHeight,
    newest_at: Instant,
    is_frozen: bool,
    /// When the follower last noticed that there was no new block for a while
    frozen_at: Instant,
}

impl<S: Source> Follower<S> {
    /// A follower that starts here; `stored` is the chain that the host has, if it has one
    pub fn new(source: S, start: Start, stored: Option<StoredChain>, settings: Settings) -> Self {
        Self::shared(Arc::new(source), start, stored, settings)
    }

    /// The same with a source that the host shares
    pub fn shared(
        source: Arc<S>,
        start: Start,
        stored: Option<StoredChain>,
        settings: Settings,
    ) -> Self {
        let sources = Sources::new(vec![source], settings.return_after);
        if let Some(StoredChain { last_final, .. }) = stored {
            sources.set_anchor(last_final);
        }
        Self {
            fetcher: Fetcher { sources: Arc::new(sources), settings },
            start,
            stored,
            recent: Recent::default(),
            mode: Mode::Start,
            ahead: Ahead::new(Finality::Optimistic, false),
            branch: Vec::new(),
            empty: 0,
            rewinds: 0,
            not_before: Instant::now(),
            newest: 0,
            newest_at: Instant::now(),
            is_frozen: false,
            frozen_at: Instant::now(),
        }
    }

    /// The same with one more source, which is asked where those before it fail: when they refuse
    /// this client, do not have blocks that old, have no new ones, or keep failing, and for a
    /// single block that they do not have or send incompletely
    ///
    /// After a while the first source is asked first again. A source that is of another chain is
    /// not believed, and not asked again. Sources of several types are one type, such as
    /// [`Feed`](crate::Feed) or an enum of the host.
    #[must_use]
    pub fn with_fallback(mut self, source: Arc<S>) -> Self {
        self.fetcher.sources = Arc::new(self.fetcher.sources.with(source));
        self
    }

    /// The next block; waits until there is one
    ///
    /// Runs in a runtime of tokio with timers. Can be cancelled: no block is lost.
    ///
    /// # Errors
    ///
    /// What can only be repaired by a person: the feed contradicts what was final, is the feed of
    /// another chain, lacks a block or refuses this client. After an error the follower is used no
    /// more.
    pub async fn next(&mut self) -> Result<FeedBlock, FollowError> {
        loop {
            let frozen_after = self.fetcher.settings.frozen_after;
            let frozen_at = self.newest_at.max(self.frozen_at) + frozen_after;
            tokio::select! {
                // A block that is there comes before the silence until it.
                biased;
                block = self.step() => if let Some(block) = block? {
                    return Ok(block);
                },
                () = time::sleep_until(frozen_at) => self.handle_silence(frozen_after),
            }
        }
    }

    /// There was no new block for a while: another source may have one
    fn handle_silence(&mut self, silence: Duration) {
        self.frozen_at = Instant::now();
        if !core::mem::replace(&mut self.is_frozen, true) {
            self.observe(Event::Frozen { silence });
        }
        let sources = &self.fetcher.sources;
        if let Some(source) = sources.failed(sources.active(), true) {
            self.observe(Event::SourceChanged { source });
            self.ahead.restart();
        }
    }

    /// Takes one height; `None` if it has no block to hand out
    async fn step(&mut self) -> Result<Option<FeedBlock>, FollowError> {
        if !self.branch.is_empty() {
            return self.take_branch().await;
        }
        let (next, finality) = match self.mode {
            Mode::Start => return self.begin().await,
            Mode::CaughtUp(tip) => {
                let feed_height = self.fetcher.last_final().await?.block.height;
                self.take_up(tip, feed_height);
                return Ok(None);
            }
            Mode::Optimistic { next } => (next, Finality::Optimistic),
            Mode::Final(chain) => (chain.next, Finality::Final),
        };
        time::sleep_until(self.not_before).await;
        let block = self.ahead.take(next, &self.fetcher).await?;
        let Some(block) = block else { return self.handle_empty().map(|()| None) };
        self.empty = 0;
        self.arrived(&block);
        match (finality, self.mode) {
            (Finality::Final, Mode::Final(chain)) => self.handle_final(block, chain),
            _ => self.handle_optimistic(block),
        }
    }

    /// Notices whether the feed has new blocks
    fn arrived(&mut self, block: &FeedBlock) {
        if block.block.height > self.newest {
            self.newest = block.block.height;
            self.newest_at = Instant::now();
            if core::mem::take(&mut self.is_frozen) {
                self.observe(Event::Thawed);
            }
        }
    }

    /// Goes on to the next height, as the feed says that there is no block; the next block decides
    fn handle_empty(&mut self) -> Result<(), FollowError> {
        self.empty += 1;
        let next = match &mut self.mode {
            Mode::Start | Mode::CaughtUp(_) => return Ok(()),
            Mode::Optimistic { next } => next,
            Mode::Final(chain) => &mut chain.next,
        };
        if self.empty > MAX_EMPTY {
            let detail = format!("block {next}: the feed has no block at {MAX_EMPTY} heights");
            return Err(FollowError::new(FollowErrorKind::Missing, detail));
        }
        *next = next.saturating_add(1);
        if self.empty > MAX_QUICK_EMPTY {
            self.not_before = Instant::now() + self.fetcher.settings.retry;
        }
        Ok(())
    }

    fn handle_optimistic(&mut self, block: FeedBlock) -> Result<Option<FeedBlock>, FollowError> {
        let height = block.block.height;
        self.mode = Mode::Optimistic { next: height.saturating_add(1) };
        if self.recent.contains(block.block.hash) {
            return Ok(None);
        }
        if !self.recent.accepts(&block) {
            self.branch.push(block);
            return Ok(None);
        }
        let change = self.recent.add(&block);
        self.hand_out(block, change).map(Some)
    }

    /// Asks for one more ancestor of a branch, or hands out its oldest block
    async fn take_branch(&mut self) -> Result<Option<FeedBlock>, FollowError> {
        let Some(oldest) = self.branch.pop_if(|oldest| self.recent.accepts(oldest)) else {
            return self.extend_branch().await.map(|()| None);
        };
        let change = self.recent.add(&oldest);
        self.hand_out(oldest, change).map(Some)
    }

    async fn extend_branch(&mut self) -> Result<(), FollowError> {
        let (Some(newest), Some(oldest)) = (self.branch.first(), self.branch.last()) else {
            return Ok(());
        };
        let height = newest.block.height;
        let max = self.fetcher.settings.max_unfinalized;
        if self.branch.len() > max {
            let detail = format!("block {height}: none of its {max} ancestors was handed out");
            return Err(FollowError::new(FollowErrorKind::Unfinalized, detail));
        }
        // At the last final block the branch has left the chain, whatever is below.
        let last_final = self.recent.last_final();
        let is_above = last_final.is_some_and(|last| oldest.block.height > last.height);
        if is_above && !self.recent.contains(oldest.prev_hash) {
            let parent = self.fetcher.block_by_hash(oldest.prev_hash).await?;
            if let Some(parent) = parent.filter(|it| it.block.height < oldest.block.height) {
                self.branch.push(parent);
                return Ok(());
            }
        }
        self.branch.clear();
        self.observe(Event::LinkBroken { height });
        self.take_final_chain(self.recent.last_final(), height);
        self.bypass_caches();
        Ok(())
    }

    fn handle_final(
        &mut self,
        block: FeedBlock,
        mut chain: FinalChain,
    ) -> Result<Option<FeedBlock>, FollowError> {
        let height = block.block.height;
        // The lowest height of a block between them, if one is missing.
        let after_height = chain.after.map(|after| after.height.saturating_add(1));
        let first = after_height.unwrap_or_else(|| self.first_height());
        let follows = match chain.after {
            Some(after) => block.prev_hash == after.hash,
            None => block.prev_height.is_none_or(|parent| parent < first),
        };
        if !follows {
            chain.attempts += 1;
            let names_missing = block.prev_height.is_none_or(|parent| parent >= first);
            if chain.attempts < if names_missing { MAX_MISSING } else { 2 } {
                // Caches may have answered what is not so; the feed itself is asked again.
                chain.next = first;
                let Settings { retry, max_retry, .. } = self.fetcher.settings;
                let delay = (retry * (1 << chain.attempts)).min(max_retry);
                self.not_before = Instant::now() + delay;
                self.ahead = Ahead::new(Finality::Final, true);
                self.mode = Mode::Final(chain);
                return Ok(None);
            }
            return self.handle_contradiction(&block, chain, names_missing).map(|()| None);
        }
        if core::mem::take(&mut chain.attempts) > 0 && !chain.bypass_caches {
            self.ahead = Ahead::with_archives(chain.until.saturating_sub(MAX_OPTIMISTIC_LAG));
        }
        chain.after = Some(block.block);
        chain.next = height.saturating_add(1);
        self.mode = Mode::Final(chain);
        if height >= chain.until {
            // The feed has gone on in the meantime, if it was a long one.
            let is_long = chain.until.saturating_sub(chain.first) > MAX_OPTIMISTIC_LAG;
            match is_long {
                true => self.mode = Mode::CaughtUp(block.block),
                false => self.take_optimistic_stream(chain.next),
            }
        }
        if self.recent.contains(block.block.hash) {
            return Ok(None);
        }
        // It is final when the headers above it say so, not because the feed does.
        let change = self.recent.add(&block);
        self.hand_out(block, change).map(Some)
    }

    /// A block of the final chain does not follow the one before
    fn handle_contradiction(
        &mut self,
        block: &FeedBlock,
        chain: FinalChain,
        names_missing: bool,
    ) -> Result<(), FollowError> {
        let BlockPoint { height, hash } = block.block;
        let Some(after) = chain.after else {
            let parent = block.prev_height.unwrap_or_default();
            let detail = format!(
                "block {parent}: the feed does not have it, and block {height} names it as its parent"
            );
            return Err(FollowError::new(FollowErrorKind::Missing, detail));
        };
        let known = self.recent.last_final();
        if !names_missing && known != Some(after) && self.rewinds < MAX_REWINDS {
            // The block before was not final, whether it was the head of the store or came from
            // a cache: its fork is abandoned.
            self.rewinds += 1;
            self.observe(Event::LinkBroken { height });
            self.take_final_chain(known, chain.until);
            self.bypass_caches();
            return Ok(());
        }
        let (kind, what) = if names_missing {
            (FollowErrorKind::Missing, "lacks a block between them")
        } else {
            (FollowErrorKind::Contradiction, "contradicts what was final")
        };
        let detail = format!(
            "the feed {what}: its final block {height} {hash} has the parent {}, and does not follow block {} {}",
            block.prev_hash, after.height, after.hash
        );
        Err(FollowError::new(kind, detail))
    }

    fn hand_out(&mut self, block: FeedBlock, change: Change) -> Result<FeedBlock, FollowError> {
        let max = self.fetcher.settings.max_unfinalized;
        if self.recent.len() > max {
            let detail = format!(
                "block {}: more than {max} blocks since the last final block",
                block.block.height
            );
            return Err(FollowError::new(FollowErrorKind::Unfinalized, detail));
        }
        if change.is_final_new {
            self.rewinds = 0;
            if let Some(last_final) = self.recent.last_final() {
                self.fetcher.sources.set_anchor(last_final);
            }
        }
        if change.skipped > 0 {
            self.observe(Event::Skipped { count: change.skipped });
        }
        if change.reverted > 0 {
            self.observe(Event::Reorg { depth: change.reverted });
        }
        Ok(block)
    }

    /// Finds the place to start at
    async fn begin(&mut self) -> Result<Option<FeedBlock>, FollowError> {
        let feed_final = self.fetcher.last_final().await?;
        let feed_height = feed_final.block.height;
        if let Some(stored) = self.stored
            && !self.is_chain_of(stored, &feed_final).await?
        {
            return Ok(None);
        }
        self.fetcher.sources.set_anchor(feed_final.block);
        if self.stored.is_none() && !matches!(self.start, Start::Height(_)) {
            let margin = self.available_margin(feed_height).await?;
            if margin > 0 {
                self.start = Start::Height(feed_height.saturating_sub(margin));
            }
        }
        match (self.start, self.stored) {
            (Start::Resume, Some(StoredChain { head, last_final })) => {
                self.recent = Recent::of_stored(head, last_final);
                self.take_up(head, feed_height);
                Ok(None)
            }
            (Start::Height(height), _) => {
                self.take_final_chain(None, feed_height.max(height));
                Ok(None)
            }
            (Start::Resume | Start::LastFinal, _) => {
                self.arrived(&feed_final);
                self.recent.add_final(&feed_final);
                self.take_optimistic_stream(feed_height.saturating_add(1));
                Ok(Some(feed_final))
            }
        }
    }

    /// How many heights before its last final block the feed has, up to the margin of the settings
    async fn available_margin(&self, feed_height: BlockHeight) -> Result<u64, FollowError> {
        let mut margin = self.fetcher.settings.start_margin.min(feed_height);
        while margin > 0 {
            let request = BlockRequest::new(feed_height - margin, Finality::Final);
            match self.fetcher.block(request).await {
                Err(error) if error.kind == FollowErrorKind::Missing => margin /= 2,
                found => return found.map(|_| margin),
            }
        }
        Ok(0)
    }

    /// Whether the feed has the last final block of the store; `false` if it may have it later
    async fn is_chain_of(
        &self,
        stored: StoredChain,
        feed_final: &FeedBlock,
    ) -> Result<bool, FollowError> {
        let expected = stored.last_final;
        let BlockPoint { height, hash } = expected;
        let feed_height = feed_final.block.height;
        if feed_height < height {
            if height - feed_height > MAX_FEED_LAG {
                let detail = format!(
                    "the store is not of the feed's chain: it is at block {height}, and the last final block of the feed is {feed_height}"
                );
                return Err(FollowError::new(FollowErrorKind::OtherChain, detail));
            }
            let delay = Duration::from_secs(1);
            let detail = format!("the feed is at block {feed_height}, the store at {height}");
            let source = self.fetcher.sources.active();
            self.observe(Event::Retry { status: None, delay, detail, source });
            time::sleep(delay).await;
            return Ok(false);
        }
        let mut request = BlockRequest::new(height, Finality::Final);
        let mut found = self.fetcher.block(request).await?;
        if found.as_ref().is_none_or(|found| found.block != expected) {
            request.bypass_caches = true;
            found = self.fetcher.block(request).await?;
        }
        match found {
            Some(found) if found.block == expected => Ok(true),
            found => {
                let found = found.map_or("no block".into(), |found| found.block.hash.to_string());
                let detail = format!(
                    "the store is not of the feed's chain: its final block at height {height} is {hash}, and the feed has {found} there"
                );
                Err(FollowError::new(FollowErrorKind::OtherChain, detail))
            }
        }
    }

    /// The height that the follower was asked to start at
    const fn first_height(&self) -> BlockHeight {
        match self.start {
            Start::Height(height) => height,
            Start::Resume | Start::LastFinal => 0,
        }
    }

    /// Goes on after this block: along the final chain if the feed is far above it
    fn take_up(&mut self, tip: BlockPoint, feed_height: BlockHeight) {
        if feed_height > tip.height.saturating_add(MAX_OPTIMISTIC_LAG) {
            self.take_final_chain(Some(tip), feed_height);
        } else {
            self.take_optimistic_stream(tip.height.saturating_add(1));
        }
    }

    /// Takes the final chain after this block, or from the first height on
    fn take_final_chain(&mut self, after: Option<BlockPoint>, until: BlockHeight) {
        let next = after.map(|after| after.height.saturating_add(1));
        let next = next.unwrap_or_else(|| self.first_height());
        if until.saturating_sub(next) > MAX_OPTIMISTIC_LAG {
            self.observe(Event::CatchUp { first: next, until });
        }
        let attempts = 0;
        let chain = FinalChain { after, next, first: next, until, attempts, bypass_caches: false };
        // What is final has been in archives for a while; the newest of them may be made just now.
        self.ahead = Ahead::with_archives(until.saturating_sub(MAX_OPTIMISTIC_LAG));
        self.empty = 0;
        self.mode = Mode::Final(chain);
    }

    /// Takes the final chain past caches
    fn bypass_caches(&mut self) {
        if let Mode::Final(chain) = &mut self.mode {
            chain.bypass_caches = true;
            self.ahead = Ahead::new(Finality::Final, true);
        }
    }

    fn take_optimistic_stream(&mut self, next: BlockHeight) {
        self.ahead = Ahead::new(Finality::Optimistic, false);
        self.empty = 0;
        self.mode = Mode::Optimistic { next };
    }

    /// The highest block that was handed out
    pub fn head(&self) -> Option<BlockPoint> {
        self.recent.head()
    }

    fn observe(&self, event: Event) {
        self.fetcher.settings.observe(event);
    }
}

impl<S> core::fmt::Debug for Follower<S> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Follower").field("mode", &self.mode).finish_non_exhaustive()
    }
}
