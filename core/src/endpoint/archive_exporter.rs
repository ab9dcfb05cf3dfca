//! The export to an archive, as a sans-IO state: the next read or write, and its consequences.
//!
//! A host does one [`ExportStep`] after the other and hands in each answer. The writer continues
//! after an export only when all its rows are durable, and the storage may forget only what is
//! archived then. After a failure the next run begins again from the same state, which puts the
//! same rows again.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem;

use super::{ChainQuery, ChainStatus};
use crate::archive::{
    Archive, ArchiveLookup, ArchiveWrite, ArchiveWriter, Export, ExportQuery, HeightRanges, PAGE,
    WriterId, WriterProgress,
};
use crate::import::{ArchiveFloor, ImportSettings, ImportSummary, Retention};
use crate::primitives::BlockHeight;
use crate::storage::{Batch, Key, Row, Snapshot as _, Storage, Table, run};
use crate::{Error, ErrorKind};

/// Exports the final blocks of a storage to an archive, or reads what others have exported to it
///
/// After each import, a host whose reads block calls [`run`](Self::run); any other calls
/// [`Endpoint::handle_export`](super::Endpoint::handle_export), or does the steps by itself.
///
/// ```
/// use milepost::archive::{MemoryArchive, WriterId};
/// use milepost::endpoint::{ArchiveExporter, Engine};
/// use milepost::import::{ImportSettings, Retention};
/// use milepost::storage::MemoryStorage;
/// use milepost_practice::{Practice, Settings};
///
/// let (engine, archive) = (Engine::default(), MemoryArchive::new());
/// let mut storage = MemoryStorage::new();
/// let mut exporter = ArchiveExporter::new(1_000, Some(WriterId(7)));
/// let settings = ImportSettings::default().with_retention(Retention::Blocks(1));
/// let mut chain = Practice::new(Settings::demo(1));
/// for _ in 0..30 {
///     let settings = exporter.import_settings(settings);
///     engine.import_block(&chain.next_message().json, &settings, &mut storage)?;
///     exporter.run(&mut storage, &archive, false)?;
/// }
/// assert!(exporter.status().exported_transactions > 0);
/// assert!(engine.chain_status(&storage)?.blocks < 20);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct ArchiveExporter {
    /// The id of the writer if the storage has none yet; `None` if the archive is only read
    new_writer: Option<WriterId>,
    /// `None` until its progress was read
    writer: Option<ArchiveWriter>,
    max_blocks: u64,
    until: BlockHeight,
    is_forgetting: bool,
    first_kept: BlockHeight,
    /// The progress of all writers; `None` until it was read
    union: Option<WriterProgress>,
    /// The heights of the storage's oldest block, of the one after it and of its head, as they were
    /// after the last export
    earliest: Option<BlockHeight>,
    second: BlockHeight,
    head: BlockHeight,
    /// Whether the progress of all writers is read in this run
    reads_progress: bool,
    stage: Stage,
    exported_transactions: u64,
    evicted_blocks: u64,
    failures: u64,
    failure: Option<String>,
}

/// The answer that an export waits for
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Idle,
    /// The row of the writer's id, which is this one if there is none
    Writer(WriterId),
    /// The commit of this id
    NewWriter(WriterId),
    /// The row of its progress
    Progress(WriterId),
    /// The next export
    Export,
    /// A write of this export
    Write(Box<Export>),
    /// The state of the chain
    Chain,
    /// A page of the progress of all writers, after these rows
    Scan(Vec<(Key, Row)>),
}

/// The next step of an [`ArchiveExporter`]
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to do each of them")]
pub enum ExportStep {
    /// The row of this key, of the storage or of the archive: [`ExportAnswer::Row`]
    Row(Key),
    /// Changes that are to be committed to the storage: [`ExportAnswer::Written`]
    Commit(Batch),
    /// The output of this query over one state of the storage: [`ExportAnswer::Export`]
    Export(ExportQuery),
    /// The output of this query over one state of the storage: [`ExportAnswer::Chain`]
    Chain(ChainQuery),
    /// Rows that the archive is to have: [`ExportAnswer::Written`] when all of them are durable
    Write(ArchiveWrite),
    /// A page of a table of the archive, as long as the host likes, after the key `after`; none only
    /// at the end: [`ExportAnswer::Page`]
    Scan {
        /// The table
        table: Table,
        /// The last key of the page before
        after: Option<Key>,
    },
    /// Nothing more until the next run: whether there will never be more to export, or why the run
    /// failed
    Done(Result<bool, Error>),
}

