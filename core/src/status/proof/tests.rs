//! The search over rows of blocks that are made here: its steps, its limits, its errors.

#[cfg(feature = "archive")]
mod archive;
mod chain;

use alloc::string::ToString as _;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::*;
use crate::proof::shard_root;
use crate::storage::rows::{BlockProof, ChainRecord, OutcomeStatus};
use crate::storage::sealed::Sealed as _;
use crate::storage::{Key, Snapshot as _, Table};

use chain::*;

#[test]
fn a_proof_ends_with_the_block_that_confirms_the_outcome() {
    let chain = Chain::of_transaction(6, &[(2, root_of(transaction()))]);
    let (steps, proof) = chain.query(ProofEnd::Confirmation);
    assert_eq!(steps, ["blocks 2", "ordinals 51..=55", "blocks 5"]);
    let proof = proof.unwrap().unwrap();
    assert_eq!(chain.headers(&proof), 2..3);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
}

#[test]
fn a_proof_of_two_outcomes_has_the_blocks_between_their_confirmations() {
    let confirmed = [(2, root_of(transaction())), (4, root_of(receipt()))];
    let chain = Chain::of_receipt(8, &confirmed);
    let proof = chain.proof(ProofEnd::Confirmation).unwrap();
    assert_eq!(chain.headers(&proof), 2..5);
    assert_eq!(
        outcomes(&proof),
        [chain.confirmation(transaction(), 2), chain.confirmation(receipt(), 4)].join(",")
    );
    // Before the second confirmation there are fewer.
    let proof = chain.proof(ProofEnd::Block(chain.hash(3))).unwrap();
    assert_eq!(chain.headers(&proof), 2..4);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
    // An outcome that is never confirmed adds no headers.
    let chain = Chain::of_receipt(8, &confirmed[..1]);
    let proof = chain.proof(ProofEnd::Confirmation).unwrap();
    assert_eq!(chain.headers(&proof), 2..3);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
}

