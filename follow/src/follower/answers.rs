//! Handles responses and failures: updates the chain, and delays or leaves the feed that failed.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost::primitives::BlockHeight;
use milepost::storage::BlockPoint;

use super::{
    ARCHIVE_HEIGHTS, Follower, InFlight, MAX_ARCHIVE_FAILURES, MAX_EMPTY, MAX_FAILURES, Start,
    TOO_HIGH_DELAY,
};
use crate::error::{FollowError, FollowErrorKind};
use crate::event::{ChangeReason, Event};
use crate::feed::{Feed, Identity};
use crate::message::FeedBlock;
use crate::position::{Position, Purpose};
use crate::request::{Ask, Finality, SourceError, SourceErrorKind};
use crate::settings::Settings;

/// How long a feed may hold a response back, after which it counts as one that does not answer
const MAX_HOLD: u64 = 15_000;
/// How often a start asks a feed whose message is malformed each time: at the default waits some
/// minutes
const MAX_BAD_MESSAGES: u32 = 15;

impl Follower {
    /// Reads a message, which has to be the one that was asked for
    pub(super) fn read(
        &mut self,
        flight: &InFlight,
        message: Vec<u8>,
        now: u64,
    ) -> Result<FeedBlock, String> {
        if let Ask::Head(_) = flight.ask {
            return FeedBlock::read_header(&message);
        }
        let block = FeedBlock::read(message, self.settings.track_shards)?;
        let BlockPoint { height, hash } = block.block;
        match flight.ask {
            Ask::Block(request) if request.height != height => {
                return Err(format!("block {height} in place of block {}", request.height));
            }
            Ask::BlockByHash(asked) if asked != hash => {
                return Err(format!("block {hash} in place of {asked}"));
            }
            _ => {}
        }
        let finality = match flight.ask {
            Ask::Block(request) => request.finality,
            Ask::BlockByHash(_) => Finality::Optimistic,
            _ => Finality::Final,
        };
        self.observe_fetched(&block, finality, flight, now);
        Ok(block)
    }

    pub(super) fn observe_fetched(
        &mut self,
        block: &FeedBlock,
        finality: Finality,
        flight: &InFlight,
        now: u64,
    ) {
        self.events.push_back(Event::Fetched {
            height: block.block.height,
            timestamp_nanos: block.timestamp_nanos,
            bytes: block.message.len(),
            finality,
            duration: now.saturating_sub(flight.sent_at),
            feed: flight.feed,
        });
    }

    pub(super) fn handle_block(&mut self, flight: &InFlight, block: FeedBlock, now: u64) {
        let feed = flight.feed;
        if let Purpose::Seek(_) | Purpose::Repair(_) | Purpose::Stream(_) = flight.purpose {
            // Many blocks may come before one can be handed out.
            self.feeds[feed].failures = 0;
        }
        match flight.purpose {
            Purpose::Identity => self.handle_anchor(flight, &block, now),
            Purpose::Probe => self.handle_probe(feed, &block, now),
            Purpose::Start => self.handle_start(block, feed, now),
            Purpose::Measure => self.handle_measure(block.block.height),
            Purpose::Gap => self.handle_gap(&block, feed, now),
            Purpose::Seek(_) => self.handle_sought(block, feed),
            Purpose::Repair(missing) => self.handle_repair(missing, block, feed, now),
            Purpose::Stream(height) => {
                match self.position.stream() {
                    // Another feed said that there is no block at this height.
                    Some((next, _)) if height < next => self.receive(block, feed, now),
                    _ => {
                        self.fetched.insert(height, Some((block, feed)));
                    }
                }
                self.advance(now);
                if flight.is_redirected && matches!(self.position, Position::Optimistic { .. }) {
                    // A feed redirects requests below its optimistic window.
                    self.go(Position::Measure);
                }
            }
            // The chain may continue with a block that was asked for another purpose.
            Purpose::Dropped if !block.message.is_empty() && self.chain.accepts(&block) => {
                self.receive(block, feed, now);
            }
            Purpose::Archive(_) | Purpose::Dropped => {}
        }
    }

    pub(super) fn handle_absent(
        &mut self,
        flight: &InFlight,
        newest: Option<BlockHeight>,
        now: u64,
    ) {
        let feed = flight.feed;
        match flight.purpose {
            Purpose::Stream(height) => {
                self.fetched.insert(height, None);
                let is_at_head = matches!(self.position, Position::Optimistic { .. });
                let is_far = |newest: u64| newest > height.saturating_add(MAX_EMPTY);
                if is_at_head && newest.is_some_and(is_far) {
                    self.empty = self.empty.max(MAX_EMPTY);
                }
            }
            Purpose::Seek(height) => {
                self.feeds[feed].failures = 0;
                self.seek_above(height);
            }
            Purpose::Archive(first) => {
                self.failed_archives.insert(first, MAX_ARCHIVE_FAILURES);
            }
            Purpose::Repair(missing) => self.handle_lacking(missing, feed, now),
            Purpose::Gap => self.is_gap_known = true,
            Purpose::Identity => self.handle_no_anchor(flight, now),
            Purpose::Start | Purpose::Measure | Purpose::Probe => {
                let detail = "the feed has no final block";
                let error = SourceError::new(SourceErrorKind::Temporary, detail);
                self.handle_failure(flight, error, now);
            }
            Purpose::Dropped => {}
        }
    }

