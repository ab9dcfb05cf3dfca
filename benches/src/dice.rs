//! Chance that is the same in every run.

use milepost::primitives::CryptoHash;

/// A stream of numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The stream of this seed
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0
    pub const fn below(&mut self, bound: usize) -> usize {
        // The upper half of a 128-bit product: evenly spread up to 2^-64 * bound.
        ((self.next() as u128 * bound as u128) >> 64) as usize
    }

    /// An id that was not there before, for all that anyone will see
    pub fn hash(&mut self) -> CryptoHash {
        let mut bytes = [0; 32];
        let (words, _) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = self.next().to_le_bytes();
        }
        CryptoHash::new(bytes)
    }
}
