//! Several exports one after the other, over blocks that are made here.
//!
//! An export leaves its progress for the next one: complete heights, configurations,
//! ordinals. Each test exports a chain in two parts or more.

use alloc::vec::Vec;

use super::export::ExportFrom;
use super::*;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::{
    BlockProof, BlockRecord, ChainRecord, ConfigIndex, ConfigRecord, encode_block_hash,
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
        batch.put(ConfigRecord::key(*first), ConfigRecord { fragment: b"{}" }.encode());
    }
    let index = ConfigIndex { heights: configs.into(), ..ConfigIndex::default() };
    batch.put(ConfigIndex::key(), index.encode());
    let mut storage = MemoryStorage::new();
    storage.commit(batch).unwrap();
    storage
}

/// Exports once
fn export(writer: &mut ArchiveWriter, storage: &MemoryStorage, archive: &MemoryArchive) {
    let export = run(&mut writer.export(), storage).unwrap().unwrap();
    writer.put(export, archive).unwrap();
}

/// The complete heights, as pairs of the first and the last
fn complete(writer: &ArchiveWriter) -> Vec<(BlockHeight, BlockHeight)> {
    let heights = writer.progress().complete_heights();
    heights.iter().map(|range| (*range.start(), *range.end())).collect()
}

#[test]
fn heights_that_were_skipped_between_two_exports_are_complete() {
    for is_reopened in [false, true] {
        let archive = MemoryArchive::new();
        let mut writer = ArchiveWriter::open(WriterId(1), &archive).unwrap();
        export(&mut writer, &storage(&[10, 11], &[], &[]), &archive);
        assert_eq!(complete(&writer), [(10, 11)]);
        if is_reopened {
            writer = ArchiveWriter::open(WriterId(1), &archive).unwrap();
        }
        export(&mut writer, &storage(&[10, 11, 14, 15, 17], &[], &[]), &archive);
        assert_eq!(complete(&writer), [(10, 17)]);
    }
}

#[test]
fn heights_of_a_gap_between_two_exports_are_not_complete() {
    let archive = MemoryArchive::new();
    let mut writer = ArchiveWriter::open(WriterId(1), &archive).unwrap();
    export(&mut writer, &storage(&[10, 11], &[], &[]), &archive);
    export(&mut writer, &storage(&[10, 11, 14, 15], &[14], &[]), &archive);
    assert_eq!(complete(&writer), [(10, 11), (14, 15)]);
}

#[test]
fn an_export_without_a_configuration_keeps_the_progress_of_configurations() {
    let archive = MemoryArchive::new();
    let mut writer = ArchiveWriter::open(WriterId(1), &archive).unwrap();
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
        let keys = expected.iter().map(|first| Key::number(Table::ArchivedConfigs, *first));
        assert_eq!(found, keys.collect::<Vec<_>>(), "{heights:?}");
        assert_eq!(one.config, newest, "{heights:?}");
        writer.put(one, &archive).unwrap();
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
        let from = ExportFrom {
            origin: Origin::of(WriterId(1)),
            ordinal: None,
            heights,
            open: Vec::new(),
            config: None,
            until: BlockHeight::MAX,
        };
        let export = run(&mut ExportQuery::new(from), &all).unwrap();
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
