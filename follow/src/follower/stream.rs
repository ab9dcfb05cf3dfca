//! The place on the chain: the streams of a feed, and the ways over heights without a block.

use alloc::format;

use milepost::primitives::BlockHeight;

use super::{Follower, InFlight, MAX_EMPTY, TOO_HIGH_DELAY};
use crate::event::Event;
use crate::message::FeedBlock;
use crate::orphans::Received;
use crate::position::{Position, Purpose};
use crate::request::{Finality, SourceError, SourceErrorKind};

/// Number of heights below the last final block from which on the final chain is taken
///
/// A feed redirects optimistic requests that are more than ten heights below its head. The head is
/// two or three above the last final block, and further when the first of these requests arrive.
/// Two requests for each block are more than the budget of a public feed has.
const MAX_FINAL_LAG: u64 = 6;
/// Number of heights after which the follower looks again how far the feed is
const MAX_FINAL_RUN: u64 = 600;
/// A gap up to this width is walked height by height
const MAX_WALK: u64 = 16;

impl Follower {
    /// Begins at another place; responses to requests for the one before are ignored
    pub(super) fn go(&mut self, position: Position) {
        for flight in self.in_flight.values_mut() {
            if flight.purpose.is_of_position() {
                flight.purpose = Purpose::Dropped;
            }
        }
        self.fetched.clear();
        self.empty = 0;
        self.is_gap_known = false;
        self.last_of_final_chain = None;
        if let Position::Optimistic { .. } = position {
            self.is_catching_up = false;
            self.failed_archives.clear();
        }
        self.position = position;
    }

    /// Takes the chain from a height on: along the final chain if the feed is far above it
    pub(super) fn take_up(&mut self, next: BlockHeight, feed_height: BlockHeight) {
        if feed_height >= next.saturating_add(MAX_FINAL_LAG) {
            self.take_final_chain(next, feed_height);
        } else {
            self.go(Position::Optimistic { next });
        }
    }

    pub(super) fn take_final_chain(&mut self, next: BlockHeight, until: BlockHeight) {
        let is_long = until >= next.saturating_add(MAX_FINAL_LAG);
        if is_long && !self.is_catching_up {
            self.is_catching_up = true;
            self.events.push_back(Event::CatchUp { first: next, until });
        }
        let until = until.min(next.saturating_add(MAX_FINAL_RUN));
        self.go(Position::Final { next, until });
    }

    /// The lowest height at which the chain can continue
    pub(super) fn next_height(&self) -> BlockHeight {
        self.head_height().map_or(0, |head| head.saturating_add(1)).max(self.floor)
    }

    /// Takes the stream from the head on if it was taken far above, where a feed has no block
    pub(super) fn return_to_head(&mut self, height: BlockHeight) {
        let after_head = self.next_height();
        match self.position {
            Position::Optimistic { next } if next == height && next > after_head => {
                self.go(Position::Optimistic { next: after_head });
            }
            Position::Final { next, .. } if next == height => self.go(Position::Measure),
            _ => {}
        }
    }

    pub(super) fn handle_measure(&mut self, feed_height: BlockHeight) {
        if self.position == Position::Measure {
            self.take_up(self.next_height(), feed_height);
        }
    }

    /// The newest block of the feed, above heights without a block, says how wide the gap is
    pub(super) fn handle_gap(&mut self, newest: &FeedBlock, feed: usize, now: u64) {
        let Some((next, finality)) = self.position.stream() else { return };
        if self.empty < self.max_empty() {
            // The block above the gap came meanwhile.
            return;
        }
        let height = newest.block.height;
        let parent = newest.prev_height.unwrap_or(height);
        if height.saturating_add(1) < next {
            self.feeds[feed].too_high = Some((next, now.saturating_add(TOO_HIGH_DELAY)));
            if self.is_above_all(next, now) {
                self.return_to_head(next);
            }
            return;
        }
        self.is_gap_known = true;
        if height < next {
            return;
        }
        if parent < next {
            self.fetched = self.fetched.split_off(&height);
            self.set_next(height);
        } else if parent - next > MAX_WALK {
            let first = self.next_height();
            self.go(Position::Seek { first, low: next, high: parent, finality });
        }
    }