#[test]
fn outcomes_of_one_shard_are_confirmed_together() {
    let step = |direction, hash| format!(r#"{{"direction":"{direction}","hash":"{hash}"}}"#);
    let own_path = step("Right", root_of(receipt()));
    let own = outcome_text(transaction(), CryptoHash::ZERO, &own_path);
    let mut chain = Chain::of_receipt(4, &[(2, shard_root(&own).unwrap().unwrap().1)]);
    let own = outcome_text(transaction(), chain.hash(0), &own_path);
    let path = step("Left", root_of(transaction()));
    let generated = outcome_text(receipt(), chain.hash(0), &path);
    let status = OutcomeStatus::SuccessReceiptId(receipt());
    let ids = [*receipt().as_bytes()];
    chain.put_outcome_text(transaction(), 0, status, &ids, own.as_bytes());
    chain.put_outcome_text(receipt(), 0, OutcomeStatus::SuccessValue, &[], generated.as_bytes());
    let proof = chain.proof(ProofEnd::Confirmation).unwrap();
    assert_eq!(chain.headers(&proof), 2..3);
    assert_eq!(
        outcomes(&proof),
        [transaction(), receipt()].map(|id| chain.confirmation(id, 2)).join(",")
    );
}

#[test]
fn a_root_is_confirmed_by_the_first_block_that_has_it() {
    let root = root_of(transaction());
    let mut chain = Chain::of_transaction(6, &[(0, root), (2, root), (3, root)]);
    chain.set_chain(Some(4));
    let proof = chain.proof(ProofEnd::LastFinal).unwrap();
    // The block that executed it confirms nothing of it.
    assert_eq!(chain.headers(&proof), 2..5);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
}

#[test]
fn the_search_begins_after_the_lowest_block_that_executed_an_outcome() {
    let confirmed = [(2, root_of(receipt())), (5, root_of(transaction()))];
    let mut chain = Chain::new(1_000..1_007, &confirmed);
    chain.put_transaction(4, Some(receipt()));
    chain.put_outcome(receipt(), 1, OutcomeStatus::SuccessValue, &[]);
    let (steps, proof) = chain.query(ProofEnd::Confirmation);
    assert_eq!(steps, ["blocks 2", "ordinals 52..=56", "blocks 5"]);
    assert_eq!(chain.headers(&proof.unwrap().unwrap()), 2..6);
}

#[test]
fn a_proof_ends_where_it_is_asked_to() {
    let mut chain = Chain::of_transaction(6, &[(2, root_of(transaction()))]);
    // No block is final.
    assert_eq!(chain.query(ProofEnd::LastFinal), (vec![], Ok(None)));
    chain.set_chain(Some(4));
    let (steps, proof) = chain.query(ProofEnd::LastFinal);
    assert_eq!(steps, ["blocks 2", "ordinals 51..=54", "blocks 4"]);
    let proof = proof.unwrap().unwrap();
    assert_eq!(chain.headers(&proof), 2..5);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
    let proof = chain.proof(ProofEnd::Block(chain.hash(3))).unwrap();
    assert_eq!(chain.headers(&proof), 2..4);
    let (steps, proof) = chain.query(ProofEnd::Block(chain.hash(2)));
    assert_eq!(steps, ["blocks 2", "ordinals 51..=52", "blocks 2"]);
    assert_eq!(chain.headers(&proof.unwrap().unwrap()), 2..3);
}

#[test]
fn there_is_no_proof_before_an_outcome_is_confirmed() {
    let mut chain = Chain::of_transaction(5, &[(2, root_of(transaction()))]);
    let (steps, proof) = chain.query(ProofEnd::Block(chain.hash(1)));
    assert_eq!(
        (steps, proof),
        (vec!["blocks 2".into(), "ordinals 51..=51".into(), "blocks 1".into()], Ok(None))
    );
    // The block that executed it, and one before.
    let before = (vec!["blocks 2".into()], Ok(None));
    assert_eq!(chain.query(ProofEnd::Block(chain.hash(0))), before);
    chain.put_transaction(1, None);
    assert_eq!(chain.query(ProofEnd::Block(chain.hash(0))), before);
    // No block is known, or no transaction.
    chain.remove(ChainRecord::key());
    assert_eq!(chain.query(ProofEnd::Confirmation), (vec![], Ok(None)));
    chain.set_chain(Some(3));
    chain.remove(Key::hash(Table::Transactions, transaction()));
    assert_eq!(chain.query(ProofEnd::LastFinal), (vec![], Ok(None)));
}

#[test]
fn an_outcome_whose_status_is_unknown_is_in_no_proof() {
    let confirmed = [(2, root_of(transaction())), (3, root_of(receipt()))];
    let mut chain = Chain::of_receipt(5, &confirmed);
    let other = outcome_text(receipt(), chain.hash(1), "").replace("SuccessValue", "Other");
    chain.put_outcome_text(receipt(), 1, OutcomeStatus::SuccessValue, &[], other.as_bytes());
    let proof = chain.proof(ProofEnd::Confirmation).unwrap();
    assert_eq!(chain.headers(&proof), 2..3);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
    chain.put_outcome(receipt(), 1, OutcomeStatus::Unknown, &[]);
    let proof = chain.proof(ProofEnd::Confirmation).unwrap();
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
    chain.put_outcome(transaction(), 0, OutcomeStatus::Unknown, &[]);
    assert_eq!(chain.query(ProofEnd::Confirmation), (vec![], Ok(None)));
}

#[test]
fn a_corrupt_outcome_is_an_error() {
    let mut chain = Chain::of_transaction(3, &[]);
    let value = OutcomeStatus::SuccessValue;
    chain.put_outcome_text(transaction(), 0, value, &[], b"\xff");
    let detail = "invalid utf-8 sequence of 1 bytes from index 0";
    assert_eq!(chain.error(ProofEnd::Confirmation), (ErrorKind::Corrupt, detail.into()));
    chain.put_outcome_text(transaction(), 0, value, &[], b"[]");
    assert_eq!(
        chain.error(ProofEnd::Confirmation),
        (ErrorKind::Schema, "byte 0: invalid type: array, expected an outcome".into())
    );
}

#[test]
fn an_end_that_is_no_canonical_block_is_an_error() {
    let mut chain = Chain::of_transaction(4, &[(1, root_of(transaction()))]);
    chain.change(3, |record| record.ordinal = None);
    for unknown in [CryptoHash::digest(b"unknown"), chain.hash(3)] {
        let expected = format!("block: {unknown} is no block of the stored chain");
        let (steps, error) = chain.query(ProofEnd::Block(unknown));
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Value, expected));
        assert_eq!(steps, ["blocks 2"]);
    }
}

