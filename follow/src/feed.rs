//! One feed: whether it is believed, when it can be asked, and how it did so far.
//!
//! A feed that fails is left alone for a while that doubles. Before it is believed it has to have a
//! final block of the chain that is followed; one that has another block there has another chain,
//! and is compared again after a minute.

use alloc::string::String;

use milepost::primitives::BlockHeight;

use crate::budget::Budget;
use crate::error::FollowErrorKind;
use crate::settings::{FeedSettings, Settings};

/// The longest time for which a feed is asked after the others
const MAX_PAUSE: u64 = 3_600_000;
/// Maximum wait that a feed can ask for
const MAX_RETRY_AFTER: u64 = 3_600_000;
/// The longest doubling of a wait, which its maximum bounds as well
const MAX_DOUBLINGS: u32 = 16;
/// When a feed of another chain is compared again
pub(crate) const COMPARE_AGAIN: u64 = 60_000;

/// The result of comparing the chain of a feed
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Identity {
    Unknown,
    /// It does not contradict the name of the chain; whether it has a final block of it is asked at
    /// this many heights above that block, as the height itself may be without one there
    SameName(u64),
    /// It did not have that height yet: how far it is decides
    Behind,
    /// Its first block is above that one: whether it has the block after the head is asked at this
    /// many heights above the head
    AfterHead(u64),
    SameChain,
}

/// A height that a feed said to have, above the head of that time
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) height: BlockHeight,
    pub(crate) head: BlockHeight,
    pub(crate) at: u64,
    /// Whether its chain was compared since
    pub(crate) is_compared: bool,
}

/// A feed that is followed
pub(crate) struct Feed {
    pub(crate) settings: FeedSettings,
    pub(crate) budget: Budget,
    pub(crate) identity: Identity,
    /// The predicate of the sentence that it has another chain, until it is believed
    pub(crate) other_chain: Option<String>,
    /// Number of failures in a row
    pub(crate) failures: u32,
    /// When the last of them was noticed
    pub(crate) failed_at: u64,
    /// Number of its blocks that were refused, and the newest of them
    pub(crate) refusals: u32,
    pub(crate) refused: BlockHeight,
    /// Number of bad messages in a row
    pub(crate) bad_messages: u32,
    /// It is not asked before
    pub(crate) retry_at: u64,
    /// Heights from this one on are not asked for before the time
    pub(crate) too_high: Option<(BlockHeight, u64)>,
    /// It is asked after the others until then
    pub(crate) left_until: Option<u64>,
    /// When it was asked first again
    since: u64,
    /// For how long it is left the next time
    next_pause: u64,
    pub(crate) claim: Option<Claim>,
    /// Number of blocks in a row that it sent before the feed that is asked first
    pub(crate) wins: u32,
    /// The newest block that it said to have, and when
    pub(crate) newest: Option<(BlockHeight, u64)>,
    /// When it is asked for its newest block
    pub(crate) probe_at: u64,
    /// Why it cannot serve at all
    pub(crate) refuses: Option<(FollowErrorKind, String)>,
    random: u64,
}

impl Feed {
    pub(crate) fn new(settings: FeedSettings, random: u64) -> Self {
        Self {
            budget: Budget::new(settings.requests_per_minute),
            settings,
            identity: Identity::Unknown,
            other_chain: None,
            failures: 0,
            failed_at: 0,
            refusals: 0,
            refused: 0,
            bad_messages: 0,
            retry_at: 0,
            too_high: None,
            left_until: None,
            since: 0,
            next_pause: 0,
            claim: None,
            wins: 0,
            newest: None,
            probe_at: 0,
            refuses: None,
            random,
        }
    }

    pub(crate) const fn has_other_chain(&self) -> bool {
        self.other_chain.is_some()
    }

    /// Notes that it has another chain
    pub(crate) fn refuse_chain(&mut self, detail: String, now: u64) {
        self.identity = Identity::Unknown;
        self.other_chain = Some(detail);
        self.retry_at = now.saturating_add(COMPARE_AGAIN);
        self.claim = None;
    }

    /// Notes that it has the chain that is followed
    pub(crate) fn believe(&mut self) {
        self.identity = Identity::SameChain;
        self.other_chain = None;
    }

    /// Leaves it alone after a failure; returns for how long
    pub(crate) fn back_off(&mut self, count: u32, first: u64, max: u64, now: u64) -> u64 {
        let doubled = first.saturating_mul(1 << count.saturating_sub(1).min(MAX_DOUBLINGS));
        let delay = self.jittered(doubled.min(max));
        self.retry_at = self.retry_at.max(now.saturating_add(delay));
        delay
    }

    /// Leaves it alone for as long as it asks
    pub(crate) fn pause(&mut self, duration: u64, now: u64) {
        let until = now.saturating_add(duration.min(MAX_RETRY_AFTER));
        self.retry_at = self.retry_at.max(until);
    }

    /// Asks it after the others for a while, which doubles if it was well for less than that
    pub(crate) fn leave(&mut self, settings: &Settings, now: u64) {
        let was_well = now.saturating_sub(self.since) > self.next_pause;
        let pause = if was_well { settings.return_after } else { self.next_pause };
        self.left_until = Some(now.saturating_add(pause));
        self.next_pause = pause.saturating_mul(2).min(MAX_PAUSE);
        self.claim = None;
    }

    /// Asks it in its turn again
    pub(crate) fn come_back(&mut self, now: u64) {
        self.left_until = None;
        self.since = now;
    }

    /// Until when a height counts as above its newest block; 0 if it does not
    pub(crate) fn too_high_until(&self, height: BlockHeight) -> u64 {
        self.too_high.filter(|(from, _)| height >= *from).map_or(0, |(_, until)| until)
    }

    /// Notes its newest block
    pub(crate) fn says_newest(&mut self, height: BlockHeight, head: BlockHeight, now: u64) {
        self.newest = Some((height, now));
        if self.claim.is_none() && height > head {
            self.claim = Some(Claim { height, head, at: now, is_compared: false });
        }
    }

    /// Between half of a wait and all of it
    fn jittered(&mut self, delay: u64) -> u64 {
        // One step of an xorshift generator (Marsaglia 2003), whose state must not be zero.
        self.random |= 1;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        delay - self.random % (delay / 2 + 1)
    }
}