    pub(super) fn handle_sought(&mut self, block: FeedBlock, feed: usize) {
        let Position::Seek { first, low, finality, .. } = self.position else { return };
        let height = block.block.height;
        match block.prev_height {
            Some(parent) if parent >= first => {
                // A height without a block need not be in the gap.
                let low = if parent >= low { low } else { first };
                self.position = Position::Seek { first, low, high: parent, finality };
            }
            _ => self.found(first, height, Some((block, feed)), finality),
        }
    }

    /// There is no block at a height, or the feed does not have it
    pub(super) fn seek_above(&mut self, height: BlockHeight) {
        let Position::Seek { first, high, finality, .. } = self.position else { return };
        let low = height.saturating_add(1);
        if low > high {
            self.found(high, high, None, finality);
        } else {
            self.position = Position::Seek { first, low, high, finality };
        }
    }

    /// Continues with the lowest block from a height on
    pub(super) fn found(
        &mut self,
        floor: BlockHeight,
        height: BlockHeight,
        block: Option<Received>,
        finality: Finality,
    ) {
        if self.chain.head().is_none() {
            let (asked, first) = (self.floor, height);
            self.floor = floor;
            self.events.push_back(Event::StartsLater { asked, first });
        }
        match finality {
            Finality::Optimistic => self.go(Position::Optimistic { next: height }),
            Finality::Final => {
                let until = self.anchor.map_or(height, |anchor| anchor.height.max(height));
                self.take_final_chain(height, until);
            }
        }
        if let Some(block) = block {
            self.fetched.insert(height, Some(block));
        }
    }

    /// Number of heights without a block after which the newest block is asked for its parent
    ///
    /// Far below the head that block says nothing of a gap, so heights are walked first.
    pub(super) const fn max_empty(&self) -> u64 {
        match self.position {
            Position::Final { .. } => MAX_WALK,
            _ => MAX_EMPTY,
        }
    }

    pub(super) fn set_next(&mut self, height: BlockHeight) {
        match &mut self.position {
            Position::Final { next, .. } | Position::Optimistic { next } => *next = height,
            Position::Start | Position::Seek { .. } | Position::Measure => {}
        }
    }

    /// Whether no feed has answered about this height for so long that the next block above is
    /// taken, which names the missing one
    fn is_unanswered(&self, height: BlockHeight) -> bool {
        let is_asked = |it: &InFlight| it.purpose == Purpose::Stream(height);
        self.is_frozen
            && !self.fetched.contains_key(&height)
            && self.fetched.range(height..).next().is_some()
            && !self.in_flight.values().any(is_asked)
    }

    /// Takes the blocks of the stream that have arrived
    pub(super) fn advance(&mut self, now: u64) {
        while let Some((next, finality)) = self.position.stream() {
            if finality == Finality::Final && self.is_final_chain_broken() {
                return;
            }
            if self.is_unanswered(next) {
                self.fetched.insert(next, None);
            }
            match self.fetched.remove(&next) {
                Some(Some((block, feed))) => {
                    self.empty = 0;
                    self.is_gap_known = false;
                    self.set_next(next.saturating_add(1));
                    if finality == Finality::Final {
                        self.last_of_final_chain = Some(block.block);
                    }
                    self.receive(block, feed, now);
                }
                Some(None) if self.empty < 2 * MAX_WALK => {
                    self.empty += 1;
                    self.set_next(next.saturating_add(1));
                }
                Some(None) => {
                    // A wide gap is one step: a feed calls heights empty that are not.
                    let detail = format!("no block at the {} heights up to {next}", self.empty + 1);
                    let error = SourceError::new(SourceErrorKind::Temporary, detail);
                    self.go(Position::Measure);
                    self.fail(self.active, error, now, now);
                }
                None => return,
            }
            if let Position::Final { next, until } = self.position
                && next > until
            {
                let position = match self.is_catching_up {
                    true => Position::Measure,
                    false => Position::Optimistic { next },
                };
                self.go(position);
            }
        }
    }
}