#[test]
fn a_first_block_that_is_not_kept_is_an_error() {
    let mut chain = Chain::of_transaction(4, &[(1, root_of(transaction()))]);
    let first = chain.hash(0);
    let expected = format!("block {first}: it executed an outcome, and is not kept");
    chain.change(0, |record| record.ordinal = None);
    assert_eq!(chain.error(ProofEnd::Confirmation), (ErrorKind::Usage, expected.clone()));
    chain.remove(block_key(first));
    assert_eq!(chain.error(ProofEnd::Confirmation), (ErrorKind::Usage, expected.clone()));
    let unknown = ProofEnd::Block(CryptoHash::ZERO);
    assert_eq!(chain.error(unknown), (ErrorKind::Usage, expected));
}

#[test]
fn a_canonical_block_that_is_missing_is_an_error() {
    let missing = (ErrorKind::Corrupt, "a canonical block is missing".into());
    let mut chain = Chain::of_transaction(4, &[(2, root_of(transaction()))]);
    chain.remove(ordinal_key(2));
    assert_eq!(chain.error(ProofEnd::Confirmation), missing);
    let mut chain = Chain::of_transaction(4, &[(2, root_of(transaction()))]);
    chain.remove(block_key(chain.hash(2)));
    assert_eq!(chain.error(ProofEnd::Confirmation), missing);
    let mut chain = Chain::of_transaction(4, &[(2, root_of(transaction()))]);
    chain.put(block_key(chain.hash(0)), b"x".into());
    assert_eq!(chain.error(ProofEnd::Confirmation).0, ErrorKind::Version);
}

#[test]
fn a_block_without_a_proof_is_an_error_as_far_as_it_is_needed() {
    for (unchecked, is_needed) in [(1, true), (2, true), (3, false)] {
        let mut chain = Chain::of_transaction(5, &[(2, root_of(transaction()))]);
        chain.change(unchecked, |record| record.proof = BlockProof::default());
        let hash = chain.hash(unchecked);
        let expected = format!("block {hash}: it was imported without a check against its hash");
        let expected = (ErrorKind::Usage, expected);
        match is_needed {
            true => assert_eq!(chain.error(ProofEnd::Confirmation), expected),
            false => assert!(chain.proof(ProofEnd::Confirmation).is_some()),
        }
        assert_eq!(chain.error(ProofEnd::Block(chain.hash(4))), expected);
    }
}

#[test]
fn a_gap_between_the_headers_is_an_error() {
    let confirmed = [(2, root_of(transaction())), (4, root_of(receipt()))];
    for (separate, is_between) in [(1, false), (2, false), (3, true), (4, true), (5, false)] {
        let mut chain = Chain::of_receipt(7, &confirmed);
        chain.separate(separate);
        let hash = chain.hash(separate);
        match is_between {
            true => {
                let detail = "its parent is not stored: the feed had a gap";
                let expected = (ErrorKind::Usage, format!("block {hash}: {detail}"));
                assert_eq!(chain.error(ProofEnd::Confirmation), expected);
            }
            false => assert!(chain.proof(ProofEnd::Confirmation).is_some(), "{separate}"),
        }
    }
}

