//! Small blocks for tests: headers that have the hash that they state, and the JSON of messages.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{BlockHeaderView, ChunkHeader, ChunkRoots, VerificationResult};
use crate::primitives::{Balance, CryptoHash};
use crate::views::MerklePathItem;

/// A hash of equal bytes
pub(super) const fn hash(byte: u8) -> CryptoHash {
    CryptoHash::new([byte; 32])
}

/// The header of a chunk; blocks are of height 7
pub(super) const fn chunk(
    shard_id: u64,
    height_included: u64,
    outcome_root: CryptoHash,
) -> ChunkHeader {
    ChunkHeader {
        hash: hash(0x50),
        height_included,
        shard_id,
        outcome_root,
        outgoing_receipts_root: hash(0x51),
        prev_state_root: hash(0x52),
        tx_root: hash(0x53),
    }
}

/// The header of a block with these chunks
pub(super) fn header(chunks: &[ChunkHeader]) -> BlockHeaderView {
    let roots = ChunkRoots::new(chunks);
    let chunk_mask: Vec<_> = chunks.iter().map(|chunk| chunk.height_included == 7).collect();
    sealed(BlockHeaderView {
        block_body_hash: Some(hash(0x60)),
        block_ordinal: Some(5),
        chunk_endorsements: Some(vec![]),
        chunk_headers_root: roots.chunk_headers_root,
        chunk_receipts_root: roots.chunk_receipts_root,
        chunk_tx_root: roots.chunk_tx_root,
        chunks_included: chunk_mask.iter().filter(|is_new| **is_new).count() as u64,
        chunk_mask,
        epoch_id: hash(0x61),
        gas_price: Balance(8),
        height: 7,
        latest_protocol_version: 80,
        outcome_root: roots.outcome_root,
        prev_hash: hash(6),
        prev_height: Some(6),
        prev_state_root: roots.prev_state_root,
        ..BlockHeaderView::default()
    })
}

/// A header with its hash
pub(super) fn sealed(header: BlockHeaderView) -> BlockHeaderView {
    BlockHeaderView { hash: header.compute_hash(), ..header }
}

/// The JSON of a header without approvals, proposals and slashed validators
pub(super) fn header_json(header: &BlockHeaderView) -> String {
    let mut members = vec![];
    let mut hashes = vec![
        ("block_merkle_root", header.block_merkle_root),
        ("chunk_headers_root", header.chunk_headers_root),
        ("chunk_receipts_root", header.chunk_receipts_root),
        ("chunk_tx_root", header.chunk_tx_root),
        ("epoch_id", header.epoch_id),
        ("hash", header.hash),
        ("last_ds_final_block", header.last_ds_final_block),
        ("last_final_block", header.last_final_block),
        ("next_bp_hash", header.next_bp_hash),
        ("next_epoch_id", header.next_epoch_id),
        ("outcome_root", header.outcome_root),
        ("prev_hash", header.prev_hash),
        ("prev_state_root", header.prev_state_root),
        ("random_value", header.random_value),
    ];
    hashes.extend(header.block_body_hash.map(|hash| ("block_body_hash", hash)));
    hashes.extend(header.challenges_root.map(|hash| ("challenges_root", hash)));
    members.extend(hashes.iter().map(|(name, hash)| format!("\"{name}\":\"{hash}\"")));
    for (name, number) in
        [("block_ordinal", header.block_ordinal), ("prev_height", header.prev_height)]
    {
        members.extend(number.map(|number| format!("\"{name}\":{number}")));
    }
    let endorsements = header.chunk_endorsements.as_ref();
    members.extend(endorsements.map(|bits| format!("\"chunk_endorsements\":{bits:?}")));
    members.push(format!(
        concat!(
            r#""approvals":[],"chunk_mask":{:?},"chunks_included":{},"gas_price":"{}","#,
            r#""height":{},"latest_protocol_version":{},"timestamp_nanosec":"{}","#,
            r#""total_supply":"{}","validator_proposals":[]"#,
        ),
        header.chunk_mask,
        header.chunks_included,
        header.gas_price,
        header.height,
        header.latest_protocol_version,
        header.timestamp_nanosec,
        header.total_supply,
    ));
    object(&members)
}

/// The JSON of a header of a chunk
pub(super) fn chunk_json(chunk: &ChunkHeader) -> String {
    format!(
        concat!(
            r#"{{"chunk_hash":"{}","outcome_root":"{}","outgoing_receipts_root":"{}","#,
            r#""prev_state_root":"{}","tx_root":"{}","height_included":{},"shard_id":{}}}"#,
        ),
        chunk.hash,
        chunk.outcome_root,
        chunk.outgoing_receipts_root,
        chunk.prev_state_root,
        chunk.tx_root,
        chunk.height_included,
        chunk.shard_id,
    )
}

/// The JSON of an outcome with its proof, which burnt so much gas
pub(super) fn outcome_json(
    block: CryptoHash,
    id: CryptoHash,
    gas_burnt: u64,
    path: &[MerklePathItem],
) -> String {
    let steps: Vec<_> = path
        .iter()
        .map(|step| {
            let direction = step.direction.name();
            format!(r#"{{"direction":"{direction}","hash":"{}"}}"#, step.hash)
        })
        .collect();
    format!(
        concat!(
            r#"{{"block_hash":"{}","id":"{}","outcome":{{"executor_id":"a.near","gas_burnt":{},"#,
            r#""logs":[],"metadata":{{"version":1}},"receipt_ids":[],"#,
            r#""status":{{"SuccessValue":""}},"tokens_burnt":"2"}},"proof":[{}]}}"#,
        ),
        block,
        id,
        gas_burnt,
        steps.join(",")
    )
}

/// The JSON of an object with these members
pub(super) fn object(members: &[String]) -> String {
    format!("{{{}}}", members.join(","))
}

/// The JSON of a shard with the outcomes of receipts, and with a chunk of these members
pub(super) fn shard_json(id: u64, chunk: Option<&str>, outcomes: &[String]) -> String {
    let outcomes: Vec<_> =
        outcomes.iter().map(|outcome| format!(r#"{{"execution_outcome":{outcome}}}"#)).collect();
    format!(
        r#"{{"shard_id":{id},"chunk":{},"receipt_execution_outcomes":[{}]}}"#,
        chunk.map_or_else(|| "null".into(), |members| format!("{{{members}}}")),
        outcomes.join(",")
    )
}

/// The JSON of a message; without a list of chunks it has none
pub(super) fn message(
    header: &BlockHeaderView,
    chunks: Option<&[ChunkHeader]>,
    shards: &[String],
) -> String {
    let chunks = chunks.map_or_else(String::new, |chunks| {
        let chunks: Vec<_> = chunks.iter().map(chunk_json).collect();
        format!(r#","chunks":[{}]"#, chunks.join(","))
    });
    let header = header_json(header);
    format!(r#"{{"block":{{"header":{header}{chunks}}},"shards":[{}]}}"#, shards.join(","))
}

/// The result of a check as a text
pub(super) fn text(result: &VerificationResult) -> String {
    match result {
        VerificationResult::Verified => "verified".into(),
        VerificationResult::Unverifiable(error) => format!("unverifiable: {error}"),
        VerificationResult::Wrong(error) => format!("wrong: {error}"),
    }
}
