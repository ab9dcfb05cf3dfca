//! The heights and times of blocks by their hashes, for clients that order outcomes in time.

use milepost::Error;
use milepost::archive::{ArchiveLookup, ArchivedBlock};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::rows::{BlockRecord, ChainRecord};
use milepost::storage::{Key, Row, Snapshot, Table};

/// The height of a block, and its time in nanoseconds since 1970; the time is `None` for a block
/// that is archived, or was imported without a check against its hash
pub(crate) type HeightAndTime = (BlockHeight, Option<u64>);

/// The height and the time of each of these blocks, on any fork, in one read; `None` if unknown
///
/// Those that the store does not know are looked up in the archive, unless `lookup` is `Never`, in
/// a second read.
///
/// # Errors
///
/// The error of the store or the archive, or a corrupt row.
pub(crate) fn heights(
    hashes: &[CryptoHash],
    lookup: ArchiveLookup,
    snapshot: &impl Snapshot,
) -> Result<Vec<Option<HeightAndTime>>, Error> {
    let keys: Vec<Key> = hashes.iter().map(|hash| Key::hash(Table::Blocks, *hash)).collect();
    let mut rows = Vec::new();
    snapshot.get_many(&keys, &mut rows)?;
    let block = |row: &Row| BlockRecord::decode(row).map(|block| (block.height, time(&block)));
    let blocks = rows.iter().map(|row| row.as_ref().map(block).transpose());
    let mut blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let unknown = blocks.iter_mut().zip(hashes).filter(|(block, _)| block.is_none());
    let (unknown, keys): (Vec<_>, Vec<_>) =
        unknown.map(|(block, hash)| (block, ArchivedBlock::key(*hash))).unzip();
    if keys.is_empty() || lookup == ArchiveLookup::Never {
        return Ok(blocks);
    }
    rows.clear();
    snapshot.get_many(&keys, &mut rows)?;
    for (block, row) in unknown.into_iter().zip(&rows) {
        let archived = row.as_deref().map(ArchivedBlock::decode).transpose()?;
        *block = archived.map(|archived| (archived.height, None));
    }
    Ok(blocks)
}

/// The time of a block in nanoseconds since 1970, if it was checked against its hash
pub(super) fn time(block: &BlockRecord) -> Option<u64> {
    block.proof.parts().map(|(header, _)| header.timestamp)
}

/// The height of this block if it is in the chain of the store, and no block since is missing
///
/// # Errors
///
/// The error of the store, or a corrupt row.
pub(crate) fn height_in_chain(
    hash: CryptoHash,
    snapshot: &impl Snapshot,
) -> Result<Option<BlockHeight>, Error> {
    let mut rows = Vec::new();
    snapshot.get_many(&[ChainRecord::key(), Key::hash(Table::Blocks, hash)], &mut rows)?;
    let [chain, block] = &rows[..] else { return Ok(None) };
    let complete_from = ChainRecord::decode(chain.as_deref())?.complete_from;
    let block = block.as_deref().map(BlockRecord::decode).transpose()?;
    let block = block.filter(|it| it.ordinal.is_some() && it.height >= complete_from);
    Ok(block.map(|it| it.height))
}

#[cfg(test)]
mod tests {
    use milepost::archive::{Archive as _, Envelope, MemoryArchive, Origin, WithArchive, WriterId};
    use milepost::endpoint::Engine;
    use milepost::import::{ImportSettings, Retention};
    use milepost::storage::MemoryStorage;
    use milepost_practice::{Practice, Settings};

    use super::*;

    #[test]
    fn a_block_that_the_store_has_forgotten_is_in_the_archive() {
        let settings = ImportSettings::default().with_retention(Retention::Blocks(10));
        let (mut practice, mut storage) = (Practice::new(Settings::demo(1)), MemoryStorage::new());
        let (mut hashes, mut all) = (vec![CryptoHash::ZERO], vec![None]);
        for _ in 0..30 {
            let message = practice.next_message();
            Engine::default().import_block(&message.json, &settings, &mut storage).unwrap();
            hashes.push(message.hash);
            all.push(Some(message.height));
        }
        let blocks = heights(&hashes, ArchiveLookup::Never, &storage).unwrap();
        // These blocks were imported without a check.
        assert!(blocks.iter().flatten().all(|(_, time)| time.is_none()), "{blocks:?}");
        let heights_of = |blocks: &[Option<HeightAndTime>]| {
            blocks.iter().map(|block| block.map(|(height, _)| height)).collect::<Vec<_>>()
        };
        let found = heights_of(&blocks);
        assert_eq!(found[21..], all[21..]);
        assert!(found[..10].iter().all(Option::is_none), "{found:?}");

        let archive = MemoryArchive::new();
        let row = |(hash, height): (&CryptoHash, &Option<BlockHeight>)| {
            let block = ArchivedBlock {
                height: (*height)?,
                prev_hash: CryptoHash::ZERO,
                epoch_id: CryptoHash::ZERO,
                protocol_version: 88,
            };
            let content = block.encode();
            let row = Envelope::plain(Origin::of(WriterId(1)), &content).encode();
            Some((ArchivedBlock::key(*hash), Row::from(row)))
        };
        let rows: Vec<_> = hashes.iter().zip(&all).filter_map(row).collect();
        archive.put_many(&rows).unwrap();
        let both = WithArchive { snapshot: &storage, archive: &archive };
        assert_eq!(heights_of(&heights(&hashes, ArchiveLookup::Unknown, &both).unwrap()), all);
        assert_eq!(heights(&hashes, ArchiveLookup::Never, &both).unwrap(), blocks);
        assert_eq!(heights(&[], ArchiveLookup::Unknown, &both).unwrap(), []);
    }

    #[test]
    fn a_block_is_in_the_chain_from_the_height_on_that_is_complete() {
        let (mut practice, mut storage) = (Practice::new(Settings::demo(1)), MemoryStorage::new());
        let settings = ImportSettings::default();
        let messages: Vec<_> = (0..20).map(|_| practice.next_message()).collect();
        let mut import = |message: &milepost_practice::BlockMessage| {
            Engine::default().import_block(&message.json, &settings, &mut storage).unwrap();
        };
        // The sixth one is missing.
        messages[..5].iter().chain(&messages[6..]).for_each(&mut import);
        for (number, message) in messages.iter().enumerate() {
            let height = height_in_chain(message.hash, &storage).unwrap();
            assert_eq!(height, (number > 5).then_some(message.height), "{number}");
        }
        assert_eq!(height_in_chain(CryptoHash::ZERO, &storage).unwrap(), None);
        assert_eq!(height_in_chain(CryptoHash::ZERO, &MemoryStorage::new()).unwrap(), None);
    }
}
