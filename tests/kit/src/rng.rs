//! The random number generator: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
//!
//! One addition, three xor-shifts and two multiplications per number. The streams of
//! different seeds do not overlap in any test. Not for cryptography.

/// The increment of the state for each number: 2^64 divided by the golden ratio
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers, determined by its seed
///
/// # Example: the same seed, the same numbers
///
/// ```
/// use milepost_testkit::Rng;
///
/// let (mut one, mut other) = (Rng::new(7), Rng::new(7));
/// assert_eq!(one.next_u64(), other.next_u64());
/// assert!(one.below(10) < 10);
/// ```
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of this seed
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        mix(self.0)
    }

    /// A number below `bound`; 0 when `bound` is 0
    pub const fn below(&mut self, bound: u64) -> u64 {
        // The upper half of a 128-bit product (Lemire 2019), uniform up to 2^-64 * bound.
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// An index of a list of this length; 0 when it is empty
    pub const fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from `min` to `max`, both included; `min` is not greater
    pub const fn between(&mut self, min: u64, max: u64) -> u64 {
        min + self.below(max - min + 1)
    }

    /// True with a probability of 1 in `bound`
    pub const fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    /// True with a probability of `per_mille` in 1,000
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of `items`
    ///
    /// # Panics
    ///
    /// When there is none.
    pub const fn pick<'items, T>(&mut self, items: &'items [T]) -> &'items T {
        &items[self.index(items.len())]
    }

    /// `LENGTH` random bytes: the little-endian bytes of the next numbers
    pub fn bytes<const LENGTH: usize>(&mut self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next_u64().to_le_bytes()[..word.len()]);
        }
        bytes
    }
}

/// The finalizer of SplitMix64: a bijection in which each bit of the result depends on each bit of
/// `number`
///
/// Maps consecutive numbers to pseudorandom ones.
pub const fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_reference_implementation() {
        // The first numbers of the reference implementation for the seed 1234567.
        let mut rng = Rng::new(1_234_567);
        let numbers = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut rng = Rng::new(7);
        let mut seen = [false; 3];
        for _ in 0..1000 {
            seen[rng.between(3, 5) as usize - 3] = true;
            assert_eq!((rng.between(4, 4), rng.below(1), rng.index(1)), (4, 0, 0));
        }
        assert_eq!(seen, [true; 3]);
        assert_eq!((rng.below(0), rng.index(0)), (0, 0));
        assert!(!rng.chance(0) && rng.chance(1000) && rng.one_in(1));
    }

    #[test]
    fn bytes_are_little_endian_bytes_of_the_numbers() {
        let (mut numbers, mut rng) = (Rng::new(3), Rng::new(3));
        let [first, second] = [numbers.next_u64(), numbers.next_u64()].map(u64::to_le_bytes);
        let bytes: [u8; 11] = rng.bytes();
        assert_eq!(bytes[..8], first);
        assert_eq!(bytes[8..], second[..3]);
        assert_eq!(rng.next_u64(), numbers.next_u64());
    }
}
