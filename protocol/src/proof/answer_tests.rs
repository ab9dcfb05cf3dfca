//! The proof of a small transaction, and the reasons for which an answer or a proof is refused.
//!
//! Outcome 1 belongs to the transaction and creates the receipts 2 and 3. The block at height 5
//! confirms it; the next one confirms the other two, which are one tree. The client trusts that at
//! height 8.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::samples::hash;
use super::*;
use crate::primitives::{Balance, Bytes, CryptoHash, Gas};
use crate::views::MerklePathItem;
use crate::{Error, ErrorKind};

const LEAF_1: &str = "3KADf5ZsYYxrT3uxH5AAkAA7jVGgHBbGd9jW5d8a1sMV";
const LEAF_2: &str = "38wqeS7CuZ9PjLxG6ncJ2a449CaJqAhktjcWqVr5ro9q";
const LEAF_3: &str = "2V41pW2o8jF9NEJKxYBp2RbHcUa3duLryZ9njoNGx3ZW";
const ROOT_2_3: &str = "2xcHzLJxuM8fS2H34bX1W7t77xeqSbX6rZqWJaPSpp3S";

fn parse(text: &str) -> CryptoHash {
    text.parse().unwrap()
}

/// The JSON of an outcome: its id, the members after those that all have, and its path
fn outcome(id: u8, members: &str, path: &str) -> String {
    format!(
        concat!(
            r#"{{"block_hash":"{}","id":"{}","outcome":{{"gas_burnt":10,"tokens_burnt":"11",{}}},"#,
            r#""proof":[{}]}}"#,
        ),
        hash(0xb0),
        hash(id),
        members,
        path
    )
}

