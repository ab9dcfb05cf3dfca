//! Deadlines: a wheel of wheels.
//!
//! Time is cut into groups of six bits. A deadline hangs in the wheel of the highest group in which it
//! differs from the present, at the spoke that this group names; when the present comes to that
//! spoke, whatever hangs there moves to lower wheels, and at the lowest it is due. Hanging up and
//! taking off are O(1), a deadline moves at most once a wheel, and the next one is found by looking at
//! eleven words. The links between those at one spoke live in the requests themselves.

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use super::pages::{NIL, Pages};

/// Bits of a group
const BITS: u32 = 6;
/// Spokes of a wheel
const SPOKES: usize = 1 << BITS;
/// Wheels: as many groups as 64 bits make
const WHEELS: usize = 64_usize.div_ceil(BITS as usize);

/// When a request is due, and its neighbours at the same spoke
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) deadline: u64,
    previous: u32,
    next: u32,
}

impl Due {
    pub(super) const fn at(deadline: u64) -> Self {
        Self { deadline, previous: NIL, next: NIL }
    }
}

/// Whatever has a deadline
pub(super) trait Timed {
    fn due(&mut self) -> &mut Due;
}

/// The deadlines of requests
#[derive(Debug)]
pub(super) struct Deadlines {
    /// The latest time that was handed in
    now: u64,
    /// Bit `n` of word `w`: something hangs at spoke `n` of wheel `w`
    occupied: [u64; WHEELS],
    /// The first request at each spoke, wheel by wheel
    spokes: Vec<u32>,
}

impl Deadlines {
    pub(super) fn new() -> Self {
        Self { now: 0, occupied: [0; WHEELS], spokes: vec![NIL; WHEELS * SPOKES] }
    }

    /// Where a deadline hangs at present; it does not move before the present comes to its spoke
    const fn spoke(&self, deadline: u64) -> (usize, usize) {
        let differing = (deadline ^ self.now) | 1;
        let wheel = (differing.ilog2() / BITS) as usize;
        (wheel, (deadline >> (wheel as u32 * BITS)) as usize % SPOKES)
    }

    /// Hangs up a request by its deadline; one that has passed is due now
    pub(super) fn add<E: Timed>(&mut self, requests: &mut Pages<E>, number: u32) {
        let Some(request) = requests.at_mut(number) else { return };
        let due = request.due();
        due.deadline = due.deadline.max(self.now);
        let (wheel, spoke) = self.spoke(due.deadline);
        // The spokes of a wheel are `SPOKES`, and there are `WHEELS` of them.
        let first = mem::replace(&mut self.spokes[wheel * SPOKES + spoke], number);
        (due.previous, due.next) = (NIL, first);
        self.occupied[wheel] |= 1 << spoke;
        if let Some(neighbour) = requests.at_mut(first) {
            neighbour.due().previous = number;
        }
    }

    /// Takes off a request that hangs here
    pub(super) fn remove<E: Timed>(&mut self, requests: &mut Pages<E>, number: u32) {
        let Some(request) = requests.at_mut(number) else { return };
        let Due { deadline, previous, next } = *request.due();
        if let Some(neighbour) = requests.at_mut(next) {
            neighbour.due().previous = previous;
        }
        if let Some(neighbour) = requests.at_mut(previous) {
            neighbour.due().next = next;
            return;
        }
        let (wheel, spoke) = self.spoke(deadline);
        self.spokes[wheel * SPOKES + spoke] = next;
        if next == NIL {
            self.occupied[wheel] &= !(1 << spoke);
        }
    }

    /// The next spoke at which something hangs, and when the present comes to it
    fn next_spoke(&self) -> Option<(usize, usize, u64)> {
        // Lower wheels come first: they hang in the present group of every wheel above them.
        let wheel = self.occupied.iter().position(|spokes| *spokes != 0)?;
        let spoke = self.occupied[wheel].trailing_zeros();
        let shift = wheel as u32 * BITS;
        let above = self.now.checked_shr(shift + BITS).unwrap_or_default();
        let above = above.checked_shl(shift + BITS).unwrap_or_default();
        Some((wheel, spoke as usize, above | u64::from(spoke) << shift))
    }

    /// When to come again: never later than the earliest deadline, and exactly it once it is in the
    /// present group of 64
    pub(super) fn next(&self) -> Option<u64> {
        self.next_spoke().map(|(.., start)| start)
    }

    /// Takes off a request that is due by now, until there is none
    pub(super) fn pop_due<E: Timed>(&mut self, requests: &mut Pages<E>, now: u64) -> Option<u32> {
        // A clock that was set back does not keep back what has been due.
        let now = now.max(self.now);
        while let Some((wheel, spoke, start)) = self.next_spoke().filter(|(.., at)| *at <= now) {
            // The spoke of now on the lowest wheel starts now, any other later.
            self.now = start;
            let first = self.spokes[wheel * SPOKES + spoke];
            if wheel == 0 {
                self.remove(requests, first);
                return Some(first);
            }
            self.spokes[wheel * SPOKES + spoke] = NIL;
            self.occupied[wheel] &= !(1 << spoke);
            let mut number = first;
            while let Some(request) = requests.at_mut(number) {
                let next = request.due().next;
                self.add(requests, number);
                number = next;
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

    impl Timed for Due {
        fn due(&mut self) -> &mut Due {
            self
        }
    }

    #[test]
    fn they_are_due_as_a_sorted_list_says() {
        let mut rng = Rng::new(1);
        for round in 0..40 {
            let (mut wheel, mut pages) = (Deadlines::new(), Pages::<Due>::new());
            let mut sorted: BTreeSet<(u64, u32)> = BTreeSet::new();
            let mut now = if round % 4 == 0 { u64::MAX - 100_000 } else { rng.below(1000) };
            for _ in 0..600 {
                let far = 1 << (rng.below(40));
                match rng.below(4) {
                    0 => {
                        now = now.saturating_add(rng.below(far));
                        let mut due = BTreeSet::new();
                        while let Some(number) = wheel.pop_due(&mut pages, now) {
                            let deadline = pages.remove(number).unwrap().deadline;
                            assert!(due.last().is_none_or(|last: &(u64, u32)| last.0 <= deadline));
                            due.insert((deadline, number));
                        }
                        let later = sorted.split_off(&(now.saturating_add(1), 0));
                        if now == u64::MAX {
                            sorted.extend(later.iter());
                        }
                        assert_eq!(due, sorted);
                        sorted = if now == u64::MAX { BTreeSet::new() } else { later };
                    }
                    1 if !sorted.is_empty() => {
                        let at = rng.index(sorted.len());
                        let one = *sorted.iter().nth(at).unwrap();
                        sorted.remove(&one);
                        wheel.remove(&mut pages, one.1);
                        assert!(pages.remove(one.1).is_some());
                    }
                    _ => {
                        let deadline = match rng.below(8) {
                            0 => u64::MAX,
                            1 => now.saturating_sub(5),
                            _ => now.saturating_add(rng.below(far)),
                        };
                        let number = pages.add(Due::at(deadline));
                        wheel.add(&mut pages, number);
                        sorted.insert((deadline.max(wheel.now), number));
                    }
                }
                match (wheel.next(), sorted.first()) {
                    (None, None) => {}
                    (Some(next), Some((first, _))) => {
                        assert!(next <= *first && next >= wheel.now);
                        assert!(next == *first || first ^ wheel.now >= SPOKES as u64);
                    }
                    (next, first) => panic!("{next:?}, but {first:?} is first"),
                }
            }
        }
    }
}
