//! Deadlines in a hierarchical timing wheel (Varghese and Lauck 1987).
//!
//! Time is divided into groups of six bits, one level per group. A deadline is in the level of the
//! highest group in which it differs from the current time, at the slot that this group names. When
//! the time reaches a slot, its deadlines move to lower levels; on the lowest they are due.
//! Insertion and removal are O(1), a deadline moves at most once per level, and the next one is
//! found by looking at eleven words. The list links of a slot are in the entries themselves.

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use super::slab::{NIL, Slab};

/// Bits of a group
const BITS_PER_LEVEL: u32 = 6;
/// Slots of a level
const SLOTS: usize = 1 << BITS_PER_LEVEL;
/// Levels: as many groups as 64 bits make
const LEVELS: usize = 64_usize.div_ceil(BITS_PER_LEVEL as usize);

/// A deadline, and its neighbours in the list of its slot
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub(super) deadline: u64,
    previous: u32,
    next: u32,
}

impl Timer {
    pub(super) const fn at(deadline: u64) -> Self {
        Self { deadline, previous: NIL, next: NIL }
    }
}

/// An entry of a slab with a deadline
pub(super) trait Timed {
    fn timer(&mut self) -> &mut Timer;
}

/// A hierarchical timing wheel over the entries of a slab
#[derive(Debug)]
pub(super) struct TimingWheel {
    /// The latest time that was handed in
    now: u64,
    /// Bit `n` of word `l`: slot `n` of level `l` is not empty
    occupied: [u64; LEVELS],
    /// The first entry of each slot, level by level
    slots: Vec<u32>,
}

impl TimingWheel {
    pub(super) fn new() -> Self {
        Self { now: 0, occupied: [0; LEVELS], slots: vec![NIL; LEVELS * SLOTS] }
    }

    /// The level and slot of a deadline; they stay the same until the time reaches the slot
    const fn slot(&self, deadline: u64) -> (usize, usize) {
        let differing = (deadline ^ self.now) | 1;
        let level = (differing.ilog2() / BITS_PER_LEVEL) as usize;
        (level, (deadline >> (level as u32 * BITS_PER_LEVEL)) as usize % SLOTS)
    }

    /// Inserts an entry by its deadline; one that has passed becomes the current time
    pub(super) fn insert<E: Timed>(&mut self, entries: &mut Slab<E>, index: u32) {
        let Some(entry) = entries.get_mut(index) else { return };
        let timer = entry.timer();
        timer.deadline = timer.deadline.max(self.now);
        let (level, slot) = self.slot(timer.deadline);
        // There are `LEVELS` levels of `SLOTS` slots.
        let first = mem::replace(&mut self.slots[level * SLOTS + slot], index);
        (timer.previous, timer.next) = (NIL, first);
        self.occupied[level] |= 1 << slot;
        if let Some(neighbour) = entries.get_mut(first) {
            neighbour.timer().previous = index;
        }
    }

    /// Removes an entry that is in the wheel
    pub(super) fn remove<E: Timed>(&mut self, entries: &mut Slab<E>, index: u32) {
        let Some(entry) = entries.get_mut(index) else { return };
        let Timer { deadline, previous, next } = *entry.timer();
        if let Some(neighbour) = entries.get_mut(next) {
            neighbour.timer().previous = previous;
        }
        if let Some(neighbour) = entries.get_mut(previous) {
            neighbour.timer().next = next;
            return;
        }
        let (level, slot) = self.slot(deadline);
        self.slots[level * SLOTS + slot] = next;
        if next == NIL {
            self.occupied[level] &= !(1 << slot);
        }
    }

