//! Transactions that the chain has twice: which rows are stored, and which block lists them.
//!
//! Messages are made here, of one transaction with its receipts, in each order of a refusal, an
//! inclusion without an outcome and executions, over forks, retention and an archive.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::canonical_blocks::block_key;
use super::content::BlockContent;
use super::doubles::ChangedRecords;
use super::overlay::WriteOverlay;
use super::*;
use crate::ErrorKind;
#[cfg(feature = "archive")]
use crate::archive::{
    Archive as _, ArchiveLookup, ArchivedReceipt, MemoryArchive, WithArchive, WriterId,
};
#[cfg(feature = "archive")]
use crate::endpoint::ArchiveExporter;
use crate::primitives::CryptoHash;
use crate::status::{FinalStatus, StatusQuery, TransactionStatus};
use crate::storage::restartable::{Restartable, RowCache, Suspend};
use crate::storage::rows::{BlockRecord, ChainRecord, ForkBlock, ReceiptParent, RowId};
use crate::storage::{Key, MemoryStorage, Row, Snapshot as _, Step, Storage as _, Table, run};

/// How a block has the transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Has {
    Nothing,
    /// The transaction without an outcome
    NoOutcome,
    Rejection,
    /// The refusal, beside the execution of the receipt of this number
    RejectionBeside(u64),
    /// The execution, which makes the receipt of this number
    Execution(u64),
    /// Two executions in one chunk, which make the receipts of these numbers
    Executions(u64, u64),
    /// The execution of the receipt of this number
    Receipt(u64),
    /// The same, which makes the receipt of the second number
    Parent(u64, u64),
}

fn hash(name: &str, number: u64) -> CryptoHash {
    CryptoHash::digest(format!("{name} {number}").as_bytes())
}

const TRANSACTION: CryptoHash = CryptoHash::new([7; 32]);
/// The block whose chunk lists it again
const BLOCK: CryptoHash = CryptoHash::new([8; 32]);

fn outcome(block: CryptoHash, id: CryptoHash, receipts: &str, status: &str) -> String {
    format!(
        r#"{{"proof":[],"block_hash":"{block}","id":"{id}","outcome":{{"executor_id":"a.near","gas_burnt":1,
        "logs":[],"receipt_ids":[{receipts}],"status":{status},"tokens_burnt":"0"}}}}"#
    )
}

/// The transaction, with this receiver and last digit of its signature
fn transaction(receiver: &str, digit: u8) -> String {
    let signature = "1".repeat(63);
    format!(
        r#"{{"actions":["CreateAccount"],"hash":"{TRANSACTION}","nonce":1,"priority_fee":0,
        "public_key":"ed25519:11111111111111111111111111111111","receiver_id":"{receiver}",
        "signature":"ed25519:{signature}{digit}","signer_id":"a.near"}}"#
    )
}

