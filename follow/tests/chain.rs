//! A chain with forks, skipped heights and gaps, and when each of its blocks is produced and final.

use std::collections::HashMap;

use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

/// The time between two blocks, in milliseconds, as on mainnet
pub(crate) const BLOCK_TIME: u64 = 600;

/// A block of the model
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) height: u64,
    pub(crate) hash: CryptoHash,
    /// Its parent, by its index; `None` for the first block
    pub(crate) parent: Option<usize>,
    pub(crate) produced: u64,
    is_canonical: bool,
    /// When it is final; `None` for a block of a fork
    pub(crate) final_at: Option<u64>,
    /// The block that it makes final, by its index
    pub(crate) last_final: Option<usize>,
}

/// All blocks, in the order in which they are produced
pub(crate) struct Chain {
    pub(crate) blocks: Vec<Block>,
    by_hash: HashMap<CryptoHash, usize>,
    /// Canonical blocks, whose heights and times rise
    canonical: Vec<usize>,
    /// The blocks of an optimistic stream: the first block at each height above all before
    published: Vec<usize>,
}

impl Chain {
    /// The chain of a seed, from a height on and for a time; `salt` tells chains apart
    pub(crate) fn new(rng: &mut Rng, first: u64, duration: u64, salt: u8) -> Self {
        let mut chain = Self::empty();
        let mut tip = chain.push(first, None, 0, true, salt);
        let mut now = 0;
        while now < duration {
            now += rng.between(BLOCK_TIME / 2, BLOCK_TIME * 3 / 2);
            let height = chain.blocks[tip].height;
            if rng.chance(20) {
                // A fork of one or two blocks; the canonical block comes after it, at the same
                // height or above.
                let mut fork = chain.push(height + 1, Some(tip), now, false, salt);
                if rng.one_in(3) {
                    now += BLOCK_TIME / 2;
                    fork = chain.push(height + 2, Some(fork), now, false, salt);
                }
                now += BLOCK_TIME / 2;
                let above = chain.blocks[fork].height + 1;
                let next = if rng.one_in(2) { height + 1 } else { above };
                tip = chain.push(next, Some(tip), now, true, salt);
                continue;
            }
            let gap = match () {
                () if rng.one_in(4_000) => rng.between(30, 12_000),
                () if rng.chance(30) => rng.between(1, 4),
                () => 0,
            };
            now += gap.min(6) * BLOCK_TIME;
            tip = chain.push(height + 1 + gap, Some(tip), now, true, salt);
        }
        chain
    }

    /// A chain without forks and gaps, with a block each so many milliseconds
    pub(crate) fn steady(first: u64, duration: u64, interval: u64) -> Self {
        let (mut chain, mut tip) = (Self::empty(), None);
        for (height, now) in (first..).zip((0..duration).step_by(interval as usize)) {
            tip = Some(chain.push(height, tip, now, true, 1));
        }
        chain
    }

    fn empty() -> Self {
        Self {
            blocks: Vec::new(),
            by_hash: HashMap::new(),
            canonical: Vec::new(),
            published: Vec::new(),
        }
    }

    fn push(
        &mut self,
        height: u64,
        parent: Option<usize>,
        produced: u64,
        is_canonical: bool,
        salt: u8,
    ) -> usize {
        let index = self.blocks.len();
        let mut bytes = [salt; 32];
        bytes[..8].copy_from_slice(&(index as u64 + 1).to_le_bytes());
        let hash = CryptoHash::new(bytes);
        // A block is final once two blocks build on it.
        let last_final = parent.and_then(|parent| self.blocks[parent].parent);
        let final_at = None;
        let block = Block { height, hash, parent, produced, is_canonical, final_at, last_final };
        self.blocks.push(block);
        self.by_hash.insert(hash, index);
        if self.published.last().is_none_or(|top| height > self.blocks[*top].height) {
            self.published.push(index);
        }
        if is_canonical {
            self.canonical.push(index);
            if let Some(last_final) = last_final {
                self.blocks[last_final].final_at = Some(produced);
            }
            if parent.is_none() {
                self.blocks[index].final_at = Some(produced);
            }
        }
        index
    }

    pub(crate) fn index(&self, hash: CryptoHash) -> Option<usize> {
        self.by_hash.get(&hash).copied()
    }

    /// The message of a block, with the members that a follower reads
    pub(crate) fn message(&self, index: usize) -> String {
        let block = &self.blocks[index];
        let parent = block.parent.map(|parent| &self.blocks[parent]);
        let hash =
            |index: Option<usize>| index.map_or(CryptoHash::ZERO, |index| self.blocks[index].hash);
        format!(
            r#"{{"block":{{"header":{{"height":{},"hash":"{}","prev_hash":"{}","prev_height":{},"last_final_block":"{}","epoch_id":"{}"}},"chunks":[]}},"shards":[]}}"#,
            block.height,
            block.hash,
            hash(block.parent),
            parent.map_or(0, |parent| parent.height),
            hash(block.last_final),
            CryptoHash::ZERO
        )
    }

    /// The published block at a height, or the next one above it
    pub(crate) fn published_from(&self, height: u64) -> Option<usize> {
        self.from(&self.published, height)
    }

    /// The canonical block at a height, or the next one above it
    pub(crate) fn canonical_from(&self, height: u64) -> Option<usize> {
        self.from(&self.canonical, height)
    }

    fn from(&self, blocks: &[usize], height: u64) -> Option<usize> {
        let position = blocks.partition_point(|index| self.blocks[*index].height < height);
        blocks.get(position).copied()
    }

    /// The newest published block at a time
    pub(crate) fn published_head(&self, now: u64) -> usize {
        let count = self.published.partition_point(|index| self.blocks[*index].produced <= now);
        self.published[count.max(1) - 1]
    }

    /// The newest final block at a time
    pub(crate) fn final_head(&self, now: u64) -> usize {
        let is_final = |index: &usize| self.blocks[*index].final_at.is_some_and(|at| at <= now);
        let count = self.canonical.partition_point(is_final);
        self.canonical[count.max(1) - 1]
    }

    /// The highest block of a node at a time, the first of equal ones
    pub(crate) fn node_head(&self, now: u64) -> usize {
        let end = self.blocks.partition_point(|block| block.produced <= now);
        let recent = end.saturating_sub(16)..end;
        let highest = recent.max_by_key(|index| (self.blocks[*index].height, usize::MAX - index));
        highest.unwrap_or(0)
    }

    /// The ancestor of a block at a height, or the one above it
    pub(crate) fn ancestor_from(&self, mut index: usize, height: u64) -> usize {
        while let Some(parent) = self.blocks[index].parent
            && !self.blocks[index].is_canonical
            && self.blocks[parent].height >= height
        {
            index = parent;
        }
        let is_above = |from: &usize| self.blocks[*from].height > self.blocks[index].height;
        match self.canonical_from(height) {
            Some(from) if self.blocks[index].is_canonical && !is_above(&from) => from,
            _ => index,
        }
    }
}
