//! The parts of chunk headers that the header of their block contains.
//!
//! A block has one chunk header for each shard, in the order of the shard layout: that of its new
//! chunk, or again that of the newest chunk before it. The block's header has a root over each of
//! these members. Signatures and the hash of a chunk are not computed here.

use alloc::vec::Vec;

use super::merkle::root;
use crate::codec::borsh::Writer;
use crate::primitives::{BlockHeight, CryptoHash, ShardId};

/// The members of a chunk's header that are in roots of the block's header
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the roots are defined over these members")]
pub struct ChunkHeader {
    /// Hash of the chunk
    pub hash: CryptoHash,
    /// Height of the block that includes it
    pub height_included: BlockHeight,
    /// The shard
    pub shard_id: ShardId,
    /// Root of the outcomes that the shard executed with its chunk before
    pub outcome_root: CryptoHash,
    /// Root of the receipts that these executions created
    pub outgoing_receipts_root: CryptoHash,
    /// Root of the state after these executions
    pub prev_state_root: CryptoHash,
    /// Root of the transactions
    pub tx_root: CryptoHash,
}

/// The roots over the chunk headers of a block, which its header contains
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the header has these roots")]
pub struct ChunkRoots {
    /// Root of the hashes and heights of the chunk headers
    pub chunk_headers_root: CryptoHash,
    /// Root of the outgoing receipts
    pub chunk_receipts_root: CryptoHash,
    /// Root of the transactions
    pub chunk_tx_root: CryptoHash,
    /// Root of the outcomes that the chunks confirm
    pub outcome_root: CryptoHash,
    /// Root of the states before the chunks
    pub prev_state_root: CryptoHash,
}

impl ChunkRoots {
    /// The roots of these headers, which are in the order of the shard layout
    pub fn new(chunks: &[ChunkHeader]) -> Self {
        let root_of = |member: fn(&ChunkHeader) -> &CryptoHash| {
            // A leaf is the hash of the encoded item.
            root(chunks.iter().map(|chunk| CryptoHash::digest(member(chunk).as_bytes())).collect())
        };
        let headers = chunks.iter().map(|chunk| {
            let mut leaf = Writer::default();
            leaf.raw(chunk.hash.as_bytes()).u64(chunk.height_included);
            CryptoHash::digest(&leaf.into_bytes())
        });
        Self {
            chunk_headers_root: root(headers.collect::<Vec<_>>()),
            chunk_receipts_root: root_of(|chunk| &chunk.outgoing_receipts_root),
            chunk_tx_root: root_of(|chunk| &chunk.tx_root),
            outcome_root: root_of(|chunk| &chunk.outcome_root),
            prev_state_root: root_of(|chunk| &chunk.prev_state_root),
        }
    }
}
