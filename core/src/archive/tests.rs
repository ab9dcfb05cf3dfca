//! Copies, removals, the order of versions and the texts of an archive, over rows made here.

use alloc::string::ToString as _;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::envelope::plain_row;
use super::*;
use crate::ErrorKind;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::proof::LightHeader;
use crate::storage::rows::{
    BlockProof, FinalizedTransaction, OutcomeRecord, OutcomeStatus, TransactionRecord,
};
use crate::storage::{Isolation, Snapshot};

const WRITER: WriterId = WriterId(1);

fn id(number: u64) -> CryptoHash {
    CryptoHash::digest(&number.to_le_bytes())
}

fn row(content: &[u8]) -> Row {
    plain_row(Origin::of(WRITER), content)
}

/// The row of a finalized transaction in a block of this height
fn transaction(height: BlockHeight) -> Row {
    let outcome = OutcomeRecord {
        height,
        status: OutcomeStatus::SuccessValue,
        status_text: (0, 0),
        receipt_ids: &[],
        fragment: b"",
    };
    let mut index = vec![];
    FinalizedTransaction::add_outcome(&mut index, id(height), &outcome, (0, 0), None);
    let finalized = FinalizedTransaction {
        failed: false,
        height,
        signer_is_receiver: false,
        receipt_count: 0,
        receipts: (0, 0),
        transaction: (0, 0),
        index: &index,
        result: b"{}",
    };
    row(&finalized.encode())
}

/// A row of each table for a height, with the transaction that it is about
fn rows(height: BlockHeight) -> [(Key, Row, Option<CryptoHash>); 5] {
    let block = ArchivedBlock {
        height,
        prev_hash: id(height - 1),
        epoch_id: CryptoHash::ZERO,
        protocol_version: 1,
    };
    let header = LightHeader {
        prev_hash: id(1),
        inner_rest_hash: id(2),
        height,
        epoch_id: id(3),
        next_epoch_id: id(3),
        prev_state_root: id(4),
        outcome_root: id(5),
        timestamp: 6,
        next_bp_hash: id(7),
        block_merkle_root: id(8),
    };
    let receipt = ArchivedReceipt { transaction: id(height), height };
    let proof = BlockProof::new(&header, &[id(5)]);
    [
        (ArchivedReceipt::key(id(height)), row(&receipt.encode()), Some(id(height))),
        (Key::hash(Table::ArchivedTransactions, id(height)), transaction(height), Some(id(height))),
        (ArchivedBlock::height_key(height), row(id(height).as_bytes()), None),
        (ArchivedProof::key(id(height)), row(proof.as_bytes()), None),
        (ArchivedBlock::key(id(height)), row(&block.encode()), None),
    ]
}

/// An archive with the rows of these heights, and a configuration
fn archive(heights: impl IntoIterator<Item = BlockHeight>) -> MemoryArchive {
    let archive = MemoryArchive::new();
    for height in heights {
        archive.put_many(&rows(height).map(|(key, row, _)| (key, row))).unwrap();
    }
    archive.put_many(&[(Key::number(Table::ArchivedConfigs, 7), row(b"{}"))]).unwrap();
    archive
}

#[test]
fn rows_have_a_height_and_some_a_transaction() {
    for (key, row, transaction) in rows(7) {
        let expected = ArchivedRow { key, height: 7, transaction };
        assert_eq!(ArchivedRow::decode(key, &row).unwrap(), Some(expected), "{key:?}");
        let mut other = row.to_vec();
        other[0] += 1;
        let other = ArchivedRow::decode(key, &other).map_err(|error| error.kind());
        let is_in_key = key.table() == Table::ArchivedHeights;
        assert_eq!(other.err(), (!is_in_key).then_some(ErrorKind::Version), "{key:?}");
    }
    let config = Key::number(Table::ArchivedConfigs, 7);
    assert_eq!(ArchivedRow::decode(config, &row(b"{}")).unwrap(), None);
    let open = TransactionRecord { height: 7, signer_is_receiver: false, fragment: b"{}" };
    let key = Key::hash(Table::ArchivedTransactions, id(7));
    let error = ArchivedRow::decode(key, &row(&open.encode())).unwrap_err();
    assert_eq!(error.detail(), "an archived transaction is not finalized");
    assert_eq!(error.path(), format!("{key:?}"));
}