    /// The next slot that is not empty: its level, its number and the time at which it starts
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        // Lower levels come first: they subdivide the current slot of every level above.
        let level = self.occupied.iter().position(|slots| *slots != 0)?;
        let slot = self.occupied[level].trailing_zeros();
        let shift = level as u32 * BITS_PER_LEVEL;
        let above = self.now.checked_shr(shift + BITS_PER_LEVEL).unwrap_or_default();
        let above = above.checked_shl(shift + BITS_PER_LEVEL).unwrap_or_default();
        Some((level, slot as usize, above | u64::from(slot) << shift))
    }

    /// When to call [`pop_expired`](Self::pop_expired) next: never later than the earliest
    /// deadline, and exactly then once it is in the current group of 64
    pub(super) fn next_timeout(&self) -> Option<u64> {
        self.next_slot().map(|(.., start)| start)
    }

    /// Removes and returns an entry whose deadline is not after `now`, until there is none
    pub(super) fn pop_expired<E: Timed>(&mut self, entries: &mut Slab<E>, now: u64) -> Option<u32> {
        // A clock that was set back does not delay what is due.
        let now = now.max(self.now);
        while let Some((level, slot, start)) = self.next_slot().filter(|(.., at)| *at <= now) {
            // The current slot of the lowest level starts now, any other later.
            self.now = start;
            let first = self.slots[level * SLOTS + slot];
            if level == 0 {
                self.remove(entries, first);
                return Some(first);
            }
            self.slots[level * SLOTS + slot] = NIL;
            self.occupied[level] &= !(1 << slot);
            let mut index = first;
            while let Some(entry) = entries.get_mut(index) {
                let next = entry.timer().next;
                self.insert(entries, index);
                index = next;
            }
        }
        self.now = now;
        None
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use milepost_testkit::Rng;

    use super::*;

    impl Timed for Timer {
        fn timer(&mut self) -> &mut Timer {
            self
        }
    }

    #[test]
    fn entries_expire_in_the_order_of_a_sorted_set() {
        let mut rng = Rng::new(1);
        for round in 0..40 {
            let (mut wheel, mut entries) = (TimingWheel::new(), Slab::<Timer>::new());
            let mut sorted: BTreeSet<(u64, u32)> = BTreeSet::new();
            let mut now = if round % 4 == 0 { u64::MAX - 100_000 } else { rng.below(1000) };
            for _ in 0..600 {
                let range = 1 << rng.below(40);
                match rng.below(4) {
                    0 => {
                        now = now.saturating_add(rng.below(range));
                        let mut expired = BTreeSet::new();
                        while let Some(index) = wheel.pop_expired(&mut entries, now) {
                            let deadline = entries.remove(index).unwrap().deadline;
                            let last: Option<&(u64, u32)> = expired.last();
                            assert!(last.is_none_or(|last| last.0 <= deadline));
                            expired.insert((deadline, index));
                        }
                        let later = sorted.split_off(&(now.saturating_add(1), 0));
                        if now == u64::MAX {
                            sorted.extend(later.iter());
                        }
                        assert_eq!(expired, sorted);
                        sorted = if now == u64::MAX { BTreeSet::new() } else { later };
                    }
                    1 if !sorted.is_empty() => {
                        let position = rng.index(sorted.len());
                        let entry = *sorted.iter().nth(position).unwrap();
                        sorted.remove(&entry);
                        wheel.remove(&mut entries, entry.1);
                        assert!(entries.remove(entry.1).is_some());
                    }
                    _ => {
                        let deadline = match rng.below(8) {
                            0 => u64::MAX,
                            1 => now.saturating_sub(5),
                            _ => now.saturating_add(rng.below(range)),
                        };
                        let index = entries.insert(Timer::at(deadline));
                        wheel.insert(&mut entries, index);
                        sorted.insert((deadline.max(wheel.now), index));
                    }
                }
                match (wheel.next_timeout(), sorted.first()) {
                    (None, None) => {}
                    (Some(next), Some((first, _))) => {
                        assert!(next <= *first && next >= wheel.now);
                        assert!(next == *first || first ^ wheel.now >= SLOTS as u64);
                    }
                    (next, first) => panic!("{next:?}, but {first:?} is first"),
                }
            }
        }
    }
}
