//! The checks of five recorded blocks, which a node made, and of the same blocks with a change.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::samples::text;
use super::*;
use crate::primitives::{Balance, CryptoHash, Gas};

const BLOCKS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/blocks.jsonl"));

#[test]
fn recorded_blocks_are_verified_with_their_members() {
    let mut links = OutcomeLinks::default();
    let mut found: Vec<String> = vec![];
    for message in BLOCKS.lines() {
        let check = check_block(message.as_bytes());
        let header = check.light_header.unwrap();
        assert_eq!(check.hashes, Some((header.hash(), header.prev_hash)));
        assert_eq!(links.verify(&check), VerificationResult::Verified);
        let short = |hash: &CryptoHash| hash.to_string()[..4].to_string();
        let roots = |roots: &[OutcomeRoot]| -> Vec<String> {
            roots.iter().map(|root| format!("{} {}", root.shard_id, short(&root.root))).collect()
        };
        found.push(format!(
            "{} {} {:?} executed {:?} confirmed {:?} chunks {:?} {}",
            header.height,
            short(&header.hash()),
            check.shard_ids,
            roots(&check.outcome_roots),
            roots(&check.confirmed_roots),
            check.chunk_outcome_roots.iter().map(short).collect::<Vec<_>>(),
            check.lacks_chunks,
        ));
    }
    assert_eq!(
        found,
        [
            r#"191 5Hhe [2, 1, 0] executed ["2 1111", "1 1111", "0 E9gt"] confirmed ["2 1111", "1 1111", "0 1111"] chunks ["1111", "1111", "1111"] false"#,
            r#"192 HjVx [2, 1, 0] executed ["2 FVtP", "1 1111", "0 1111"] confirmed ["2 1111", "1 1111", "0 E9gt"] chunks ["1111", "1111", "E9gt"] false"#,
            r#"193 FX2R [2, 1, 0] executed ["2 3Bcp", "1 1111", "0 kdwn"] confirmed ["2 FVtP", "1 1111", "0 1111"] chunks ["FVtP", "1111", "1111"] false"#,
            r#"194 Crfj [2, 1, 0] executed ["2 1111", "1 1111", "0 7mmU"] confirmed ["2 3Bcp", "1 1111", "0 kdwn"] chunks ["3Bcp", "1111", "kdwn"] false"#,
            r#"195 ATux [2, 1, 0] executed ["2 1111", "1 1111", "0 1111"] confirmed ["2 1111", "1 1111", "0 7mmU"] chunks ["1111", "1111", "7mmU"] false"#,
        ]
    );
}

/// The block with another first digit or letter in the first value of this member, if it has one
fn changed(block: &str, name: &str) -> Option<String> {
    let start = block.find(&format!("\"{name}\":"))? + name.len() + 3;
    let start = start + block.get(start..)?.find(|first: char| first.is_ascii_alphanumeric())?;
    let other = match block.as_bytes().get(start)? {
        b'5' => "6",
        b'0'..=b'9' => "5",
        b'A' => "B",
        _ => "A",
    };
    let mut changed = String::from(block);
    changed.replace_range(start..=start, other);
    Some(changed)
}

#[test]
fn a_member_with_another_value_is_named_there_or_by_the_block_after_it() {
    let blocks: Vec<&str> = BLOCKS.lines().collect();
    for (name, own, next) in [
        ("height", "wrong: block.header.chunk_mask", "wrong: block.chunks"),
        ("prev_height", "wrong: block.header.hash", "verified"),
        ("epoch_id", "wrong: block.header.epoch_id", "verified"),
        ("next_epoch_id", "wrong: block.header.hash", "verified"),
        ("hash", "wrong: block.header.hash", "verified"),
        ("prev_hash", "wrong: block.header.hash", "verified"),
        ("prev_state_root", "wrong: block.header.prev_state_root", "verified"),
        ("block_body_hash", "wrong: block.header.hash", "verified"),
        ("chunk_receipts_root", "wrong: block.header.chunk_receipts_root", "verified"),
        ("chunk_headers_root", "wrong: block.header.chunk_headers_root", "verified"),
        ("chunk_tx_root", "wrong: block.header.chunk_tx_root", "verified"),
        ("outcome_root", "wrong: block.header.outcome_root", "verified"),
        ("chunks_included", "wrong: block.header.chunks_included", "verified"),
        ("timestamp_nanosec", "wrong: block.header.hash", "verified"),
        ("random_value", "wrong: block.header.hash", "verified"),
        ("gas_price", "wrong: block.header.hash", "verified"),
        ("block_ordinal", "wrong: block.header.hash", "verified"),
        ("total_supply", "wrong: block.header.hash", "verified"),
        ("last_final_block", "wrong: block.header.hash", "verified"),
        ("last_ds_final_block", "wrong: block.header.hash", "verified"),
        ("next_bp_hash", "wrong: block.header.hash", "verified"),
        ("block_merkle_root", "wrong: block.header.hash", "verified"),
        ("approvals", "wrong: block.header.approvals[0]", "verified"),
        ("latest_protocol_version", "wrong: block.header.hash", "verified"),
        ("chunk_hash", "wrong: block.header.chunk_headers_root", "verified"),
        ("height_included", "wrong: block.header.chunk_headers_root", "wrong: block.chunks"),
        ("shard_id", "wrong: shards[0]", "verified"),
        ("outgoing_receipts_root", "wrong: block.header.chunk_receipts_root", "verified"),
        ("tx_root", "wrong: block.chunks[0].tx_root", "wrong: block.chunks"),
        (
            "executor_id",
            "wrong: shards[0].receipt ETyFTGgnoC2sBTGxbdZGvJ7CGfpvtYZkS6PKo9SVvADf.receiver_id",
            "wrong: block.chunks",
        ),
        ("gas_burnt", "verified", "wrong: block.chunks"),
        ("receipt_ids", "verified", "wrong: block.chunks"),
        ("tokens_burnt", "verified", "wrong: block.chunks"),
        (
            "block_hash",
            "wrong: shards[0].outcome ETyFTGgnoC2sBTGxbdZGvJ7CGfpvtYZkS6PKo9SVvADf.block_hash",
            "verified",
        ),
        (
            "id",
            "wrong: shards[0].outcome ATyFTGgnoC2sBTGxbdZGvJ7CGfpvtYZkS6PKo9SVvADf.id",
            "wrong: block.chunks",
        ),
    ] {
        let changed = changed(blocks[2], name).unwrap();
        let mut links = OutcomeLinks::default();
        let places = [blocks[1], &*changed, blocks[3]].map(|message| {
            let result = text(&links.verify(&check_block(message.as_bytes())));
            result.split(": ").take(2).collect::<Vec<_>>().join(": ")
        });
        assert_eq!(places, ["verified", own, next], "{name}");
    }
}

