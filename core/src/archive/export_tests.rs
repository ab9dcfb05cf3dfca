//! Several exports one after the other, over blocks that are made here.
//!
//! An export leaves its progress for the next one: complete heights, configurations,
//! ordinals. Each test exports a chain in two parts or more.

use alloc::vec::Vec;

use super::*;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::{
    BlockProof, BlockRecord, ChainRecord, ConfigIndex, ConfigOrigin, ConfigRecord,
    FinalizedTransaction, OutcomeRecord, OutcomeStatus, RowId, TransactionRecord,
    encode_block_hash,
};
use crate::storage::{Batch, Key, MemoryStorage, Storage as _, Table, run};

/// A storage whose chain has these heights; a block whose height is in `gaps` has a parent that is
/// not stored
fn storage(
    heights: &[BlockHeight],
    gaps: &[BlockHeight],
    configs: &[BlockHeight],
) -> MemoryStorage {
    let mut batch = Batch::new();
    let mut prev_hash = CryptoHash::ZERO;
    for (height, ordinal) in heights.iter().copied().zip(0..) {
        let hash = CryptoHash::digest(&height.to_le_bytes());
        let record = BlockRecord {
            height,
            prev_hash: if gaps.contains(&height) { CryptoHash::ZERO } else { prev_hash },
            epoch_id: CryptoHash::ZERO,
            last_final: CryptoHash::ZERO,
            last_near_final: CryptoHash::ZERO,
            protocol_version: 1,
            proof: BlockProof::default(),
            ordinal: Some(ordinal),
            rows: Vec::new(),
        };
        batch.put(Key::hash(Table::Blocks, hash), record.encode());
        let row = encode_block_hash(Table::Ordinals, &hash);
        batch.put(Key::number(Table::Ordinals, ordinal), row);
        prev_hash = hash;
    }
    let count = heights.len() as u64;
    let chain =
        ChainRecord { next_ordinal: count, next_finalized: count, ..ChainRecord::default() };
    batch.put(ChainRecord::key(), chain.encode());
    for first in configs {
        let record = ConfigRecord { origin: ConfigOrigin::Height(*first), fragment: b"{}" };
        batch.put(ConfigRecord::height_key(*first), record.encode());
    }
    let index = ConfigIndex { heights: configs.into(), ..ConfigIndex::default() };
    batch.put(ConfigIndex::key(), index.encode());
    let mut storage = MemoryStorage::new();
    storage.commit(batch).unwrap();
    storage
}

fn writer() -> ArchiveWriter {
    ArchiveWriter::resume(WriterId(1), WriterProgress::default())
}

/// Exports once
fn export(writer: &mut ArchiveWriter, storage: &MemoryStorage) {
    *writer = run(&mut writer.export(), storage).unwrap().unwrap().next;
}

/// The complete heights, as pairs of the first and the last
fn complete(writer: &ArchiveWriter) -> Vec<(BlockHeight, BlockHeight)> {
    let heights = writer.progress().complete_heights();
    heights.iter().map(|range| (*range.start(), *range.end())).collect()
}

#[test]
fn heights_that_were_skipped_between_two_exports_are_complete() {
    for is_reopened in [false, true] {
        let mut writer = writer();
        export(&mut writer, &storage(&[10, 11], &[], &[]));
        assert_eq!(complete(&writer), [(10, 11)]);
        if is_reopened {
            writer = ArchiveWriter::resume(WriterId(1), writer.progress().clone());
        }
        export(&mut writer, &storage(&[10, 11, 14, 15, 17], &[], &[]));
        assert_eq!(complete(&writer), [(10, 17)]);
    }
}

#[test]
fn heights_of_a_gap_between_two_exports_are_not_complete() {
    let mut writer = writer();
    export(&mut writer, &storage(&[10, 11], &[], &[]));
    export(&mut writer, &storage(&[10, 11, 14, 15], &[14], &[]));
    assert_eq!(complete(&writer), [(10, 11), (14, 15)]);
}

#[test]
fn an_export_without_a_configuration_keeps_the_progress_of_configurations() {
    let mut writer = writer();
    // The heights, the configurations, those that the export adds, and the newest of all.
    for (heights, configs, expected, newest) in [
        (&[9][..], &[10, 12][..], &[][..], None),
        (&[9, 10], &[10, 12], &[10], Some(10)),
        (&[9, 10, 11], &[10, 12], &[], Some(10)),
        (&[9, 10, 11, 12], &[10, 12], &[12], Some(12)),
        (&[9, 10, 11, 12, 13], &[10, 12], &[], Some(12)),
        (&[9, 10, 11, 12, 13, 20], &[10, 12, 15, 21], &[15], Some(15)),
    ] {
        let storage = storage(heights, &[], configs);
        let one = run(&mut writer.export(), &storage).unwrap().unwrap();
        let keys = one.rows.iter().map(|(key, _)| *key);
        let found: Vec<_> = keys.filter(|key| key.table() == Table::ArchivedConfigs).collect();
        let keys = expected.iter().map(|first: &BlockHeight| {
            let key = ConfigRecord::height_key(*first);
            Key::new(Table::ArchivedConfigs, key.bytes_in_table()).unwrap()
        });
        assert_eq!(found, keys.collect::<Vec<_>>(), "{heights:?}");
        assert_eq!(one.next.config, newest, "{heights:?}");
        writer = one.next;
    }
}

