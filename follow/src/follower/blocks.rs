//! Handles a block: hands it out, keeps it until its parent is there, or refuses it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::BlockPoint;

use super::{Follower, MAX_FAILURES};
use crate::error::{FollowError, FollowErrorKind};
use crate::event::{ChangeReason, Event};
use crate::feed::Identity;
use crate::message::FeedBlock;
use crate::position::Position;
use crate::request::{SourceError, SourceErrorKind};
use crate::settings::Settings;

/// The first and the longest time for which a feed is left alone whose blocks are refused
const REFUSED_DELAY: (u64, u64) = (1_000, 60_000);
/// Number of heights after which another final block is what feeds have to have: they may be behind
/// by less, and nodes keep more
const ANCHOR_DISTANCE: u64 = 100;
/// Number of heights that are asked for past caches after a block that is not on the final chain
const MAX_DOUBTED: u64 = 100;
/// How often a start asks each feed for a block that none has: at the default waits some minutes
const MAX_ATTEMPTS: u32 = 10;

impl Follower {
    /// Takes a block: hands it out, or keeps it until its parent is there
    pub(super) fn receive(&mut self, block: FeedBlock, feed: usize, now: u64) {
        let mut received = Vec::from([(block, feed)]);
        while let Some((block, feed)) = received.pop() {
            let BlockPoint { height, hash } = block.block;
            if self.chain.contains(hash) || self.orphans.contains(hash) {
                continue;
            }
            let has_parent = self.chain.contains(block.prev_hash);
            let is_first = self.chain.head().is_none()
                && block.prev_height.is_none_or(|parent| parent < self.floor);
            let is_above =
                |skip: &u64| block.prev_height.is_some_and(|it| it <= *skip) && *skip < height;
            let given_up = self.settings.skip.filter(is_above);
            if self.chain.accepts(&block) {
                self.add(block, feed, now);
            } else if is_first || given_up.is_some() && !has_parent {
                let height = given_up.filter(|_| !is_first);
                self.events.extend(height.map(|height| Event::GivenUp { height }));
                self.chain.add_first(&block);
                self.hand_out(block, feed, now);
            } else if has_parent {
                let detail = format!(
                    "block {height} does not follow its parent, or contradicts what was final"
                );
                self.distrust(feed, height, detail, now);
                continue;
            } else {
                self.keep(block, feed, now);
                continue;
            }
            received.extend(self.orphans.take_children(hash));
        }
    }

    /// Hands out a block whose parent was
    pub(super) fn add(&mut self, block: FeedBlock, feed: usize, now: u64) {
        let change = self.chain.add(&block);
        if change.skipped > 0 {
            self.events.push_back(Event::Skipped { count: change.skipped });
        }
        if change.reverted > 0 {
            self.events.push_back(Event::Reorg { depth: change.reverted });
        }
        if let Some(last) = self.chain.last_final().filter(|_| change.is_final_new) {
            let next = self.anchor.map(|anchor| anchor.height.saturating_add(ANCHOR_DISTANCE));
            if next.is_none_or(|next| last.height >= next) {
                self.anchor = Some(last);
            }
            for feed in self.feeds.iter_mut().filter(|feed| feed.refused <= last.height) {
                feed.refusals = 0;
            }
            self.past_caches = self.past_caches.split_off(&last.height);
            self.orphans.prune(&self.chain);
        }
        self.hand_out(block, feed, now);
    }

    pub(super) fn hand_out(&mut self, mut block: FeedBlock, index: usize, now: u64) {
        block.feed = index;
        block.is_catching_up = self.is_catching_up;
        let height = block.block.height;
        self.has_served = true;
        self.ready.push_back(block);
        let feed = &mut self.feeds[index];
        feed.failures = 0;
        feed.bad_messages = 0;
        feed.refuses = None;
        if height <= self.newest && self.newest > 0 {
            return;
        }
        self.newest = height;
        let silence = now.saturating_sub(self.newest_at);
        self.newest_at = now;
        let wins = self.feeds[index].wins + 1;
        self.feeds.iter_mut().for_each(|feed| feed.wins = 0);
        self.feeds[index].wins = wins;
        let was_frozen = core::mem::take(&mut self.is_frozen);
        if was_frozen {
            self.events.push_back(Event::Thawed);
        }
        if was_frozen || self.is_behind && wins >= MAX_FAILURES {
            let reason = match self.claimed() {
                Some(claimed) if !was_frozen => {
                    ChangeReason::Behind { heights: claimed.saturating_sub(height) }
                }
                _ => ChangeReason::Silent { silence },
            };
            self.feeds[index].come_back(now);
            let before = self.order().into_iter().take_while(|it| *it != index);
            for slower in before.collect::<Vec<usize>>() {
                self.leave(slower, &reason, now);
            }
        }
    }

