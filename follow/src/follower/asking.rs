//! Chooses the next request and the feed that it is sent to.
//!
//! A request goes to the first feed in the order that can be asked now. Where the chain does not
//! advance, it goes to each.

use alloc::vec::Vec;

use milepost::storage::BlockPoint;

use super::{ARCHIVE_HEIGHTS, Follower, InFlight, MAX_ARCHIVE_FAILURES, TIMEOUT};
use crate::feed::{Feed, Identity};
use crate::position::{Position, Purpose};
use crate::request::{Ask, BlockRequest, Finality, Request};

/// Number of heights below the last final block within which archives may not be made yet
const ARCHIVE_LAG: u64 = 20;
/// Number of heights that are asked above the next one
const LOOKAHEAD: u64 = 2;
/// Maximum number of blocks that wait for the host
const MAX_READY: usize = 10;

impl Follower {
    /// The feeds in the order in which they are asked
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.feeds.len()).collect();
        order.sort_by_key(|index| {
            let feed = &self.feeds[*index];
            (feed.has_other_chain(), feed.left_until.unwrap_or(0), *index)
        });
        order
    }

    /// The purposes of the next requests, the most urgent first
    pub(super) fn purposes(&self, order: &[usize]) -> Vec<Purpose> {
        let wanted = self.orphans.wanted(self.head_height());
        let mut purposes: Vec<Purpose> = wanted.into_iter().map(Purpose::Repair).collect();
        if self.ready.len() >= MAX_READY {
            return purposes;
        }
        match self.position {
            Position::Start => purposes.push(Purpose::Start),
            Position::Seek { low, high, .. } => {
                purposes.push(Purpose::Seek(low + (high - low) / 2));
            }
            Position::Measure => purposes.push(Purpose::Measure),
            Position::Final { .. } if self.is_final_chain_broken() => {}
            _ if self.empty >= self.max_empty() && !self.is_gap_known => {
                purposes.push(Purpose::Gap)
            }
            Position::Final { next, until } => {
                if self.is_frozen || self.is_behind {
                    purposes.push(Purpose::Stream(next));
                }
                let has_archives =
                    order.first().is_some_and(|it| self.feeds[*it].settings.archives);
                let first = next - next % ARCHIVE_HEIGHTS;
                for first in [first, first.saturating_add(ARCHIVE_HEIGHTS)] {
                    let end = first.saturating_add(ARCHIVE_HEIGHTS);
                    let is_made = end.saturating_add(ARCHIVE_LAG) <= until;
                    let failures = self.failed_archives.get(&first).copied().unwrap_or(0);
                    if has_archives && is_made && failures < MAX_ARCHIVE_FAILURES {
                        if !self.fetched.contains_key(&first.max(next)) {
                            purposes.push(Purpose::Archive(first));
                        }
                    } else {
                        let last = until.min(end - 1);
                        let heights = first.max(next)..=last.min(next + LOOKAHEAD);
                        purposes.extend(heights.map(Purpose::Stream));
                    }
                }
            }
            Position::Optimistic { next } => {
                let last = next.saturating_add(LOOKAHEAD);
                purposes.extend((next..=last).map(Purpose::Stream));
            }
        }
        let is_known = |purpose: &Purpose| match purpose {
            Purpose::Stream(height) => self.fetched.contains_key(height),
            _ => false,
        };
        purposes.retain(|purpose| !is_known(purpose));
        purposes
    }

    /// Whether the last block of the final chain waits for its parent: that one comes before all
    /// that follows. A branch of other orphans, which may be of another chain, is not waited for.
    pub(super) fn is_final_chain_broken(&self) -> bool {
        let is_orphan = |last: BlockPoint| {
            Some(last.height) > self.head_height() && self.orphans.contains(last.hash)
        };
        self.last_of_final_chain.is_some_and(is_orphan)
    }

    pub(super) fn send(&mut self, purpose: Purpose, order: &[usize], now: u64) -> Option<Request> {
        // Any feed may have the block that the first one does not send.
        let is_next = match purpose {
            Purpose::Stream(height) => {
                self.position.stream().is_some_and(|(next, _)| next == height)
            }
            _ => true,
        };
        let is_race = (self.is_frozen || self.is_behind) && is_next;
        let is_sent = |it: &InFlight| it.purpose == purpose;
        if !is_race && self.in_flight.values().any(is_sent) {
            return None;
        }
        for index in order.iter().copied() {
            if self.in_flight.values().any(|it| is_sent(it) && it.feed == index) {
                continue;
            }
            let feed = &self.feeds[index];
            let too_high = match (purpose, self.position.stream()) {
                (Purpose::Stream(height) | Purpose::Seek(height), _)
                | (Purpose::Gap, Some((height, _))) => feed.too_high_until(height),
                _ => 0,
            };
            let lacking = match purpose {
                Purpose::Repair(missing) => self.orphans.repair(missing),
                _ => None,
            };
            let lacking = lacking.and_then(|repair| repair.lacking.get(&index)).copied();
            let at = feed.retry_at.max(lacking.unwrap_or(0));
            let is_stream = matches!(purpose, Purpose::Stream(_));
            if too_high > now && at <= now && is_stream && !is_race {
                // The newest block is waited for at the feed that is asked first.
                self.wake_at = self.wake_at.min(too_high);
                return None;
            }
            let at = at.max(too_high);
            if at > now {
                self.wake_at = self.wake_at.min(at);
                continue;
            }
            let at = feed.budget.next_at(now);
            if at > now {
                self.wake_at = self.wake_at.min(at);
                if is_race {
                    continue;
                }
                return None;
            }
            match self.identity_ask(index) {
                None => {
                    if let Some(ask) = self.ask_of(purpose, index) {
                        return Some(self.request(index, purpose, ask, now));
                    }
                }
                Some(ask) => {
                    let is_asked =
                        |it: &InFlight| it.feed == index && it.purpose == Purpose::Identity;
                    if !self.in_flight.values().any(is_asked) {
                        return Some(self.request(index, Purpose::Identity, ask, now));
                    }
                    if !is_race {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Whether a feed is asked for its newest block now and then
    pub(super) fn is_probed(&self, index: usize) -> bool {
        self.has_served && (self.is_frozen || index != self.active)
    }

    pub(super) fn probe(&mut self, now: u64) -> Option<Request> {
        let is_due = |(index, feed): &(usize, &Feed)| {
            self.is_probed(*index) && feed.probe_at.max(feed.retry_at) <= now
        };
        let (index, feed) = self.feeds.iter().enumerate().find(is_due)?;
        if feed.budget.next_at(now) > now {
            self.wake_at = self.wake_at.min(feed.budget.next_at(now));
            return None;
        }
        let (purpose, ask) = match self.identity_ask(index) {
            Some(ask) => (Purpose::Identity, ask),
            None => (Purpose::Probe, Ask::Head(Finality::Optimistic)),
        };
        let is_asked = |it: &InFlight| it.feed == index && it.purpose == purpose;
        let is_under_way = self.in_flight.values().any(is_asked);
        // The steps of a comparison of chains follow each other without a pause.
        if purpose == Purpose::Probe || is_under_way {
            self.feeds[index].probe_at = now.saturating_add(self.settings.frozen_after / 3);
        }
        if is_under_way {
            return self.probe(now);
        }
        Some(self.request(index, purpose, ask, now))
    }

    pub(super) fn request(&mut self, feed: usize, purpose: Purpose, ask: Ask, now: u64) -> Request {
        let (id, deadline) = (self.next_id, now.saturating_add(TIMEOUT));
        self.next_id += 1;
        self.feeds[feed].budget.reserve(now);
        let is_redirected = false;
        let flight = InFlight { feed, ask, purpose, sent_at: now, deadline, is_redirected };
        self.in_flight.insert(id, flight);
        Request { id, feed, ask, deadline }
    }

    /// The request that compares the chain of a feed, if it was not compared yet
    pub(super) fn identity_ask(&self, index: usize) -> Option<Ask> {
        let above = match &self.feeds[index].identity {
            Identity::SameChain => return None,
            Identity::Unknown if self.settings.chain_id.is_some() => return Some(Ask::ChainId),
            Identity::Unknown => 0,
            Identity::Behind => return Some(Ask::Head(Finality::Final)),
            Identity::AfterHead(above) => {
                let height = self.known_head()?.height.saturating_add(1).saturating_add(*above);
                return Some(Ask::Block(BlockRequest::new(height, Finality::Optimistic)));
            }
            Identity::SameName(above) => *above,
        };
        let height = self.anchor?.height.saturating_add(above);
        Some(Ask::Block(BlockRequest::new(height, Finality::Final).past_caches()))
    }

    /// The request to a feed for a purpose; `None` if the feed cannot serve it
    pub(super) fn ask_of(&self, purpose: Purpose, index: usize) -> Option<Ask> {
        let settings = self.feeds[index].settings;
        let block = |height, finality| Ask::Block(BlockRequest::new(height, finality));
        Some(match purpose {
            Purpose::Start => Ask::LastFinal,
            Purpose::Seek(height) => match self.position {
                Position::Seek { finality, .. } => block(height, finality),
                _ => return None,
            },
            Purpose::Measure => Ask::Head(Finality::Final),
            Purpose::Gap => Ask::Head(self.position.stream()?.1),
            Purpose::Repair(hash) if settings.by_hash => Ask::BlockByHash(hash),
            Purpose::Repair(hash) => {
                let height = self.orphans.repair(hash)?.height;
                Ask::Block(BlockRequest::new(height, Finality::Final).past_caches())
            }
            Purpose::Archive(first) => settings.archives.then_some(Ask::Archive(first))?,
            Purpose::Stream(height) => {
                let request = BlockRequest::new(height, self.position.stream()?.1);
                let is_doubted = self.past_caches.contains(&height);
                Ask::Block(if is_doubted { request.past_caches() } else { request })
            }
            Purpose::Probe => Ask::Head(Finality::Optimistic),
            Purpose::Identity | Purpose::Dropped => return None,
        })
    }
}
