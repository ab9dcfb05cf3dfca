//! A writer: its archived heights, its next export, and the heights that may be forgotten.
//!
//! A writer puts the rows of an export first, and then its progress, so progress never names what
//! is not durable. After a crash in between, the same rows are put again, which changes nothing.

use alloc::vec::Vec;
use core::mem;

use super::export::{Export, ExportQuery};
use super::{Archive, Envelope, HeightRanges, PAGE, WriterId, WriterProgress};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::{Key, Row, Table};

/// Bytes of rows that are put in one call, about
const MAX_PUT_BYTES: usize = 4 << 20;

/// Number of heights from a gap on in which a transaction that was open before it may still end: a
/// promise that is yielded resumes within 200 blocks
const MAX_OPEN_AFTER_GAP: u64 = 1_000;

/// What is exported next, by what is archived
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ArchiveWriter {
    pub(super) id: WriterId,
    pub(super) progress: WriterProgress,
    /// The next block; `None` to look for the first one that is not archived
    pub(super) ordinal: Option<u64>,
    /// The newest height whose configuration was exported
    pub(super) config: Option<BlockHeight>,
    /// The newest epoch whose configuration was exported
    pub(super) epoch_id: Option<CryptoHash>,
    /// Blocks above this height are not exported
    pub(super) until: BlockHeight,
    /// Whether the storage has a final block above it, so that all below are exported
    pub(super) has_ended: bool,
}

impl ArchiveWriter {
    /// A writer that continues after these heights
    pub(crate) const fn resume(id: WriterId, progress: WriterProgress) -> Self {
        let until = BlockHeight::MAX;
        Self { id, progress, ordinal: None, config: None, epoch_id: None, until, has_ended: false }
    }

    /// This writer, which exports no block above this height
    pub(crate) const fn until(mut self, height: BlockHeight) -> Self {
        self.until = height;
        self
    }

    /// The id
    pub(crate) const fn id(&self) -> WriterId {
        self.id
    }

    /// The heights that it has archived
    pub(crate) const fn progress(&self) -> &WriterProgress {
        &self.progress
    }

    /// Whether there will never be more to export: everything up to the height of
    /// [`until`](Self::until) is archived, and nothing of it is open
    pub(crate) fn is_complete(&self) -> bool {
        self.has_ended && self.progress.open.is_empty()
    }

    /// The query for the rows of the storage that this writer has not archived
    pub(crate) fn export(&self) -> ExportQuery {
        ExportQuery::new(self.clone())
    }

    /// Removes the heights below this one from the progress of all writers
    pub(crate) fn forget_below(
        &mut self,
        height: BlockHeight,
        archive: &(impl Archive + ?Sized),
    ) -> Result<(), Error> {
        let Some(last) = height.checked_sub(1) else { return Ok(()) };
        let mut cut = Vec::new();
        super::for_each_row(archive, Table::ArchiveProgress, &mut |key, row| {
            let mut progress = WriterProgress::decode(row)?;
            progress.forget(last);
            let writer = Envelope::decode(key.table(), row)?.origin.writer;
            cut.push((*key, progress.encode(writer)));
            Ok(())
        })?;
        archive.replace_many(&cut)?;
        self.progress.forget(last);
        Ok(())
    }
}

impl Export {
    /// The next of the writes that put the rows and then the progress of the writer; `None` after
    /// the last one
    pub(crate) fn next_write(&mut self) -> Option<ArchiveWrite> {
        if !self.rows.is_empty() {
            let rest = self.rows.split_off(part_len(&self.rows));
            let rows = mem::replace(&mut self.rows, rest);
            return Some(ArchiveWrite { rows, replaces: false });
        }
        let ArchiveWriter { id, progress, .. } = &self.next;
        let row = || (WriterProgress::key(*id), progress.encode(*id));
        let is_last = !mem::replace(&mut self.has_progress, true);
        is_last.then(|| ArchiveWrite { rows: [row()].into(), replaces: true })
    }
}

/// A call of an archive that writes rows
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the arguments of two functions of an archive")]
pub struct ArchiveWrite {
    /// The rows
    pub rows: Vec<(Key, Row)>,
    /// Whether they [replace](Archive::replace_many) what their keys hold, or are
    /// [put](Archive::put_many)
    pub replaces: bool,
}