/// The answer to an [`ExportStep`]
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "each step has its own")]
pub enum ExportAnswer {
    /// A row, if there is one
    Row(Option<Row>),
    /// The changes or the rows are durable
    Written,
    /// The next export
    Export(Option<Box<Export>>),
    /// The state of the chain
    Chain(ChainStatus),
    /// A page of rows, with their keys
    Page(Vec<(Key, Row)>),
}

/// The state of an archive and of the exports to it
///
/// Heights and open transactions are those that this writer has archived; those of all writers, as
/// they were read last, if the archive is only read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ArchiveStatus {
    /// Whether final blocks are exported
    pub is_written: bool,
    /// Height of the newest block that is archived
    pub archived_height: Option<BlockHeight>,
    /// The heights at which every transaction is in the archive
    pub complete: HeightRanges,
    /// Number of transactions of archived heights that are not finalized
    pub open_transactions: u64,
    /// The storage keeps the blocks of this height and above, until more is archived
    pub kept_from: BlockHeight,
    /// When requests ask the archive
    pub lookup: ArchiveLookup,
    /// Number of transactions that were archived since the exporter was made
    pub exported_transactions: u64,
    /// Number of runs that failed
    pub failures: u64,
    /// Why the last run failed; `None` if it did not
    pub failure: Option<String>,
    /// Number of blocks that the storage has forgotten although they are not archived
    pub evicted_blocks: u64,
}

impl ArchiveExporter {
    /// An exporter for a storage that keeps at most this many blocks for the archive
    ///
    /// It continues after what its writer has archived before: no other process may write with the
    /// same id at the same time. `new_writer` is the id of the writer if the storage has none yet:
    /// a random one, because no two writers of an archive may have one id. Without it the archive
    /// is only read.
    pub fn new(max_blocks: u64, new_writer: Option<WriterId>) -> Self {
        Self {
            new_writer,
            writer: None,
            max_blocks,
            until: BlockHeight::MAX,
            is_forgetting: false,
            first_kept: 0,
            union: None,
            earliest: None,
            second: 0,
            head: 0,
            reads_progress: false,
            stage: Stage::Idle,
            exported_transactions: 0,
            evicted_blocks: 0,
            failures: 0,
            failure: None,
        }
    }

    /// The same, which exports no block above this height
    ///
    /// What is open at or below it is exported when blocks above it have finalized it: to fill a
    /// range, import blocks beyond its end until [`run`](Self::run) returns that it is complete.
    #[must_use]
    pub const fn until(mut self, height: BlockHeight) -> Self {
        self.until = height;
        self
    }

