//! The members of a block that its check compares, and the result of each comparison.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::samples::{chunk, hash, header, message, outcome_json, sealed, shard_json, text};
use super::*;
use crate::codec::json;
use crate::primitives::CryptoHash;
use crate::proof::{leaf, root_and_paths};
use crate::views::MerklePathItem;

fn result(message: &str) -> String {
    text(&check_block(message.as_bytes()).result)
}

/// A block with a new chunk of shard 1, without outcomes
fn block() -> String {
    let chunks = [chunk(1, 7, hash(9))];
    message(&header(&chunks), Some(&chunks), &[shard_json(1, Some(""), &[])])
}

fn root_of(shard_id: u64, root: CryptoHash) -> OutcomeRoot {
    OutcomeRoot { shard_id, root }
}

#[test]
fn a_block_without_outcomes_confirms_those_before_and_has_a_root_of_zeros() {
    let check = check_block(block().as_bytes());
    let chunks = [chunk(1, 7, hash(9))];
    let expected = header(&chunks);
    assert_eq!(text(&check.result), "verified");
    assert_eq!(check.hashes, Some((expected.hash, hash(6))));
    assert_eq!(check.shard_ids, [1]);
    assert_eq!(check.outcome_roots, [root_of(1, CryptoHash::ZERO)]);
    assert_eq!(check.confirmed_roots, [root_of(1, hash(9))]);
    assert_eq!(check.chunk_outcome_roots, [hash(9)]);
    assert_eq!(check.light_header, expected.light_header().unwrap());
    assert!(!check.lacks_chunks);
    assert_eq!(check.demanded(), None);
}

#[test]
fn a_text_that_is_not_utf8_is_refused_at_its_first_other_byte() {
    let check = check_block(b"{\"block\xff");
    assert_eq!(text(&check.result), "unverifiable: byte 7: not UTF-8");
    assert_eq!(check.hashes, None);
}

#[test]
fn the_hashes_are_known_only_if_both_are_there() {
    for name in ["hash", "prev_hash"] {
        let check = check_block(block().replace(&format!("\"{name}\":"), "\"other\":").as_bytes());
        assert_eq!(check.hashes, None, "{name}");
        assert_eq!(check.demanded(), None, "{name}");
    }
}

