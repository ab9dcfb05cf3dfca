//! The rows of a block, and the errors of wrong ones, with literal members and places.
//!
//! Transactions, receipts and outcomes are the smallest that are valid.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::*;
use crate::ErrorKind;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::{OutcomeStatus, ReceiptRecord, TransactionRecord};
use crate::storage::{Key, MemoryStorage, OutcomeRecord, Snapshot as _, Storage as _, Table};

fn id(text: &str) -> CryptoHash {
    CryptoHash::digest(text.as_bytes())
}

fn transaction(name: &str, signer: &str, receiver: &str) -> String {
    format!(
        r#"{{"actions":["CreateAccount"],"hash":"{}","nonce":7,"priority_fee":0,
        "public_key":"ed25519:11111111111111111111111111111111","receiver_id":"{receiver}",
        "signature":"ed25519:1111111111111111111111111111111111111111111111111111111111111111",
        "signer_id":"{signer}"}}"#,
        id(name)
    )
}

fn receipt(name: &str, predecessor: &str) -> String {
    format!(
        r#"{{"predecessor_id":"{predecessor}","receiver_id":"b.near","receipt_id":"{}",
        "receipt":{{"Data":{{"data_id":"{}"}}}}}}"#,
        id(name),
        id(name)
    )
}

fn hash(height: BlockHeight) -> CryptoHash {
    CryptoHash::digest(&height.to_le_bytes())
}

/// An outcome in the block of this height, with these receipts
fn outcome(height: BlockHeight, name: &str, receipts: &[&str], status: &str) -> String {
    let receipts: Vec<_> = receipts.iter().map(|name| format!("\"{}\"", id(name))).collect();
    format!(
        r#"{{"proof":[],"block_hash":"{}","id":"{}","outcome":{{"executor_id":"a.near",
        "gas_burnt":1,"logs":[],"receipt_ids":[{}],"status":{status},"tokens_burnt":"0"}}}}"#,
        hash(height),
        id(name),
        receipts.join(",")
    )
}

const VALUE: &str = r#"{"SuccessValue":""}"#;

fn block(height: BlockHeight) -> MessageBuilder {
    let prev_hash = hash(height - 1);
    let hash = hash(height);
    MessageBuilder::new(&BlockHeader { height, hash, prev_hash, ..BlockHeader::default() })
}

fn import(block: &mut MessageBuilder, storage: &mut MemoryStorage) -> Result<ImportSummary, Error> {
    let import = BlockImport::new(block.as_text(), ImportSettings::default())?;
    let (batch, summary) = import.run(storage)?;
    storage.commit(batch).unwrap();
    Ok(summary)
}

