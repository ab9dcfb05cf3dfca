//! The blocks that were handed out since the last final one.
//!
//! The highest of them is the head, as in the engine; at equal heights the first. A block belongs
//! here if its parent does, and if it does not start a branch below the last final block that would
//! become canonical. Blocks below the last final one are forgotten.

use alloc::collections::BTreeMap;

use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::BlockPoint;

use crate::message::FeedBlock;

struct Entry {
    height: BlockHeight,
    prev_hash: CryptoHash,
}

/// The blocks since the last final one
#[derive(Default)]
pub(crate) struct Recent {
    entries: BTreeMap<CryptoHash, Entry>,
    head: Option<BlockPoint>,
    last_final: Option<BlockPoint>,
}

/// What a block changed
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Change {
    /// Number of blocks that left the canonical chain
    pub(crate) reverted: u64,
    /// Number of heights between the block and its parent, if it extends the canonical chain
    pub(crate) skipped: u64,
    /// Whether there is a new last final block
    pub(crate) is_final_new: bool,
}

impl Recent {
    /// A chain that is known by its head and its last final block
    pub(crate) fn of_stored(head: BlockPoint, last_final: BlockPoint) -> Self {
        let mut recent = Self { head: Some(head), last_final: Some(last_final), ..Self::default() };
        for point in [head, last_final] {
            let entry = Entry { height: point.height, prev_hash: CryptoHash::ZERO };
            recent.entries.insert(point.hash, entry);
        }
        recent
    }

    pub(crate) fn last_final(&self) -> Option<BlockPoint> {
        self.last_final
    }

    pub(crate) fn head(&self) -> Option<BlockPoint> {
        self.head
    }

    pub(crate) fn contains(&self, hash: CryptoHash) -> bool {
        self.entries.contains_key(&hash)
    }

    /// Whether the block can follow what is here
    pub(crate) fn accepts(&self, block: &FeedBlock) -> bool {
        let Some(parent) = self.entries.get(&block.prev_hash) else { return false };
        let links = parent.height < block.block.height
            && block.prev_height.is_none_or(|height| height == parent.height);
        let becomes_head = self.head.is_none_or(|head| block.block.height > head.height);
        links && !(becomes_head && self.is_below_final(block.prev_hash))
    }

    /// Adds a block whose parent is here, or the first one
    pub(crate) fn add(&mut self, block: &FeedBlock) -> Change {
        let mut change = Change::default();
        let point = block.block;
        self.insert(block);
        if self.head.is_none_or(|head| point.height > head.height) {
            let parent = self.entries.get(&block.prev_hash).map(|parent| parent.height);
            let gap = parent.map_or(0, |parent| point.height.saturating_sub(parent));
            change.skipped = gap.saturating_sub(1);
            change.reverted = self.depth_of_reorg(block);
            self.head = Some(point);
            if let Some(hash) = block.last_final
                && let Some(entry) = self.entries.get(&hash)
            {
                // An ancestor of the block, or the block itself would not be accepted later.
                let named = BlockPoint { height: entry.height, hash };
                if self.ancestor_at(block.prev_hash, named.height) == Some(hash) {
                    change.is_final_new = self.finalize(named);
                }
            }
        }
        change
    }

    /// Adds the block that the chain starts with, which is final
    pub(crate) fn add_final(&mut self, block: &FeedBlock) {
        self.insert(block);
        self.head = Some(block.block);
        self.finalize(block.block);
    }

    /// Adds a block without its parent: the first one, or one behind a height that is given up
    pub(crate) fn add_first(&mut self, block: &FeedBlock) {
        self.insert(block);
        // Nothing is known of the blocks below.
        if let Some(entry) = self.entries.get_mut(&block.block.hash) {
            entry.prev_hash = CryptoHash::ZERO;
        }
        if self.head.is_none_or(|head| block.block.height > head.height) {
            self.head = Some(block.block);
        }
    }

    fn insert(&mut self, block: &FeedBlock) {
        let BlockPoint { height, .. } = block.block;
        let entry = Entry { height, prev_hash: block.prev_hash };
        self.entries.insert(block.block.hash, entry);
    }

    /// Number of blocks from the head down to the first ancestor of the block
    fn depth_of_reorg(&self, block: &FeedBlock) -> u64 {
        let (mut depth, mut hash) = (0, self.head.map(|head| head.hash));
        while let Some(entry) = hash.and_then(|hash| self.entries.get(&hash)) {
            if self.ancestor_at(block.prev_hash, entry.height) == hash {
                return depth;
            }
            depth += 1;
            hash = Some(entry.prev_hash);
        }
        // The common ancestor is not here: the block follows a gap, or the blocks of a store.
        if self.contains(block.prev_hash) { depth } else { 0 }
    }

    /// The block at this height, going back from another one
    fn ancestor_at(&self, mut hash: CryptoHash, height: BlockHeight) -> Option<CryptoHash> {
        loop {
            let entry = self.entries.get(&hash)?;
            match entry.height {
                reached if reached == height => return Some(hash),
                reached if reached < height => return None,
                _ => hash = entry.prev_hash,
            }
        }
    }

    /// Whether a branch that ends here is known to leave the last final block out
    fn is_below_final(&self, mut hash: CryptoHash) -> bool {
        let Some(last) = self.last_final else { return false };
        while let Some(entry) = self.entries.get(&hash) {
            if entry.height <= last.height {
                return hash != last.hash;
            }
            // The stored head is on the chain of the stored final block, with unknown blocks
            // in between.
            if entry.prev_hash == CryptoHash::ZERO {
                return false;
            }
            hash = entry.prev_hash;
        }
        true
    }

    /// Makes a block the last final one, unless a higher one is
    fn finalize(&mut self, point: BlockPoint) -> bool {
        let is_new = self.last_final.is_none_or(|last| point.height > last.height);
        if is_new {
            self.last_final = Some(point);
            self.entries.retain(|_, entry| entry.height >= point.height);
        }
        is_new
    }
}
