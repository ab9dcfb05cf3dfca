//! The random number generator, the only source of chance: its stream follows from the seed alone.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one addition and three mixes per number, the
//! same on every platform. It is for variety, not for secrets.

use core::ops::RangeInclusive;

/// A stream of random numbers
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The stream of this seed
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits
    pub(crate) const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        // The upper half of a 128-bit product: evenly spread up to 2^-64 * bound.
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// A number within `range`, both ends included
    pub(crate) fn within(&mut self, range: &RangeInclusive<u64>) -> u64 {
        let (start, end) = (*range.start(), *range.end());
        start + self.below(end.saturating_sub(start).saturating_add(1))
    }

    /// Whether something happens that happens so many times in a thousand
    pub(crate) const fn chance(&mut self, per_mille: u16) -> bool {
        self.below(1000) < per_mille as u64
    }

    /// One of these
    ///
    /// # Panics
    ///
    /// When there are none; every caller passes a list written in this crate.
    pub(crate) const fn one_of<'a, T>(&mut self, these: &'a [T]) -> &'a T {
        &these[self.below(these.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // First output of SplitMix64 for the seed 1234567, from its reference implementation.
        assert_eq!(Rng::new(1_234_567).next_u64(), 6_457_827_717_110_365_317);
    }

    #[test]
    fn numbers_stay_within_their_range() {
        let mut rng = Rng::new(7);
        for _ in 0..1000 {
            assert!((3..=5).contains(&rng.within(&(3..=5))));
            assert_eq!(rng.within(&(4..=4)), 4);
        }
        assert_eq!(rng.below(0), 0);
        assert!(!rng.chance(0) && rng.chance(1000));
    }
}
