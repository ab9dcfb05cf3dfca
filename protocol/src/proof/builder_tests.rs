//! The check of a block whose message is read for another purpose.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::message::OutcomeContent;
use super::samples::{chunk, chunk_json, hash, header, header_json, message, outcome_json};
use super::samples::{shard_json, text};
use super::*;
use crate::codec::json::Reader;
use crate::primitives::CryptoHash;

/// The header of a block with a new chunk of shard 1
fn own() -> BlockHeaderView {
    header(&[chunk(1, 7, hash(9))])
}

/// The JSON of a block with a list of chunks, or without
fn block(header: &BlockHeaderView, has_list: bool) -> String {
    let chunks = chunk_json(&chunk(1, 7, hash(9)));
    let chunks = if has_list { format!(",\"chunks\":[{chunks}]") } else { String::new() };
    format!("{{\"header\":{}{chunks}}}", header_json(header))
}

/// The JSON of the shard with its chunk
fn shard() -> String {
    let header = chunk_json(&chunk(1, 7, hash(9)));
    format!(r#"{{"shard_id":1,"chunk":{{"author":"v.near","header":{header},"receipts":[]}}}}"#)
}

/// The outcomes with ids of 1, 2, … in one tree
fn outcomes(count: u8) -> Vec<String> {
    let json = |id: u8, path: &[_]| outcome_json(own().hash, hash(id), id.into(), path);
    let leaf = |id: u8| {
        let text = json(id, &[]);
        let content = OutcomeContent::read(&mut Reader::new(&text), &mut vec![]).unwrap();
        content.leaf().unwrap()
    };
    let (_, paths) = root_and_paths(&(1..=count).map(leaf).collect::<Vec<_>>());
    (1..=count).zip(&paths).map(|(id, path)| json(id, path)).collect()
}

/// Adds an outcome as a reader does
fn add(builder: &mut BlockCheckBuilder<'_>, id: u8, text: &str) {
    let status = text.find("\"status\":").unwrap() + 9..text.find(",\"tokens_burnt\"").unwrap();
    let receipt = text[status.clone()].starts_with("{\"SuccessReceiptId\"");
    let receipts = [[2; 32], [3; 32]];
    builder.outcome(&ReadOutcome {
        text,
        id: hash(id),
        block_hash: own().hash,
        receipt_ids: if text.contains("\"receipt_ids\":[]") { &[] } else { &receipts },
        status,
        success_receipt_id: receipt.then(|| hash(2)),
    });
}

/// A check of the block to which something is added
fn check(has_list: bool, add: impl FnOnce(&mut BlockCheckBuilder<'_>)) -> Option<BlockCheck> {
    let (block, shard) = (block(&own(), has_list), shard());
    let mut builder = BlockCheckBuilder::default();
    builder.block(Reader::new(&block));
    builder.shard(Reader::new(&shard));
    add(&mut builder);
    builder.end_shard(Some(1), true);
    builder.check()
}

/// The result of a check with these outcomes, and the root of the shard
fn with(outcomes: &[String]) -> Option<(String, CryptoHash)> {
    let check = check(true, |builder| {
        for (id, outcome) in (1..).zip(outcomes) {
            add(builder, id, outcome);
        }
    })?;
    Some((text(&check.result), check.outcome_roots[0].root))
}

fn verified(root: &str) -> Option<(String, CryptoHash)> {
    Some(("verified".into(), root.parse().unwrap()))
}

#[test]
fn a_block_has_the_check_of_its_message() {
    let found = check(true, |_| {}).unwrap();
    let list = [chunk(1, 7, hash(9))];
    let message = message(&own(), Some(&list), &[shard_json(1, Some(""), &[])]);
    assert_eq!(found, check_block(message.as_bytes()));
    assert_eq!(text(&found.result), "verified");
    assert_eq!(found.hashes, Some((own().hash, hash(6))));
}

#[test]
fn without_a_list_the_header_of_a_chunk_is_that_of_its_shard() {
    let found = check(false, |_| {}).unwrap();
    assert_eq!(text(&found.result), "verified");
    assert_eq!(found.confirmed_roots, [OutcomeRoot { shard_id: 1, root: hash(9) }]);
    assert_eq!(found.shard_ids, [1]);
    // A shard that has none is not read here.
    for shard in
        ["{\"chunk\":null}", "{\"chunk\":{}}", "{\"shard_id\":1}", "{\"chunk\":{\"header\"}"]
    {
        let block = block(&own(), false);
        let mut builder = BlockCheckBuilder::default();
        builder.block(Reader::new(&block));
        builder.shard(Reader::new(shard));
        builder.end_shard(Some(1), false);
        assert_eq!(builder.check(), None, "{shard}");
    }
}

#[test]
fn with_a_list_a_shard_needs_no_chunk() {
    let chunks = [chunk(1, 7, hash(9)), chunk(2, 5, hash(8))];
    let header = header(&chunks);
    let chunks = chunks.each_ref().map(chunk_json).join(",");
    let block = format!("{{\"header\":{},\"chunks\":[{chunks}]}}", header_json(&header));
    let with = |has_chunk| {
        let mut builder = BlockCheckBuilder::default();
        builder.block(Reader::new(&block));
        builder.end_shard(Some(1), true);
        builder.shard(Reader::new("{\"shard_id\":2,\"chunk\":null}"));
        builder.end_shard(Some(2), has_chunk);
        builder.check().map(|check| text(&check.result))
    };
    assert_eq!(with(false).as_deref(), Some("verified"));
    // Why a shard is wrong is found in the message.
    assert_eq!(with(true), None);
}

#[test]
fn the_outcomes_of_a_shard_have_one_root() {
    for (count, root) in [
        (1, "xk2bPN9N13UHjkHwnfE1CmDmK9gopXBn4D1vV1D6eA8"),
        (2, "9bqsQV5KREb7a6SA1DMCa6WwBXH57J2R9j8JvUNYuDNz"),
        (3, "6yhWHeDhmSnZGNWxN3qX7rfepn9Gd5iw6qu5TQDtHuJJ"),
        (5, "8pCcS52zgt3eZwHYTsKMk7TwcktZnsdUXLzTWR5hZPuA"),
        (8, "6dbexzxbrTXqfY3SbfcTzQED4iv29fcFasL2CUtQXvTz"),
    ] {
        assert_eq!(with(&outcomes(count)), verified(root), "{count} outcomes");
    }
}

#[test]
fn an_outcome_has_receipts_logs_and_a_status() {
    let one = |from: &str, to: &str| with(&[outcomes(1)[0].replace(from, to)]);
    let value = "{\"SuccessValue\":\"\"}";
    assert_eq!(
        one(value, "{\"SuccessValue\":\"AQI=\"}"),
        verified("A4mMmhBQqMNAzN59EZQxpy78jfdqRCBRVDX7Vfr97CJT")
    );
    assert_eq!(
        one(value, "{\"Failure\":{}}"),
        verified("4w4byVhjF4H8XY2x3u346fjAPU8sC8ddiaZdSUAJ9a5L")
    );
    let receipt = format!("{{\"SuccessReceiptId\":\"{}\"}}", hash(2));
    assert_eq!(one(value, &receipt), verified("CHZPQ49MooTzbMW1ZW9ZwRyJVhkkwZRPe8t1g5F8VBX8"));
    assert_eq!(
        one("\"logs\":[]", "\"logs\":[\"one\",\"t\\u0077o\"]"),
        verified("AY9njMExK5aVvhJVwEiaxJ6y3mqmCmEYvnq4CairSK8g")
    );
    let receipts = format!("\"receipt_ids\":[\"{}\",\"{}\"]", hash(2), hash(3));
    assert_eq!(
        one("\"receipt_ids\":[]", &receipts),
        verified("7FxUQedkkxbb8LYV3YLL7a5aeGsFuDvDo8ao3Jrq7gfH")
    );
}

#[test]
fn an_outcome_of_another_form_is_not_read_here() {
    let [own] = <[String; 1]>::try_from(outcomes(1)).unwrap();
    for (from, to) in [
        ("{\"SuccessValue\":\"\"}", "\"Unknown\""),
        ("{\"SuccessValue\":\"\"}", "{\"New\":\"\"}"),
        ("{\"SuccessValue\":\"\"}", "{\"SuccessValue\":\"*\"}"),
        ("{\"SuccessValue\":\"\"}", "{\"SuccessValue\":7}"),
        ("{\"block_hash\":", "{\"other\":"),
        (",\"id\":", ",\"other\":"),
        (",\"outcome\":", ",\"other\":"),
        ("{\"executor_id\":", "{\"other\":"),
        (",\"gas_burnt\":", ",\"other\":"),
        ("\"gas_burnt\":1", "\"gas_burnt\":-1"),
        (",\"logs\":", ",\"other\":"),
        ("\"tokens_burnt\":\"2\"", "\"tokens_burnt\":\"x\""),
        ("\"tokens_burnt\":\"2\"", "\"tokens_burnt\":\"2\",\"z\":1"),
        (",\"proof\":", ",\"other\":"),
        ("\"proof\":[]", "\"proof\":[{\"direction\":\"Up\",\"hash\":\"1\"}]"),
        ("\"proof\":[]", "\"proof\":[{\"direction\":\"Left\",\"hash\":\"1\"}]"),
        ("\"proof\":[]", "\"proof\":7"),
    ] {
        let changed = own.replace(from, to);
        assert_ne!(changed, own);
        assert_eq!(with(&[changed]), None, "{to}");
    }
}

#[test]
fn an_outcome_with_another_path_is_left_to_the_check_of_the_message() {
    for (from, to) in [("Left", "Right"), ("Right", "Left")] {
        let mut outcomes = outcomes(5);
        outcomes[2] = outcomes[2].replace(from, to);
        assert_eq!(with(&outcomes), None, "{to}");
    }
    let mut outcomes = outcomes(5);
    outcomes[3] = outcomes[3].replace("\"gas_burnt\":4", "\"gas_burnt\":5");
    assert_eq!(with(&outcomes), None);
}

#[test]
fn a_header_that_is_wrong_is_named_if_there_is_a_list_of_chunks() {
    let wrong = BlockHeaderView { chunks_included: 2, ..own() };
    let with = |has_list| {
        let (block, shard) = (block(&wrong, has_list), shard());
        let mut builder = BlockCheckBuilder::default();
        builder.block(Reader::new(&block));
        builder.shard(Reader::new(&shard));
        builder.end_shard(Some(1), true);
        builder.check().map(|check| text(&check.result))
    };
    let expected = "wrong: block.header.chunks_included: expected 1, found 2";
    assert_eq!(with(true).as_deref(), Some(expected));
    assert_eq!(with(false), None);
}

#[test]
fn a_new_chunk_that_is_not_there_is_named() {
    let block = block(&own(), true);
    let mut builder = BlockCheckBuilder::default();
    builder.block(Reader::new(&block));
    let check = builder.check().unwrap();
    let expected = "unverifiable: shards: shard 1 has a new chunk, which is not there";
    assert_eq!((text(&check.result).as_str(), check.lacks_chunks), (expected, true));
}

#[test]
fn the_accounts_of_transactions_and_receipts_are_those_of_their_texts() {
    let found = check(true, |builder| {
        builder.transaction(
            hash(1),
            r#"{"a":[],"receiver_id":"b.near","signature":"ed25519:1","signer_id":"a.near"}"#,
        );
        builder.receipt(hash(2), r#"{"predecessor_id":"c.near","receiver_id":"d.near"}"#);
    });
    let executors = found.unwrap().executors;
    assert_eq!(executors.awaited, [(hash(1), "a.near".into()), (hash(2), "d.near".into())]);
    assert_eq!(executors.executed, []);
    let found = check(true, |builder| add(builder, 1, &outcomes(1)[0]));
    assert_eq!(found.unwrap().executors.executed, [(hash(1), 0, "a.near".into())]);
    // The receipt that a transaction becomes is executed by its receiver.
    let receipt = format!("{{\"SuccessReceiptId\":\"{}\"}}", hash(2));
    let found = check(true, |builder| {
        let outcome = outcomes(1)[0].replace("{\"SuccessValue\":\"\"}", &receipt);
        add(builder, 1, &outcome);
        builder.transaction(
            hash(1),
            r#"{"a":[],"receiver_id":"b.near","signature":"ed25519:1","signer_id":"a.near"}"#,
        );
    });
    assert_eq!(found.unwrap().executors.awaited, [(hash(2), "b.near".into())]);
}

#[test]
fn texts_of_another_form_are_left_to_the_check_of_the_message() {
    for text in [
        r#"{"a":[],"receiver_id":"b","signature":"s","signer_id":"\u0061"}"#,
        r#"{"a":[],"receiver_id":"b","signature":"\u0061","signer_id":"a"}"#,
        r#"{"a":[],"receiver_id":"\u0062","signature":"s","signer_id":"a"}"#,
        r#"{"a":[],"receiver_id":"b","signature":"s","signer_id":"a","z":"c"}"#,
        r#"{"a":[],"receiver_id":"b","s":"c","signature":"s","signer_id":"a"}"#,
        r#"{"a":[],"receiver_id":"b","signature":"s","signer_id":7}"#,
        r#"{"a":[],"receiver_id":"b","signer_id":"a"}"#,
        r#"{"signature":"s","signer_id":"a"}"#,
    ] {
        assert_eq!(check(true, |builder| builder.transaction(hash(1), text)), None, "{text}");
    }
    for text in [
        r#"{"a":[],"receiver_id":"\u0062"}"#,
        r#"{"a":[],"receiver_id":"b","z":"c"}"#,
        r#"{"a":[],"receiver_id":7}"#,
        r#"{"predecessor_id":"b"}"#,
    ] {
        assert_eq!(check(true, |builder| builder.receipt(hash(1), text)), None, "{text}");
    }
}

#[test]
fn what_was_not_read_leaves_no_check_whatever_follows() {
    assert_eq!(check(true, |builder| builder.fail()), None);
    for has_list in [true, false] {
        let (block, shard) = (block(&own(), has_list), shard());
        let mut builder = BlockCheckBuilder::default();
        builder.fail();
        builder.block(Reader::new(&block));
        builder.shard(Reader::new(&shard));
        add(&mut builder, 1, &outcomes(1)[0]);
        builder.end_shard(Some(1), true);
        assert_eq!(builder.check(), None);
    }
    // A shard without an id
    let block = block(&own(), true);
    let mut builder = BlockCheckBuilder::default();
    builder.block(Reader::new(&block));
    builder.end_shard(None, false);
    builder.end_shard(Some(1), true);
    assert_eq!(builder.check(), None);
}

#[test]
fn a_list_with_a_malformed_header_of_a_chunk_leaves_no_check() {
    let block = block(&own(), true).replace("\"height_included\":7", "\"height_included\":\"7\"");
    let mut builder = BlockCheckBuilder::default();
    builder.block(Reader::new(&block));
    builder.end_shard(Some(1), true);
    assert_eq!(builder.check(), None);
    // Nor does a block without a header.
    for block in ["{\"chunks\":[]}", "7"] {
        let mut builder = BlockCheckBuilder::default();
        builder.block(Reader::new(block));
        assert_eq!(builder.check(), None);
    }
}
