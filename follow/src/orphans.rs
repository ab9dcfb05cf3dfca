//! Fetched blocks whose parent was not handed out, and the requests for their ancestors.
//!
//! A branch of them has one missing ancestor, which is asked for until it comes, until the branch
//! no longer reaches above the head, or until the chain is final above it. No feed owns a repair.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::BlockPoint;

use crate::message::FeedBlock;
use crate::recent::Recent;

/// Maximum number of blocks, which are some 100 MB: a chain that is built from memory is bounded
const MAX_BLOCKS: usize = 64;

/// A block and the feed that it came from
pub(crate) type Received = (FeedBlock, usize);

/// Blocks that wait for an ancestor
#[derive(Default)]
pub(crate) struct Orphans {
    blocks: BTreeMap<CryptoHash, Received>,
    repairs: BTreeMap<CryptoHash, Repair>,
}

/// A block that is missing
#[derive(Clone, Debug)]
pub(crate) struct Repair {
    /// Its height, as its child says, or the height below the child
    pub(crate) height: BlockHeight,
    /// Whether its child says its height
    pub(crate) is_height_known: bool,
    /// Its lowest child
    pub(crate) child: BlockHeight,
    pub(crate) since: u64,
    pub(crate) is_reported: bool,
    /// Number of answers without the block
    pub(crate) attempts: u32,
    /// The feeds that do not have it, and when they are asked again
    pub(crate) lacking: BTreeMap<usize, u64>,
}

impl Orphans {
    pub(crate) fn is_full(&self) -> bool {
        self.blocks.len() >= MAX_BLOCKS
    }

    pub(crate) fn contains(&self, hash: CryptoHash) -> bool {
        self.blocks.contains_key(&hash)
    }

    /// Whether the heights rise along a branch with this block, so that no branch is a circle
    pub(crate) fn fits(&self, block: &FeedBlock) -> bool {
        let BlockPoint { height, hash } = block.block;
        let parent = self.blocks.get(&block.prev_hash);
        let mut children = self.blocks.values().filter(|(child, _)| child.prev_hash == hash);
        parent.is_none_or(|(parent, _)| parent.block.height < height)
            && children.all(|(child, _)| height < child.block.height)
    }

    /// Adds a block that fits; returns whether it begins a branch
    pub(crate) fn insert(&mut self, block: FeedBlock, feed: usize, now: u64) -> bool {
        let (hash, parent) = (block.block.hash, block.prev_hash);
        let (child, prev_height) = (block.block.height, block.prev_height);
        // Others waited for this block, which now waits itself.
        let is_branch_known = self.repairs.remove(&hash).is_some();
        self.blocks.insert(hash, (block, feed));
        if self.blocks.contains_key(&parent) {
            return false;
        }
        let repair = self.repairs.entry(parent).or_insert_with(|| Repair {
            height: prev_height.unwrap_or_else(|| child.saturating_sub(1)),
            is_height_known: prev_height.is_some(),
            child,
            since: now,
            is_reported: false,
            attempts: 0,
            lacking: BTreeMap::new(),
        });
        repair.child = repair.child.min(child);
        !is_branch_known
    }

    /// Takes the blocks whose parent this is
    pub(crate) fn take_children(&mut self, parent: CryptoHash) -> Vec<Received> {
        self.repairs.remove(&parent);
        let is_child = |(block, _): &Received| block.prev_hash == parent;
        let children = self.blocks.iter().filter(|(_, it)| is_child(it));
        let children: Vec<CryptoHash> = children.map(|(hash, _)| *hash).collect();
        children.into_iter().filter_map(|hash| self.blocks.remove(&hash)).collect()
    }

    /// Removes the branches that need a block; returns their highest block
    pub(crate) fn drop_branch(&mut self, missing: CryptoHash) -> BlockHeight {
        let (mut removed, mut top) = (BTreeSet::from([missing]), 0);
        self.repairs.remove(&missing);
        loop {
            let descends = |(_, (block, _)): &(&CryptoHash, &Received)| {
                removed.contains(&block.prev_hash) && !removed.contains(&block.block.hash)
            };
            let Some((hash, (block, _))) = self.blocks.iter().find(descends) else { break };
            top = top.max(block.block.height);
            removed.insert(*hash);
        }
        self.blocks.retain(|hash, _| !removed.contains(hash));
        top
    }

    /// Forgets branches that end at or below the last final block
    pub(crate) fn prune(&mut self, chain: &Recent) {
        let last_final = chain.last_final().map_or(0, |last| last.height);
        let passed: Vec<CryptoHash> = self.repairs.keys().copied().collect();
        for missing in passed {
            if self.top(missing) <= last_final {
                self.drop_branch(missing);
            }
        }
    }

    /// The highest block of the branches that need a block
    pub(crate) fn top(&self, missing: CryptoHash) -> BlockHeight {
        let (mut tips, mut top) = (Vec::from([missing]), 0);
        while let Some(parent) = tips.pop() {
            for (block, _) in self.blocks.values().filter(|(block, _)| block.prev_hash == parent) {
                top = top.max(block.block.height);
                tips.push(block.block.hash);
            }
        }
        top
    }

    /// The blocks that are missing below a block above this height, the lowest first
    pub(crate) fn wanted(&self, head: Option<BlockHeight>) -> Vec<CryptoHash> {
        let is_wanted = |missing: &CryptoHash| head.is_none_or(|head| self.top(*missing) > head);
        let mut wanted: Vec<(BlockHeight, CryptoHash)> =
            self.repairs.iter().map(|(hash, repair)| (repair.height, *hash)).collect();
        wanted.sort_unstable();
        wanted.into_iter().map(|(_, hash)| hash).filter(is_wanted).collect()
    }

    pub(crate) fn repair(&self, missing: CryptoHash) -> Option<&Repair> {
        self.repairs.get(&missing)
    }

    pub(crate) fn repair_mut(&mut self, missing: CryptoHash) -> Option<&mut Repair> {
        self.repairs.get_mut(&missing)
    }

    /// Forgets all
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