#[test]
fn a_writer_without_an_ordinal_begins_behind_its_heights() {
    let all = storage(&[10, 11, 14, 15, 17], &[], &[]);
    for (complete_until, first) in
        [(10, 11), (11, 14), (13, 14), (14, 15), (15, 17), (16, 17), (17, 18)]
    {
        let mut heights = HeightRanges::default();
        heights.insert(10..=complete_until);
        let writer =
            ArchiveWriter::resume(WriterId(1), WriterProgress { heights, open: Vec::new() });
        let export = run(&mut writer.export(), &all).unwrap();
        let blocks = export.iter().flat_map(|export| &export.rows);
        let heights: Vec<_> = blocks
            .filter(|(key, _)| key.table() == Table::ArchivedHeights)
            .map(|(key, _)| u64::from_be_bytes(key.bytes_in_table().try_into().unwrap()))
            .collect();
        let expected: Vec<_> =
            [10, 11, 14, 15, 17].into_iter().filter(|height| *height >= first).collect();
        assert_eq!(heights, expected, "{complete_until}");
    }
}

/// Blocks of consecutive heights from 10 on, each with the rows of these transactions; stored from
/// the ordinal `first` on. Those in `finalized` are, with one receipt each.
fn storage_of(transactions: &[&[u8]], first: u64, finalized: &[u8]) -> MemoryStorage {
    let mut batch = Batch::new();
    for (numbers, ordinal) in transactions.iter().zip(0..).filter(|(_, it)| *it >= first) {
        let height = 10 + ordinal;
        let row_id = |number: &u8| RowId { table: Table::Transactions, id: transaction(*number) };
        let outcomes =
            numbers.iter().map(|number| RowId { table: Table::Outcomes, ..row_id(number) });
        let record = BlockRecord {
            height,
            prev_hash: block(height - 1),
            epoch_id: CryptoHash::ZERO,
            last_final: CryptoHash::ZERO,
            last_near_final: CryptoHash::ZERO,
            protocol_version: 1,
            proof: if height == 11 {
                BlockProof::from_bytes(b"proof")
            } else {
                BlockProof::default()
            },
            ordinal: Some(ordinal),
            rows: numbers.iter().map(row_id).chain(outcomes).collect(),
        };
        batch.put(Key::hash(Table::Blocks, block(height)), record.encode());
        let row = encode_block_hash(Table::Ordinals, &block(height));
        batch.put(Key::number(Table::Ordinals, ordinal), row);
        for number in *numbers {
            let key = Key::hash(Table::Transactions, transaction(*number));
            let row = TransactionRecord { height, signer_is_receiver: false, fragment: b"{}" };
            batch.put(key, row.encode());
        }
    }
    for number in finalized {
        let height = 10 + transactions.iter().position(|it| it.contains(number)).unwrap() as u64;
        let key = Key::hash(Table::Transactions, transaction(*number));
        batch.put(key, finalized_row(*number, height));
    }
    let count = transactions.len() as u64;
    let chain = ChainRecord {
        first_ordinal: first,
        next_ordinal: count,
        next_finalized: count,
        ..ChainRecord::default()
    };
    batch.put(ChainRecord::key(), chain.encode());
    let mut storage = MemoryStorage::new();
    storage.commit(batch).unwrap();
    storage
}

fn block(height: BlockHeight) -> CryptoHash {
    CryptoHash::digest(&height.to_le_bytes())
}

fn transaction(number: u8) -> CryptoHash {
    CryptoHash::digest(&[number])
}

fn receipt(number: u8) -> CryptoHash {
    CryptoHash::digest(&[number, 1])
}

fn finalized_row(number: u8, height: BlockHeight) -> Vec<u8> {
    let outcome = OutcomeRecord {
        height,
        status: OutcomeStatus::SuccessValue,
        status_text: (0, 0),
        receipt_ids: &[],
        fragment: b"",
    };
    let mut index = Vec::new();
    for id in [transaction(number), receipt(number)] {
        FinalizedTransaction::add_outcome(&mut index, id, &outcome, (0, 0), None);
    }
    let record = FinalizedTransaction {
        failed: false,
        height,
        signer_is_receiver: false,
        receipt_count: 1,
        receipts: (0, 0),
        transaction: (0, 0),
        index: &index,
        result: b"{}",
    };
    record.encode()
}