    /// Keeps a block until its parent is there
    pub(super) fn keep(&mut self, block: FeedBlock, feed: usize, now: u64) {
        let (BlockPoint { height, hash }, parent) = (block.block, block.prev_hash);
        let prev_height = block.prev_height;
        if !self.orphans.fits(&block) {
            let detail = format!("block {height} is not above its parent {parent}");
            return self.distrust(feed, height, detail, now);
        }
        if self.orphans.insert(block, feed, now) {
            self.events.push_back(Event::LinkBroken { height });
        }
        let missing = match self.orphans.repair(parent) {
            Some(_) => parent,
            None => return,
        };
        if prev_height.is_some_and(|prev_height| self.is_below_final(prev_height)) {
            let top = self.orphans.drop_branch(missing);
            if Some(top) > self.head_height() {
                let last = self.chain.last_final().map_or(0, |last| last.height);
                let detail = format!(
                    "block {height} {hash} has the parent {parent}, which contradicts the final block {last}"
                );
                self.distrust(feed, height, detail, now);
            }
        } else if self.orphans.is_full() {
            // From the last final block on, the final chain needs no memory.
            let top = self.orphans.drop_branch(missing);
            self.orphans.clear();
            let next = self.chain.last_final().map_or(self.floor, |last| last.height + 1);
            self.take_final_chain(next, top.max(next));
        }
    }

    /// Whether a block at this height that was not handed out contradicts the last final block
    pub(super) fn is_below_final(&self, height: BlockHeight) -> bool {
        self.chain.last_final().is_some_and(|last| height <= last.height)
    }

    /// A feed sent the parent of an orphan, or the final block at its height
    pub(super) fn handle_repair(
        &mut self,
        missing: CryptoHash,
        block: FeedBlock,
        feed: usize,
        now: u64,
    ) {
        let Some(repair) = self.orphans.repair(missing) else {
            return self.receive(block, feed, now);
        };
        let (child, is_height_known) = (repair.child, repair.is_height_known);
        let is_new = !self.chain.contains(block.block.hash);
        let height = block.block.height;
        if block.block.hash == missing && height >= child {
            let detail = format!("block {height} is the parent of block {child}");
            self.distrust(feed, height, detail, now);
        } else if block.block.hash == missing || is_new && self.chain.accepts(&block) {
            if block.block.hash != missing {
                // The branch is not on the final chain.
                self.orphans.drop_branch(missing);
            }
            self.receive(block, feed, now);
        } else if is_height_known {
            // The branch is not on the final chain. A feed that called it final is asked past
            // caches.
            let top = self.orphans.drop_branch(missing);
            if is_new {
                self.receive(block, feed, now);
            }
            if let Position::Final { .. } = self.position {
                self.past_caches.extend(height..=top.min(height.saturating_add(MAX_DOUBTED)));
                let detail = format!("block {child} does not follow the final block {height}");
                self.distrust(feed, child, detail, now);
            }
        } else {
            self.handle_lacking(missing, feed, now);
        }
    }

    /// A feed does not have the parent of an orphan
    pub(super) fn handle_lacking(&mut self, missing: CryptoHash, feed: usize, now: u64) {
        let (count, floor) = (self.feeds.len(), self.floor);
        let Settings { retry, max_retry, .. } = self.settings;
        let last_final = self.chain.last_final().map(|last| last.height);
        let Some(repair) = self.orphans.repair_mut(missing) else { return };
        repair.attempts += 1;
        let doublings = (repair.attempts / count as u32).min(16);
        let delay = (retry << doublings).min(max_retry);
        repair.lacking.insert(feed, now.saturating_add(delay));
        if !repair.is_height_known && repair.lacking.len() == count && repair.height > floor {
            repair.height -= 1;
            repair.lacking.clear();
            if last_final.is_some_and(|last| repair.height < last) {
                self.orphans.drop_branch(missing);
            }
            return;
        }
        let (height, child, attempts) = (repair.height, repair.child, repair.attempts);
        if let Position::Final { .. } = self.position {
            let top = self.orphans.top(missing).min(height.saturating_add(MAX_DOUBTED));
            if !self.past_caches.contains(&child) && attempts >= count as u32 {
                // The block that names it may come from a cache, and not be final.
                self.past_caches.extend(child..=top);
                self.orphans.drop_branch(missing);
                return self.go(Position::Measure);
            }
            if attempts % (MAX_FAILURES * count as u32) == 0 {
                self.go(Position::Measure);
            }
        }
        if !self.has_served && self.stored.is_none() && attempts >= MAX_ATTEMPTS * count as u32 {
            let detail = format!(
                "block {height}: the feed does not have it, and block {child} names it as its parent"
            );
            self.error = Some(FollowError::new(FollowErrorKind::Missing, detail));
        }
    }

    /// Asks a feed last whose block is wrong, and asks for the block again
    pub(super) fn distrust(&mut self, index: usize, height: BlockHeight, detail: String, now: u64) {
        let feed = &mut self.feeds[index];
        feed.refusals += 1;
        feed.refused = feed.refused.max(height);
        feed.identity = Identity::Unknown;
        let (first, max) = REFUSED_DELAY;
        let delay = feed.back_off(feed.refusals, first, max, now);
        let error = SourceError::new(SourceErrorKind::Temporary, detail.clone());
        self.observe_failed(error, delay, index);
        self.leave(index, &ChangeReason::Failed { detail }, now);
        self.past_caches.insert(height);
        self.go(match self.position {
            _ if self.chain.head().is_none() => Position::Start,
            Position::Optimistic { .. } => Position::Optimistic { next: self.next_height() },
            _ => Position::Measure,
        });
    }

    pub(super) fn head_height(&self) -> Option<BlockHeight> {
        self.chain.head().map(|head| head.height)
    }
}
