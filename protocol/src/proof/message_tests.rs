//! The members that are read of a message, and those that are skipped.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::message::{FoundChunk, Message, Outcome, OutcomeContent, Shard, chunk_header};
use super::samples::{chunk, chunk_json, hash, outcome_json, shard_json};
use crate::codec::json::Reader;
use crate::{Error, ErrorKind};

fn read<'t>(text: &'t str) -> Result<Message<'t>, Error> {
    Message::read(text).map_err(|error| error.into_error(text))
}

/// The error of a text that is refused
fn refused(text: &str) -> String {
    format!("{}", read(text).err().unwrap())
}

/// The only shard of a message, which has these members beside its id
fn shard<'t>(text: &'t mut String, members: &str) -> Shard<'t> {
    *text = format!(r#"{{"block":{{"header":{{}}}},"shards":[{{"shard_id":4,{members}}}]}}"#);
    let mut shards = read(text).unwrap().shards.unwrap();
    assert_eq!(shards.len(), 1);
    shards.swap_remove(0)
}

/// The error of a shard with these members
fn refused_shard(members: &str) -> String {
    let text = format!(r#"{{"block":{{"header":{{}}}},"shards":[{{{members}}}]}}"#);
    let error = read(&text).unwrap().shards.err().unwrap().into_error(&text);
    format!("{}: {}", error.path(), error.detail())
}

fn outcome(id: u8) -> String {
    outcome_json(hash(0xb0), hash(id), 3, &[])
}

#[test]
fn a_message_has_a_block_with_a_header_and_shards() {
    let text = r#"{"other":1,"block":{"author":"a","header":{"height":7}},"shards":[]}"#;
    let message = read(text).unwrap();
    assert_eq!(message.header, "{\"height\":7}");
    assert!(message.chunks.is_none());
    assert_eq!(message.shards.map(|shards| shards.len()), Ok(0));
    assert_eq!(refused("{}"), "byte 2: missing field `block`");
    assert_eq!(refused(r#"{"block":{}}"#), "byte 12: missing field `header`");
    assert_eq!(refused(r#"{"block":{"header":{}}}"#), "byte 23: missing field `shards`");
    assert_eq!(
        refused(r#"{"shards":[],"block":7}"#),
        "block: invalid type: integer `7`, expected a block (byte 22)"
    );
}

#[test]
fn a_list_of_chunks_may_be_null_and_ends_at_the_first_malformed_header() {
    let with = |chunks: &str| {
        let text = format!(r#"{{"block":{{"header":{{}},"chunks":{chunks}}},"shards":[]}}"#);
        let list = read(&text).unwrap().chunks;
        list.map(|list| {
            let error = list.error.map(|error| format!("{}", error.into_error(&text)));
            (list.chunks.iter().map(|chunk| chunk.header.shard_id).collect::<Vec<_>>(), error)
        })
    };
    assert_eq!(with("null"), None);
    assert_eq!(with(r#"[{"shard_id":3},{"shard_id":4}]"#), Some((vec![3, 4], None)));
    let error = "block.chunks[1].shard_id: invalid type: boolean `true`, expected u64 (byte 63)";
    assert_eq!(
        with(r#"[{"shard_id":3},{"shard_id":true},{"shard_id":5}]"#),
        Some((vec![3], Some(error.into())))
    );
}

#[test]
fn what_is_no_json_in_a_part_is_an_error_of_the_message() {
    let error = read(r#"{"block":{"header":{},"chunks":[{]}},"shards":[]}"#).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Syntax);
    let error = read(r#"{"block":{"header":{}},"shards":[{]}"#).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Syntax);
}

#[test]
fn shards_that_cannot_be_read_leave_the_block() {
    let text = r#"{"shards":[{"shard_id":7},{"shard_id":true}],"block":{"header":{}}}"#;
    let message = read(text).unwrap();
    assert_eq!(message.header, "{}");
    let error = message.shards.err().unwrap().into_error(text);
    assert_eq!(error.path(), "shards[1].shard_id");
}

#[test]
fn the_header_of_a_chunk_has_seven_members() {
    let expected = chunk(1, 7, hash(9));
    let text = chunk_json(&expected);
    let found = chunk_header(&mut Reader::new(&text)).unwrap();
    assert_eq!(found.header, expected);
    assert_eq!(found.lacking(), None);
    let members = [
        ("chunk_hash", FoundChunk::HASH),
        ("outcome_root", FoundChunk::OUTCOME_ROOT),
        ("outgoing_receipts_root", FoundChunk::RECEIPTS_ROOT),
        ("prev_state_root", FoundChunk::STATE_ROOT),
        ("tx_root", FoundChunk::TX_ROOT),
        ("height_included", FoundChunk::HEIGHT),
        ("shard_id", FoundChunk::SHARD_ID),
    ];
    let all = members.iter().fold(0, |all, (_, member)| all | member);
    for (name, member) in members {
        let text = text.replace(&format!("\"{name}\":"), "\"other\":");
        let found = chunk_header(&mut Reader::new(&text)).unwrap();
        assert_eq!(found.lacking(), Some(name));
        assert!(!found.has(member) && !found.has(all), "{name}");
        assert!(found.has(all & !member) && found.has(0), "{name}");
    }
}

#[test]
fn a_shard_has_what_its_chunk_and_its_outcomes_name() {
    let (mut text, chunk) = (String::new(), r#""chunk":{"header":{"a":1}}"#);
    let found = shard(&mut text, chunk);
    assert_eq!((found.id, found.has_chunk, found.chunk_header), (4, true, Some("{\"a\":1}")));
    let found = shard(&mut text, r#""chunk":null"#);
    assert_eq!((found.has_chunk, found.chunk_header), (false, None));
    assert_eq!(refused_shard(r#""chunk":null"#), "shards[0]: missing field `shard_id`");
    let number = "shards[0].chunk: invalid type: integer `7`, expected a chunk";
    assert_eq!(refused_shard(r#""chunk":7"#), number);
}

#[test]
fn the_bodies_of_receipts_are_those_of_the_chunk_and_then_those_beside_outcomes() {
    let body = |id| format!(r#"{{"receipt_id":"{}","receiver_id":"{id}.near"}}"#, hash(id));
    let members = format!(
        concat!(
            r#""receipt_execution_outcomes":[{{"receipt":{},"execution_outcome":{}}},"#,
            r#"{{"receipt":null,"execution_outcome":{}}},{{"receipt":{}}}],"#,
            r#""chunk":{{"receipts":[{}],"local_receipts":[{}],"instant_receipts":[{}]}}"#,
        ),
        body(4),
        outcome(4),
        outcome(5),
        body(6),
        body(1),
        body(2),
        body(3),
    );
    let mut text = String::new();
    let found = shard(&mut text, &members);
    let bodies: Vec<_> = found.receipts.iter().map(|(id, receiver)| (*id, &**receiver)).collect();
    assert_eq!(
        bodies,
        [
            (hash(1), "1.near"),
            (hash(2), "2.near"),
            (hash(3), "3.near"),
            (hash(4), "4.near"),
            (hash(6), "6.near"),
        ]
    );
    let executed: Vec<_> = found.outcomes.iter().map(|one| (one.id, one.executed)).collect();
    assert_eq!(executed, [(hash(4), Some(hash(4))), (hash(5), None)]);
    // One without a receiver is none.
    let members = format!(r#""chunk":{{"receipts":[{{"receipt_id":"{}"}}]}}"#, hash(1));
    assert!(shard(&mut text, &members).receipts.is_empty());
}

#[test]
fn a_transaction_has_a_hash_two_accounts_and_perhaps_an_outcome() {
    let transaction = |id, members: &str| {
        format!(
            r#"{{"transaction":{{"hash":"{}","signer_id":"s{id}","receiver_id":"r{id}"}}{members}}}"#,
            hash(id)
        )
    };
    let with = |outcome: &str, receipt: &str| {
        format!(r#","outcome":{{"execution_outcome":{outcome},"receipt":{receipt}}}"#)
    };
    let receipt = format!(r#"{{"receipt_id":"{}","receiver_id":"r"}}"#, hash(9));
    let members = format!(
        r#""chunk":{{"transactions":[{},{},{},{{"transaction":{{"signer_id":"s"}}}}]}}"#,
        transaction(1, &with(&outcome(7), &receipt)),
        transaction(2, ",\"outcome\":null"),
        transaction(3, &with(&outcome(3), "null")),
    );
    let mut text = String::new();
    let found = shard(&mut text, &members);
    let transactions: Vec<_> = found
        .transactions
        .iter()
        .map(|one| (one.hash, &*one.signer_id, &*one.receiver_id))
        .collect();
    assert_eq!(transactions, [(hash(1), "s1", "r1"), (hash(2), "s2", "r2"), (hash(3), "s3", "r3")]);
    let outcomes: Vec<_> = found.outcomes.iter().map(|one| (one.id, one.executed)).collect();
    assert_eq!(outcomes, [(hash(7), Some(hash(1))), (hash(3), Some(hash(3)))]);
    assert_eq!(found.receipts.len(), 1);
    assert_eq!(found.receipts[0].0, hash(9));
}

/// A step of a path
fn step(direction: &str, byte: u8) -> String {
    format!(r#"{{"direction":"{direction}","hash":"{}"}}"#, hash(byte))
}

/// An outcome with this path
fn with_path(id: u8, path: &[String]) -> String {
    outcome(id).replace("\"proof\":[]", &format!("\"proof\":[{}]", path.join(",")))
}

/// Of each outcome the id, and the side and the sibling of each step of its path
fn paths(shard: &Shard<'_>) -> Vec<String> {
    let mut start = 0;
    let path = |outcome: &Outcome<'_>| {
        let steps = &shard.steps[start..outcome.path_end];
        start = outcome.path_end;
        let steps = steps.iter().map(|step| {
            let side = step.is_right.map_or("?", |is_right| if is_right { "R" } else { "L" });
            format!(" {side}{}", step.sibling.as_bytes()[0])
        });
        format!("{}:{}", outcome.id.as_bytes()[0], steps.collect::<String>())
    };
    shard.outcomes.iter().map(path).collect()
}

#[test]
fn outcomes_of_transactions_come_before_those_of_receipts_with_their_paths() {
    let of_receipt = |outcome: &str| format!(r#"{{"execution_outcome":{outcome}}}"#);
    let members = format!(
        r#""receipt_execution_outcomes":[{},{}],"chunk":{{"transactions":[{{"outcome":{}}},{{"outcome":{}}}]}}"#,
        of_receipt(&with_path(3, &[step("Left", 49)])),
        of_receipt(&with_path(4, &[step("Right", 65), step("Up", 66)])),
        of_receipt(&with_path(1, &[step("Right", 17), step("Left", 18)])),
        of_receipt(&with_path(2, &[])),
    );
    let mut text = String::new();
    let found = shard(&mut text, &members);
    assert_eq!(paths(&found), ["1: R17 L18", "2:", "3: L49", "4: R65 ?66"]);
}

#[test]
fn an_outcome_that_is_listed_again_is_one() {
    let one = with_path(2, &[step("Left", 1)]);
    let other = with_path(1, &[step("Right", 1), step("Left", 3)]);
    let lists = |outcomes: &[&String]| {
        let outcomes: Vec<_> = outcomes.iter().map(|outcome| (*outcome).clone()).collect();
        let mut text = shard_json(4, None, &outcomes);
        text = format!(r#"{{"block":{{"header":{{}}}},"shards":[{text}]}}"#);
        paths(&read(&text).unwrap().shards.unwrap()[0])
    };
    let both = ["2: L1", "1: R1 L3"];
    assert_eq!(lists(&[&one, &other]), both);
    assert_eq!(lists(&[&one, &other, &one, &other, &one]), both);
    assert_eq!(lists(&[&one, &one, &other]), both);
    // Neither with another leaf, nor with another path, nor of another id.
    let gas = one.replace("\"gas_burnt\":3", "\"gas_burnt\":4");
    assert_eq!(lists(&[&one, &gas]), ["2: L1", "2: L1"]);
    let path = with_path(2, &[step("Right", 1)]);
    assert_eq!(lists(&[&one, &path]), ["2: L1", "2: R1"]);
    let unknown = |id| with_path(id, &[step("Left", 1)]).replace("SuccessValue", "New");
    assert_eq!(lists(&[&unknown(2), &unknown(3)]), ["2: L1", "3: L1"]);
}

#[test]
fn an_outcome_names_the_receipt_that_determines_its_result() {
    let status = |status: &str| {
        let outcome = outcome(1).replace("{\"SuccessValue\":\"\"}", status);
        let mut text = String::new();
        let members =
            format!(r#""receipt_execution_outcomes":[{{"execution_outcome":{outcome}}}]"#);
        let found = shard(&mut text, &members);
        let found = &found.outcomes[0];
        (found.success_receipt_id, found.leaf.map(|leaf| format!("{leaf}")))
    };
    let receipt = format!("{{\"SuccessReceiptId\":\"{}\"}}", hash(9));
    let leaf = |text: &str| Some(String::from(text));
    assert_eq!(
        status(&receipt),
        (Some(hash(9)), leaf("H3X3j1fsbUhTWuDCYHnCNdNsQdEyvVSCDobUWnkwjasX"))
    );
    assert_eq!(
        status("{\"SuccessValue\":\"AQI=\"}"),
        (None, leaf("GnCzX7HzkzdDPYLkR1cUVfrDqj6d3GQzMrJNHFbsfacs"))
    );
    assert_eq!(
        status("{\"Failure\":{}}"),
        (None, leaf("C457EE8P8gs16oEbeiCTUD7U5sb72NaBvQ6LudGiuZho"))
    );
    assert_eq!(status("\"Unknown\""), (None, leaf("BhsgFtd3abBom8jvnnJxoPdAAXapPLdX9YANLs2TADh9")));
    assert_eq!(
        status("{\"Unknown\":null}"),
        (None, leaf("BhsgFtd3abBom8jvnnJxoPdAAXapPLdX9YANLs2TADh9"))
    );
    assert_eq!(status("\"New\""), (None, None));
    assert_eq!(status("{\"New\":1}"), (None, None));
    assert_eq!(status("{}"), (None, None));
}

#[test]
fn a_leaf_covers_each_member_of_an_outcome() {
    let outcome = |receipts: &str, gas: &str, logs: &str| {
        let text = outcome(1)
            .replace("\"receipt_ids\":[]", &format!("\"receipt_ids\":[{receipts}]"))
            .replace("\"gas_burnt\":3", &format!("\"gas_burnt\":{gas}"))
            .replace("\"logs\":[]", &format!("\"logs\":[{logs}]"));
        let mut steps = Vec::new();
        let content = OutcomeContent::read(&mut Reader::new(&text), &mut steps).unwrap();
        assert_eq!((content.id, content.block_hash), (hash(1), hash(0xb0)));
        assert_eq!((&*content.executor_id, content.tokens_burnt.0), ("a.near", 2));
        format!("{}", content.leaf().unwrap())
    };
    let receipts = format!("\"{}\",\"{}\"", hash(2), hash(3));
    assert_eq!(outcome("", "3", ""), "Hae2YyUXfS5Bk4Xeq7B5CajGjna8gwGko1HQVRr7pTyv");
    assert_eq!(outcome(&receipts, "3", ""), "6YA5CMNYoNEYB8Nr9Ef7YjRCtPzvAwKq3NXqkQJZ8te5");
    assert_eq!(
        outcome("", "\"4\"", "\"one\",\"t\\u0077o\""),
        "5k1uQE1TwFS7Qp2oTzDQoWGU8CzsEup6DdVaETWTnnn4"
    );
}

#[test]
fn a_member_of_an_outcome_that_is_missing_or_of_another_type_is_named() {
    let valid = with_path(1, &[step("Left", 1)]);
    let refused = |from: &str, to: &str| {
        let text = valid.replace(from, to);
        let error = OutcomeContent::read(&mut Reader::new(&text), &mut Vec::new()).err().unwrap();
        let error = error.into_error(&text);
        format!("{}: {}", error.path(), error.detail())
    };
    for name in ["block_hash", "id", "outcome", "proof"] {
        let found = refused(&format!("\"{name}\":"), "\"other\":");
        assert_eq!(found, format!(": missing field `{name}`"));
    }
    for name in ["receipt_ids", "gas_burnt", "tokens_burnt", "executor_id", "status", "logs"] {
        let found = refused(&format!("\"{name}\":"), "\"other\":");
        assert_eq!(found, format!("outcome: missing field `{name}`"));
    }
    for name in ["hash", "direction"] {
        let found = refused(&format!("\"{name}\":"), "\"other\":");
        assert_eq!(found, format!("proof[0]: missing field `{name}`"));
    }
    for (from, to, expected) in [
        (
            "\"gas_burnt\":3",
            "\"gas_burnt\":true",
            "outcome.gas_burnt: invalid type: boolean `true`, expected an amount of gas",
        ),
        (
            "\"gas_burnt\":3",
            "\"gas_burnt\":\"x\"",
            "outcome.gas_burnt: byte 120 at offset 0 is not a decimal digit",
        ),
        (
            "\"tokens_burnt\":\"2\"",
            "\"tokens_burnt\":2",
            "outcome.tokens_burnt: invalid type: integer `2`, expected a decimal string of an amount",
        ),
        (
            "\"a.near\"",
            "7",
            "outcome.executor_id: invalid type: integer `7`, expected an account id",
        ),
        (
            "\"logs\":[]",
            "\"logs\":[7]",
            "outcome.logs[0]: invalid type: integer `7`, expected a string",
        ),
        ("\"logs\":[]", "\"logs\":{}", "outcome.logs: invalid type: object, expected a sequence"),
        ("\"Left\"", "7", "proof[0].direction: invalid type: integer `7`, expected a direction"),
        (
            "{\"SuccessValue\":\"\"}",
            "{\"SuccessValue\":7}",
            "outcome.status.SuccessValue: invalid type: integer `7`, expected a base64 string",
        ),
        (
            "{\"SuccessValue\":\"\"}",
            "7",
            "outcome.status: invalid type: integer `7`, expected a status",
        ),
        (
            "{\"SuccessValue\":\"\"}",
            "null",
            "outcome.status: invalid type: null, expected a status",
        ),
        ("{\"SuccessValue\":\"\"}", "[]", "outcome.status: invalid type: array, expected a status"),
        (
            "{\"SuccessValue\":\"\"}",
            "{\"Failure\":1,\"SuccessValue\":\"\"}",
            "outcome.status.SuccessValue: a second variant",
        ),
    ] {
        assert_eq!(refused(from, to), expected);
    }
}
