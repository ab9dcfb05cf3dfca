//! The events that one observer of the chain could have seen, from the blocks of the chain alone.
//!
//! An observer sees the chain of a server now and then, and has seen a transaction in a block. The
//! parents of blocks decide the next event; nothing of the engine is used.

use alloc::collections::BTreeMap;

use milepost::primitives::{BlockHeight, CryptoHash};

use super::chain::Chain;

/// The block of the last event of a watcher
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct SeenBlock {
    pub(super) height: BlockHeight,
    pub(super) hash: CryptoHash,
    /// Whether the milestone says that it is final
    pub(super) is_final: bool,
}

/// The chain of a server after a commit
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    /// Height and hash of the head
    pub(super) head: Option<(BlockHeight, CryptoHash)>,
    /// Height of the last final block
    pub(super) last_final: Option<BlockHeight>,
    /// The height from which on every canonical block is stored
    pub(super) complete_from: BlockHeight,
}

/// How a block is related to the chain of a server
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Relation {
    /// The head is below the height of the block; or the last final block is, and the block is known
    /// as final
    Ahead,
    /// The head descends from the block
    Canonical,
    /// The chain has another block at its height, or none
    Replaced,
    /// The chain does not have its height any more, and does not descend from it
    Unknown,
}

/// All blocks of a chain with its forks: height and parent by hash
pub(super) struct Blocks(BTreeMap<CryptoHash, (BlockHeight, CryptoHash)>);

impl SeenBlock {
    /// The block in the id of an event; `None` for a transaction in no block
    pub(super) fn of_id(id: &str) -> Option<Self> {
        let parts: Vec<&str> = id.split('-').collect();
        let [milestone, height, hash, ..] = parts[..] else { return None };
        let is_final = matches!(milestone, "INCLUDED_FINAL" | "EXECUTED" | "FINAL");
        let (height, hash) = (height.parse().ok()?, hash.parse().ok()?);
        (milestone != "NONE").then_some(Self { height, hash, is_final })
    }
}

impl Blocks {
    pub(super) fn new(chain: &Chain) -> Self {
        let blocks = chain.messages.iter();
        Self(blocks.map(|block| (block.hash, (block.height, block.prev_hash))).collect())
    }

    /// Whether a block is one from which another descends, or the same
    fn is_ancestor(&self, block: &SeenBlock, mut of: CryptoHash) -> bool {
        while let Some((height, parent)) = self.0.get(&of)
            && *height > block.height
        {
            of = *parent;
        }
        of == block.hash
    }

    /// How the block of the last event is related to the chain of a server
    pub(super) fn relation(&self, block: &SeenBlock, view: &View) -> Relation {
        if block.is_final && view.last_final.is_none_or(|last| last < block.height) {
            return Relation::Ahead;
        }
        match view.head {
            Some((height, head)) if height >= block.height => {
                if self.is_ancestor(block, head) {
                    Relation::Canonical
                } else if block.height < view.complete_from {
                    Relation::Unknown
                } else {
                    Relation::Replaced
                }
            }
            _ => Relation::Ahead,
        }
    }

    /// Whether a state in `now` can follow one in `before` without a fork between them
    pub(super) fn is_one_branch(&self, before: &SeenBlock, now: &SeenBlock) -> bool {
        self.is_ancestor(before, now.hash) || self.is_ancestor(now, before.hash)
    }
}
