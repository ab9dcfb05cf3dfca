//! The follower: from the responses of feeds to blocks in the order of the chain.
//!
//! It takes the optimistic stream, and catches up by the final chain. A block whose parent was not
//! handed out waits with the orphans until the parent is found. Every block is handed out after its
//! parent, and once, except after a start at a stored chain: blocks between its last final block
//! and its head can come again, and the engine finds that they are known.

mod answers;
mod asking;
mod blocks;
mod identity;
mod order;
#[cfg(test)]
mod restart_tests;
mod stream;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::vec::Vec;

use milepost::primitives::BlockHeight;
use milepost::storage::BlockPoint;

use crate::error::FollowError;
use crate::event::Event;
use crate::feed::{Feed, Identity};
use crate::message::FeedBlock;
use crate::orphans::{Orphans, Received};
use crate::position::{Position, Purpose};
use crate::recent::Recent;
use crate::request::{Ask, Request, Response, SourceError, SourceErrorKind};
use crate::settings::{FeedSettings, Settings};

/// Number of heights within which a feed is at the head
const MAX_HEAD_LAG: u64 = 10;
/// Number of heights of an archive
const ARCHIVE_HEIGHTS: u64 = 10;
/// Number of failures after which the blocks of an archive are asked for one by one: the feed may
/// not have archives that old, or may keep them at a host that is down
const MAX_ARCHIVE_FAILURES: u32 = 3;
/// Number of heights without a block, at the head, after which the newest block is asked for its
/// parent
const MAX_EMPTY: u64 = 3;
/// The longest time for a response
const TIMEOUT: u64 = 60_000;
/// The wait for a height above the newest block of the feed
const TOO_HIGH_DELAY: u64 = 1_000;
/// Number of failures in a row after which a feed is left
const MAX_FAILURES: u32 = 3;

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
/// A feed has to have the same last final block. The head need not be on the chain of the feed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "these two blocks say where a chain is")]
pub struct StoredChain {
    /// The newest block
    pub head: BlockPoint,
    /// The last final block, or the earliest one if nothing is final by its headers: chains are
    /// started with a block that is final at the feed
    pub last_final: BlockPoint,
}

/// A request without its response
#[derive(Clone, Copy)]
struct InFlight {
    feed: usize,
    ask: Ask,
    purpose: Purpose,
    sent_at: u64,
    deadline: u64,
    /// Whether the host sent more than one request for it
    is_redirected: bool,
}

/// Follows one or more feeds of a chain; see the [crate](crate) for an example
pub struct Follower {
    settings: Settings,
    feeds: Vec<Feed>,
    start: Start,
    stored: Option<StoredChain>,
    chain: Recent,
    orphans: Orphans,
    position: Position,
    /// The lowest height at which the chain can begin
    floor: BlockHeight,
    /// A final block that feeds have to have
    anchor: Option<BlockPoint>,
    /// The blocks of the stream from the next height on; `None` for a height without a block
    fetched: BTreeMap<BlockHeight, Option<Received>>,
    /// Heights that are asked for past caches
    past_caches: BTreeSet<BlockHeight>,
    /// The last block of the final chain, which may wait for its parent
    last_of_final_chain: Option<BlockPoint>,
    /// Number of failures of each archive
    failed_archives: BTreeMap<BlockHeight, u32>,
    /// Number of heights without a block since the last block
    empty: u64,
    /// Whether the newest block was asked for its parent since the last block
    is_gap_known: bool,
    in_flight: BTreeMap<u64, InFlight>,
    next_id: u64,
    ready: VecDeque<FeedBlock>,
    events: VecDeque<Event>,
    error: Option<FollowError>,
    /// Whether a block was handed out
    has_served: bool,
    newest: BlockHeight,
    newest_at: u64,
    is_frozen: bool,
    /// Whether another feed has had a higher block for a while
    is_behind: bool,
    is_catching_up: bool,
    /// The feed that is asked first
    active: usize,
    /// When a request can be sent that could not at the last look
    wake_at: u64,
    /// The time of the last call of `handle_timeout` or `poll_request`
    now: u64,
}

