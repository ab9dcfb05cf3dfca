//! The selectors of the block whose protocol configuration is requested.

use alloc::borrow::Cow;
use alloc::format;

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

impl BlockReference {
    /// How a node's error message names a block that it does not know
    pub(crate) fn unknown_text(&self) -> Cow<'static, str> {
        match self {
            Self::Height(height) => format!("DB Not Found Error: BLOCK HEIGHT: {height}").into(),
            Self::Hash(hash) => format!("DB Not Found Error: BLOCK HEADER: {hash}").into(),
            Self::Finality(Finality::Optimistic) => "HEAD".into(),
            Self::Finality(Finality::NearFinal) => "NEAR-FINAL HEAD".into(),
            Self::Finality(Finality::Final) => "FINAL HEAD".into(),
            Self::SyncCheckpoint(SyncCheckpoint::Genesis) => "GENESIS".into(),
            Self::SyncCheckpoint(SyncCheckpoint::EarliestAvailable) => "EarliestAvailable".into(),
        }
    }
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

/// An old block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface defines all values")]
pub enum SyncCheckpoint {
    /// `genesis`: the first block of the chain
    Genesis,
    /// `earliest_available`: the oldest canonical block in the storage
    EarliestAvailable,
}
