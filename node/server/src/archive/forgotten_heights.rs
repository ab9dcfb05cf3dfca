//! What a store has forgotten because its archive had it.
//!
//! A row of the store has the first height of those up to its own that are complete in the archive.
//! If some of them are missing at the next start, their transactions are unknown. An archive with
//! no rows at all was lost, and such a start is refused. One with other rows is a warning, because
//! one of an earlier period may have been dropped on purpose.

use milepost::archive::HeightRanges;
use milepost::primitives::BlockHeight;
use milepost::storage::{Batch, Key, Snapshot, Storage as _, Table};
use milepost::{Error, ErrorKind};
use tracing::warn;

use crate::store::Store;

/// After the row with the id of the writer, which is the last one of the engine
const KEY_NUMBER: u64 = 3;

/// The heights that a store has forgotten, from the first one that its archive had
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forgotten {
    first: BlockHeight,
    /// That of the oldest block of the store
    earliest: BlockHeight,
}

impl Forgotten {
    /// Reads them from a store whose oldest block has this height; `None` if an archive had none
    pub(crate) fn read(
        store: &impl Snapshot,
        earliest: BlockHeight,
    ) -> Result<Option<Self>, Error> {
        Ok(read(store)?.map(|first| Self { first, earliest }))
    }

    /// Those of them that are not archived
    pub(crate) fn missing(&self, archived: &HeightRanges) -> HeightRanges {
        let last = self.earliest.checked_sub(1);
        last.map_or_else(HeightRanges::default, |last| archived.gaps(self.first..=last))
    }

    /// Removes the record of the heights of a lost archive
    pub(crate) fn forget(batch: &mut Batch) {
        batch.remove(Key::number(Table::Chain, KEY_NUMBER));
    }
}

/// Warns of these heights, if there are any
pub(crate) fn warn_of(missing: &HeightRanges) {
    if !missing.is_empty() {
        warn!(
            "the store has forgotten heights that the archive had, and has not any more: {missing}; \
             transactions there are unknown. If this archive is the right one, see \
             `milepost archive check`; `milepost archive backfill` fills the heights again"
        );
    }
}

/// Remembers from which height on the archive has what the store forgets
pub(crate) fn remember(
    store: &Store,
    archived: &HeightRanges,
    earliest: BlockHeight,
) -> Result<(), Error> {
    let Some(range) = archived.range_of(earliest) else { return Ok(()) };
    // It changes when heights are filled or not kept any longer, and not with each block.
    if read(&store.snapshot())? == Some(*range.start()) {
        return Ok(());
    }
    let mut batch = Batch::new();
    batch.put(Key::number(Table::Chain, KEY_NUMBER), &range.start().to_le_bytes()[..]);
    store.config_writer().commit(batch)
}

fn read(store: &impl Snapshot) -> Result<Option<BlockHeight>, Error> {
    let key = Key::number(Table::Chain, KEY_NUMBER);
    let Some(row) = store.get(&key)? else { return Ok(None) };
    let height = (&*row).try_into().map(BlockHeight::from_le_bytes);
    let malformed = |_| Error::new(ErrorKind::Corrupt, "a height of another length");
    height.map(Some).map_err(|error| malformed(error).at(format_args!("{key:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreLocation;

    #[test]
    fn heights_that_an_archive_had_are_missed_in_another_one() {
        let store = Store::open(&StoreLocation::Memory).unwrap();
        let ranges = |ranges: &[(u64, u64)]| {
            let mut heights = HeightRanges::default();
            ranges.iter().for_each(|(first, last)| heights.insert(*first..=*last));
            heights
        };
        let missing = |archived: &HeightRanges, earliest| {
            let forgotten = Forgotten::read(&store.snapshot(), earliest).unwrap();
            forgotten.map_or_else(HeightRanges::default, |it| it.missing(archived))
        };
        let archived = ranges(&[(10, 20), (100, 200)]);
        // Nothing was forgotten yet, as with an archive that is new.
        assert!(missing(&ranges(&[]), 150).is_empty());
        remember(&store, &ranges(&[]), 150).unwrap();
        assert!(missing(&ranges(&[]), 150).is_empty());
        remember(&store, &archived, 150).unwrap();
        assert!(missing(&archived, 180).is_empty());
        assert_eq!(missing(&ranges(&[]), 180), ranges(&[(100, 179)]));
        assert_eq!(missing(&ranges(&[(100, 120), (170, 200)]), 180), ranges(&[(121, 169)]));
        // What is not kept any longer while the server runs is not missed.
        remember(&store, &ranges(&[(140, 200)]), 180).unwrap();
        assert!(missing(&ranges(&[(140, 200)]), 180).is_empty());
        assert_eq!(missing(&ranges(&[(180, 200)]), 180), ranges(&[(140, 179)]));
    }
}
