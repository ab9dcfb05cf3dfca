//! The version policy of the module's documentation, for the rows of every table.

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::primitives::CryptoHash;
use crate::storage::Row;
use crate::{Error, ErrorKind};

type Decode = fn(&[u8]) -> Result<(), Error>;

/// Checks every version byte on a row and on its truncated forms
#[track_caller]
fn check_versions(table: Table, row: &[u8], decode: Decode) {
    decode(row).unwrap();
    let own = version(table);
    assert_eq!(row.first(), Some(&own));
    for other in (0..=u8::MAX).filter(|other| *other != own) {
        let mut row = row.to_vec();
        row[0] = other;
        // Nothing after the version byte is read, so the rest may be of any layout.
        for row in [&row[..], &row[..1]] {
            let error = decode(row).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Version, "{error}");
            let expected = alloc::format!(
                "{}: row has layout version {other}, this release reads version {own}",
                table.name()
            );
            assert_eq!(alloc::string::ToString::to_string(&error), expected);
        }
    }
    assert_eq!(decode(&[]).unwrap_err().kind(), ErrorKind::Corrupt);
    if let Err(error) = decode(&row[..row.len() - 1]) {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

fn id() -> CryptoHash {
    CryptoHash::digest(b"an id")
}

fn outcome() -> OutcomeRecord<'static> {
    OutcomeRecord {
        height: 7,
        status: OutcomeStatus::SuccessValue,
        status_text: (0, 2),
        receipt_ids: &[[1; 32]],
        fragment: b"text",
    }
}

#[test]
fn chain_rows_of_another_version_are_refused() {
    let chain = ChainRecord {
        head: Some(BlockPoint { height: 7, hash: id() }),
        next_ordinal: 1,
        ..ChainRecord::default()
    };
    let row = chain.encode();
    check_versions(Table::Chain, &row, |row| ChainRecord::decode(Some(row)).map(drop));
    check_versions(Table::Chain, &row, |row| ChainRecord::decode_without_lists(row).map(drop));
    let row = ConfigIndex { heights: vec![1, 2], ..ConfigIndex::default() }.encode();
    check_versions(Table::Chain, &row, |row| ConfigIndex::decode(Some(row)).map(drop));
    check_versions(Table::Chain, &row, |row| ConfigIndex::in_force_in_row(row, 1).map(drop));
}

#[test]
fn block_rows_of_another_version_are_refused() {
    let block = BlockRecord {
        height: 7,
        prev_hash: id(),
        epoch_id: id(),
        last_final: id(),
        last_near_final: id(),
        protocol_version: 80,
        proof: BlockProof::default(),
        ordinal: None,
        rows: vec![RowId { table: Table::Outcomes, id: id() }],
    };
    check_versions(Table::Blocks, &block.encode(), |row| BlockRecord::decode(row).map(drop));
}

#[test]
fn height_rows_of_another_version_are_refused() {
    let row = encode_block_hash(Table::Heights, &id());
    check_versions(Table::Heights, &row, |row| decode_block_hash(Table::Heights, row).map(drop));
}

#[test]
fn ordinal_rows_of_another_version_are_refused() {
    let row = encode_block_hash(Table::Ordinals, &id());
    check_versions(Table::Ordinals, &row, |row| decode_block_hash(Table::Ordinals, row).map(drop));
}

#[test]
fn transaction_rows_of_another_version_are_refused() {
    let decode: Decode = |row| TransactionRecord::decode(row).map(drop);
    let pending = TransactionRecord { height: 7, signer_is_receiver: true, fragment: b"{}" };
    check_versions(Table::Transactions, &pending.encode(), decode);
    let mut index = Vec::new();
    FinalizedTransaction::add_outcome(&mut index, id(), &outcome(), (0, 2), None);
    let finalized = FinalizedTransaction {
        failed: false,
        height: 7,
        signer_is_receiver: true,
        receipt_count: 0,
        receipts: (0, 0),
        transaction: (0, 2),
        index: &index,
        result: b"{}",
    };
    let row = finalized.encode();
    check_versions(Table::Transactions, &row, decode);
    check_versions(Table::Transactions, &row, |row| FinalizedTransaction::decode(row).map(drop));
}

#[test]
fn outcome_rows_of_another_version_are_refused() {
    let row = outcome().encode();
    check_versions(Table::Outcomes, &row, |row| OutcomeRecord::decode(row).map(drop));
    for row in [row, OutcomeRow::encode_finalized(id())] {
        check_versions(Table::Outcomes, &row, |row| OutcomeRow::decode(row).map(drop));
        check_versions(Table::Outcomes, &row, |row| OutcomeRow::finalized_in(row).map(drop));
    }
}

/// A finalized row embeds rows of another table, so the version of that table counts as well
#[test]
fn finalized_outcomes_of_another_version_are_refused() {
    let mut index = Vec::new();
    FinalizedTransaction::add_outcome(&mut index, id(), &outcome(), (0, 2), None);
    // An id, four ends of ranges and a length precede the embedded row.
    index[32 + 5 * 4] = version(Table::Outcomes) + 1;
    let finalized = FinalizedTransaction {
        failed: false,
        height: 7,
        signer_is_receiver: true,
        receipt_count: 0,
        receipts: (0, 0),
        transaction: (0, 2),
        index: &index,
        result: b"{}",
    };
    let error = finalized.outcomes().next().unwrap().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Version, "outcomes"));
}

#[test]
fn receipt_rows_of_another_version_are_refused() {
    let row = ReceiptRecord { refund: false, height: 7, fragment: b"{}" }.encode();
    check_versions(Table::Receipts, &row, |row| ReceiptRecord::decode(row).map(drop));
}

#[test]
fn fork_block_rows_of_another_version_are_refused() {
    let row_id = RowId { table: Table::Receipts, id: id() };
    let fork_block = ForkBlock { rows: vec![(row_id, Row::from(&b"row"[..]))] };
    check_versions(Table::ForkBlocks, &fork_block.encode(), |row| ForkBlock::decode(row).map(drop));
}

#[test]
fn config_rows_of_another_version_are_refused() {
    let row = ConfigRecord { origin: ConfigOrigin::Epoch, fragment: b"{}" }.encode();
    check_versions(Table::Configs, &row, |row| ConfigRecord::decode(row).map(drop));
}

#[test]
fn receipt_parent_rows_of_another_version_are_refused() {
    let row = ReceiptParent { transaction: id(), is_later: false }.encode();
    check_versions(Table::ReceiptParents, &row, |row| ReceiptParent::decode(row).map(drop));
}