/// The refusal in this block
fn refused(block: CryptoHash) -> String {
    outcome(block, TRANSACTION, "", r#"{"Failure":{"InvalidTxError":"Expired"}}"#)
}

/// The execution in this block, which makes the receipt of this number
fn executed(block: CryptoHash, number: u64) -> String {
    let id = hash("receipt", number);
    let status = format!(r#"{{"SuccessReceiptId":"{id}"}}"#);
    outcome(block, TRANSACTION, &format!("\"{id}\""), &status)
}

/// The message of a block, whose parent is at this height on this fork
fn message(height: u64, fork: u64, prev: (u64, u64), last_final: u64, has: Has) -> Vec<u8> {
    let hash_of = |(height, fork)| hash(&format!("block {fork}"), height);
    let own = hash_of((height, fork));
    let mut builder = MessageBuilder::new(&BlockHeader {
        height,
        hash: own,
        prev_hash: hash_of(prev),
        last_final_block: hash_of((last_final, 0)),
        ..BlockHeader::default()
    });
    let include = |builder: &mut MessageBuilder, outcome: Option<String>| {
        let outcome = outcome.as_deref().map(str::as_bytes);
        builder.add_transaction(transaction("b.near", 1).as_bytes(), outcome).unwrap();
    };
    let execute = |builder: &mut MessageBuilder, number, receipts: &str| {
        let id = hash("receipt", number);
        let outcome = outcome(own, id, receipts, r#"{"SuccessValue":""}"#);
        let receipt = format!(
            r#"{{"predecessor_id":"a.near","receiver_id":"b.near","receipt_id":"{id}",
            "receipt":{{"Data":{{"data_id":"{id}"}}}}}}"#
        );
        builder.add_outcome(outcome.as_bytes(), Some(receipt.as_bytes())).unwrap();
    };
    match has {
        Has::Nothing => {}
        Has::NoOutcome => include(&mut builder, None),
        Has::Rejection => include(&mut builder, Some(refused(own))),
        Has::RejectionBeside(number) => {
            include(&mut builder, Some(refused(own)));
            execute(&mut builder, number, "");
        }
        Has::Execution(number) => include(&mut builder, Some(executed(own, number))),
        Has::Executions(one, other) => {
            include(&mut builder, Some(executed(own, one)));
            include(&mut builder, Some(executed(own, other)));
        }
        Has::Receipt(number) => execute(&mut builder, number, ""),
        Has::Parent(number, child) => {
            execute(&mut builder, number, &format!("\"{}\"", hash("receipt", child)));
        }
    }
    builder.as_text().to_vec()
}

fn import(message: &[u8], retention: Retention, storage: &mut MemoryStorage) {
    let settings = ImportSettings::default().with_retention(retention);
    let mut query = BlockImport::new(message, settings).unwrap();
    let (batch, _) = run(&mut query, storage).unwrap();
    storage.commit(batch).unwrap();
}

/// Imports blocks of one chain from height 1 on, of which none is final before the last but one
fn imported(blocks: &[Has], retention: Retention) -> MemoryStorage {
    let mut storage = MemoryStorage::new();
    for (height, has) in (1_u64..).zip(blocks) {
        let last_final = height.saturating_sub(2);
        let message = message(height, 0, (height - 1, 0), last_final, *has);
        import(&message, retention, &mut storage);
    }
    storage
}

fn status(storage: &MemoryStorage) -> Option<TransactionStatus> {
    run(&mut StatusQuery::new(TRANSACTION, 100), storage).unwrap()
}

/// The final status and the height of the inclusion that is stored
fn stored(storage: &MemoryStorage) -> Option<(FinalStatus, u64)> {
    let status = status(storage)?;
    let height = status.transaction().unwrap().height;
    Some((status.final_status(), height))
}

fn parent(receipt: u64, storage: &MemoryStorage) -> Option<CryptoHash> {
    let row = storage.get(&ReceiptParent::key(hash("receipt", receipt))).unwrap()?;
    Some(ReceiptParent::decode(&row).unwrap().transaction)
}

#[test]
fn the_first_execution_is_stored() {
    use Has::{Execution, NoOutcome, Nothing, Receipt, Rejection};
    let (started, failed) = (FinalStatus::Started, FinalStatus::Failure);
    let not_started = FinalStatus::NotStarted;
    for (blocks, expected) in [
        (&[Rejection][..], (failed, 1)),
        (&[Rejection, Rejection], (failed, 1)),
        (&[Rejection, NoOutcome], (failed, 1)),
        (&[NoOutcome], (not_started, 1)),
        (&[NoOutcome, NoOutcome], (not_started, 1)),
        (&[Rejection, Execution(1)], (started, 2)),
        (&[NoOutcome, Execution(1)], (started, 2)),
        (&[Rejection, Nothing, Nothing, Nothing, Execution(1)], (started, 5)),
        (&[Rejection, Execution(1), Rejection], (started, 2)),
        (&[Rejection, Execution(1), Execution(2)], (started, 2)),
        (&[Execution(1), Rejection], (started, 1)),
        (&[Execution(1), NoOutcome], (started, 1)),
        (&[Execution(1), Execution(2)], (started, 1)),
        (&[Rejection, Execution(1), Receipt(1)], (FinalStatus::SuccessValue, 2)),
        (&[Execution(1), Execution(2), Receipt(2)], (started, 1)),
    ] {
        let storage = imported(blocks, Retention::Everything);
        assert_eq!(stored(&storage), Some(expected), "{blocks:?}");
    }
}

#[test]
fn a_block_lists_the_transactions_that_have_used_their_nonce() {
    for (has, expected) in [(Has::NoOutcome, 0), (Has::Rejection, 0), (Has::Execution(1), 1)] {
        let message = message(1, 0, (0, 0), 0, has);
        let mut query = BlockImport::new(&message, ImportSettings::default()).unwrap();
        let (_, summary) = run(&mut query, &MemoryStorage::new()).unwrap();
        let [joined] = &summary.chain_update.joined[..] else { panic!("{summary:?}") };
        assert_eq!(joined.transactions.len(), expected, "{has:?}");
    }
}

#[test]
fn the_receipts_of_both_executions_lead_to_the_transaction() {
    let blocks = [Has::Execution(1), Has::Execution(2), Has::Receipt(2)];
    let storage = imported(&blocks, Retention::Everything);
    assert_eq!([1, 2].map(|number| parent(number, &storage)), [Some(TRANSACTION); 2]);
    // The first one is not executed, so nothing is final.
    assert_eq!(stored(&storage), Some((FinalStatus::Started, 1)));
}

#[test]
fn a_later_execution_keeps_its_receipts_when_its_block_comes_back() {
    let first = Has::Execution(1);
    for (blocks, root) in [
        (&[Has::Nothing, first, Has::Execution(2)][..], 2),
        (&[Has::Nothing, first, Has::Execution(2)], 1),
        (&[Has::Nothing, Has::Executions(1, 2), Has::Nothing], 1),
        (&[Has::Rejection, Has::Executions(1, 2), Has::Nothing], 1),
        (&[Has::NoOutcome, Has::Executions(1, 2), Has::Nothing], 1),
    ] {
        let mut storage = imported(blocks, Retention::Everything);
        let parents = |storage: &MemoryStorage| [1, 2, 3].map(|number| parent(number, storage));
        let both = [Some(TRANSACTION), Some(TRANSACTION), None];
        assert_eq!(parents(&storage), both, "{blocks:?}");
        let fork = message(4, 1, (root, 0), 0, Has::Nothing);
        import(&fork, Retention::Everything, &mut storage);
        assert_eq!(parents(&storage)[1], None, "{blocks:?}");
        let back = message(5, 0, (3, 0), 0, Has::Parent(2, 3));
        import(&back, Retention::Everything, &mut storage);
        assert_eq!(parents(&storage), [Some(TRANSACTION); 3], "{blocks:?}");
        assert_eq!(stored(&storage), Some((FinalStatus::Started, 2)), "{blocks:?}");
    }
}

#[test]
fn a_reverted_execution_gives_the_refusal_back() {
    for (heights, first) in [(2, Has::Rejection), (5, Has::Rejection), (2, Has::NoOutcome)] {
        let mut blocks = [Has::Nothing; 5];
        blocks[0] = first;
        let before = imported(&blocks[..heights], Retention::Everything);
        let status_before = stored(&before);
        blocks[heights - 1] = Has::Execution(1);
        let mut storage = imported(&blocks[..heights], Retention::Everything);
        let height = heights as u64;
        assert_eq!(stored(&storage), Some((FinalStatus::Started, height)));
        // A fork without the execution, and then one on top of it.
        let fork = message(height + 1, 1, (height - 1, 0), 0, Has::Nothing);
        import(&fork, Retention::Everything, &mut storage);
        assert_eq!(stored(&storage), status_before, "{height}");
        let back = message(height + 2, 0, (height, 0), 0, Has::Receipt(1));
        import(&back, Retention::Everything, &mut storage);
        assert_eq!(stored(&storage), Some((FinalStatus::SuccessValue, height)));
        // Both are reverted, or the refusal is and the execution comes first.
        let fork = message(height + 3, 1, (height + 1, 1), 0, Has::Execution(2));
        import(&fork, Retention::Everything, &mut storage);
        assert_eq!(stored(&storage), Some((FinalStatus::Started, height + 3)));
    }
}

#[test]
fn a_fork_that_takes_both_inclusions_takes_their_rows() {
    let mut storage =
        imported(&[Has::Nothing, Has::Rejection, Has::Execution(1)], Retention::Everything);
    let fork = message(4, 1, (1, 0), 0, Has::Nothing);
    import(&fork, Retention::Everything, &mut storage);
    assert_eq!(stored(&storage), None);
    // And brings them back.
    import(&message(5, 0, (3, 0), 0, Has::Nothing), Retention::Everything, &mut storage);
    assert_eq!(stored(&storage), Some((FinalStatus::Started, 3)));
}

#[test]
fn retention_removes_the_inclusion_of_its_own_block() {
    let mut blocks = [Has::Nothing; 12];
    (blocks[1], blocks[3]) = (Has::RejectionBeside(2), Has::Execution(1));
    for (height, expected) in
        [(6, Some((FinalStatus::Started, 4))), (8, Some((FinalStatus::Started, 4))), (9, None)]
    {
        let storage = imported(&blocks[..height], Retention::Blocks(5));
        assert_eq!(stored(&storage), expected, "{height}");
    }
    // Nothing is left of either.
    let storage = imported(&blocks, Retention::Blocks(5));
    let left = |table| storage.iter().filter(|(key, _)| key.table() == table).count();
    for table in [
        Table::Transactions,
        Table::Outcomes,
        Table::Receipts,
        Table::ReceiptParents,
        Table::ForkBlocks,
    ] {
        assert_eq!(left(table), 0, "{table:?}");
    }
    assert!(storage.get(&ChainRecord::key()).unwrap().is_some());
    assert!(storage.get(&Key::number(Table::Heights, 8)).unwrap().is_some());
}

#[test]
fn retention_of_a_refusal_keeps_the_execution_of_an_inclusion_without_an_outcome() {
    let mut blocks = [Has::Nothing; 8];
    (blocks[0], blocks[1], blocks[2]) = (Has::NoOutcome, Has::Rejection, Has::Execution(1));
    for height in 3..=5 {
        let storage = imported(&blocks[..height], Retention::Blocks(3));
        assert_eq!(stored(&storage), Some((FinalStatus::Started, 3)), "{height}");
    }
    let storage = imported(&blocks, Retention::Blocks(3));
    let left = storage.iter().filter(|(key, _)| key.table() == Table::Outcomes);
    assert_eq!((stored(&storage), left.count()), (None, 0));
    // Where the execution is reverted, the refusal is the outcome again, and goes with its block.
    let mut storage = imported(&blocks[..3], Retention::Everything);
    for height in 3..=4 {
        let parent = if height == 3 { (2, 0) } else { (3, 1) };
        import(&message(height, 1, parent, 0, Has::Nothing), Retention::Everything, &mut storage);
    }
    assert_eq!(stored(&storage).map(|(_, height)| height), Some(1));
    for height in 5..=9 {
        let last_final = if height > 6 { height - 2 } else { 0 };
        let message = message(height, 1, (height - 1, 1), last_final, Has::Nothing);
        import(&message, Retention::Blocks(3), &mut storage);
    }
    let left = storage
        .iter()
        .filter(|(key, _)| [Table::Transactions, Table::Outcomes].contains(&key.table()));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_refusal_that_retention_has_removed_does_not_come_back() {
    let blocks = [Has::Rejection, Has::Nothing, Has::Execution(1)];
    let mut storage = imported(&blocks, Retention::Blocks(2));
    assert_eq!(stored(&storage), Some((FinalStatus::Started, 3)));
    import(&message(4, 1, (2, 0), 0, Has::Nothing), Retention::Blocks(2), &mut storage);
    assert_eq!(stored(&storage), None);
    let rows = storage.iter().filter(|(key, _)| key.table() == Table::Transactions);
    assert_eq!(rows.count(), 0);
}

/// A storage of five blocks that forgets the blocks that a writer of this number has archived
#[cfg(feature = "archive")]
fn archived(writer: u64, blocks: &[Has], archive: &MemoryArchive) -> MemoryStorage {
    let mut storage = MemoryStorage::new();
    let mut exporter = ArchiveExporter::new(1_000, Some(WriterId(writer)));
    for (height, has) in (1_u64..).zip(blocks) {
        let last_final = height.saturating_sub(2);
        let message = message(height, 0, (height - 1, 0), last_final, *has);
        import(&message, Retention::Blocks(5), &mut storage);
        exporter.run(&mut storage, archive, false).unwrap();
    }
    storage
}

#[cfg(feature = "archive")]
#[test]
fn an_archive_leads_from_the_receipts_of_both_executions_to_the_transaction() {
    use Has::{Execution, Executions, Nothing, Parent, Receipt};
    for blocks in [
        &[Executions(1, 2), Parent(2, 3), Receipt(1)][..],
        &[Executions(1, 2), Receipt(1), Parent(2, 3)],
        &[Has::Rejection, Executions(1, 2), Parent(2, 3), Receipt(1)],
        &[Execution(1), Execution(2), Receipt(1), Parent(2, 3)],
        &[Execution(1), Execution(2), Receipt(1), Nothing, Nothing, Parent(2, 3)],
        &[Execution(1), Receipt(1), Nothing, Nothing, Execution(2), Nothing, Nothing, Parent(2, 3)],
    ] {
        let archive = MemoryArchive::new();
        archived(1, &[blocks, &[Nothing; 4]].concat(), &archive);
        let keys = [1, 2, 3].map(|number| ArchivedReceipt::key(hash("receipt", number)));
        let mut rows = Vec::new();
        archive.get_many(&keys, &mut rows).unwrap();
        let transactions =
            rows.iter().flatten().map(|row| ArchivedReceipt::decode(row).unwrap().transaction);
        assert_eq!(transactions.collect::<Vec<_>>(), [TRANSACTION; 3], "{blocks:?}");
    }
}

#[cfg(feature = "archive")]
#[test]
fn an_archive_serves_the_execution() {
    let mut blocks = [Has::Nothing; 16];
    (blocks[1], blocks[7], blocks[8]) = (Has::Rejection, Has::Execution(1), Has::Receipt(1));
    let (refusal, execution) = ((FinalStatus::Failure, 2), (FinalStatus::SuccessValue, 8));
    let archive = MemoryArchive::new();
    let ask = |storage: &MemoryStorage| {
        let query = StatusQuery::new(TRANSACTION, 100).with_archive(ArchiveLookup::Unknown);
        let snapshot = WithArchive { snapshot: storage, archive: &archive };
        let status = run(&mut { query }, &snapshot).unwrap().unwrap();
        (status.final_status(), status.transaction().unwrap().height)
    };
    // Forgotten, and not executed yet.
    let storage = archived(1, &blocks[..7], &archive);
    assert_eq!((stored(&storage), ask(&storage)), (None, refusal));
    let storage = archived(2, &blocks, &archive);
    assert_eq!((stored(&storage), ask(&storage)), (None, execution));
    // The refusal comes again, from a storage that has not more.
    let storage = archived(3, &blocks[..4], &archive);
    assert_eq!((stored(&storage), ask(&storage)), (Some(refusal), execution));
}

#[cfg(feature = "archive")]
#[test]
fn an_archived_refusal_is_the_answer_again_when_its_execution_is_reverted() {
    let (refusal, nothing) = (Some((FinalStatus::Failure, 2)), Has::Nothing);
    // The storage has the refusal as well, or has forgotten it.
    for height in [5, 9] {
        let mut blocks = [nothing; 9];
        blocks[1] = Has::Rejection;
        let archive = MemoryArchive::new();
        let mut storage = archived(1, &blocks[..height], &archive);
        let height = height as u64;
        let before = stored(&storage);
        assert_eq!(before, refusal.filter(|_| height == 5));
        let ask = |storage: &MemoryStorage| {
            let query = StatusQuery::new(TRANSACTION, 100).with_archive(ArchiveLookup::Unfinished);
            let snapshot = WithArchive { snapshot: storage, archive: &archive };
            let status = run(&mut { query }, &snapshot).unwrap().unwrap();
            Some((status.final_status(), status.transaction().unwrap().height))
        };
        assert_eq!(ask(&storage), refusal);
        let last_final = height - 2;
        let execution = message(height + 1, 0, (height, 0), last_final, Has::Execution(1));
        import(&execution, Retention::Blocks(5), &mut storage);
        assert_eq!(ask(&storage), Some((FinalStatus::Started, height + 1)));
        let fork = message(height + 2, 1, (height, 0), last_final, nothing);
        import(&fork, Retention::Blocks(5), &mut storage);
        assert_eq!((stored(&storage), ask(&storage)), (before, refusal), "{height}");
    }
}

#[cfg(feature = "archive")]
#[test]
fn an_archived_refusal_gives_way_to_what_the_storage_has_of_the_transaction() {
    use Has::{Execution, Nothing, Rejection};
    let refused = [Nothing, Nothing, Rejection, Nothing, Nothing, Nothing];
    let archive = MemoryArchive::new();
    archived(1, &refused, &archive);
    let (failed, started) = (FinalStatus::Failure, FinalStatus::Started);
    for (blocks, expected) in [
        (&[Nothing, Nothing, Nothing, Nothing, Execution(1)][..], (started, 5)),
        (&[Execution(1)], (started, 1)),
        (&[Nothing, Nothing, Nothing, Nothing, Rejection], (failed, 3)),
        (&[Rejection], (failed, 1)),
        (&[Nothing], (failed, 3)),
    ] {
        let storage = imported(blocks, Retention::Everything);
        let query = StatusQuery::new(TRANSACTION, 100).with_archive(ArchiveLookup::Unfinished);
        let snapshot = WithArchive { snapshot: &storage, archive: &archive };
        let status = run(&mut { query }, &snapshot).unwrap().unwrap();
        let found = (status.final_status(), status.transaction().unwrap().height);
        assert_eq!(found, expected, "{blocks:?}");
    }
}

/// Imports a block of this version whose chunk lists these transactions with their outcomes; the
/// numbers of transactions, outcomes and type mismatches, the first of these, and the stored status
fn listed(
    version: u32,
    transactions: &[(String, Option<String>)],
) -> Result<([u64; 3], Option<String>, FinalStatus), Error> {
    let mut builder = MessageBuilder::new(&BlockHeader {
        height: 1,
        hash: BLOCK,
        protocol_version: version,
        ..BlockHeader::default()
    });
    for (transaction, outcome) in transactions {
        let outcome = outcome.as_deref().map(str::as_bytes);
        builder.add_transaction(transaction.as_bytes(), outcome).unwrap();
    }
    let mut storage = MemoryStorage::new();
    let mut query = BlockImport::new(builder.as_text(), ImportSettings::default())?;
    let (batch, summary) = run(&mut query, &storage)?;
    storage.commit(batch)?;
    let [transactions, outcomes] = [summary.transactions, summary.outcomes].map(|it| it as u64);
    let first = summary.type_mismatches.first.map(|error| format!("{error}"));
    let counts = [transactions, outcomes, summary.type_mismatches.count];
    Ok((counts, first, stored(&storage).map(|(status, _)| status).unwrap()))
}

#[test]
fn a_chunk_may_list_a_transaction_again() {
    let place = |detail| Some(format!("shards[0].chunk.transactions[1].{detail}"));
    let listed_again =
        place(format!("transaction: transaction {TRANSACTION} is listed again, and skipped"));
    let one = (transaction("b.near", 1), Some(executed(BLOCK, 1)));
    // A copy without an outcome, with the same one, and with another signature.
    for (again, count) in [
        ((transaction("b.near", 1), None), 1),
        ((transaction("b.near", 2), None), 1),
        (one.clone(), 2),
        ((transaction("b.near", 2), Some(executed(BLOCK, 1))), 2),
    ] {
        let found = listed(85, &[one.clone(), again]).unwrap();
        assert_eq!(found, ([1, 1, count], listed_again.clone(), FinalStatus::Started));
    }
    // The outcome comes with the copy.
    let found = listed(85, &[(transaction("b.near", 1), None), one.clone()]).unwrap();
    assert_eq!(found, ([1, 1, 1], listed_again.clone(), FinalStatus::Started));
    // Each had an outcome before version 85, and the execution is the answer.
    let no = (transaction("b.near", 1), Some(refused(BLOCK)));
    for transactions in [[one.clone(), no.clone()], [no.clone(), one.clone()]] {
        let found = listed(84, &transactions).unwrap();
        assert_eq!(found, ([1, 1, 1], listed_again.clone(), FinalStatus::Started));
    }
    // The same outcome is the same leaf.
    let found = listed(84, &[no.clone(), no]).unwrap();
    assert_eq!(found, ([1, 1, 2], listed_again, FinalStatus::Failure));
}

#[test]
fn a_double_with_other_content_is_refused() {
    let one = (transaction("b.near", 1), Some(executed(BLOCK, 1)));
    for (version, again, place, what) in [
        (85, (transaction("c.near", 1), None), "transaction", "transaction"),
        (84, (transaction("c.near", 1), None), "transaction", "transaction"),
        (
            85,
            (transaction("b.near", 1), Some(refused(BLOCK))),
            "outcome.execution_outcome",
            "outcome",
        ),
    ] {
        let error = listed(version, &[one.clone(), again]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Chain);
        assert_eq!(error.path(), format!("shards[0].chunk.transactions[1].{place}"));
        let detail = "occurs twice in the block, with other content";
        assert_eq!(error.detail(), format!("{what} {TRANSACTION} {detail}"));
    }
}

/// The message of a block, whose parent is at this height of the first fork, with the refusals or
/// the executions of the transactions of these numbers
fn many(height: u64, fork: u64, prev: u64, numbers: Range<u64>, are_executed: bool) -> Vec<u8> {
    let hash_of = |height, fork| hash(&format!("block {fork}"), height);
    let own = hash_of(height, fork);
    let header =
        BlockHeader { height, hash: own, prev_hash: hash_of(prev, 0), ..BlockHeader::default() };
    let mut builder = MessageBuilder::new(&header);
    for number in numbers {
        let id = format!("{}", hash("transaction", number));
        let outcome = if are_executed { executed(own, number) } else { refused(own) };
        let [transaction, outcome] = [transaction("b.near", 1), outcome]
            .map(|text| text.replace(&format!("{TRANSACTION}"), &id).into_bytes());
        builder.add_transaction(&transaction, Some(&outcome)).unwrap();
    }
    builder.as_text().to_vec()
}

/// The rows of transactions, and the blocks that list rows, with these in order
fn rows_and_lists(storage: &MemoryStorage) -> Vec<(Key, Row)> {
    let mut rows = Vec::new();
    for (key, row) in storage.iter() {
        match key.table() {
            Table::Transactions | Table::Outcomes | Table::ReceiptParents => {
                rows.push((*key, row.clone()));
            }
            Table::Blocks => {
                let mut record = BlockRecord::decode(row).unwrap();
                record.rows.sort_unstable_by_key(RowId::key);
                rows.extend((!record.rows.is_empty()).then(|| (*key, record.encode().into())));
            }
            _ => {}
        }
    }
    rows.sort_unstable_by_key(|(key, _)| *key);
    rows
}

#[test]
fn executions_take_the_places_of_refusals_in_several_blocks_and_give_them_back() {
    let mut storage = MemoryStorage::new();
    let import = |message: &[u8], storage: &mut _| import(message, Retention::Everything, storage);
    import(&many(1, 0, 0, 0..4, false), &mut storage);
    let first = rows_and_lists(&storage);
    import(&many(2, 0, 1, 4..7, false), &mut storage);
    let before = rows_and_lists(&storage);
    // Two of each block, and one that is new.
    import(&many(3, 0, 2, 2..6, true), &mut storage);
    import(&many(4, 0, 3, 6..8, true), &mut storage);
    let after = rows_and_lists(&storage);
    let blocks = after.iter().filter(|(key, _)| key.table() == Table::Blocks);
    let records = blocks.map(|(_, row)| BlockRecord::decode(row).unwrap());
    let mut counts: Vec<_> = records.map(|record| (record.height, record.rows.len())).collect();
    counts.sort_unstable();
    // A transaction and an outcome, and the parent of the receipt of an execution.
    assert_eq!(counts, [(1, 4), (3, 12), (4, 6)]);
    import(&many(5, 1, 2, 0..0, false), &mut storage);
    assert_eq!(rows_and_lists(&storage), before);
    import(&many(6, 0, 4, 0..0, false), &mut storage);
    assert_eq!(rows_and_lists(&storage), after);
    // The second block leaves as well, after its rows came back to it.
    import(&many(7, 1, 1, 0..0, false), &mut storage);
    assert_eq!(rows_and_lists(&storage), first);
    import(&many(8, 0, 6, 0..0, false), &mut storage);
    assert_eq!(rows_and_lists(&storage), after);
}

/// The round trips of an import and the rows that it asks for
fn asked(message: &[u8], storage: &mut MemoryStorage) -> [usize; 2] {
    let mut query = BlockImport::new(message, ImportSettings::default()).unwrap();
    let (mut asked, mut rows) = ([0; 2], Vec::new());
    let (batch, _) = loop {
        rows.clear();
        match query.poll().unwrap() {
            Step::Done(done) => break done,
            Step::NeedRows(keys) => {
                asked = [asked[0] + 1, asked[1] + keys.len()];
                storage.get_many(keys, &mut rows).unwrap();
            }
        }
        query.supply_rows(&rows).unwrap();
    };
    storage.commit(batch).unwrap();
    asked
}

#[test]
fn round_trips_do_not_grow_with_the_number_of_doubles() {
    let [few, many] = [6, 12].map(|count| {
        let mut storage = MemoryStorage::new();
        // Each is refused in a block of its own, and all are executed in one.
        for number in 1..=count {
            let refusal = many(number, 0, number - 1, number..number + 1, false);
            import(&refusal, Retention::Everything, &mut storage);
        }
        let messages = [
            many(count + 1, 0, count, 1..count + 1, true),
            many(count + 2, 1, count, 0..0, true),
            many(count + 3, 0, count + 1, 0..0, true),
        ];
        messages.map(|message| asked(&message, &mut storage))
    });
    for (few, many) in few.into_iter().zip(many) {
        assert_eq!(few[0], many[0], "round trips");
        assert!(many[1] <= 2 * few[1], "{} rows, {} of twice as many", few[1], many[1]);
    }
}

/// A block with executions of the transactions that the block before it refused
struct Executions(BlockContent);

impl Restartable for Executions {
    /// Whether the record of the block before was written after each step and at the end
    type Output = [bool; 3];

    fn run(&self, rows: &mut RowCache<'_>) -> Result<[bool; 3], Suspend> {
        let (BlockContent { rows: repeated, point, .. }, key) =
            (&self.0, block_key(hash("block 0", 1)));
        let mut overlay = WriteOverlay::new(rows);
        let mut records = ChangedRecords::default();
        let doubles = doubles::replace(repeated, &mut Vec::new(), &mut records, &mut overlay)?;
        let replaced = overlay.is_planned(&key);
        assert!(records.take(1).is_some());
        doubles.keep(point.hash, &mut overlay);
        let fork_block = &mut ForkBlock::default();
        let rows = doubles::restore(*point, fork_block, &mut records, &mut overlay)?;
        assert_eq!(rows.len(), repeated.len());
        let restored = overlay.is_planned(&key);
        records.put(&mut overlay);
        Ok([replaced, restored, overlay.is_planned(&key)])
    }
}

#[test]
fn the_record_of_a_block_is_written_once_however_many_of_its_rows_change() {
    let mut storage = MemoryStorage::new();
    import(&many(1, 0, 0, 0..9, false), Retention::Everything, &mut storage);
    let message = many(2, 0, 1, 0..9, true);
    let content = BlockContent::read(&message, &ImportSettings::default()).unwrap();
    assert_eq!(Executions(content).run_over(&storage), Ok([false, false, true]));
}