#[test]
fn blocks_are_read_32_at_a_time() {
    // The numbers of the last block, and of the steps.
    for (last, expected) in [
        (31, &["blocks 2", "ordinals 51..=81", "blocks 31"][..]),
        (32, &["blocks 2", "ordinals 51..=82", "blocks 32"]),
        (33, &["blocks 2", "ordinals 51..=82", "blocks 32", "ordinals 83..=83", "blocks 1"]),
    ] {
        let chain = Chain::of_transaction(last + 1, &[]);
        assert_eq!(chain.query(ProofEnd::Confirmation).0, expected);
    }
    // No more are read than the confirmation needs.
    for (confirmed, windows) in [(32, 1), (33, 2), (64, 2), (65, 3)] {
        let chain = Chain::of_transaction(200, &[(confirmed, root_of(transaction()))]);
        let (steps, proof) = chain.query(ProofEnd::Confirmation);
        assert_eq!(steps.len(), 1 + 2 * windows, "{steps:?}");
        assert_eq!(chain.headers(&proof.unwrap().unwrap()), confirmed..confirmed + 1);
    }
}

#[test]
fn an_outcome_is_looked_for_in_1000_blocks() {
    let too_long = "block: an outcome is not confirmed so many blocks after the first one, the \
                    limit is 1000 headers";
    let root = root_of(transaction());
    // The newest block, where the outcome is confirmed if it is, and whether that is an error.
    for (head, confirmed, is_error) in [
        (999, None, false),
        (1_000, None, false),
        (1_001, None, true),
        (1_000, Some(1_000), false),
        (1_001, Some(999), false),
        (1_001, Some(1_000), false),
        (1_001, Some(1_001), true),
        (1_100, Some(1_000), false),
    ] {
        let confirmed: Vec<_> = confirmed.into_iter().map(|at| (at, root)).collect();
        let chain = Chain::of_transaction(head + 1, &confirmed);
        let (steps, result) = chain.query(ProofEnd::Confirmation);
        let case = format!("{head} {confirmed:?}");
        match (is_error, &confirmed[..]) {
            (true, _) => {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Limit, "{case}");
                assert_eq!(error.to_string(), too_long, "{case}");
            }
            (false, []) => assert_eq!(result, Ok(None), "{case}"),
            (false, [(at, _), ..]) => {
                assert_eq!(chain.headers(&result.unwrap().unwrap()), *at..*at + 1, "{case}");
            }
        }
        let last = format!("blocks {}", if head == 999 { 7 } else { 8 });
        assert_eq!((steps.len(), steps.last()), (65, Some(&last)), "{case}");
    }
    // One that is confirmed is no proof of another that is not.
    for (head, is_error) in [(1_000, false), (1_001, true)] {
        let chain = Chain::of_receipt(head + 1, &[(1, root)]);
        match is_error {
            true => {
                let expected = (ErrorKind::Limit, too_long.into());
                assert_eq!(chain.error(ProofEnd::Confirmation), expected);
            }
            false => {
                let proof = chain.proof(ProofEnd::Confirmation).unwrap();
                assert_eq!(chain.headers(&proof), 1..2);
            }
        }
    }
}

#[test]
fn a_proof_ends_at_most_1000_blocks_after_the_first_outcome() {
    let mut chain = Chain::of_transaction(1_102, &[(1, root_of(transaction()))]);
    for end in [999, 1_000] {
        chain.set_chain(Some(end));
        let proof = chain.proof(ProofEnd::LastFinal).unwrap();
        assert_eq!(chain.headers(&proof), 1..end + 1);
        assert_eq!(chain.proof(ProofEnd::Block(chain.hash(end))), Some(proof));
    }
    for end in [1_001, 1_100] {
        chain.set_chain(Some(end));
        let expected = format!(
            "block: the proof would end {end} blocks after the first outcome, the limit is 1000 \
             headers"
        );
        let expected = (ErrorKind::Limit, expected);
        assert_eq!(chain.error(ProofEnd::LastFinal), expected);
        assert_eq!(chain.error(ProofEnd::Block(chain.hash(end))), expected);
    }
    let proof = chain.proof(ProofEnd::Confirmation).unwrap();
    assert_eq!(chain.headers(&proof), 1..2);
}