/// The outcomes 1 to 3
fn outcomes() -> [String; 3] {
    let (two, three) = (hash(2), hash(3));
    let first = format!(
        concat!(
            r#""executor_id":"a.near","logs":["one","two"],"metadata":{{}},"#,
            r#""receipt_ids":["{}","{}"],"status":{{"SuccessReceiptId":"{}"}}"#,
        ),
        two, three, two
    );
    let second =
        r#""executor_id":"b.near","logs":[],"receipt_ids":[],"status":{"SuccessValue":"AQI="}"#;
    let third =
        r#""executor_id":"c.near","logs":[],"receipt_ids":[],"status":{"Failure":{"any":1}}"#;
    let step = |direction, hash| format!(r#"{{"direction":"{direction}","hash":"{hash}"}}"#);
    [
        outcome(1, &first, ""),
        outcome(2, second, &step("Right", LEAF_3)),
        outcome(3, third, &step("Left", LEAF_2)),
    ]
}

fn answer_of(outcomes: &[String]) -> String {
    let [own, others @ ..] = outcomes else { return "{}".into() };
    format!(r#"{{"transaction_outcome":{own},"receipts_outcome":[{}]}}"#, others.join(","))
}

fn answer() -> String {
    answer_of(&outcomes())
}

/// The headers of the blocks at the heights 5, 6 and 8
fn headers() -> Vec<LightHeader> {
    let header = |height, prev_hash, outcome_roots: [CryptoHash; 2]| LightHeader {
        prev_hash,
        inner_rest_hash: hash(0x10),
        height,
        epoch_id: hash(0x11),
        next_epoch_id: hash(0x12),
        prev_state_root: hash(0x13),
        outcome_root: root(outcome_roots.map(|root| CryptoHash::digest(root.as_bytes())).to_vec()),
        timestamp: height,
        next_bp_hash: hash(0x14),
        block_merkle_root: hash(0x15),
    };
    let five = header(5, hash(0x20), [parse(LEAF_1), CryptoHash::ZERO]);
    let six = header(6, five.hash(), [CryptoHash::ZERO, parse(ROOT_2_3)]);
    let eight = header(8, six.hash(), [CryptoHash::ZERO; 2]);
    vec![five, six, eight]
}

fn proof() -> AnswerProof {
    let headers = headers();
    let [five, six, eight] = [0, 1, 2].map(|index| headers[index].hash());
    let path = |root: &str, roots: [CryptoHash; 2]| confirmation_path(parse(root), &roots).unwrap();
    let first = path(LEAF_1, [parse(LEAF_1), CryptoHash::ZERO]);
    let second = path(ROOT_2_3, [CryptoHash::ZERO, parse(ROOT_2_3)]);
    let confirmation = |id, block_hash, path: &Vec<MerklePathItem>| OutcomeConfirmation {
        id: hash(id),
        block_hash,
        outcome_root_proof: path.clone(),
    };
    AnswerProof {
        transaction_hash: hash(1),
        block_hash: eight,
        outcomes: vec![
            confirmation(1, five, &first),
            confirmation(2, six, &second),
            confirmation(3, six, &second),
        ],
        headers,
    }
}

fn known() -> KnownHashes {
    KnownHashes { transaction: hash(1), block: proof().block_hash }
}

fn verify(answer: &str, proof: &AnswerProof) -> Result<ProvenAnswer, Error> {
    verify_answer(answer.as_bytes(), proof.to_json().as_bytes(), known())
}

/// Kind, path and text of the error
fn refused(answer: &str, proof: &AnswerProof) -> (ErrorKind, String, String) {
    parts(&verify(answer, proof).unwrap_err())
}

fn parts(error: &Error) -> (ErrorKind, String, String) {
    (error.kind(), error.path().into(), error.detail().into())
}

fn chain(path: &str, detail: &str) -> (ErrorKind, String, String) {
    (ErrorKind::Chain, path.into(), detail.into())
}

fn schema(path: &str, detail: &str) -> (ErrorKind, String, String) {
    (ErrorKind::Schema, path.into(), detail.into())
}

fn ids(outcomes: &[ProvenOutcome]) -> Vec<CryptoHash> {
    outcomes.iter().map(|outcome| outcome.id).collect()
}

#[test]
fn all_members_that_a_leaf_covers_are_proven() {
    let [five, six, eight] = [0, 1, 2].map(|index| headers()[index].hash());
    let proven = verify(&answer(), &proof()).unwrap();
    let first = ProvenOutcome {
        id: hash(1),
        confirmed_by: five,
        confirmed_at: 5,
        shard_root: parse(LEAF_1),
        leaf: parse(LEAF_1),
        receipt_ids: vec![hash(2), hash(3)],
        gas_burnt: Gas(10),
        tokens_burnt: Balance(11),
        executor_id: "a.near".into(),
        status: ProvenStatus::SuccessReceiptId(hash(2)),
        logs: vec!["one".into(), "two".into()],
    };
    let second = ProvenOutcome {
        id: hash(2),
        confirmed_by: six,
        confirmed_at: 6,
        shard_root: parse(ROOT_2_3),
        leaf: parse(LEAF_2),
        receipt_ids: vec![],
        executor_id: "b.near".into(),
        status: ProvenStatus::SuccessValue(Bytes(vec![1, 2])),
        logs: vec![],
        ..first.clone()
    };
    let third = ProvenOutcome {
        id: hash(3),
        leaf: parse(LEAF_3),
        executor_id: "c.near".into(),
        status: ProvenStatus::Failure,
        ..second.clone()
    };
    assert!(proven.is_complete());
    assert_eq!(
        proven,
        ProvenAnswer {
            transaction_hash: hash(1),
            block_hash: eight,
            block_height: 8,
            outcomes: vec![first, second, third],
            final_status: Some(ProvenStatus::SuccessValue(Bytes(vec![1, 2]))),
            pending_receipts: vec![],
            unproven_outcomes: vec![],
            unprovable: vec![
                Unprovable::ExecutionBlock(hash(1)),
                Unprovable::Metadata(hash(1)),
                Unprovable::ExecutionBlock(hash(2)),
                Unprovable::ExecutionBlock(hash(3)),
                Unprovable::Error(hash(3)),
            ],
        }
    );
}

#[test]
fn the_bodies_and_the_milestone_of_an_answer_are_not_proven() {
    let with = |members: &str| {
        let answer = answer().replacen('{', &format!("{{{members},"), 1);
        verify(&answer, &proof()).unwrap().unprovable[..2].to_vec()
    };
    let first = Unprovable::ExecutionBlock(hash(1));
    assert_eq!(with(r#""transaction":{}"#), [Unprovable::TransactionBody, first]);
    assert_eq!(with(r#""receipts":[]"#), [Unprovable::ReceiptBodies, first]);
    let milestone = Unprovable::FinalExecutionStatus;
    assert_eq!(with(r#""final_execution_status":"FINAL""#), [milestone, first]);
}

#[test]
fn an_answer_may_be_a_response_or_list_all_its_outcomes() {
    let expected = verify(&answer(), &proof()).unwrap();
    let response = format!(r#"{{"id":1,"result":{}}}"#, answer());
    assert_eq!(verify(&response, &proof()), Ok(expected.clone()));
    let document = format!(r#"{{"outcomes":[{}]}}"#, outcomes().join(","));
    assert_eq!(verify(&document, &proof()), Ok(expected.clone()));
    let proof = format!(r#"{{"id":1,"proof":{}}}"#, proof().to_json());
    assert_eq!(verify_answer(answer().as_bytes(), proof.as_bytes(), known()), Ok(expected));
}

#[test]
fn what_is_not_in_the_proof_is_named_and_its_receipt_is_pending() {
    let mut proof = proof();
    proof.outcomes.pop();
    let proven = verify(&answer(), &proof).unwrap();
    assert_eq!(ids(&proven.outcomes), [hash(1), hash(2)]);
    assert_eq!(proven.pending_receipts, [hash(3)]);
    assert_eq!(proven.unproven_outcomes, [hash(3)]);
    assert!(!proven.is_complete());
    // Without an outcome nothing is proven.
    proof.outcomes.clear();
    let proven = verify("{}", &proof).unwrap();
    assert_eq!((proven.outcomes.len(), proven.final_status.clone()), (0, None));
    assert!(!proven.is_complete());
}

#[test]
fn outcomes_whose_origin_is_not_proven_are_not_proven_either() {
    let mut proof = proof();
    proof.outcomes.remove(0);
    let proven = verify(&answer(), &proof).unwrap();
    assert_eq!(proven.outcomes, []);
    assert_eq!(proven.unproven_outcomes, [hash(1), hash(2), hash(3)]);
    assert_eq!((proven.final_status, proven.pending_receipts), (None, vec![]));
}

#[test]
fn a_status_of_an_unknown_variant_proves_nothing() {
    let answer = answer().replace("{\"SuccessValue\":\"AQI=\"}", "{\"New\":1}");
    let proven = verify(&answer, &proof()).unwrap();
    assert_eq!(ids(&proven.outcomes), [hash(1), hash(3)]);
    assert_eq!(proven.unproven_outcomes, [hash(2)]);
    assert_eq!(proven.final_status, None);
}

/// An answer of outcomes that are the only ones of their shards, and its proof
fn alone(outcomes: &[String]) -> (String, AnswerProof) {
    let roots: Vec<_> =
        outcomes.iter().map(|outcome| shard_root(outcome).unwrap().unwrap().1).collect();
    let leaves: Vec<_> = roots.iter().map(|root| CryptoHash::digest(root.as_bytes())).collect();
    let header = LightHeader { outcome_root: root(leaves), ..headers()[0] };
    let last = LightHeader { prev_hash: header.hash(), ..headers()[2] };
    let id = |outcome: &str| parse(outcome.split('"').nth(7).unwrap());
    let confirmations = outcomes.iter().zip(&roots).map(|(outcome, root)| OutcomeConfirmation {
        id: id(outcome),
        block_hash: header.hash(),
        outcome_root_proof: confirmation_path(*root, &roots).unwrap(),
    });
    let proof = AnswerProof {
        transaction_hash: hash(1),
        block_hash: last.hash(),
        outcomes: confirmations.collect(),
        headers: vec![header, last],
    };
    (answer_of(outcomes), proof)
}

fn verify_alone(outcomes: &[String]) -> Result<ProvenAnswer, Error> {
    let (answer, proof) = alone(outcomes);
    let known = KnownHashes { transaction: hash(1), block: proof.block_hash };
    verify_answer(answer.as_bytes(), proof.to_json().as_bytes(), known)
}

/// An outcome that created receipts, with a status
fn creating(id: u8, receipts: &[u8], status: &str) -> String {
    let receipts: Vec<_> = receipts.iter().map(|id| format!("\"{}\"", hash(*id))).collect();
    let receipts = receipts.join(",");
    let members =
        format!(r#""executor_id":"a.near","logs":[],"receipt_ids":[{receipts}],"status":{status}"#);
    outcome(id, &members, "")
}

#[test]
fn an_outcome_that_no_other_one_created_is_refused() {
    let failure = r#"{"Failure":{}}"#;
    let error = verify_alone(&[
        creating(1, &[2], failure),
        creating(2, &[], failure),
        creating(3, &[], failure),
    ]);
    let detail = "no outcome of the transaction created this receipt";
    assert_eq!(parts(&error.unwrap_err()), chain(&format!("outcome {}", hash(3)), detail));
}

#[test]
fn each_receipt_is_followed_once() {
    let failure = r#"{"Failure":{}}"#;
    let proven =
        verify_alone(&[creating(1, &[2, 2, 1], failure), creating(2, &[4, 1], failure)]).unwrap();
    assert_eq!(ids(&proven.outcomes), [hash(1), hash(2)]);
    assert_eq!(proven.pending_receipts, [hash(4)]);
    assert_eq!(proven.final_status, Some(ProvenStatus::Failure));
}

#[test]
fn the_final_status_is_that_of_the_last_receipt_that_determines_it() {
    let next = |id| format!("{{\"SuccessReceiptId\":\"{}\"}}", hash(id));
    let status = |outcomes: &[String]| verify_alone(outcomes).unwrap().final_status;
    let two = [creating(1, &[2], &next(2)), creating(2, &[3], &next(3))];
    assert_eq!(status(&two), None);
    let three = [&two[..], &[creating(3, &[], "{\"Failure\":{}}")]].concat();
    assert_eq!(status(&three), Some(ProvenStatus::Failure));
    let unknown = [&two[..], &[creating(3, &[], "\"Unknown\"")]].concat();
    assert_eq!(status(&unknown), None);
    let circle = [creating(1, &[2], &next(2)), creating(2, &[1], &next(1))];
    assert_eq!(status(&circle), None);
}

#[test]
fn the_status_of_an_answer_is_that_which_is_proven() {
    let with = |status: &str, outcome_status: &str| {
        let (answer, proof) = alone(&[creating(1, &[], outcome_status)]);
        let answer = answer.replacen('{', &format!("{{\"status\":{status},"), 1);
        let known = KnownHashes { transaction: hash(1), block: proof.block_hash };
        verify_answer(answer.as_bytes(), proof.to_json().as_bytes(), known)
            .map(drop)
            .map_err(|error| parts(&error))
    };
    let (value, other) = ("{\"SuccessValue\":\"AQI=\"}", "{\"SuccessValue\":\"AQM=\"}");
    let (failure, unknown) = ("{\"Failure\":{}}", "\"Unknown\"");
    let detail = "another one than that of the outcome that determines it";
    let refused = Err(chain("answer.status", detail));
    for (stated, proven, expected) in [
        (value, value, Ok(())),
        (other, value, refused.clone()),
        (value, failure, refused.clone()),
        (failure, failure, Ok(())),
        (failure, value, refused),
        ("{\"Failure\":{\"other\":1}}", failure, Ok(())),
        (unknown, value, Ok(())),
        (value, unknown, Ok(())),
        (failure, unknown, Ok(())),
    ] {
        assert_eq!(with(stated, proven), expected, "{stated} for {proven}");
    }
}

#[test]
fn an_answer_is_about_the_transaction_and_has_each_outcome_once() {
    let [first, second, third] = outcomes();
    let about = format!("about transaction {}", hash(2));
    let other = answer_of(&[second.clone(), first.clone(), third.clone()]);
    assert_eq!(refused(&other, &proof()), chain("answer", &about));
    let twice = answer_of(&[first.clone(), third.clone(), second, third.clone()]);
    let detail = "it occurs twice in the answer";
    assert_eq!(refused(&twice, &proof()), chain(&format!("outcome {}", hash(3)), detail));
    let detail = format!("outcome {} is not in the answer, which may be older", hash(2));
    assert_eq!(refused(&answer_of(&[first, third]), &proof()), schema("proof.outcomes", &detail));
}

#[test]
fn a_proof_is_of_the_known_transaction_and_block() {
    let valid = proof();
    let other = AnswerProof { transaction_hash: hash(2), ..valid.clone() };
    let detail = format!("of {}, expected {}", hash(2), hash(1));
    assert_eq!(refused(&answer(), &other), chain("proof.transaction_hash", &detail));
    let other = AnswerProof { block_hash: hash(2), ..valid.clone() };
    let detail = format!("of {}, expected {}", hash(2), valid.block_hash);
    assert_eq!(refused(&answer(), &other), chain("proof.block_hash", &detail));
    for (name, detail) in [
        ("transaction_hash", "missing field `transaction_hash`"),
        ("outcomes", "missing field `outcomes`"),
        ("headers", "missing field `headers`"),
    ] {
        let text = valid.to_json().replace(&format!("\"{name}\":"), "\"other\":");
        let error = verify_answer(answer().as_bytes(), text.as_bytes(), known()).unwrap_err();
        assert_eq!(parts(&error), schema("proof", detail));
    }
}

#[test]
fn the_headers_of_a_proof_are_a_chain_to_the_known_block() {
    let valid = proof();
    let with = |headers: &[LightHeader]| {
        refused(&answer(), &AnswerProof { headers: headers.to_vec(), ..valid.clone() })
    };
    let [five, six, eight] = [0, 1, 2].map(|index| valid.headers[index]);
    let detail = format!("its parent is {}, not {} before it", six.hash(), five.hash());
    assert_eq!(with(&[five, eight]), chain("proof.headers[1]", &detail));
    let detail = format!("they end in block {}, expected {}", six.hash(), eight.hash());
    assert_eq!(with(&[five, six]), chain("proof.headers", &detail));
    assert_eq!(with(&[]), schema("proof.headers", "no headers"));
    // The first ones may be missing if they confirm nothing.
    let detail = format!("block {} is not among the headers", five.hash());
    assert_eq!(with(&[six, eight]), chain(&format!("outcome {}", hash(1)), &detail));
}

#[test]
fn a_proof_has_at_most_a_thousand_headers() {
    let with = |count: usize| {
        let mut headers = vec![headers()[0]; 1];
        while headers.len() < count {
            let prev_hash = headers.last().unwrap().hash();
            headers.push(LightHeader { prev_hash, ..headers[0] });
        }
        let block_hash = headers.last().unwrap().hash();
        let proof = AnswerProof { block_hash, headers, outcomes: vec![], ..proof() };
        let known = KnownHashes { block: block_hash, ..known() };
        verify_answer(b"{}", proof.to_json().as_bytes(), known).map_err(|error| parts(&error))
    };
    assert_eq!(with(1_000).unwrap().block_height, 5);
    let expected = schema("proof.headers[1000]", "more than 1000 headers");
    assert_eq!(with(1_001).unwrap_err(), expected);
}

#[test]
fn the_proof_of_an_outcome_leads_to_the_root_of_its_block() {
    let valid = proof();
    let place = format!("outcome {}", hash(2));
    let mut proof = valid.clone();
    proof.outcomes[1].block_hash = valid.headers[0].hash();
    let (kind, path, detail) = refused(&answer(), &proof);
    assert_eq!((kind, &path), (ErrorKind::Chain, &place));
    let expected = format!(
        "expected the outcome root {} of block {}, found {}",
        valid.headers[0].outcome_root,
        valid.headers[0].hash(),
        valid.headers[1].outcome_root
    );
    assert_eq!(detail, expected);
    proof.outcomes[1].id = hash(3);
    let detail = format!("outcome {} occurs twice", hash(3));
    assert_eq!(refused(&answer(), &proof), schema("proof.outcomes", &detail));
    // A direction that is not known, in the proof or in the answer.
    let detail = "a path has a direction of no known variant";
    let text = valid.to_json().replace("\"Left\"", "\"Up\"");
    let error = verify_answer(answer().as_bytes(), text.as_bytes(), known()).unwrap_err();
    assert_eq!(parts(&error), schema(&place, detail));
    let error = verify(&answer().replace("\"Right\"", "\"Up\""), &valid).unwrap_err();
    assert_eq!(parts(&error), schema(&place, detail));
}

#[test]
fn texts_that_cannot_be_read_are_named() {
    let proof = proof().to_json();
    let error = verify_answer(b"{\xff", proof.as_bytes(), known()).unwrap_err();
    assert_eq!(error.to_string(), "answer: not UTF-8 (byte 1)");
    let error = verify_answer(b"{}", b"{ \xff", known()).unwrap_err();
    assert_eq!(error.to_string(), "proof: not UTF-8 (byte 2)");
    let error = verify_answer(b"{} 1", proof.as_bytes(), known()).unwrap_err();
    assert_eq!((error.path(), error.detail()), ("answer", "trailing characters"));
    let error = verify_answer(b"[]", proof.as_bytes(), known()).unwrap_err();
    assert_eq!(error.detail(), "invalid type: array, expected an object");
}
