//! Numbers by seed, to draw test cases that can be drawn again.

/// SplitMix64 (Steele, Lea, Flood 2014)
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of this seed
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which is not zero
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// True once in `bound` times
    pub const fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}