    /// The same for a storage with this retention: if the archive is only read, the progress of all
    /// writers is read whenever the storage can forget nothing by what is known of it
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.is_forgetting = retention != Retention::Everything;
        self
    }

    /// These settings of an import, which keeps what is not archived
    pub fn import_settings(&self, settings: ImportSettings) -> ImportSettings {
        let (height, max_blocks) = (self.kept_from(), self.max_blocks);
        settings.with_archive_floor(ArchiveFloor { height, max_blocks })
    }

    /// Handles an import that was committed
    pub const fn handle_import(&mut self, summary: &ImportSummary) {
        self.evicted_blocks += summary.evicted_blocks;
    }

    /// Lets the storage forget what is below this height, archived or not
    pub const fn keep_from(&mut self, height: BlockHeight) {
        self.first_kept = height;
    }

    /// The id of the writer, once its progress was read
    pub fn writer(&self) -> Option<WriterId> {
        self.writer.as_ref().map(ArchiveWriter::id)
    }

    /// Removes the heights below this one from the progress of all writers, before a [`Removal`]
    /// removes their rows; nothing before the progress of the writer was read
    ///
    /// For an archive that no other process uses, as one in a directory. What is open at these
    /// heights is not archived any more.
    ///
    /// [`Removal`]: crate::archive::Removal
    ///
    /// # Errors
    ///
    /// Those of the archive, or a corrupt row.
    pub fn forget_below(
        &mut self,
        height: BlockHeight,
        archive: &(impl Archive + ?Sized),
    ) -> Result<(), Error> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.forget_below(height, archive))
    }

    /// Whether it waits for a row
    pub(super) const fn waits_for_row(&self) -> bool {
        matches!(self.stage, Stage::Writer(_) | Stage::Progress(_))
    }

    /// Whether it waits for a write to the archive
    pub(super) const fn waits_for_write(&self) -> bool {
        matches!(self.stage, Stage::Write(_))
    }

    /// Whether it waits for a page
    pub(super) const fn waits_for_page(&self) -> bool {
        matches!(self.stage, Stage::Scan(_))
    }

    /// The progress of all writers, as it was read last, with that of this one
    pub fn union(&self) -> WriterProgress {
        let own = self.writer.as_ref().map(ArchiveWriter::progress);
        WriterProgress::union(self.union.iter().chain(own))
    }

    /// The progress of this writer or, if the archive is only read, of all writers; `None` before
    /// it was read
    pub fn progress(&self) -> Option<&WriterProgress> {
        self.writer.as_ref().map(ArchiveWriter::progress).or(self.union.as_ref())
    }

    /// Whether there will never be more to export
    fn is_complete(&self) -> bool {
        self.writer.as_ref().is_some_and(ArchiveWriter::is_complete)
    }

    /// The height from which on the storage keeps its blocks
    fn kept_from(&self) -> BlockHeight {
        match (self.earliest, self.progress()) {
            _ if self.is_complete() => BlockHeight::MAX,
            (Some(earliest), Some(progress)) => {
                progress.floor(earliest.max(self.first_kept), self.second)
            }
            (earliest, _) => earliest.unwrap_or(0),
        }
    }

    /// When requests ask the archive
    pub fn lookup(&self) -> ArchiveLookup {
        self.union.as_ref().map_or(ArchiveLookup::Unknown, |union| union.lookup(self.head))
    }

    /// What is in the archive, and what was exported to it
    pub fn status(&self) -> ArchiveStatus {
        let progress = self.progress();
        let heights = progress.map(|progress| progress.heights.iter());
        ArchiveStatus {
            is_written: self.new_writer.is_some(),
            archived_height: heights.and_then(Iterator::last).map(|range| *range.end()),
            complete: progress.map(WriterProgress::complete_heights).unwrap_or_default(),
            open_transactions: progress.map_or(0, |progress| progress.open.len() as u64),
            kept_from: self.kept_from(),
            lookup: self.lookup(),
            exported_transactions: self.exported_transactions,
            failures: self.failures,
            failure: self.failure.clone(),
            evicted_blocks: self.evicted_blocks,
        }
    }

    /// Runs an export over a storage and an archive that block; returns whether there will never be
    /// more to export
    ///
    /// The progress of all writers is read in the first run, where `reads_progress` says so, and as
    /// [`with_retention`](Self::with_retention) says. The storage is not read while the archive is
    /// waited for.
    ///
    /// # Errors
    ///
    /// Those of both, or a corrupt row. What is durable is archived, and the next run tries the
    /// rest again.
    pub fn run(
        &mut self,
        storage: &mut impl Storage,
        archive: &(impl Archive + ?Sized),
        reads_progress: bool,
    ) -> Result<bool, Error> {
        let mut step = self.start(reads_progress);
        loop {
            step = match step {
                ExportStep::Done(result) => return result,
                step => self.handle(step.run(storage, archive)),
            };
        }
    }

    /// Begins a run, and ends the one before if it has not ended; returns its first step
    ///
    /// `reads_progress` is as for [`run`](Self::run).
    pub fn start(&mut self, reads_progress: bool) -> ExportStep {
        self.reads_progress = reads_progress || self.union.is_none();
        match (self.new_writer, &self.writer) {
            (Some(id), None) => self.wait(Stage::Writer(id), ExportStep::Row(WriterId::key())),
            _ => self.export(),
        }
    }

    /// Handles the answer to a step, or why there is none; returns the next step
    pub fn handle(&mut self, answer: Result<ExportAnswer, Error>) -> ExportStep {
        let step = match answer.and_then(|answer| self.advance(answer)) {
            Ok(step) => step,
            Err(error) => ExportStep::Done(Err(error)),
        };
        if let ExportStep::Done(result) = &step {
            self.stage = Stage::Idle;
            self.failure = result.as_ref().err().map(Error::to_string);
            self.failures += u64::from(result.is_err());
        }
        step
    }

    fn advance(&mut self, answer: ExportAnswer) -> Result<ExportStep, Error> {
        match (&mut self.stage, answer) {
            (Stage::Writer(_), ExportAnswer::Row(Some(row))) => {
                Ok(self.read_progress(WriterId::decode(&row)?))
            }
            (Stage::Writer(id), ExportAnswer::Row(None)) => {
                let (id, mut batch) = (*id, Batch::new());
                batch.put(WriterId::key(), id.encode());
                Ok(self.wait(Stage::NewWriter(id), ExportStep::Commit(batch)))
            }
            (Stage::NewWriter(id), ExportAnswer::Written) => {
                let id = *id;
                Ok(self.read_progress(id))
            }
            (Stage::Progress(id), ExportAnswer::Row(row)) => {
                let progress = row.as_deref().map(WriterProgress::decode).transpose()?;
                let writer = ArchiveWriter::resume(*id, progress.unwrap_or_default());
                self.writer = Some(writer.until(self.until));
                Ok(self.export())
            }
            (Stage::Export, ExportAnswer::Export(None)) => Ok(self.read_chain()),
            (Stage::Export, ExportAnswer::Export(Some(export))) => {
                self.stage = Stage::Write(export);
                Ok(self.write())
            }
            (Stage::Write(_), ExportAnswer::Written) => Ok(self.write()),
            (Stage::Chain, ExportAnswer::Chain(chain)) => {
                self.earliest = chain.earliest.map(|block| block.height);
                self.second = chain.second;
                self.head = chain.head.map_or(0, |block| block.height);
                // What others have archived is read when nothing can be forgotten by what is known.
                let is_stuck = Some(self.kept_from()) <= self.earliest;
                let is_needed = self.writer.is_none() && self.is_forgetting && is_stuck;
                if self.reads_progress || is_needed {
                    return Ok(self.wait(Stage::Scan(Vec::new()), scan(None)));
                }
                Ok(ExportStep::Done(Ok(self.is_complete())))
            }
            (Stage::Scan(rows), ExportAnswer::Page(page)) => {
                let Some((last, _)) = page.last() else {
                    let mut writers = Vec::new();
                    for (_, row) in rows {
                        writers.push(WriterProgress::decode(row)?);
                    }
                    self.union = Some(WriterProgress::union(&writers));
                    return Ok(ExportStep::Done(Ok(self.is_complete())));
                };
                if page.iter().any(|(key, _)| rows.iter().any(|(read, _)| read == key)) {
                    let detail = "the archive's scan returned a row again";
                    return Err(Error::new(ErrorKind::Storage, detail));
                }
                let step = scan(Some(*last));
                rows.extend(page);
                Ok(step)
            }
            _ => Err(unexpected()),
        }
    }

    fn read_chain(&mut self) -> ExportStep {
        self.wait(Stage::Chain, ExportStep::Chain(ChainQuery::for_export()))
    }

    fn wait(&mut self, stage: Stage, step: ExportStep) -> ExportStep {
        self.stage = stage;
        step
    }

    fn read_progress(&mut self, id: WriterId) -> ExportStep {
        self.wait(Stage::Progress(id), ExportStep::Row(WriterProgress::key(id)))
    }

    fn export(&mut self) -> ExportStep {
        match self.writer.as_ref().map(ArchiveWriter::export) {
            Some(query) => self.wait(Stage::Export, ExportStep::Export(query)),
            None => self.read_chain(),
        }
    }

    /// The next write of the export; after the last one the writer continues
    fn write(&mut self) -> ExportStep {
        if let Stage::Write(export) = &mut self.stage
            && let Some(write) = export.next_write()
        {
            return ExportStep::Write(write);
        }
        if let Stage::Write(export) = mem::take(&mut self.stage) {
            self.exported_transactions += export.transactions as u64;
            self.writer = Some(export.next);
        }
        self.export()
    }
}

