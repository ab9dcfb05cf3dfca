//! Numbers by seed: all chance of a simulation is drawn from here, so a seed replays alone.

/// SplitMix64 (Steele, Lea, Flood 2014)
#[derive(Clone, Debug)]
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) const fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give the same numbers one step apart.
        Self(mix(seed.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not zero
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }

    /// A number from `least` to `most`
    pub(crate) const fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True once in `bound` times
    pub(crate) const fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    /// True in `thousandths` of 1000 times
    pub(crate) const fn chance(&mut self, thousandths: u64) -> bool {
        self.below(1000) < thousandths
    }

    /// One of `items`, of which there is one at least
    pub(crate) fn pick<'items, T>(&mut self, items: &'items [T]) -> &'items T {
        &items[self.below(items.len() as u64) as usize]
    }

    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes());
        }
        bytes
    }
}

const fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