#[test]
fn an_export_has_the_rows_of_its_blocks_and_lists_what_is_open() {
    let mut writer = writer();
    let mut export = |storage: &MemoryStorage| {
        let export = run(&mut writer.export(), storage).unwrap()?;
        let (last, transactions) = (export.last.map(|last| last.height), export.transactions);
        let open: Vec<_> =
            export.next.progress().open.iter().map(|open| (open.height, open.hash)).collect();
        let mut keys: Vec<_> = export.rows.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        writer = export.next;
        Some((keys, last, transactions, open))
    };
    let sorted = |keys: &[Key]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys
    };
    let of_transaction = |number| {
        let hash = Key::hash(Table::ArchivedTransactions, transaction(number));
        [hash, ArchivedReceipt::key(receipt(number))]
    };
    let of_block = |height| [ArchivedBlock::key(block(height)), ArchivedBlock::height_key(height)];
    let open = [(10, transaction(2)), (11, transaction(3)), (11, transaction(4))];
    let mut sorted_open = open;
    sorted_open.sort_unstable();
    let blocks: [&[u8]; 2] = [&[1, 2], &[3, 4]];
    // A proof is only where a block has one.
    let proof = [ArchivedProof::key(block(11))];
    let keys = [&of_transaction(1)[..], &of_block(10), &of_block(11), &proof].concat();
    let expected = (sorted(&keys), Some(11), 1, sorted_open.to_vec());
    assert_eq!(export(&storage_of(&blocks, 0, &[1])), Some(expected));
    assert_eq!(export(&storage_of(&blocks, 0, &[1])), None);
    // Without a new block; what is open below the oldest block stays open, at its height not.
    let open = [open[0], open[2]];
    let expected = (sorted(&of_transaction(3)), None, 1, open.to_vec());
    assert_eq!(export(&storage_of(&blocks, 1, &[3])), Some(expected));
    // Both at once, of a block after a gap of ordinals
    let blocks: [&[u8]; 4] = [&[1, 2], &[3, 4], &[], &[5]];
    let keys = [of_transaction(4), of_block(12), of_transaction(5), of_block(13)].concat();
    let expected = (sorted(&keys), Some(13), 2, [open[0]].to_vec());
    assert_eq!(export(&storage_of(&blocks, 1, &[3, 4, 5])), Some(expected));
    assert_eq!(complete(&writer), [(11, 13)]);
}

#[test]
fn an_export_ends_at_the_height_of_its_writer() {
    let storage = storage(&[10, 11, 14, 15], &[], &[]);
    for (until, expected) in [
        (9, &[][..]),
        (10, &[(10, 10)]),
        (11, &[(10, 11)]),
        (13, &[(10, 11)]),
        (14, &[(10, 14)]),
        (20, &[(10, 15)]),
    ] {
        let mut writer = writer().until(until);
        if let Some(export) = run(&mut writer.export(), &storage).unwrap() {
            writer = export.next;
        }
        assert_eq!(complete(&writer), expected, "{until}");
        assert_eq!(run(&mut writer.export(), &storage).unwrap(), None, "{until}");
    }
}

#[test]
fn the_configuration_of_an_epoch_is_exported_once_and_what_is_kept_of_another_is_not() {
    let mut writer = writer();
    let (own, kept) = (ConfigRecord::epoch_key, ConfigRecord::kept_key);
    for (heights, row, is_exported) in [
        (&[9][..], None, false),
        (&[9, 10], Some((kept(CryptoHash::ZERO), ConfigOrigin::Parent(8))), false),
        (&[9, 10, 11], Some((own(CryptoHash::ZERO), ConfigOrigin::Epoch)), true),
        (&[9, 10, 11, 12], Some((own(CryptoHash::ZERO), ConfigOrigin::Epoch)), false),
    ] {
        let mut storage = storage(heights, &[], &[]);
        let mut batch = Batch::new();
        if let Some((key, origin)) = row {
            batch.put(key, ConfigRecord { origin, fragment: b"{}" }.encode());
        }
        storage.commit(batch).unwrap();
        let one = run(&mut writer.export(), &storage).unwrap().unwrap();
        let archived = Key::hash(Table::ArchivedConfigs, CryptoHash::ZERO);
        let count = one.rows.iter().filter(|(key, _)| *key == archived).count();
        assert_eq!(count, usize::from(is_exported), "{heights:?}");
        writer = one.next;
    }
}
