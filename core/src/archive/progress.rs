//! The progress of a writer: complete ranges of heights, and the transactions open in them.
//!
//! Each writer has one row, which it alone writes. A height is complete for a writer if the final
//! block there, if there is one, was put with every transaction it includes that is finalized; the
//! others are listed as open until a writer has put them. The union of all rows has the complete
//! heights of the archive, and [`HeightRanges::gaps`] those that are missing in it.

use alloc::vec::Vec;

use super::envelope::plain_row;
use super::{Archive, ArchiveLookup, Envelope, HeightRanges, Origin, PAGE, WriterId};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::cursor::{RowWriter, decode_part};
use crate::storage::{Key, Row, Table};

/// A transaction that is in a complete range and was not finalized when the range was archived
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct OpenTransaction {
    /// Height of the block that includes it
    pub height: BlockHeight,
    /// Its hash
    pub hash: CryptoHash,
}

/// What one writer has archived
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct WriterProgress {
    /// The heights that are complete
    pub heights: HeightRanges,
    /// The transactions of these heights that were not finalized, ascending
    pub open: Vec<OpenTransaction>,
}

impl WriterProgress {
    /// The key of the row of a writer
    pub fn key(writer: WriterId) -> Key {
        Key::number(Table::ArchiveProgress, writer.0)
    }

    /// Encodes the row of a writer
    pub fn encode(&self, writer: WriterId) -> Row {
        let ranges: Vec<_> = self.heights.iter().collect();
        let content = RowWriter::part(8 + ranges.len() * 16 + self.open.len() * 40)
            .list(&ranges, |row, range| row.u64(*range.start()).u64(*range.end()))
            .list(&self.open, |row, open| row.u64(open.height).hash(&open.hash))
            .finish();
        plain_row(Origin::of(writer), &content)
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// As [`Envelope::decode`].
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        let content = Envelope::decode(Table::ArchiveProgress, row)?.content()?;
        decode_part(Table::ArchiveProgress, content, |cursor| {
            let ranges = cursor.list(16, |cursor| Ok(cursor.u64()?..=cursor.u64()?))?;
            if ranges.iter().any(core::ops::RangeInclusive::is_empty) {
                return Err(cursor.error("a range of heights is empty"));
            }
            let open = cursor.list(40, |cursor| {
                Ok(OpenTransaction { height: cursor.u64()?, hash: cursor.hash()? })
            })?;
            cursor.end().map(|()| Self { heights: ranges.into_iter().collect(), open })
        })
    }

    /// Reads the progress of a writer; empty if it has no row
    ///
    /// # Errors
    ///
    /// Those of the archive, or a corrupt row.
    pub fn read(writer: WriterId, archive: &(impl Archive + ?Sized)) -> Result<Self, Error> {
        let mut rows = Vec::new();
        archive.get_many(&[Self::key(writer)], &mut rows)?;
        let row = rows.pop().flatten();
        row.map_or_else(|| Ok(Self::default()), |row| Self::decode(&row))
    }

    /// Reads what all writers together have archived; a transaction is open if it is in every range
    /// that has its height
    ///
    /// Costs a scan of the table of progress, of one row per writer.
    ///
    /// # Errors
    ///
    /// Those of the archive, or a corrupt row.
    pub fn read_union(archive: &(impl Archive + ?Sized)) -> Result<Self, Error> {
        let mut writers = Vec::new();
        for_each_row(archive, Table::ArchiveProgress, &mut |_, row| {
            writers.push(Self::decode(row)?);
            Ok(())
        })?;
        Ok(Self::union(&writers))
    }

    /// What several writers together have archived; a transaction is open if it is in every range
    /// that has its height
    pub fn union<'progress>(
        writers: impl IntoIterator<Item = &'progress Self, IntoIter: Clone>,
    ) -> Self {
        let (mut union, writers) = (Self::default(), writers.into_iter());
        for writer in writers.clone() {
            union.heights.extend(&writer.heights);
        }
        for writer in writers.clone() {
            let is_open = |open: &&OpenTransaction| {
                writers.clone().all(|other| {
                    !other.heights.contains(open.height) || other.open.binary_search(open).is_ok()
                })
            };
            union.open.extend(writer.open.iter().filter(is_open));
        }
        OpenTransaction::sort(&mut union.open);
        union
    }

    /// The heights at which every transaction is in the archive: those that are archived, without
    /// those of open transactions
    pub fn complete_heights(&self) -> HeightRanges {
        let mut complete = self.heights.clone();
        self.open.iter().for_each(|open| complete.remove(open.height..=open.height));
        complete
    }

    /// When queries over a storage with this head ask the archive of this progress: also about
    /// unfinished transactions if it has blocks more than 10 heights above the head
    pub fn lookup(&self, head: BlockHeight) -> ArchiveLookup {
        let newest = self.heights.iter().last().map_or(0, |range| *range.end());
        match newest > head.saturating_add(LAG) {
            true => ArchiveLookup::Unfinished,
            false => ArchiveLookup::Unknown,
        }
    }
}

