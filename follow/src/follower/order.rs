//! Which feed is asked first: the first one of the host that lets the head be as new as any other.

use milepost::primitives::BlockHeight;

use super::{Follower, MAX_HEAD_LAG};
use crate::event::{ChangeReason, Event};
use crate::feed::{Feed, Identity};
use crate::position::{Position, Purpose};

/// Number of heights by which the head comes closer to that of another feed in half of the silence
/// after which feeds are frozen, or the other feed is asked as well
const MIN_GAIN: u64 = 8;

impl Follower {
    /// Asks a feed after the others for a while
    pub(super) fn leave(&mut self, index: usize, reason: &ChangeReason, now: u64) {
        let is_other = |(other, feed): (usize, &Feed)| other != index && !feed.has_other_chain();
        if !self.feeds.iter().enumerate().any(is_other) {
            return;
        }
        self.feeds[index].leave(&self.settings, now);
        self.drop_requests_to(index);
        self.change_active(reason);
    }

    pub(super) fn drop_requests_to(&mut self, index: usize) {
        for flight in self.in_flight.values_mut().filter(|it| it.feed == index) {
            if flight.purpose.is_of_position() {
                flight.purpose = Purpose::Dropped;
            }
        }
    }

    pub(super) fn change_active(&mut self, reason: &ChangeReason) {
        let from = self.active;
        let Some(first) = self.order().first().copied() else { return };
        if first != from {
            self.active = first;
            let reason = reason.clone();
            self.events.push_back(Event::FeedChanged { feed: first, from, reason });
            if let Position::Final { .. } = self.position {
                // The feed may be at another height.
                self.go(Position::Measure);
            }
        }
    }

    /// Notices that another feed is ahead of the head for a while
    pub(super) fn compare_heads(&mut self, now: u64) {
        let Some(head) = self.head_height() else { return };
        let is_at_head = matches!(self.position, Position::Optimistic { .. });
        let delay = self.settings.frozen_after / 2;
        self.is_behind = false;
        for feed in &mut self.feeds {
            let (Some(claim), Some((newest, _))) = (&mut feed.claim, feed.newest) else { continue };
            let newest = newest.max(head);
            if claim.height <= head {
                feed.claim = None;
            } else if now.saturating_sub(claim.at) >= delay {
                // Catching up takes its time, in which the distance shrinks.
                let gained = (claim.height - claim.head).saturating_sub(newest - head);
                if is_at_head || gained < MIN_GAIN {
                    self.is_behind = true;
                    // The claim of a feed with another chain says nothing.
                    if !core::mem::replace(&mut claim.is_compared, true)
                        && feed.identity == Identity::SameChain
                    {
                        feed.identity = Identity::Unknown;
                    }
                } else {
                    feed.claim = None;
                }
            }
        }
    }

    /// The highest block that a feed says to have
    pub(super) fn claimed(&self) -> Option<BlockHeight> {
        self.feeds.iter().filter_map(|feed| feed.newest).map(|(height, _)| height).max()
    }

    /// Asks feeds in their turn again that were left for long enough and are at the head
    pub(super) fn return_to_feeds(&mut self, now: u64) {
        let (head, interval) = (self.head_height().unwrap_or(0), self.settings.frozen_after / 3);
        for feed in &mut self.feeds {
            if feed.left_until.is_none_or(|until| until > now) {
                continue;
            }
            let is_at_head = feed.newest.is_some_and(|(height, at)| {
                height.saturating_add(MAX_HEAD_LAG) >= head
                    && now.saturating_sub(at) <= 2 * interval
            });
            if is_at_head {
                feed.come_back(now);
            } else {
                feed.left_until = Some(now.saturating_add(interval));
            }
        }
        self.change_active(&ChangeReason::Returned);
    }
}
