//! The heights and times of blocks by their hashes, for clients that order outcomes in time.

use milepost::Error;
use milepost::archive::{ArchiveLookup, ArchivedBlock};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::rows::{BlockRecord, ChainRecord};
use milepost::storage::{Key, Row, Snapshot, Table};

/// The height of each of these blocks, on any fork, in one read; `None` for unknown ones
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
) -> Result<Vec<Option<BlockHeight>>, Error> {
    let rows = blocks(hashes, snapshot)?;
    let height = |row: &Row| BlockRecord::decode(row).map(|block| block.height);
    let heights = rows.iter().map(|row| row.as_ref().map(height).transpose());
    let mut heights = heights.collect::<Result<Vec<_>, _>>()?;
    let unknown = heights.iter_mut().zip(hashes).filter(|(height, _)| height.is_none());
    let (unknown, keys): (Vec<_>, Vec<_>) =
        unknown.map(|(height, hash)| (height, ArchivedBlock::key(*hash))).unzip();
    if keys.is_empty() || lookup == ArchiveLookup::Never {
        return Ok(heights);
    }
    let mut rows = Vec::new();
    snapshot.get_many(&keys, &mut rows)?;
    for (height, row) in unknown.into_iter().zip(&rows) {
        *height = row.as_deref().map(ArchivedBlock::decode).transpose()?.map(|block| block.height);
    }
    Ok(heights)
}

/// The times of these blocks in nanoseconds since 1970, in one read; `None` for a block that is
/// unknown, archived, or was imported without a check against its hash
///
/// # Errors
///
/// The error of the store, or a corrupt row.
pub(crate) fn times(
    hashes: &[CryptoHash],
    snapshot: &impl Snapshot,
) -> Result<Vec<Option<u64>>, Error> {
    let time = |row: &Option<Row>| {
        let Some(row) = row else { return Ok(None) };
        let proof = BlockRecord::decode(row)?.proof.parts();
        Ok(proof.map(|(header, _)| header.timestamp))
    };
    blocks(hashes, snapshot)?.iter().map(time).collect()
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

fn blocks(hashes: &[CryptoHash], snapshot: &impl Snapshot) -> Result<Vec<Option<Row>>, Error> {
    let keys: Vec<Key> = hashes.iter().map(|hash| Key::hash(Table::Blocks, *hash)).collect();
    let mut rows = Vec::new();
    snapshot.get_many(&keys, &mut rows)?;
    Ok(rows)
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
        let found = heights(&hashes, ArchiveLookup::Never, &storage).unwrap();
        assert_eq!(found[21..], all[21..]);
        assert!(found[..10].iter().all(Option::is_none), "{found:?}");
        let times = times(&hashes, &storage).unwrap();
        // These blocks were imported without a check.
        assert_eq!(times, vec![None; hashes.len()]);

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
        assert_eq!(heights(&hashes, ArchiveLookup::Unknown, &both).unwrap(), all);
        assert_eq!(heights(&hashes, ArchiveLookup::Never, &both).unwrap(), found);
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
