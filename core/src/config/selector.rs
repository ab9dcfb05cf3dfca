//! The selectors of the block whose protocol configuration is requested.

use crate::primitives::{BlockHeight, CryptoHash};

/// A block, by one of the selectors of the JSON-RPC method
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BlockReference {
    /// `block_id` as a number: the canonical block of this height
    Height(BlockHeight),
    /// `block_id` as a string: the block of this hash, on any fork
    Hash(CryptoHash),
    /// `finality`: the newest block of this finality
    Finality(Finality),
    /// `sync_checkpoint`: one of two old blocks
    SyncCheckpoint(SyncCheckpoint),
}

/// How final a block must be
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface defines all values")]
pub enum Finality {
    /// `optimistic`: the head
    Optimistic,
    /// `near-final`: what the head's header names in `last_ds_final_block`
    NearFinal,
    /// `final`: the last final block
    Final,
}

impl Finality {
    /// How a node's error message names the block
    pub(crate) const fn head_name(self) -> &'static str {
        match self {
            Self::Optimistic => "HEAD",
            Self::NearFinal => "NEAR-FINAL HEAD",
            Self::Final => "FINAL HEAD",
        }
    }
}

/// An old block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface defines all values")]
pub enum SyncCheckpoint {
    /// `genesis`: the first block of the chain
    Genesis,
    /// `earliest_available`: the oldest canonical block in the storage
    EarliestAvailable,
}