#[test]
fn rows_say_what_a_walk_needs() {
    let (mut storage, mut block) = (MemoryStorage::new(), block(7));
    let transfer = transaction("to b", "a.near", "b.near");
    let own = transaction("to itself", "a.near", "a.near");
    let next = format!(r#"{{"SuccessReceiptId":"{}"}}"#, id("receipt"));
    block
        .add_transaction(
            transfer.as_bytes(),
            Some(outcome(7, "to b", &["receipt"], &next).as_bytes()),
        )
        .unwrap();
    block
        .add_transaction(own.as_bytes(), Some(outcome(7, "to itself", &[], VALUE).as_bytes()))
        .unwrap();
    block.add_receipt(receipt("receipt", "a.near").as_bytes()).unwrap();
    block.add_receipt(receipt("refund", "system").as_bytes()).unwrap();
    for (name, status) in [
        ("failed", r#"{"Failure":{"ActionError":{"index":0,"kind":"DelegateActionExpired"}}}"#),
        ("unknown", "\"Unknown\""),
        ("later", r#"{"Postponed":{"until":9}}"#),
    ] {
        let body = receipt(name, "a.near");
        block.add_outcome(outcome(7, name, &[], status).as_bytes(), Some(body.as_bytes())).unwrap();
    }
    let summary = import(&mut block, &mut storage).unwrap();
    let mut hashes = [id("to b"), id("to itself")];
    hashes.sort_unstable();
    assert_eq!(summary.transaction_hashes, hashes);
    assert_eq!((summary.transactions, summary.outcomes, summary.receipts), (2, 5, 5));
    let row = |table, name| storage.get(&Key::hash(table, id(name))).unwrap().unwrap();
    for (name, expected) in [("to b", false), ("to itself", true)] {
        let row = row(Table::Transactions, name);
        let record = TransactionRecord::decode(&row).unwrap();
        assert_eq!((record.height, record.signer_is_receiver), (7, expected), "{name}");
    }
    for (name, expected) in [("receipt", false), ("refund", true), ("failed", false)] {
        let row = row(Table::Receipts, name);
        assert_eq!(ReceiptRecord::decode(&row).unwrap().refund, expected, "{name}");
    }
    for (name, expected) in [
        ("to b", OutcomeStatus::SuccessReceiptId(id("receipt"))),
        ("to itself", OutcomeStatus::SuccessValue),
        ("failed", OutcomeStatus::Failure),
        ("unknown", OutcomeStatus::Unknown),
        ("later", OutcomeStatus::Unknown),
    ] {
        let row = row(Table::Outcomes, name);
        let record = OutcomeRecord::decode(&row).unwrap();
        assert_eq!((record.height, record.status), (7, expected), "{name}");
    }
    let changes = summary.chain_update.changes;
    for (change, is_listed) in [
        (Change::Transaction(id("to b")), true),
        (Change::Outcome(id("to b")), true),
        (Change::Refund(id("refund")), true),
        (Change::Refund(id("receipt")), false),
    ] {
        assert_eq!(changes.contains(&change), is_listed, "{change:?}");
    }
}

#[test]
fn a_body_that_is_in_no_block_is_named_with_its_place() {
    for (has_body, is_first) in [(false, false), (true, false), (false, true)] {
        let mut storage = MemoryStorage::new();
        let mut first = block(7);
        let generates = outcome(7, "to b", &["receipt"], VALUE);
        let transfer = transaction("to b", "a.near", "b.near");
        if !is_first {
            first.add_transaction(transfer.as_bytes(), Some(generates.as_bytes())).unwrap();
        }
        if has_body {
            first.add_receipt(receipt("receipt", "a.near").as_bytes()).unwrap();
        }
        import(&mut first, &mut storage).unwrap();
        let mut second = block(8);
        for (name, body) in [("other", true), ("another", true), ("receipt", false)] {
            let text = receipt(name, "a.near");
            let body = body.then_some(text.as_bytes());
            second.add_outcome(outcome(8, name, &[], VALUE).as_bytes(), body).unwrap();
        }
        let found = import(&mut second, &mut storage);
        if has_body || is_first {
            assert_eq!(found.unwrap().outcomes, 3);
            continue;
        }
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert_eq!(error.path(), "shards[0].receipt_execution_outcomes[2]");
        assert_eq!(error.detail(), format!("the body of receipt {} is in no block", id("receipt")));
    }
}

#[test]
fn a_body_that_is_in_no_block_of_a_fork_is_named_with_its_place() {
    let text = |outcome: String| outcome.replace(&hash(8).to_string(), &id("fork").to_string());
    let fork = |height, hash, prev_hash| {
        MessageBuilder::new(&BlockHeader { height, hash, prev_hash, ..BlockHeader::default() })
    };
    // The transaction is executed in the block of the receipt, or in its parent on the fork.
    for is_in_parent in [false, true] {
        for has_body in [false, true] {
            let mut storage = MemoryStorage::new();
            for height in 7..=9 {
                import(&mut block(height), &mut storage).unwrap();
            }
            let (mut parent, mut child) =
                (fork(8, id("fork"), hash(7)), fork(9, id("child"), id("fork")));
            let generates = text(outcome(8, "to b", &["receipt"], VALUE));
            let transfer = transaction("to b", "a.near", "b.near");
            let executes = outcome(if is_in_parent { 9 } else { 8 }, "receipt", &[], VALUE);
            let executes = text(executes).replace(&hash(9).to_string(), &id("child").to_string());
            let last = if is_in_parent { &mut child } else { &mut parent };
            let body = receipt("receipt", "a.near");
            let body = has_body.then_some(body.as_bytes());
            last.add_outcome(executes.as_bytes(), body).unwrap();
            parent.add_transaction(transfer.as_bytes(), Some(generates.as_bytes())).unwrap();
            let found = import(&mut parent, &mut storage);
            let found = if is_in_parent {
                assert_eq!(found.unwrap().position, BlockPosition::Fork);
                import(&mut child, &mut storage)
            } else {
                found
            };
            if has_body {
                assert_eq!(found.unwrap().position, BlockPosition::Fork);
                continue;
            }
            let error = found.unwrap_err();
            assert_eq!(error.path(), "shards[0].receipt_execution_outcomes[0]");
            let missing = format!("the body of receipt {} is in no block", id("receipt"));
            assert_eq!(error.detail(), missing);
        }
    }
}

#[test]
fn an_outcome_has_to_be_that_of_its_transaction_or_receipt() {
    let transfer = transaction("to b", "a.near", "b.near");
    let other = outcome(7, "other", &[], VALUE);
    let mut of_transaction = block(7);
    of_transaction.add_transaction(transfer.as_bytes(), Some(other.as_bytes())).unwrap();
    let mut of_receipt = block(7);
    let body = receipt("receipt", "a.near");
    of_receipt.add_outcome(other.as_bytes(), Some(body.as_bytes())).unwrap();
    for (mut block, place, owner) in [
        (
            of_transaction,
            "shards[0].chunk.transactions[0].outcome.execution_outcome.id",
            format!("transaction is {}", id("to b")),
        ),
        (
            of_receipt,
            "shards[0].receipt_execution_outcomes[0].execution_outcome.id",
            format!("receipt is {}", id("receipt")),
        ),
    ] {
        let error = BlockImport::new(block.as_text(), ImportSettings::default()).unwrap_err();
        assert_eq!(error.detail(), format!("{}, but its {owner}", id("other")));
        assert_eq!(error.path(), place);
    }
}
