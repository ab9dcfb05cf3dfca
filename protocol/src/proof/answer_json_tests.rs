//! The JSON of proven answers, and of proofs.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::samples::{hash, outcome_json};
use super::*;
use crate::ErrorKind;
use crate::primitives::{Balance, Bytes, Gas};
use crate::views::{Direction, MerklePathItem, UnknownFields};

fn outcome(status: ProvenStatus) -> ProvenOutcome {
    ProvenOutcome {
        id: hash(1),
        confirmed_by: hash(2),
        confirmed_at: 3,
        shard_root: hash(4),
        leaf: hash(5),
        receipt_ids: vec![hash(6), hash(7)],
        gas_burnt: Gas(8),
        tokens_burnt: Balance(9),
        executor_id: "a.near".into(),
        status,
        logs: vec!["one".into(), "\"two\"".into()],
    }
}

fn answer() -> ProvenAnswer {
    ProvenAnswer {
        transaction_hash: hash(1),
        block_hash: hash(2),
        block_height: 3,
        outcomes: vec![],
        final_status: None,
        pending_receipts: vec![],
        unproven_outcomes: vec![],
        unprovable: vec![],
    }
}

#[test]
fn an_answer_of_which_nothing_is_proven_has_empty_lists() {
    let expected = concat!(
        r#"{"transaction_hash":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi","#,
        r#""block_hash":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","block_height":3,"#,
        r#""is_complete":false,"status":null,"outcomes":[],"pending_receipts":[],"#,
        r#""unproven_outcomes":[],"unprovable":[]}"#,
    );
    assert_eq!(answer().to_json(), expected);
}

#[test]
fn an_outcome_has_all_its_members_in_a_fixed_order() {
    let proven = ProvenAnswer { outcomes: vec![outcome(ProvenStatus::Failure)], ..answer() };
    let json = proven.to_json();
    let start = json.find("\"outcomes\":").unwrap();
    let expected = concat!(
        r#""outcomes":[{"id":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi","#,
        r#""confirmed_by":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","confirmed_at":3,"#,
        r#""shard_root":"GgBaCs3NCBuZN12kCJgAW63ydqohFkHEdfdEXBPzLHq","#,
        r#""leaf":"LbUiWL3xVV8hTFYBVdbTNrpDo41NKS6o3LHHuDzjfcY","#,
        r#""receipt_ids":["QWmroo4YnnMqYW3cnxWkFdaTxGD3P7vMSzwMHGbUzwF","#,
        r#""US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx"],"gas_burnt":8,"tokens_burnt":"9","#,
        r#""executor_id":"a.near","status":"Failure","logs":["one","\"two\""]}],"#,
        r#""pending_receipts":[],"unproven_outcomes":[],"unprovable":[]}"#,
    );
    assert_eq!(&json[start..], expected);
    assert!(json.contains("\"is_complete\":true"));
    let pending = ProvenAnswer { pending_receipts: vec![hash(6)], ..proven };
    assert!(pending.to_json().contains("\"is_complete\":false"));
}

#[test]
fn a_status_is_that_of_the_wire_without_the_error_of_a_failure() {
    for (status, expected) in [
        (ProvenStatus::Unknown, r#""status":"Unknown","#),
        (ProvenStatus::Failure, r#""status":"Failure","#),
        (ProvenStatus::SuccessValue(Bytes(vec![1, 2])), r#""status":{"SuccessValue":"AQI="},"#),
        (
            ProvenStatus::SuccessReceiptId(hash(1)),
            r#""status":{"SuccessReceiptId":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"},"#,
        ),
    ] {
        let json = ProvenAnswer { final_status: Some(status), ..answer() }.to_json();
        assert!(json.contains(expected), "{json}");
    }
}

#[test]
fn what_is_not_proven_is_named_with_the_outcome_that_has_it() {
    let proven = ProvenAnswer {
        pending_receipts: vec![hash(1), hash(2)],
        unproven_outcomes: vec![hash(2), hash(1)],
        unprovable: vec![
            Unprovable::Error(hash(1)),
            Unprovable::Metadata(hash(2)),
            Unprovable::ExecutionBlock(hash(1)),
            Unprovable::ReceiptBodies,
            Unprovable::TransactionBody,
            Unprovable::FinalExecutionStatus,
        ],
        ..answer()
    };
    let json = proven.to_json();
    let start = json.find("\"pending_receipts\":").unwrap();
    let expected = concat!(
        r#""pending_receipts":["4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi","#,
        r#""8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR"],"#,
        r#""unproven_outcomes":["8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","#,
        r#""4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"],"#,
        r#""unprovable":[{"member":"error","id":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"},"#,
        r#"{"member":"metadata","id":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR"},"#,
        r#"{"member":"execution_block","id":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"},"#,
        r#"{"member":"receipt_bodies"},{"member":"transaction_body"},"#,
        r#"{"member":"final_execution_status"}]}"#,
    );
    assert_eq!(&json[start..], expected);
}

#[test]
fn a_proof_has_the_path_of_each_outcome_and_all_headers() {
    let step = |direction, byte| MerklePathItem {
        direction,
        hash: hash(byte),
        unknown_fields: UnknownFields::default(),
    };
    let steps = vec![step(Direction::Left, 1), step(Direction::Right, 2)];
    let outcome = |byte, outcome_root_proof| OutcomeConfirmation {
        id: hash(byte),
        block_hash: hash(2),
        outcome_root_proof,
    };
    let header = LightHeader::from_bytes(&[1; LightHeader::LEN]);
    let proof = AnswerProof {
        transaction_hash: hash(1),
        block_hash: hash(2),
        outcomes: vec![outcome(1, steps), outcome(2, vec![])],
        headers: vec![header, header],
    };
    let mut json_of_header = String::new();
    header.write_json(&mut json_of_header);
    let expected = concat!(
        r#"{"transaction_hash":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi","#,
        r#""block_hash":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","#,
        r#""outcomes":[{"id":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi","#,
        r#""block_hash":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","outcome_root_proof":["#,
        r#"{"direction":"Left","hash":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"},"#,
        r#"{"direction":"Right","hash":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR"}]},"#,
        r#"{"id":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","#,
        r#""block_hash":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","outcome_root_proof":[]}],"#,
        r#""headers":[@,@]}"#,
    );
    assert_eq!(proof.to_json(), expected.replace('@', &json_of_header));
}

#[test]
fn the_root_of_a_shard_follows_from_one_of_its_outcomes() {
    let step = |direction: &str| format!(r#"{{"direction":"{direction}","hash":"{}"}}"#, hash(9));
    let with = |status: &str, direction: &str| {
        let outcome = outcome_json(hash(0xb0), hash(3), 3, &[])
            .replace("{\"SuccessValue\":\"\"}", status)
            .replace("\"proof\":[]", &format!("\"proof\":[{}]", step(direction)));
        shard_root(&outcome)
    };
    let value = r#"{"SuccessValue":""}"#;
    let expected = "Fv46vJkDXoRxrMUvL9351bWm56NjDyZYAXKRZzYRjA4k".parse().unwrap();
    assert_eq!(with(value, "Left"), Ok(Some((hash(0xb0), expected))));
    assert_eq!(with(value, "Up"), Ok(None));
    assert_eq!(with("{\"New\":1}", "Left"), Ok(None));
    let error = shard_root("{}").unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Schema, "missing field `id`"));
}
