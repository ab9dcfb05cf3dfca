//! State of the chain in a storage, as plain values.

use milepost::endpoint::ChainStatus;
use milepost::storage::BlockPoint;

use crate::boundary::parameter::plain_outputs;
use crate::value::milepost_hash;

/// A block by height and hash
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct milepost_block_point {
    /// Its height
    pub height: u64,
    /// Its hash
    pub hash: milepost_hash,
}

impl From<BlockPoint> for milepost_block_point {
    fn from(point: BlockPoint) -> Self {
        Self { height: point.height, hash: point.hash.into() }
    }
}

/// State of the chain in the storage
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct milepost_chain_status {
    /// Whether there is a block: 0 or 1; if so, `head` and `earliest` are set
    pub has_head: i32,
    /// Whether a block is final: 0 or 1; if so, `last_final` is set
    pub has_last_final: i32,
    /// Newest canonical block
    pub head: milepost_block_point,
    /// Newest final block
    pub last_final: milepost_block_point,
    /// Oldest canonical block in the storage
    pub earliest: milepost_block_point,
    /// Number of canonical blocks in the storage
    pub blocks: u64,
    /// Number of batches that changed the chain: equal numbers mean equal blocks and rows
    pub generation: u64,
    /// `latest_protocol_version` of the head's header; 0 without a head
    pub protocol_version: u32,
}

impl From<ChainStatus> for milepost_chain_status {
    fn from(status: ChainStatus) -> Self {
        let point = |point: Option<BlockPoint>| point.map_or_else(Default::default, Into::into);
        Self {
            has_head: i32::from(status.head.is_some()),
            has_last_final: i32::from(status.last_final.is_some()),
            head: point(status.head),
            last_final: point(status.last_final),
            earliest: point(status.earliest),
            blocks: status.blocks,
            generation: status.generation,
            protocol_version: status.protocol_version.unwrap_or(0),
        }
    }
}

plain_outputs! { milepost_block_point milepost_chain_status }