#[test]
fn rows_of_another_number_leave_the_query_unchanged() {
    let chain = Chain::of_transaction(4, &[(2, root_of(transaction()))]);
    let mut query = ProofQuery::new(transaction(), 1_000, ProofEnd::Confirmation);
    for expected in [3, 2, 3, 3] {
        let Step::NeedRows(keys) = query.poll().unwrap() else { panic!("it needs rows") };
        let keys = keys.to_vec();
        assert_eq!(keys.len(), expected);
        let rows: Vec<_> = keys.iter().map(|key| chain.storage.get(key).unwrap()).collect();
        let more = [&rows[..], &[None]].concat();
        for wrong in [&rows[1..], &more] {
            let error = query.supply_rows(wrong).unwrap_err();
            let detail = format!("{} rows supplied, {expected} asked for", wrong.len());
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Usage, detail));
        }
        query.supply_rows(&rows).unwrap();
    }
    let none = Error::new(ErrorKind::Usage, "no rows were asked for");
    assert_eq!(query.supply_rows(&[]), Err(none.clone()));
    assert!(query.restarted().is_some());
    assert!(matches!(query.poll(), Ok(Step::Done(Some(_)))));
    assert_eq!(query.supply_rows(&[]), Err(none));
    assert!(query.restarted().is_none());
    let error = query.poll().unwrap_err();
    assert_eq!(error, Error::new(ErrorKind::Usage, "the query is already complete"));
}

#[test]
fn an_error_is_returned_once() {
    let chain = Chain::of_transaction(2, &[]);
    let end = ProofEnd::Block(CryptoHash::ZERO);
    let mut query = ProofQuery::new(transaction(), 1_000, end);
    for _ in 0..2 {
        let Step::NeedRows(keys) = query.poll().unwrap() else { panic!("it needs rows") };
        let rows: Vec<_> = keys.iter().map(|key| chain.storage.get(key).unwrap()).collect();
        query.supply_rows(&rows).unwrap();
    }
    assert_eq!(query.poll().unwrap_err().kind(), ErrorKind::Value);
    let error = query.poll().unwrap_err();
    assert_eq!(error, Error::new(ErrorKind::Usage, "the query is already complete"));
}

#[test]
fn a_query_that_is_restarted_asks_for_the_same() {
    let mut chain = Chain::of_receipt(6, &[(2, root_of(transaction()))]);
    chain.set_chain(Some(4));
    let mut query = ProofQuery::new(transaction(), 1, ProofEnd::LastFinal);
    let Step::NeedRows(keys) = query.poll().unwrap() else { panic!("it needs rows") };
    let rows: Vec<_> = keys.iter().map(|key| chain.storage.get(key).unwrap()).collect();
    query.supply_rows(&rows).unwrap();
    let (_, proof) = steps(query.restarted().unwrap(), &chain.storage);
    assert_eq!(chain.headers(&proof.unwrap().unwrap()), 2..5);
    // The limit of receipts too.
    let query = ProofQuery::new(transaction(), 0, ProofEnd::LastFinal);
    let (_, result) = steps(query.restarted().unwrap(), &chain.storage);
    let expected = format!("transaction {}: more than 0 receipts", transaction());
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn an_end_is_final_or_the_hash_of_a_block() {
    let parse = |text: &str| text.parse::<ProofEnd>().map_err(|error| error.to_string());
    assert_eq!(parse("final"), Ok(ProofEnd::LastFinal));
    assert_eq!(parse("11111111111111111111111111111111"), Ok(ProofEnd::Block(CryptoHash::ZERO)));
    assert_eq!(parse("Final"), Err("block: 'l' at offset 4 is not base58".into()));
}
