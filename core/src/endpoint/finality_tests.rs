//! Chains that are made final, and blocks that retention keeps until they are archived.
//!
//! Each condition is tried alone, at its limit and beside it, over blocks without transactions.

use alloc::string::ToString as _;

use crate::archive::{MemoryArchive, WriterId};
use crate::endpoint::{ArchiveExporter, Engine};
use crate::import::{
    ArchiveFloor, BlockHeader, BlockPosition, FinalityImport, FinalityRule, ImportSettings,
    ImportSummary, MessageBuilder, Retention,
};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::{BlockPoint, ChainRecord};
use crate::storage::{Batch, MemoryStorage, Storage as _, run};

fn hash(height: BlockHeight) -> CryptoHash {
    CryptoHash::digest(&height.to_le_bytes())
}

/// Imports a block of this height after the one before it, which makes this height final
fn import(
    height: BlockHeight,
    last_final: BlockHeight,
    settings: &ImportSettings,
    storage: &mut MemoryStorage,
) -> ImportSummary {
    let mut message = MessageBuilder::new(&BlockHeader {
        height,
        hash: hash(height),
        prev_hash: hash(height - 1),
        last_final_block: if last_final == 0 { CryptoHash::ZERO } else { hash(last_final) },
        ..BlockHeader::default()
    });
    Engine::default().import_block(message.as_text(), settings, storage).unwrap()
}

#[test]
fn a_chain_is_made_final_in_batches_until_all_is_done() {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    assert!(engine.make_final(&mut storage).unwrap().is_none());
    for height in 1..=70 {
        import(height, 0, &ImportSettings::default(), &mut storage);
    }
    let status = engine.chain_status(&storage).unwrap();
    assert_eq!((status.last_final, status.finality), (None, Some(FinalityRule::Headers)));
    let mut batches = 0;
    while let Some(summary) = engine.make_final(&mut storage).unwrap() {
        batches += 1;
        assert_eq!((summary.block.height, summary.position), (70, BlockPosition::Known));
        assert_eq!(summary.last_final.map(|last| last.height), Some(70));
        assert!(summary.reverted.is_empty() && summary.transaction_hashes.is_empty());
        let status = engine.chain_status(&storage).unwrap();
        assert_eq!(status.last_final.map(|last| last.height), Some(70));
        assert_eq!(status.finality, Some(FinalityRule::All));
        assert!(batches < 9);
    }
    // 64 blocks in a batch
    assert_eq!(batches, 2);
}

#[test]
fn each_sign_that_a_chain_is_not_final_is_enough() {
    let point = |height| BlockPoint { height, hash: hash(height) };
    for (last_final, all_final, next_finalized, is_done) in [
        (Some(point(7)), true, 3, true),
        (Some(point(7)), true, 4, true),
        (Some(point(6)), true, 3, false),
        (None, true, 3, false),
        (Some(point(7)), false, 3, false),
        (Some(point(7)), true, 2, false),
    ] {
        let chain = ChainRecord {
            next_ordinal: 3,
            next_finalized,
            head: Some(point(7)),
            last_final,
            all_final,
            ..ChainRecord::default()
        };
        let mut batch = Batch::new();
        batch.put(ChainRecord::key(), chain.encode());
        let mut storage = MemoryStorage::new();
        storage.commit(batch).unwrap();
        let found = run(&mut FinalityImport::new(), &storage).unwrap();
        assert_eq!(found.is_none(), is_done, "{last_final:?} {all_final} {next_finalized}");
    }
}

#[test]
fn blocks_are_kept_until_they_are_archived_or_too_many() {
    let settings = ImportSettings::default().with_retention(Retention::Blocks(3));
    // The height from which on blocks are not archived, the maximum of blocks, and of the import of
    // the block 9: the oldest block that is kept and the number of those that are shed
    for (floor, max_blocks, oldest, shed) in [
        (None, 0, 7, 0),
        (Some(1), 100, 1, 0),
        (Some(2), 100, 2, 0),
        (Some(5), 100, 5, 0),
        (Some(7), 100, 7, 0),
        (Some(20), 100, 7, 0),
        (Some(1), 9, 1, 0),
        (Some(1), 8, 2, 1),
        (Some(1), 5, 5, 4),
        (Some(3), 5, 5, 2),
        (Some(1), 1, 7, 6),
    ] {
        let mut storage = MemoryStorage::new();
        for height in 1..=8 {
            import(height, 0, &ImportSettings::default(), &mut storage);
        }
        let settings = match floor {
            Some(height) => settings.with_archive_floor(ArchiveFloor { height, max_blocks }),
            None => settings,
        };
        let summary = import(9, 0, &settings, &mut storage);
        let status = Engine::default().chain_status(&storage).unwrap();
        let found = (status.earliest.map(|it| it.height), status.blocks, summary.evicted_blocks);
        assert_eq!(found, (Some(oldest), 10 - oldest, shed), "{floor:?} {max_blocks}");
    }
}

#[test]
fn what_a_writer_has_archived_is_the_floor() {
    let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
    for height in 1..=9 {
        let last_final = BlockHeight::saturating_sub(height, 2);
        import(height, last_final, &ImportSettings::default(), &mut storage);
    }
    let mut exporter = ArchiveExporter::new(1_000, Some(WriterId(1)));
    exporter.run(&mut storage, &archive, false).unwrap();
    assert_eq!(archive.len(), 15, "two rows of each of seven blocks, and the progress");
    assert_eq!(exporter.progress().unwrap().heights.to_string(), "1-7");
    assert_eq!(exporter.status().kept_from, 7);
}