impl Follower {
    /// A follower of feeds of one chain, at least one, the preferred one first; `stored` is the
    /// chain that the host has, if it has one, and `now` the time in milliseconds of any clock that
    /// never goes back
    ///
    /// Feeds after the first are asked where those before them fail: when they refuse the client,
    /// do not have blocks that old, are behind, or keep failing, and for a single block that they
    /// do not have.
    pub fn new(
        feeds: &[FeedSettings],
        start: Start,
        stored: Option<StoredChain>,
        settings: Settings,
        now: u64,
    ) -> Self {
        let seed = |index: usize| settings.seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9);
        let feeds = feeds.iter().enumerate().map(|(index, it)| Feed::new(*it, seed(index)));
        Self {
            feeds: feeds.collect(),
            start,
            stored,
            chain: Recent::default(),
            orphans: Orphans::default(),
            position: Position::Start,
            floor: 0,
            anchor: stored.map(|stored| stored.last_final),
            fetched: BTreeMap::new(),
            past_caches: BTreeSet::new(),
            last_of_final_chain: None,
            failed_archives: BTreeMap::new(),
            empty: 0,
            is_gap_known: false,
            in_flight: BTreeMap::new(),
            next_id: 0,
            ready: VecDeque::new(),
            events: VecDeque::new(),
            error: None,
            has_served: false,
            newest: 0,
            newest_at: now,
            is_frozen: false,
            is_behind: false,
            is_catching_up: false,
            active: 0,
            wake_at: now,
            now,
            settings,
        }
    }

    /// The next request to send; `None` if none can be sent now
    pub fn poll_request(&mut self, now: u64) -> Option<Request> {
        if self.error.is_some() {
            return None;
        }
        self.now = now;
        self.wake_at = u64::MAX;
        let order = self.order();
        let purposes = self.purposes(&order);
        let sent = purposes.into_iter().find_map(|purpose| self.send(purpose, &order, now));
        sent.or_else(|| self.probe(now))
    }

    /// When [`handle_timeout`](Self::handle_timeout) and [`poll_request`](Self::poll_request) are
    /// to be called again, whatever happens before; [`u64::MAX`] for never
    pub fn poll_timeout(&self) -> u64 {
        if self.error.is_some() {
            return u64::MAX;
        }
        let Settings { frozen_after, .. } = self.settings;
        let mut times = Vec::from([self.wake_at]);
        times.extend(self.in_flight.values().map(|it| it.deadline));
        if !self.is_frozen {
            times.push(self.newest_at.saturating_add(frozen_after));
        }
        for (index, feed) in self.feeds.iter().enumerate() {
            if self.is_probed(index) {
                times.push(feed.probe_at.max(feed.retry_at));
            }
            times.extend(feed.left_until);
            times.extend(feed.claim.map(|claim| claim.at.saturating_add(frozen_after / 2)));
        }
        let wanted = self.orphans.wanted(self.head_height()).into_iter();
        let repairs = wanted.filter_map(|missing| self.orphans.repair(missing));
        times.extend(repairs.map(|repair| repair.since.saturating_add(frozen_after)));
        // Everything that was due then has been done, or waits for another event.
        times.into_iter().filter(|at| *at > self.now).min().unwrap_or(u64::MAX)
    }

    /// Takes a place in the budget for one more request of an exchange, such as the target of a
    /// redirect; returns when the host can send it
    pub fn request_more(&mut self, id: u64, now: u64) -> u64 {
        let Some(flight) = self.in_flight.get_mut(&id) else { return now };
        flight.is_redirected = true;
        self.feeds[flight.feed].budget.reserve(now)
    }

    /// Hands in the response to a request; one that is not waited for is ignored
    pub fn handle_response(&mut self, id: u64, response: Response, now: u64) {
        let Some(flight) = self.in_flight.remove(&id) else { return };
        match response {
            Response::Failed(error) => self.handle_failure(&flight, error, now),
            Response::Absent { newest } => self.handle_absent(&flight, newest, now),
            Response::ChainId(name) => self.handle_name(flight.feed, name, now),
            Response::Archive(messages) => self.handle_archive(&flight, messages, now),
            Response::Message(message) => match self.read(&flight, message, now) {
                Ok(block) => self.handle_block(&flight, block, now),
                Err(detail) => self.handle_bad_message(&flight, detail, now),
            },
        }
        self.advance(now);
    }

    /// Handles requests, blocks and feeds that are late
    pub fn handle_timeout(&mut self, now: u64) {
        self.now = now;
        let overdue = self.in_flight.iter().filter(|(_, it)| it.deadline <= now);
        let overdue: Vec<u64> = overdue.map(|(id, _)| *id).collect();
        for id in overdue {
            let detail = format!("no response within {} s", TIMEOUT / 1_000);
            let error = SourceError::new(SourceErrorKind::Temporary, detail);
            self.handle_response(id, Response::Failed(error), now);
        }
        if !self.ready.is_empty() {
            // The silence is that of the host.
            self.newest_at = now;
        }
        let silence = now.saturating_sub(self.newest_at);
        if silence >= self.settings.frozen_after && !self.is_frozen {
            self.is_frozen = true;
            self.events.push_back(Event::Frozen { silence });
            // The feed may have switched to another chain.
            for feed in &mut self.feeds {
                if feed.identity == Identity::SameChain {
                    feed.identity = Identity::Unknown;
                }
            }
        }
        self.compare_heads(now);
        self.return_to_feeds(now);
        for missing in self.orphans.wanted(self.head_height()) {
            let Some(repair) = self.orphans.repair_mut(missing) else { continue };
            let waited = now.saturating_sub(repair.since);
            if waited >= self.settings.frozen_after && !repair.is_reported {
                repair.is_reported = true;
                let height = repair.height;
                self.events.push_back(Event::Missing { height, hash: missing });
            }
        }
    }

    /// The next block; `None` if there is none yet
    pub fn poll_block(&mut self) -> Option<FeedBlock> {
        self.ready.pop_front()
    }

    /// The next event; `None` if there is none
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Why no further block comes; `None` as long as there may be one
    pub const fn error(&self) -> Option<&FollowError> {
        self.error.as_ref()
    }

    /// The highest block that was handed out
    pub fn head(&self) -> Option<BlockPoint> {
        self.chain.head()
    }

    /// Begins again after the chain of the host, which cannot import a block that was handed out:
    /// it comes again with its descendants, from another feed if there is one; its feed is asked
    /// last
    ///
    /// Blocks that were handed out after it are not imported.
    pub fn block_refused(
        &mut self,
        block: &FeedBlock,
        stored: Option<StoredChain>,
        reason: &str,
        now: u64,
    ) {
        self.ready.clear();
        self.orphans.clear();
        self.chain = match stored {
            Some(StoredChain { head, last_final }) => Recent::of_stored(head, last_final),
            None => Recent::default(),
        };
        let height = block.block.height;
        self.newest = self.head_height().unwrap_or(0);
        self.distrust(block.feed, height, format!("block {height} is refused: {reason}"), now);
    }
}

impl core::fmt::Debug for Follower {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Follower").field("position", &self.position).finish_non_exhaustive()
    }
}