#[test]
fn a_removal_takes_what_is_chosen_and_leaves_the_rest() {
    let archive = archive(1..=300);
    assert_eq!((archive.len(), archive.is_empty()), (1501, false));
    let (mut removal, mut pages) = (Removal::new(), 1);
    while removal.page(&archive, &mut |row| row.height < 300).unwrap() {
        pages += 1;
    }
    // Two pages of rows for each table, and one that is empty
    assert_eq!((removal.removed(), archive.len(), pages), (1495, 6, 15));
    assert!(!removal.page(&archive, &mut |_| true).unwrap());
    assert_eq!(archive.len(), 6);
    assert!(MemoryArchive::new().is_empty());
}

#[test]
fn a_copy_has_all_rows_but_dictionaries() {
    let from = archive(1..=100);
    let progress = WriterProgress { heights: [1..=100].into_iter().collect(), open: vec![] };
    from.put_many(&[(WriterProgress::key(WRITER), progress.encode(WRITER))]).unwrap();
    from.put_many(&[(Key::number(Table::ArchiveDictionaries, 1), row(b"dictionary"))]).unwrap();
    let (to, mut counts) = (MemoryArchive::new(), vec![]);
    assert_eq!(copy(&from, &to, |count| counts.push(count)).unwrap(), 502);
    assert_eq!((from.len(), to.len()), (503, 502));
    counts.dedup();
    assert_eq!(counts, [100, 200, 300, 400, 401, 501], "a table after the other");
    assert_eq!(WriterProgress::read(WRITER, &to).unwrap(), progress);
    assert_eq!(copy(&MemoryArchive::new(), &to, |_| panic!("no rows")).unwrap(), 0);
}

#[test]
fn rows_are_put_in_parts_of_a_few_mebibytes() {
    let large = |mebibytes: usize| {
        let key = Key::number(Table::ArchivedHeights, mebibytes as u64);
        (key, Row::from(vec![0; mebibytes << 20]))
    };
    let rows = [1, 3, 1, 5, 1, 1].map(large).into();
    let next = ArchiveWriter::resume(WRITER, WriterProgress::default());
    let mut export = Export { rows, last: None, transactions: 0, next, has_progress: false };
    let writes = core::iter::from_fn(|| export.next_write());
    let writes: Vec<_> = writes.map(|write| (write.rows.len(), write.replaces)).collect();
    // At most 4 MiB at once, and a larger row alone; the progress comes last.
    assert_eq!(writes, [(2, false), (1, false), (1, false), (2, false), (1, true)]);
}

#[test]
fn heights_below_the_ones_that_are_kept_are_forgotten() {
    let open = [4, 9, 10].map(|height| OpenTransaction { height, hash: id(height) });
    let heights: HeightRanges = [3..=12, 20..=29].into_iter().collect();
    assert_eq!(heights.to_string(), "3-12, 20-29");
    assert_eq!(HeightRanges::default().to_string(), "");
    let progress = WriterProgress { heights, open: open.into() };
    let archive = MemoryArchive::new();
    archive.put_many(&[(WriterProgress::key(WRITER), progress.encode(WRITER))]).unwrap();
    let mut writer = ArchiveWriter::resume(WRITER, progress.clone());
    writer.forget_below(0, &archive).unwrap();
    assert_eq!(*writer.progress(), progress);
    writer.forget_below(10, &archive).unwrap();
    assert_eq!(writer.progress().heights.to_string(), "10-12, 20-29");
    assert_eq!(writer.progress().open, open[2..]);
    assert_eq!(WriterProgress::read(WRITER, &archive).unwrap(), *writer.progress());
    let gaps = writer.progress().gaps(5..=25);
    assert_eq!(gaps.to_string(), "5-9, 13-19");
    let floors = [5, 10, 11, 20, 29].map(|earliest| writer.progress().floor(earliest, 0));
    assert_eq!(floors, [5, 10, 12, 29, 29]);
}

#[test]
fn a_pair_has_the_isolation_of_its_snapshot() {
    struct Single;

    impl Snapshot for Single {
        fn isolation(&self) -> Isolation {
            Isolation::ReadCommitted
        }

        fn get(&self, _: &Key) -> Result<Option<Row>, Error> {
            Ok(None)
        }
    }

    let pair = WithArchive { snapshot: Single, archive: MemoryArchive::new() };
    assert_eq!(pair.isolation(), Isolation::ReadCommitted);
}
