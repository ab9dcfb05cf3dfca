//! The headers of blocks and chunks, in the format of block messages.
//!
//! All members of a block's header that its hash or its parents determine are real. Those that need
//! a state, validators or the encoding of a chunk are placeholders: they are hashed, but cannot be
//! checked from messages.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::{CryptoHash, ShardId};
use milepost::proof::{BlockHeaderView, ChunkHeader, ChunkRoots};
use serde_json::{Value, json};

use crate::accounts::placeholder_signature;
use crate::chain::{ChainParameters, Head, ShardHead};
use crate::execution::GAS_PRICE;

/// Number of approvals of the previous block in a header
const APPROVALS: u64 = 5;

/// A placeholder for the root of data that a practice chain does not have
fn placeholder(label: &str, of: CryptoHash, shard_id: ShardId) -> CryptoHash {
    CryptoHash::digest(format!("{label} {of} {shard_id}").as_bytes())
}

/// The header of the block after `parent`, with its hash; `head` has no hash yet
pub(crate) fn block_header(
    parameters: &ChainParameters,
    parent: &Head,
    head: &Head,
    salt: u64,
) -> (Value, CryptoHash) {
    let chunks: Vec<_> = head.shards.iter().map(|shard| shard.chunk).collect();
    let roots = ChunkRoots::new(&chunks);
    let is_new = |chunk: &ChunkHeader| chunk.height_included == head.height;
    let approvals: Value = (0..APPROVALS)
        // Some approvals are missing.
        .map(|index| {
            (!(head.height + index).is_multiple_of(7))
                .then(|| placeholder_signature(parent.hash, &format!("approval {index}")))
        })
        .map(|approval| json!(approval))
        .collect();
    // Makes the hash of the block unique.
    let random_value = CryptoHash::digest(format!("random {} {salt}", parent.hash).as_bytes());
    let mut header = json!({
        "height": head.height,
        "prev_height": parent.height,
        "epoch_id": head.epoch_id,
        "next_epoch_id": head.next_epoch_id,
        "hash": CryptoHash::ZERO,
        "prev_hash": parent.hash,
        "prev_state_root": roots.prev_state_root,
        "block_body_hash": placeholder("body", random_value, 0),
        "chunk_receipts_root": roots.chunk_receipts_root,
        "chunk_headers_root": roots.chunk_headers_root,
        "chunk_tx_root": roots.chunk_tx_root,
        "outcome_root": roots.outcome_root,
        "chunks_included": chunks.iter().filter(|chunk| is_new(chunk)).count(),
        "challenges_root": CryptoHash::ZERO,
        "timestamp": head.time,
        "timestamp_nanosec": head.time.to_string(),
        "random_value": random_value,
        "validator_proposals": [],
        "chunk_mask": chunks.iter().map(is_new).collect::<Vec<_>>(),
        "gas_price": GAS_PRICE.to_string(),
        "block_ordinal": head.ordinal,
        "rent_paid": "0",
        "validator_reward": "0",
        "total_supply": "1000000000000000000000000000000000",
        "challenges_result": [],
        "last_final_block": head.last_final,
        "last_ds_final_block": head.last_ds_final,
        "next_bp_hash": placeholder("producers", head.next_epoch_id, 0),
        "block_merkle_root": head.blocks_before.root(),
        "epoch_sync_data_hash": null,
        "approvals": approvals,
        "signature": placeholder_signature(random_value, "block"),
        "latest_protocol_version": parameters.settings.protocol_version_of(head.epoch),
        "chunk_endorsements": chunks.iter().map(|_| vec![31_u8]).collect::<Vec<_>>(),
        "shard_split": head.announced_split(parameters),
    });
    let view =
        BlockHeaderView::from_json(&header.to_string()).expect("a header with all its members");
    let hash = view.compute_hash();
    header["hash"] = json!(hash);
    (header, hash)
}

/// The header of a new chunk, which confirms what its shard did before
pub(crate) fn chunk_header(
    head: &Head,
    prev_hash: CryptoHash,
    shard_id: ShardId,
    before: &ShardHead,
    transactions: usize,
    tx_root: CryptoHash,
) -> (ChunkHeader, Value) {
    let content = CryptoHash::digest(
        format!("{prev_hash} {} {tx_root} {}", head.height, before.outcome_root).as_bytes(),
    );
    let chunk = ChunkHeader {
        hash: placeholder("chunk", content, shard_id),
        height_included: head.height,
        shard_id,
        outcome_root: before.outcome_root,
        outgoing_receipts_root: placeholder("outgoing", prev_hash, shard_id),
        prev_state_root: placeholder("state", prev_hash, shard_id),
        tx_root,
    };
    let burnt = u128::from(before.gas_used) * GAS_PRICE;
    let view = json!({
        "chunk_hash": chunk.hash,
        "prev_block_hash": prev_hash,
        "outcome_root": chunk.outcome_root,
        "prev_state_root": chunk.prev_state_root,
        "encoded_merkle_root": placeholder("encoded", content, shard_id),
        "encoded_length": 8 + 200 * transactions,
        "height_created": head.height,
        "height_included": chunk.height_included,
        "shard_id": shard_id,
        "gas_used": before.gas_used,
        "gas_limit": 1_000_000_000_000_000_u64,
        "rent_paid": "0",
        "validator_reward": "0",
        "balance_burnt": burnt.to_string(),
        "outgoing_receipts_root": chunk.outgoing_receipts_root,
        "tx_root": tx_root,
        "validator_proposals": [],
        "congestion_info": {
            "delayed_receipts_gas": "0",
            "buffered_receipts_gas": "0",
            "receipt_bytes": 0,
            "allowed_shard": shard_id,
        },
        "bandwidth_requests": { "V1": { "requests": [] } },
        "signature": placeholder_signature(chunk.hash, "chunk"),
    });
    (chunk, view)
}
