//! The start, and whether a feed has the chain that is followed.

use alloc::format;
use alloc::string::{String, ToString as _};

use milepost::primitives::BlockHeight;
use milepost::storage::BlockPoint;

use super::{Follower, InFlight, Start, StoredChain, TOO_HIGH_DELAY};
use crate::event::{ChangeReason, Event};
use crate::feed::{COMPARE_AGAIN, Identity};
use crate::message::FeedBlock;
use crate::position::Position;
use crate::recent::Recent;
use crate::request::{Ask, SourceError, SourceErrorKind};

/// Number of heights at which a feed is asked for the block after one that it does not have
const MAX_SKIPPED: u64 = 20;
/// Number of heights that a feed may be behind the chain of the host, which is some hours
const MAX_FEED_LAG: u64 = 20_000;
/// Number of heights by which the nodes behind one address may differ
const MAX_NODE_LAG: u64 = 20;
/// Characters of the name of a chain that an error has
const MAX_NAME: usize = 64;

impl Follower {
    pub(super) fn handle_start(&mut self, block: FeedBlock, feed: usize, now: u64) {
        let height = block.block.height;
        if self.anchor.is_none() {
            // The first feed that answers says which chain it is.
            self.anchor = Some(block.block);
            self.feeds[feed].believe();
        }
        if let (Start::Resume, Some(StoredChain { head, last_final })) = (self.start, self.stored)
            && height.saturating_sub(head.height) <= self.settings.max_catch_up
        {
            self.chain = Recent::of_stored(head, last_final);
            self.newest = head.height;
            self.take_up(head.height.saturating_add(1), height);
            return;
        }
        let margin = self.settings.start_margin;
        let first = match self.start {
            Start::Height(first) => Some(first),
            Start::Resume | Start::LastFinal => (margin > 0).then(|| height.saturating_sub(margin)),
        };
        match first {
            Some(first) => {
                self.floor = first;
                self.take_final_chain(first, height.max(first));
            }
            None => {
                self.chain.add_final(&block);
                self.hand_out(block, feed, now);
                self.go(Position::Optimistic { next: height.saturating_add(1) });
            }
        }
    }

    pub(super) fn handle_name(&mut self, index: usize, name: Option<String>, now: u64) {
        let Some(expected) = &self.settings.chain_id else { return };
        match name {
            Some(found) if found != *expected => {
                let shown = found.chars().filter(|it| !it.is_control()).take(MAX_NAME);
                let shown: String = shown.collect();
                let detail = format!("has another chain: {shown}, and not {expected}");
                self.refuse_chain(index, detail, now);
            }
            _ => self.feeds[index].identity = Identity::SameName(0),
        }
    }

    /// A feed sent the block at the height of the anchor, or the one after
    pub(super) fn handle_anchor(&mut self, flight: &InFlight, found: &FeedBlock, now: u64) {
        let Some(BlockPoint { height, hash }) = self.anchor else { return };
        if self.identity_ask(flight.feed) != Some(flight.ask) {
            // The anchor has changed since the feed was asked.
            self.feeds[flight.feed].identity = Identity::Unknown;
            return;
        }
        if let Ask::Head(_) = flight.ask {
            let newest = found.block.height;
            if newest.saturating_add(MAX_FEED_LAG) < height {
                let detail = format!(
                    "has another chain: its last final block is {newest}, and that of the chain is {height}"
                );
                self.refuse_chain(flight.feed, detail, now);
            } else if self.had_final(flight.feed)
                && let Some(detail) = self.loss(newest, MAX_NODE_LAG)
            {
                self.refuse_chain(flight.feed, detail, now);
            } else {
                self.feeds[flight.feed].identity = Identity::SameName(0);
                self.compare_later(flight.feed, now);
            }
            return;
        }
        if let Identity::AfterHead(_) = self.feeds[flight.feed].identity {
            return self.handle_after_head(flight, found, now);
        }
        let what = match found.prev_height {
            _ if found.block.hash == hash || found.prev_hash == hash => {
                self.feeds[flight.feed].believe();
                return;
            }
            _ if found.block.height == height => found.block.hash.to_string(),
            Some(parent) if parent < height => "skipped".to_string(),
            _ => return self.lacks_anchor(flight, now),
        };
        let detail = format!(
            "has another chain: its block at height {height} is {what}, and that of the chain is {hash}"
        );
        self.refuse_chain(flight.feed, detail, now);
    }

    /// A feed that has only blocks above the anchor sent one above the head
    fn handle_after_head(&mut self, flight: &InFlight, found: &FeedBlock, now: u64) {
        let is_head = |head: BlockPoint| head.hash == found.prev_hash;
        if self.chain.contains(found.prev_hash) || self.known_head().is_some_and(is_head) {
            self.feeds[flight.feed].believe();
        } else {
            self.lacks_anchor(flight, now);
        }
    }

    /// The highest block that was handed out, or the one of the host at the start
    pub(super) fn known_head(&self) -> Option<BlockPoint> {
        self.chain.head().or(self.stored.map(|stored| stored.head))
    }