impl OpenTransaction {
    /// Sorts a list, and removes what is in it twice
    pub(super) fn sort(list: &mut Vec<Self>) {
        list.sort_unstable();
        list.dedup();
    }
}

/// The head of a storage lags if an archive has blocks this far above it: writers that follow one
/// chain are some blocks apart
const LAG: u64 = 10;

/// Calls `visit` with every row of a table, in the order of the archive
///
/// # Errors
///
/// Those of the archive and of `visit`.
pub fn for_each_row(
    archive: &(impl Archive + ?Sized),
    table: Table,
    visit: &mut dyn FnMut(&Key, &Row) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut after, mut rows) = (None, Vec::new());
    loop {
        rows.clear();
        archive.scan(table, after.as_ref(), PAGE, &mut rows)?;
        rows.iter().try_for_each(|(key, row)| visit(key, row))?;
        match rows.last() {
            Some((key, _)) => after = Some(*key),
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::archive::MemoryArchive;

    fn open(height: BlockHeight, name: &[u8]) -> OpenTransaction {
        OpenTransaction { height, hash: CryptoHash::digest(name) }
    }

    #[test]
    fn progress_is_read_as_it_was_written() {
        let archive = MemoryArchive::new();
        let writer = WriterId(u64::MAX);
        assert_eq!(WriterProgress::read(writer, &archive).unwrap(), WriterProgress::default());
        let progress = WriterProgress {
            heights: [1..=9, 20..=20].into_iter().collect(),
            open: [open(9, b"one")].into(),
        };
        let row = progress.encode(writer);
        archive.replace_many(&[(WriterProgress::key(writer), row.clone())]).unwrap();
        assert_eq!(WriterProgress::read(writer, &archive).unwrap(), progress);
        assert_eq!(WriterProgress::key(writer).bytes_in_table().len(), 8);
        let content = Envelope::decode(Table::ArchiveProgress, &row).unwrap().payload;
        for end in 0..content.len() {
            let short = plain_row(Origin::of(writer), &content[..end]);
            assert_eq!(WriterProgress::decode(&short).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn the_union_has_what_any_writer_has() {
        let archive = MemoryArchive::new();
        let ranges = [1..=9, 8..=19, 30..=39];
        // Transaction "a" was finalized when the second writer came by, "b" for no writer.
        let transactions = [
            [open(8, b"a"), open(9, b"b")].to_vec(),
            [open(9, b"b")].to_vec(),
            [open(39, b"c")].to_vec(),
        ];
        for (number, (range, mut open)) in (0..).zip(ranges.into_iter().zip(transactions)) {
            open.sort_unstable();
            let progress = WriterProgress { heights: [range].into_iter().collect(), open };
            let writer = WriterId(number);
            let row = progress.encode(writer);
            archive.replace_many(&[(WriterProgress::key(writer), row)]).unwrap();
        }
        let union = WriterProgress::read_union(&archive).unwrap();
        assert_eq!(union.heights.iter().collect::<Vec<_>>(), [1..=19, 30..=39]);
        assert_eq!(union.open, [open(9, b"b"), open(39, b"c")]);
        let complete: Vec<_> = union.complete_heights().iter().collect();
        assert_eq!(complete, [1..=8, 10..=19, 30..=38]);
    }

    #[test]
    fn an_archive_is_asked_about_unfinished_transactions_while_the_head_lags() {
        let progress = WriterProgress { heights: [5..=100].into_iter().collect(), open: [].into() };
        assert_eq!(progress.lookup(0), ArchiveLookup::Unfinished);
        assert_eq!(progress.lookup(100 - LAG - 1), ArchiveLookup::Unfinished);
        assert_eq!(progress.lookup(100 - LAG), ArchiveLookup::Unknown);
        assert_eq!(progress.lookup(u64::MAX), ArchiveLookup::Unknown);
        assert_eq!(WriterProgress::default().lookup(0), ArchiveLookup::Unknown);
    }
}