    pub(super) fn handle_archive(&mut self, flight: &InFlight, messages: Vec<Vec<u8>>, now: u64) {
        let (Purpose::Archive(first), Some((next, _))) = (flight.purpose, self.position.stream())
        else {
            return;
        };
        let shards = self.settings.track_shards;
        let blocks: Result<Vec<FeedBlock>, String> =
            messages.into_iter().map(|message| FeedBlock::read(message, shards)).collect();
        let heights = first..first.saturating_add(ARCHIVE_HEIGHTS);
        let is_within = |block: &FeedBlock| heights.contains(&block.block.height);
        let blocks = match blocks {
            Ok(blocks) if blocks.iter().all(is_within) => blocks,
            Ok(_) => {
                return self.handle_bad_message(flight, "archive: other heights".to_string(), now);
            }
            Err(detail) => return self.handle_bad_message(flight, detail, now),
        };
        for height in first.max(next)..heights.end {
            self.fetched.insert(height, None);
        }
        for block in blocks {
            self.observe_fetched(&block, Finality::Final, flight, now);
            if block.block.height >= next {
                self.fetched.insert(block.block.height, Some((block, flight.feed)));
            }
        }
    }

    pub(super) fn handle_bad_message(&mut self, flight: &InFlight, detail: String, now: u64) {
        if flight.purpose == Purpose::Dropped {
            return;
        }
        if let Purpose::Stream(height) = flight.purpose {
            self.past_caches.insert(height);
        }
        let detail = match flight.ask {
            Ask::Block(request) => format!("block {}: {detail}", request.height),
            _ => detail,
        };
        let feed = &mut self.feeds[flight.feed];
        feed.bad_messages += 1;
        if feed.bad_messages >= MAX_BAD_MESSAGES {
            let detail = format!("the feed sent a bad message {MAX_BAD_MESSAGES} times: {detail}");
            feed.refuses = Some((FollowErrorKind::Message, detail));
        }
        let error = SourceError::new(SourceErrorKind::Temporary, detail);
        self.handle_failure(flight, error, now);
    }

    pub(super) fn handle_failure(&mut self, flight: &InFlight, error: SourceError, now: u64) {
        let feed = flight.feed;
        if let Some(pause) = error.retry_after {
            let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            self.feeds[feed].pause(pause, now);
        }
        let is_at_start = self.chain.head().is_none() && !matches!(self.start, Start::Height(_));
        match (flight.purpose, error.kind) {
            // One of the nodes behind its address is behind, or it has no block there.
            (Purpose::Stream(height), SourceErrorKind::TooHigh) if self.has_above(height, feed) => {
                self.fetched.insert(height, None);
            }
            (Purpose::Stream(height), SourceErrorKind::TooHigh) => {
                self.feeds[feed].too_high = Some((height, now.saturating_add(TOO_HIGH_DELAY)));
                self.observe_failed(error, TOO_HIGH_DELAY, feed);
                if self.is_above_all(height, now) {
                    self.return_to_head(height);
                }
            }
            (Purpose::Identity, SourceErrorKind::TooHigh) => {
                match self.feeds[feed].identity {
                    // There is no block after the head yet.
                    Identity::AfterHead(_) => self.compare_later(feed, now),
                    _ => self.feeds[feed].identity = Identity::Behind,
                }
                self.observe_failed(error, 0, feed);
            }
            (Purpose::Identity, SourceErrorKind::TooLow) if self.known_head().is_some() => {
                self.handle_low_anchor(flight, error, now);
            }
            (Purpose::Stream(height), SourceErrorKind::TooLow) if is_at_start => {
                let high = self.anchor.map_or(height, |anchor| anchor.height).max(height);
                let (low, finality) = (height.saturating_add(1).min(high), Finality::Final);
                self.go(Position::Seek { first: low, low, high, finality });
            }
            (Purpose::Stream(height), SourceErrorKind::TooLow)
                if self.settings.skip >= Some(height) && self.do_others_refuse(feed) =>
            {
                self.floor = self.settings.skip.map_or(height, |skip| skip.saturating_add(1));
                self.go(Position::Measure);
            }
            (Purpose::Seek(height), SourceErrorKind::TooHigh) => {
                self.feeds[feed].too_high = Some((height, now.saturating_add(TOO_HIGH_DELAY)));
                if self.is_above_all(height, now) {
                    self.go(Position::Measure);
                }
            }
            (Purpose::Seek(height), SourceErrorKind::TooLow) => {
                if let Position::Seek { first, .. } = &mut self.position {
                    *first = height.saturating_add(1);
                }
                self.seek_above(height);
            }
            (Purpose::Archive(first), _) => {
                *self.failed_archives.entry(first).or_default() += 1;
                self.observe_failed(error, 0, feed);
            }
            (Purpose::Repair(missing), SourceErrorKind::PermissionDenied) => {
                self.handle_lacking(missing, feed, now);
                self.fail(feed, error, flight.sent_at, now);
            }
            (Purpose::Repair(missing), _) => {
                self.handle_lacking(missing, feed, now);
                self.observe_failed(error, 0, feed);
            }
            // A feed that does not say its newest block is taken height by height.
            (Purpose::Gap, kind) if kind.is_refusal() => self.is_gap_known = true,
            (Purpose::Probe, _) => self.observe_failed(error, 0, feed),
            (Purpose::Dropped, _) => {}
            _ => self.fail(feed, error, flight.sent_at, now),
        }
    }