    /// A feed has no block there: the next one says whether the height is skipped
    pub(super) fn handle_no_anchor(&mut self, flight: &InFlight, now: u64) {
        let feed = &mut self.feeds[flight.feed];
        let (state, above): (fn(u64) -> Identity, u64) = match feed.identity {
            Identity::SameName(above) => (Identity::SameName, above),
            Identity::AfterHead(above) => (Identity::AfterHead, above),
            _ => (Identity::SameName, 0),
        };
        if above.saturating_add(1) < MAX_SKIPPED {
            feed.identity = state(above.saturating_add(1));
        } else {
            self.lacks_anchor(flight, now);
        }
    }

    /// A feed has no block as low as the anchor, as one that was started again: the block after the
    /// head is compared, if that was not tried
    pub(super) fn handle_low_anchor(&mut self, flight: &InFlight, error: SourceError, now: u64) {
        let is_given_up = self.settings.skip > self.known_head().map(|head| head.height);
        let feed = &mut self.feeds[flight.feed];
        if !matches!(feed.identity, Identity::AfterHead(_)) {
            feed.identity = Identity::AfterHead(0);
            self.observe_failed(error, 0, flight.feed);
        } else if is_given_up {
            // The blocks that would show it are those that are given up.
            feed.believe();
        } else {
            feed.identity = Identity::Unknown;
            self.fail(flight.feed, error, flight.sent_at, now);
        }
    }

    /// Compares the chain of a feed again later, which has blocks above the anchor and not the
    /// anchor
    fn lacks_anchor(&mut self, flight: &InFlight, now: u64) {
        self.feeds[flight.feed].identity = Identity::Unknown;
        let height = self.anchor.map_or(0, |anchor| anchor.height);
        let error =
            SourceError::new(SourceErrorKind::Temporary, format!("no block at height {height}"));
        self.fail(flight.feed, error, flight.sent_at, now);
    }

    pub(super) fn refuse_chain(&mut self, index: usize, detail: String, now: u64) {
        let is_known = self.feeds[index].has_other_chain();
        self.feeds[index].refuse_chain(detail.clone(), now);
        self.drop_requests_to(index);
        if !is_known {
            self.events.push_back(Event::OtherChain { feed: index, detail: detail.clone() });
        }
        self.change_active(&ChangeReason::Failed { detail });
        self.end_if_refused();
    }

    /// A feed that is not asked first says how far it is
    pub(super) fn handle_probe(&mut self, index: usize, newest: &FeedBlock, now: u64) {
        let head = self.head_height().unwrap_or(0);
        let feed = &mut self.feeds[index];
        feed.says_newest(newest.block.height, head, now);
        feed.failures = 0;
        if index == self.active
            && let Some(detail) = self.loss(newest.block.height, 0)
        {
            self.refuse_chain(index, detail, now);
        }
    }

    /// The predicate of the sentence about a feed that had the last final block, if its newest block
    /// is more than `lag` heights below that
    fn loss(&self, newest: BlockHeight, lag: u64) -> Option<String> {
        let last = self.chain.last_final()?.height;
        (newest.saturating_add(lag) < last).then(|| {
            format!(
                "has another chain, or has lost blocks: its newest block is {newest}, and block {last} \
                 was final"
            )
        })
    }

    /// Whether a feed has served the chain, or has said to have its last final block
    fn had_final(&self, index: usize) -> bool {
        let newest = self.feeds[index].newest.map(|(height, _)| height);
        index == self.active && self.has_served
            || newest >= self.chain.last_final().map(|last| last.height)
    }

    /// Compares the chain of a feed when it may have the block that it has not yet
    pub(super) fn compare_later(&mut self, index: usize, now: u64) {
        let feed = &mut self.feeds[index];
        feed.pause(if feed.has_other_chain() { COMPARE_AGAIN } else { TOO_HIGH_DELAY }, now);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::iter;

    use milepost_practice::{Practice, Settings as ChainSettings};

    use super::*;
    use crate::request::Response;
    use crate::settings::{FeedSettings, Settings};

    #[test]
    fn a_stored_chain_that_is_too_far_behind_is_left() {
        let mut practice = Practice::new(ChainSettings::demo(1));
        let chain: Vec<_> = iter::repeat_with(|| practice.next_message()).take(200).collect();
        let point =
            |index: usize| BlockPoint { height: chain[index].height, hash: chain[index].hash };
        let (head, newest) = (point(20), point(199).height);
        let first_block = |max_catch_up| {
            let settings =
                Settings::default().with_start_margin(30).with_max_catch_up(max_catch_up);
            let stored = StoredChain { head, last_final: point(17) };
            let feeds = [FeedSettings::default()];
            let mut follower = Follower::new(&feeds, Start::Resume, Some(stored), settings, 0);
            let mut now = 0;
            loop {
                while let Some(request) = follower.poll_request(now) {
                    let found = match request.ask {
                        Ask::Block(request) => chain.iter().find(|it| it.height == request.height),
                        _ => chain.last(),
                    };
                    let response = match found {
                        Some(block) => Response::Message(block.json.clone()),
                        None => Response::Absent { newest: None },
                    };
                    follower.handle_response(request.id, response, now);
                }
                if let Some(block) = follower.poll_block() {
                    return block.block.height;
                }
                now = follower.poll_timeout();
                follower.handle_timeout(now);
            }
        };
        let behind = newest - head.height;
        assert_eq!(first_block(behind), point(21).height);
        assert!((newest - 30..newest).contains(&first_block(behind - 1)));
    }
}
