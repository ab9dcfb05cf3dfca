//! Which block a protocol configuration is asked for.

use crate::primitives::{BlockHeight, CryptoHash};

/// A block, named by one of the selectors of the interface
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BlockReference {
    /// `block_id` as a number: the canonical block of this height
    Height(BlockHeight),
    /// `block_id` as a string: the block of this hash, on whatever fork
    Hash(CryptoHash),
    /// `finality`: the newest block that is so final
    Finality(Finality),
    /// `sync_checkpoint`: one of two old blocks
    SyncCheckpoint(SyncCheckpoint),
}

/// How final a block must be
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes this enumeration")]
pub enum Finality {
    /// `optimistic`: the head
    Optimistic,
    /// `near-final`: what the head's header names in `last_ds_final_block`
    NearFinal,
    /// `final`: the last final block
    Final,
}

/// One of two old blocks
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes this enumeration")]
pub enum SyncCheckpoint {
    /// `genesis`: the first block of the chain
    Genesis,
    /// `earliest_available`: the oldest block that is kept
    EarliestAvailable,
}