impl ArchiveWrite {
    /// Does the call
    ///
    /// # Errors
    ///
    /// Those of the archive.
    pub fn run(&self, archive: &(impl Archive + ?Sized)) -> Result<(), Error> {
        match self.replaces {
            true => archive.replace_many(&self.rows),
            false => archive.put_many(&self.rows),
        }
    }
}

/// Number of the first of these rows that are put in one call: a few MiB, and at least one
fn part_len(rows: &[(Key, Row)]) -> usize {
    let mut bytes = 0;
    let fits = |(_, row): &&(Key, Row)| {
        bytes += row.len();
        bytes <= MAX_PUT_BYTES
    };
    rows.iter().take_while(fits).count().max(1)
}

impl WriterProgress {
    /// The height from which on a storage has to keep its blocks, if its oldest one has the height
    /// `earliest`, and the one after it the height `second`, or 0 if there is none
    ///
    /// Everything below is archived, and no transaction there is open. The newest block that is
    /// archived is kept, because the block after it names it as its parent; that of a gap of the
    /// feed is not the newest.
    pub(crate) fn floor(&self, earliest: BlockHeight, second: BlockHeight) -> BlockHeight {
        let Some(mut range) = self.heights.range_of(earliest) else { return earliest };
        if *range.end() == earliest
            && second > earliest
            && let Some(after_gap) = self.heights.range_of(second)
        {
            range = after_gap;
        }
        let first_open = self.open.partition_point(|open| open.height < earliest);
        let mut open = self.open.iter().skip(first_open).map(|open| open.height);
        open.find(|height| !self.is_given_up(*height))
            .map_or(*range.end(), |open| open.min(*range.end()))
    }

    /// Whether a transaction that is open at this height can no longer end, because of a gap of the
    /// feed
    fn is_given_up(&self, height: BlockHeight) -> bool {
        let (range, newest) = (self.heights.range_of(height), self.heights.iter().last());
        range.zip(newest).is_some_and(|(it, newest)| newest.end() - it.end() >= MAX_OPEN_AFTER_GAP)
    }

    fn forget(&mut self, last: BlockHeight) {
        self.heights.remove(0..=last);
        self.open.retain(|open| open.height > last);
    }

    /// The heights of the range that are not complete
    pub fn gaps(&self, heights: core::ops::RangeInclusive<BlockHeight>) -> HeightRanges {
        self.heights.gaps(heights)
    }
}

/// Copies the rows of an archive into another one, progress included; returns their number
///
/// Dictionaries are left out: rows are copied plain, and an archive that compresses has
/// dictionaries of its own, whose numbers may be the same. May be repeated, and run while writers
/// write: what they put after its table was passed is copied by the next run.
///
/// # Errors
///
/// Those of both archives.
pub fn copy(
    from: &(impl Archive + ?Sized),
    to: &(impl Archive + ?Sized),
    mut copied: impl FnMut(u64),
) -> Result<u64, Error> {
    let mut count = 0;
    // Progress comes last, so that it does not name rows that are not copied.
    let is_copied =
        |table: &Table| !matches!(table, Table::ArchiveProgress | Table::ArchiveDictionaries);
    let tables = Table::ARCHIVE.into_iter().filter(is_copied);
    // It is read first for the same reason.
    let mut progress = Vec::new();
    super::for_each_row(from, Table::ArchiveProgress, &mut |key, row| {
        progress.push((*key, row.clone()));
        Ok(())
    })?;
    for table in tables {
        let (mut after, mut rows) = (None, Vec::new());
        loop {
            rows.clear();
            from.scan(table, after.as_ref(), PAGE, &mut rows)?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(*last);
            let mut rest = &rows[..];
            while !rest.is_empty() {
                let (part, others) = rest.split_at(part_len(rest));
                to.put_many(part)?;
                rest = others;
            }
            count += rows.len() as u64;
            copied(count);
        }
    }
    to.replace_many(&progress)?;
    Ok(count + progress.len() as u64)
}