#[test]
fn a_member_that_is_missing_is_named() {
    let block = BLOCKS.lines().nth(2).unwrap();
    const OUTCOME: &str = "shards[0].receipt_execution_outcomes[0].execution_outcome";
    for (name, place) in [
        ("outcome_root", "block.header: missing field `outcome_root`"),
        ("chunk_mask", "block.header: missing field `chunk_mask`"),
        ("gas_price", "block.header: missing field `gas_price`"),
        ("approvals", "block.header: missing field `approvals`"),
        ("block_ordinal", "block.header: `other` is in no known header version"),
        ("chunk_endorsements", "block.header: `other` is in no known header version"),
        ("chunk_hash", "block.chunks[0]: missing field `chunk_hash`"),
        ("shard_id", "block.chunks[0]: missing field `shard_id`"),
        ("tx_root", "block.chunks[0]: missing field `tx_root`"),
        ("executor_id", &format!("{OUTCOME}.outcome: missing field `executor_id` (byte 7609)")),
        ("status", &format!("{OUTCOME}.outcome: missing field `status` (byte 7614)")),
        ("proof", &format!("{OUTCOME}: missing field `proof` (byte 7616)")),
        ("header", "byte 11159: missing field `header`"),
        ("shards", "byte 11159: missing field `shards`"),
    ] {
        let changed = block.replacen(&format!("\"{name}\":"), "\"other\":", 1);
        let found = text(&check_block(changed.as_bytes()).result);
        assert_eq!(found, format!("unverifiable: {place}"), "{name}");
    }
    // No hash covers these.
    for name in ["author", "timestamp", "rent_paid", "signature", "encoded_length", "gas_limit"] {
        let changed = block.replacen(&format!("\"{name}\":"), "\"other\":", 1);
        assert_eq!(text(&check_block(changed.as_bytes()).result), "verified", "{name}");
    }
}

#[test]
fn the_leaf_of_an_outcome_is_a_hash_of_all_its_members() {
    let [id, one, two] = [b"id", b"r1", b"r2"].map(|text| CryptoHash::digest(text));
    let mut found = vec![];
    for status in [
        PartialExecutionStatus::Unknown,
        PartialExecutionStatus::Failure,
        PartialExecutionStatus::SuccessValue(b"value"),
        PartialExecutionStatus::SuccessReceiptId(one),
    ] {
        let outcome = PartialExecutionOutcome {
            receipt_ids: &[one, two],
            gas_burnt: Gas(7),
            tokens_burnt: Balance(8),
            executor_id: "a.near",
            status,
        };
        found.push(outcome.leaf(id, &[two]).to_string());
    }
    assert_eq!(
        found,
        [
            "DMzkHvRHsK9D2WaBCCpnzz92tB2C8kHbshLgovfcXRb6",
            "7AQniFteVBgPdFpyHZkXo6oJwDSA7j44fVwnjwbiVHpB",
            "9EgBnen6bfTsyEGKvh8rddPaq2hK6kHsrWarLS48A3Nt",
            "6ZSrTvWAoqxWipA5PAcyK3ERAhcKvWh9pYT1iaRCiuo2",
        ]
    );
}