#[test]
fn of_more_chunk_headers_than_the_limit_none_is_compared() {
    let with = |count: usize| {
        let first = r#"{"shard_id":1,"height_included":7,"outcome_root":"11111111111111111111111111111111"}"#;
        let chunks = [vec![first; 1], vec!["{}"; count - 1]].concat().join(",");
        let header = samples::header_json(&header(&[]));
        let message =
            format!(r#"{{"block":{{"header":{header},"chunks":[{chunks}]}},"shards":[]}}"#);
        let check = check_block(message.as_bytes());
        (text(&check.result), check.confirmed_roots)
    };
    let missing = "unverifiable: block.chunks[0]: missing field `chunk_hash`";
    assert_eq!(with(4_096), (missing.into(), vec![root_of(1, CryptoHash::ZERO)]));
    assert_eq!(with(4_097), ("wrong: block.chunks: more than 4096".into(), vec![]));
}

#[test]
fn of_more_shards_than_the_limit_none_is_compared() {
    let chunks = [chunk(1, 7, hash(9))];
    let with = |count: u64| {
        let shards: Vec<_> = (1..=count)
            .map(|id| shard_json(id, if id == 1 { Some("") } else { None }, &[]))
            .collect();
        let check = check_block(message(&header(&chunks), Some(&chunks), &shards).as_bytes());
        (text(&check.result), check.outcome_roots.len())
    };
    assert_eq!(with(4_096), ("verified".into(), 1));
    assert_eq!(with(4_097), ("wrong: shards: more than 4096".into(), 0));
}

#[test]
fn without_a_list_the_chunks_of_the_shards_are_compared_if_all_are_there() {
    let chunks = [chunk(1, 7, hash(9)), chunk(2, 7, hash(8))];
    let shard = |chunk: &ChunkHeader| {
        let header = format!("\"header\":{}", samples::chunk_json(chunk));
        shard_json(chunk.shard_id, Some(&header), &[])
    };
    let own = header(&chunks);
    let shards = chunks.each_ref().map(shard);
    let check = check_block(message(&own, None, &shards).as_bytes());
    assert_eq!(text(&check.result), "verified");
    assert_eq!(check.shard_ids, [1, 2]);
    assert_eq!(check.confirmed_roots, [root_of(1, hash(9)), root_of(2, hash(8))]);
    assert!(!check.lacks_chunks);

    let other =
        [shards[0].clone(), shards[1].replace(&hash(0x53).to_string(), &hash(1).to_string())];
    let found = result(&message(&own, None, &other));
    let expected = "wrong: block.header.chunk_tx_root: expected 4NeVvKsgwwMNUcBCDgMqMeZedyk7U6RiBR1YLGrbnUnF, found";
    assert!(found.starts_with(expected), "{found}");

    // One of two is there: no root can be compared, and nothing is wrong.
    let check = check_block(message(&own, None, &shards[..1]).as_bytes());
    assert_eq!(text(&check.result), "unverifiable: shards: some new chunks are not there");
    assert_eq!((check.shard_ids, check.lacks_chunks), (vec![], true));
    assert_eq!(check.confirmed_roots, [root_of(1, hash(9))]);
}

#[test]
fn without_a_list_a_shard_may_have_what_its_chunk_header_does_not_explain() {
    let chunks = [chunk(1, 7, hash(9))];
    let own = header(&chunks);
    let outcome = outcome_json(own.hash, hash(1), 3, &[]);
    let shards = [shard_json(1, Some(""), &[outcome])];
    let found = result(&message(&own, None, &shards));
    assert_eq!(found, "unverifiable: shards: some new chunks are not there");
}

#[test]
fn a_chunk_header_of_a_shard_is_named_by_its_place() {
    let own = header(&[chunk(1, 7, hash(9))]);
    for (chunk, expected) in [
        ("{}", "unverifiable: shards[1].chunk.header: missing field `chunk_hash`"),
        (
            r#"{"shard_id":"1"}"#,
            "wrong: shards[1].chunk.header.shard_id: invalid type: string \"1\", expected u64",
        ),
    ] {
        let chunk = format!("\"header\":{chunk}");
        let shards = [shard_json(0, None, &[]), shard_json(1, Some(&chunk), &[])];
        let found = result(&message(&own, None, &shards));
        assert_eq!(found.split(" (byte").next(), Some(expected));
    }
}

#[test]
fn the_number_of_new_chunks_is_that_of_the_mask_if_both_are_there() {
    let valid = block();
    for (from, to, expected) in [
        (
            "\"chunks_included\":1",
            "\"chunks_included\":2",
            "wrong: block.header.chunks_included: expected 1, found 2",
        ),
        (
            "\"chunks_included\":1,",
            "",
            "unverifiable: block.header: missing field `chunks_included`",
        ),
        ("\"chunk_mask\":[true],", "", "unverifiable: block.header: missing field `chunk_mask`"),
    ] {
        assert_eq!(result(&valid.replace(from, to)), expected);
    }
}

#[test]
fn a_header_with_a_member_that_cannot_be_read_has_no_hash_to_compare() {
    let valid = block();
    for (from, to, expected) in [
        (
            "\"block_ordinal\":5",
            "\"block_ordinal\":true",
            "wrong: block.header.block_ordinal: invalid type: boolean `true`, expected u64",
        ),
        ("\"gas_price\":\"8\",", "", "unverifiable: block.header: missing field `gas_price`"),
    ] {
        let check = check_block(valid.replace(from, to).as_bytes());
        assert_eq!(text(&check.result).split(" (byte").next(), Some(expected));
        assert_eq!(check.light_header, None);
        assert_eq!((check.members.version, &check.members.lacking[..]), (None, &[][..]));
        assert!(!check.members.has_other_hash);
    }
}

#[test]
fn a_header_of_an_unknown_form_is_not_called_wrong() {
    let valid = block();
    for (from, to, expected) in [
        (
            "\"gas_price\":\"8\"",
            "\"gas_price\":8,\"new\":1",
            "unverifiable: block.header.gas_price: invalid type: integer `8`, expected a decimal string of an amount",
        ),
        (
            "\"gas_price\":\"8\"",
            "\"new\":1",
            "unverifiable: block.header: missing field `gas_price`",
        ),
        (
            "\"gas_price\":\"8\"",
            "\"gas_price\":\"9\",\"new\":1",
            "unverifiable: block.header: `new` is in no known header version",
        ),
    ] {
        let found = result(&valid.replace(from, to));
        assert_eq!(found.split(" (byte").next(), Some(expected));
        let check = check_block(valid.replace(from, to).as_bytes());
        assert_eq!(check.demanded(), None);
    }
}

#[test]
fn what_a_child_has_to_have_is_demanded_of_it() {
    let valid = block();
    let demanded = |from: &str, to: &str| {
        let check = check_block(valid.replace(from, to).as_bytes());
        let demanded = check.demanded().map(|(error, in_epoch)| (format!("{error}"), in_epoch));
        (text(&check.result), demanded)
    };
    let own = header(&[chunk(1, 7, hash(9))]).hash;
    let lacking = demanded("\"gas_price\":\"8\",", "");
    let missing = "block.header: missing field `gas_price`";
    assert_eq!(lacking, (format!("unverifiable: {missing}"), Some((missing.into(), false))));
    let endorsements = demanded("\"chunk_endorsements\":[],", "");
    let other_hash = format!("block.header.hash: the header has another hash than {own}");
    let unverifiable = "unverifiable: block.header: chunk_endorsements may be missing".into();
    assert_eq!(endorsements, (unverifiable, Some((other_hash, true))));
}

#[test]
fn only_a_genesis_block_may_have_zeros_in_place_of_its_outcome_root() {
    let chunks = [chunk(1, 7, hash(9))];
    let with = |prev_hash, outcome_root: Option<CryptoHash>| {
        let own = header(&chunks);
        let outcome_root = outcome_root.unwrap_or(own.outcome_root);
        let own = sealed(BlockHeaderView { prev_hash, outcome_root, ..own });
        result(&message(&own, Some(&chunks), &[shard_json(1, Some(""), &[])]))
    };
    let zero = CryptoHash::ZERO;
    // The hash of 32 bytes of 9
    let expected = "wrong: block.header.outcome_root: expected ARhMpWx1K3YAoFpLW3WWXBBhcey8idnTfQ7fnQUEwxua, found ";
    assert_eq!(with(zero, Some(zero)), "verified");
    assert_eq!(with(zero, None), "verified");
    assert_eq!(with(hash(6), None), "verified");
    assert_eq!(with(hash(6), Some(zero)), format!("{expected}{zero}"));
    assert_eq!(with(zero, Some(hash(1))), format!("{expected}{}", hash(1)));
}

#[test]
fn the_mask_is_compared_if_all_heights_are_there() {
    let chunks = [chunk(1, 7, hash(9)), chunk(2, 5, hash(8))];
    let own = header(&chunks);
    let valid = message(&own, Some(&chunks), &[shard_json(1, Some(""), &[])]);
    assert_eq!(result(&valid), "verified");
    for (from, to, expected) in [
        (
            "[true, false]",
            "[false, true]",
            "wrong: block.header.chunk_mask: not the mask of the new chunks",
        ),
        ("\"height\":7,", "", "unverifiable: block.header: missing field `height`"),
        (
            "\"chunk_mask\":[true, false],",
            "",
            "unverifiable: block.header: missing field `chunk_mask`",
        ),
        (
            "\"height_included\":7,",
            "",
            "unverifiable: block.chunks[0]: missing field `height_included`",
        ),
    ] {
        assert_eq!(result(&valid.replace(from, to)), expected);
    }
}

#[test]
fn without_the_height_no_chunk_is_known_to_be_new() {
    let chunks = [chunk(1, 0, hash(9))];
    let valid = message(&header(&chunks), Some(&chunks), &[]);
    let check = check_block(valid.replace("\"height\":7,", "").as_bytes());
    assert_eq!(text(&check.result), "unverifiable: block.header: missing field `height`");
    assert_eq!((check.confirmed_roots, check.outcome_roots), (vec![], vec![]));
}

#[test]
fn a_shard_without_a_new_chunk_has_neither_a_chunk_nor_outcomes() {
    let chunks = [chunk(1, 7, hash(9)), chunk(2, 5, hash(8))];
    let own = header(&chunks);
    let outcome = outcome_json(own.hash, hash(1), 3, &[]);
    let with = |second: String| {
        result(&message(&own, Some(&chunks), &[shard_json(1, Some(""), &[]), second]))
    };
    let refused = "wrong: shards[1]: shard 2 has no new chunk in the block";
    assert_eq!(with(shard_json(2, None, &[])), "verified");
    assert_eq!(with(shard_json(2, Some(""), &[])), refused);
    assert_eq!(with(shard_json(2, None, &[outcome])), refused);
}

#[test]
fn a_shard_is_not_refused_if_a_chunk_header_lacks_its_shard_or_height() {
    let chunks = [chunk(1, 7, hash(9)), chunk(2, 5, hash(8))];
    let shards = [shard_json(1, Some(""), &[]), shard_json(2, Some(""), &[])];
    let valid = message(&header(&chunks), Some(&chunks), &shards);
    let found = result(&valid.replace(",\"shard_id\":2}", "}"));
    assert_eq!(found, "unverifiable: block.chunks[1]: missing field `shard_id`");
}

#[test]
fn a_new_chunk_whose_shard_is_not_there_is_named() {
    let chunks = [chunk(1, 7, hash(9)), chunk(2, 7, hash(8))];
    let check = check_block(
        message(&header(&chunks), Some(&chunks), &[shard_json(2, Some(""), &[])]).as_bytes(),
    );
    let expected = "unverifiable: shards: shard 1 has a new chunk, which is not there";
    assert_eq!((text(&check.result).as_str(), check.lacks_chunks), (expected, true));
    assert_eq!(check.outcome_roots, [root_of(2, CryptoHash::ZERO)]);
    assert_eq!(check.confirmed_roots, [root_of(1, hash(9)), root_of(2, hash(8))]);
}

#[test]
fn shards_that_cannot_be_read_lack_no_chunks() {
    let chunks = [chunk(1, 7, hash(9))];
    let valid = message(&header(&chunks), Some(&chunks), &["{}".into()]);
    for (shards, expected) in [
        ("[{}]", "unverifiable: shards[0]: missing field `shard_id`"),
        ("[[]]", "wrong: shards[0]: invalid type: array, expected a shard"),
    ] {
        let check = check_block(valid.replace("[{}]", shards).as_bytes());
        assert_eq!(text(&check.result).split(" (byte").next(), Some(expected));
        assert!(!check.lacks_chunks, "{shards}");
    }
}

#[test]
fn the_outcome_that_was_changed_is_named_and_not_one_beside_it() {
    let block = header(&[chunk(1, 7, hash(9))]);
    let outcome = |id: u8, gas_burnt, path: &[MerklePathItem]| {
        outcome_json(block.hash, hash(id), gas_burnt, path)
    };
    for count in 2..=6_u8 {
        let leaf = |id| leaf(&json::read(&outcome(id, 7, &[])).unwrap()).unwrap();
        let (_, paths) = root_and_paths(&(0..count).map(leaf).collect::<Vec<_>>());
        for changed in 0..count {
            let outcomes = (0..count).zip(&paths);
            let outcomes: Vec<_> = outcomes
                .map(|(id, path)| outcome(id, if id == changed { 8 } else { 7 }, path))
                .collect();
            let chunks = [chunk(1, 7, hash(9))];
            let message = message(&block, Some(&chunks), &[shard_json(1, Some(""), &outcomes)]);
            let expected = format!("wrong: shards[0].outcome {}.proof: ", hash(changed));
            let found = result(&message);
            assert!(found.starts_with(&expected), "{count} outcomes: {found}");
        }
    }
}
