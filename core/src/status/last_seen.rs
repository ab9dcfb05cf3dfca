//! The next event of a watcher, by the last event that it has.
//!
//! An event tells only of blocks that are there to be compared. Where the block of the last event
//! is above the head, or below the heights that the storage has without a gap, nothing is known of
//! a fork. A block that a watcher knows as final is compared with final blocks alone: no fork takes
//! it away, and a storage that is behind may still have another one.

use super::Milestone;
use crate::primitives::{BlockHeight, CryptoHash};

/// The block of the last event that a watcher has
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "height and hash name a block")]
pub struct LastSeen {
    /// Its height: nothing follows from a head below it
    pub height: BlockHeight,
    /// Its hash; `None` if only the height is known
    pub hash: Option<CryptoHash>,
    /// Whether the milestone says that it is final
    pub is_final: bool,
}

/// The event that follows the last event of a watcher
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a watcher has to handle each")]
pub enum NextEvent {
    /// No event yet: the head is below the block of the last event, or the last final block below
    /// one that the watcher knows as final
    Wait,
    /// The newest state
    State,
    /// A fork took away the block of the last event; the newest state follows that
    UnIncluded,
    /// No state any more: the transaction is not known, and nothing says that a fork took it away
    Forgotten,
}

impl LastSeen {
    /// The block in the id of a state; `None` for a transaction in no block, and for other texts
    ///
    /// ```
    /// use milepost::primitives::CryptoHash;
    /// use milepost::status::LastSeen;
    ///
    /// let hash = CryptoHash::digest(b"block");
    /// let id = format!("INCLUDED-101-{hash}-4uQeVj5tqV");
    /// let block = LastSeen { height: 101, hash: Some(hash), is_final: false };
    /// assert_eq!(LastSeen::of_id(&id), Some(block));
    /// assert_eq!(LastSeen::of_id("NONE-0-4uQeVj5tqV"), None);
    /// ```
    pub fn of_id(id: &str) -> Option<Self> {
        let mut parts = id.split('-');
        let milestone = Milestone::from_name(parts.next()?)?;
        let height = parts.next()?.parse().ok()?;
        let hash = parts.next().and_then(|hash| hash.parse().ok());
        let is_final = milestone.satisfies(Milestone::IncludedFinal);
        (milestone != Milestone::None).then_some(Self { height, hash, is_final })
    }

    /// The next event over a storage with this head and every block from `complete_from` on
    ///
    /// `head` is the last final block for a block that is final. `canonical` is the block at the
    /// height of the last event, and `state` the block in which the transaction is now: `None` if
    /// it is in none.
    pub fn next_event(
        self,
        head: Option<BlockHeight>,
        complete_from: BlockHeight,
        canonical: Option<CryptoHash>,
        state: Option<Self>,
    ) -> NextEvent {
        let known = || if state.is_some() { NextEvent::State } else { NextEvent::Forgotten };
        let same = state.filter(|state| (state.height, state.hash) == (self.height, self.hash));
        match (same, self.hash) {
            (Some(same), _) if self.is_final && !same.is_final => NextEvent::Wait,
            // A state of an archive may be above the head.
            (Some(_), _) => NextEvent::State,
            _ if head.is_none_or(|head| head < self.height) => NextEvent::Wait,
            (_, None) => NextEvent::State,
            // A refusal is in an earlier block than the execution that takes its place.
            (_, hash) if canonical == hash => known(),
            _ if self.height < complete_from => known(),
            _ => NextEvent::UnIncluded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_block_in_the_complete_heights_takes_a_transaction_away() {
        let [own, other] = ["own", "other"].map(|name| CryptoHash::digest(name.as_bytes()));
        let seen = |height, hash| LastSeen { height, hash: Some(hash), is_final: false };
        let last = seen(101, own);
        let moved = Some(seen(102, other));
        for (head, complete_from, canonical, state, next_event) in [
            (None, 0, None, None, NextEvent::Wait),
            (Some(100), 0, None, None, NextEvent::Wait),
            (Some(100), 0, None, moved, NextEvent::Wait),
            (Some(100), 0, None, Some(last), NextEvent::State),
            (Some(101), 0, Some(own), Some(last), NextEvent::State),
            (Some(103), 0, Some(own), moved, NextEvent::State),
            (Some(103), 0, Some(own), None, NextEvent::Forgotten),
            (Some(101), 0, Some(other), None, NextEvent::UnIncluded),
            (Some(103), 101, Some(other), moved, NextEvent::UnIncluded),
            (Some(103), 101, None, None, NextEvent::UnIncluded),
            (Some(103), 102, None, None, NextEvent::Forgotten),
            (Some(103), 102, Some(other), None, NextEvent::Forgotten),
            (Some(103), 102, None, moved, NextEvent::State),
        ] {
            let found = last.next_event(head, complete_from, canonical, state);
            let case = (head, complete_from, canonical, state);
            assert_eq!(found, next_event, "{case:?}");
        }
        let height = LastSeen { height: 101, hash: None, is_final: false };
        assert_eq!(height.next_event(Some(100), 0, None, None), NextEvent::Wait);
        assert_eq!(height.next_event(Some(101), 102, None, None), NextEvent::State);
    }

    #[test]
    fn a_final_block_is_compared_with_final_blocks() {
        let [own, other] = ["own", "other"].map(|name| CryptoHash::digest(name.as_bytes()));
        let block = |height, hash, is_final| LastSeen { height, hash: Some(hash), is_final };
        let last = block(101, own, true);
        for (last_final, canonical, state, next_event) in [
            (99, Some(own), Some(block(101, own, false)), NextEvent::Wait),
            (99, Some(other), None, NextEvent::Wait),
            (99, Some(other), Some(block(102, other, false)), NextEvent::Wait),
            (99, Some(own), Some(last), NextEvent::State),
            (101, Some(own), Some(last), NextEvent::State),
            (101, Some(own), Some(block(103, other, false)), NextEvent::State),
            (101, Some(other), None, NextEvent::UnIncluded),
        ] {
            let found = last.next_event(Some(last_final), 0, canonical, state);
            assert_eq!(found, next_event, "{:?}", (last_final, canonical, state));
        }
        // One that was not final can have become so.
        let state = Some(last);
        let found = block(101, own, false).next_event(Some(99), 0, None, state);
        assert_eq!(found, NextEvent::State);
    }
}