    /// Whether no other feed can serve the chain, as far as they said
    fn do_others_refuse(&self, feed: usize) -> bool {
        let mut others = self.feeds.iter().enumerate().filter(|(index, _)| *index != feed);
        others.all(|(_, other)| other.refuses.is_some())
    }

    /// Whether a feed has sent a block of the stream above a height
    fn has_above(&self, height: BlockHeight, feed: usize) -> bool {
        let mut above = self.fetched.range(height..);
        above.any(|(_, block)| block.as_ref().is_some_and(|(_, from)| *from == feed))
    }

    /// Whether a height is above the newest block of every feed that can be asked and answers
    pub(super) fn is_above_all(&self, height: BlockHeight, now: u64) -> bool {
        let is_silent = |index: usize| {
            let mut flights = self.in_flight.values().filter(|it| it.feed == index);
            flights.any(|it| now.saturating_sub(it.sent_at) > MAX_HOLD)
        };
        self.feeds.iter().enumerate().all(|(index, feed)| {
            feed.retry_at > now || feed.too_high_until(height) > now || is_silent(index)
        })
    }

    pub(super) fn observe_failed(&mut self, error: SourceError, delay: u64, feed: usize) {
        let SourceError { status, detail, .. } = error;
        self.events.push_back(Event::Failed { status, delay, detail, feed });
    }

    /// Notes that a request failed by the fault of its feed
    ///
    /// Requests that were under way when one failed often fail with it, and count as one.
    pub(super) fn fail(&mut self, index: usize, error: SourceError, sent_at: u64, now: u64) {
        let feed = &mut self.feeds[index];
        if sent_at >= feed.failed_at {
            feed.failures += 1;
            feed.failed_at = now;
        }
        let Settings { retry, max_retry, .. } = self.settings;
        let kind = match error.kind {
            SourceErrorKind::TooLow => Some(FollowErrorKind::Missing),
            SourceErrorKind::PermissionDenied => Some(FollowErrorKind::PermissionDenied),
            SourceErrorKind::Unsupported => Some(FollowErrorKind::Unsupported),
            SourceErrorKind::TooHigh | SourceErrorKind::Temporary => None,
        };
        let (first, max) = match kind {
            Some(_) => (retry * 4, max_retry * 2),
            None => (retry, max_retry),
        };
        let delay = feed.back_off(feed.failures, first, max, now);
        if let Some(kind) = kind {
            feed.refuses = Some((kind, error.detail.clone()));
        }
        let is_left = error.kind.is_refusal() || feed.failures >= MAX_FAILURES;
        let detail = error.detail.clone();
        self.observe_failed(error, delay, index);
        if is_left {
            self.leave(index, &ChangeReason::Failed { detail }, now);
        }
        self.end_if_refused();
    }

    /// Ends a start for which no feed is left
    pub(super) fn end_if_refused(&mut self) {
        if self.has_served {
            return;
        }
        let other = |feed: &Feed| {
            feed.other_chain.clone().map(|detail| (FollowErrorKind::OtherChain, detail))
        };
        // A host with a chain waits for feeds that serve it again, unless it was given wrong ones.
        let refusal = |feed: &Feed| match self.stored {
            Some(_) => other(feed),
            None => other(feed).or_else(|| feed.refuses.clone()),
        };
        let refusals: Option<Vec<_>> = self.feeds.iter().map(refusal).collect();
        let Some(refusals) = refusals else { return };
        let is_other = |(kind, _): &(FollowErrorKind, String)| *kind == FollowErrorKind::OtherChain;
        self.error = match refusals.iter().find(|refusal| !is_other(refusal)) {
            Some((kind, detail)) => Some(FollowError::new(*kind, detail)),
            None => {
                let sentences =
                    refusals.iter().zip(1..).map(|((_, it), number)| format!("feed {number} {it}"));
                let sentences: Vec<String> = sentences.collect();
                Some(FollowError::new(FollowErrorKind::OtherChain, sentences.join("; ")))
            }
        };
    }
}