/// The step that reads the page of progress after this key
const fn scan(after: Option<Key>) -> ExportStep {
    ExportStep::Scan { table: Table::ArchiveProgress, after }
}

fn unexpected() -> Error {
    Error::new(ErrorKind::Usage, "the export does not wait for this answer")
}

impl ExportStep {
    /// Does the step over a storage and an archive that block
    ///
    /// # Errors
    ///
    /// Those of both; [`ErrorKind::Usage`] if there is nothing to do.
    pub fn run(
        self,
        storage: &mut impl Storage,
        archive: &(impl Archive + ?Sized),
    ) -> Result<ExportAnswer, Error> {
        Ok(match self {
            Self::Row(key) if key.table().is_archive() => {
                let mut rows = Vec::new();
                archive.get_many(&[key], &mut rows)?;
                ExportAnswer::Row(rows.pop().flatten())
            }
            Self::Row(key) => ExportAnswer::Row(storage.snapshot()?.get(&key)?),
            Self::Commit(batch) => {
                storage.commit(batch)?;
                ExportAnswer::Written
            }
            Self::Export(mut query) => {
                ExportAnswer::Export(run(&mut query, &storage.snapshot()?)?.map(Box::new))
            }
            Self::Chain(mut query) => ExportAnswer::Chain(run(&mut query, &storage.snapshot()?)?),
            Self::Write(write) => {
                write.run(archive)?;
                ExportAnswer::Written
            }
            Self::Scan { table, after } => {
                let mut rows = Vec::new();
                archive.scan(table, after.as_ref(), PAGE, &mut rows)?;
                ExportAnswer::Page(rows)
            }
            Self::Done(_) => return Err(unexpected()),
        })
    }
}
