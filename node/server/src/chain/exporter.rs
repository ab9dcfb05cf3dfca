//! The task that exports final blocks to the archive, and says what the store may forget.
//!
//! After each commit it puts what became final, and reads the transactions back to notice those of
//! which another writer has put another content; nothing is forgotten before it is durable there. A
//! server that does not write reads the progress of those that do. While the archive fails, the
//! store keeps its blocks up to a bound, and the task tries again with growing pauses.

use alloc::sync::Arc;
use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use std::hash::RandomState;
use std::sync::{Condvar, Mutex, PoisonError};

use milepost::Error;
use milepost::archive::{
    Archive as _, ArchiveLookup, ArchivedBlock, HeightRanges, Removal, WriterId, WriterProgress,
    for_each_row,
};
use milepost::endpoint::{ArchiveExporter, ArchiveStatus, ExportAnswer, ExportStep};
use milepost::import::{ArchiveFloor, ImportSettings};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::{Key, Table};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::{Chain, archived_configs};
use crate::archive::{ArchiveOptions, Forgotten, Lookups, forgotten_heights};
use crate::errors::LoggedKinds;
use crate::locks::lock;
use crate::metrics::gauge;

/// How often the progress of all writers is read, by a server that writes and by one that does not
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
const READER_INTERVAL: Duration = Duration::from_secs(2);
/// Pauses after a failure: the first one, and the longest, so that an archive is written within
/// five seconds once it can be
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// How often a block that waits for the archive looks whether the service shuts down
const WAIT_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum time between two warnings that blocks are forgotten
const SHED_WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// The fraction of the heights that are kept after which those before them are removed: each time
/// the whole archive is read
const REMOVAL_FRACTION: u64 = 8;
/// Heights of an archive that are looked at for a block to compare with a feed
const COMPARED_HEIGHTS: usize = 100;
/// Pages of rows that are read in a step to remove what is not kept, some 0.2 s
const PAGES_PER_STEP: usize = 64;

/// The archive behind the store of a chain
pub(crate) struct Exporter {
    pub(crate) lookups: Lookups,
    options: ArchiveOptions,
    /// Whether the store has the configurations of the archive
    has_configs: AtomicBool,
    state: Mutex<ExportState>,
    /// As it was after the last write, so that nothing else waits for the archive
    status: Mutex<ArchiveStatus>,
    /// What requests find in the archive, by the progress that was read last
    heights: Mutex<Arc<ArchivedHeights>>,
    lags: AtomicBool,
    failures: Counter,
    /// The height of the head when the first of the exports failed that have failed since the last
    /// one that did not
    failing_since: Mutex<Option<BlockHeight>>,
    /// Notified when an export does not fail
    written: Condvar,
    evicted_blocks: Counter,
    /// When it was last warned of them
    shed_warned: Mutex<Option<Instant>>,
    removed_keys: Counter,
}

/// What one export at a time uses
struct ExportState {
    exporter: ArchiveExporter,
    /// When the progress of all writers was read
    progress_read: Option<Instant>,
    /// No height below this one is complete; `None` until the archive was asked
    first_kept: Option<BlockHeight>,
    /// The pass that removes the rows below it
    removal: Option<Removal>,
}

/// The heights that the archive has
#[derive(Default, Eq, PartialEq)]
pub(crate) struct ArchivedHeights {
    /// Those that writers have archived, also where transactions were not finalized
    pub(crate) archived: HeightRanges,
    /// Those of them at which every transaction is in the archive
    pub(crate) complete: HeightRanges,
}

impl ArchivedHeights {
    fn new(progress: &WriterProgress) -> Self {
        Self { archived: progress.heights.clone(), complete: progress.complete_heights() }
    }
}

impl Exporter {
    pub(crate) fn new(lookups: Lookups, options: ArchiveOptions) -> Self {
        // Random per process.
        let new_writer = options.writes.then(|| WriterId(RandomState::new().hash_one(0)));
        let exporter = ArchiveExporter::new(options.max_blocks, new_writer)
            .until(options.until.unwrap_or(BlockHeight::MAX));
        Self {
            lookups,
            options,
            has_configs: AtomicBool::default(),
            status: Mutex::new(exporter.status()),
            state: Mutex::new(ExportState {
                exporter,
                progress_read: None,
                first_kept: None,
                removal: None,
            }),
            heights: Mutex::default(),
            lags: AtomicBool::default(),
            failures: Counter::default(),
            failing_since: Mutex::default(),
            written: Condvar::new(),
            evicted_blocks: Counter::default(),
            shed_warned: Mutex::default(),
            removed_keys: Counter::default(),
        }
    }

    /// These settings of an import, which keeps what is not archived
    ///
    /// While the archive cannot be written nothing is forgotten that it has not, as blocks wait.
    pub(crate) fn import_settings(&self, settings: ImportSettings) -> ImportSettings {
        let max_blocks = match *lock(&self.failing_since) {
            Some(_) => u64::MAX,
            None => self.options.max_blocks,
        };
        settings
            .with_archive_floor(ArchiveFloor { height: lock(&self.status).kept_from, max_blocks })
    }

    /// Waits while the archive cannot be written and the store has as many blocks as it may keep
    /// for it; blocks the thread
    ///
    /// Called before a block is read, so those that were read before come in addition.
    pub(crate) fn wait_until_written(&self, chain: &Chain) {
        let max_blocks = self.options.max_blocks;
        let mut is_logged = false;
        let mut since = lock(&self.failing_since);
        while let Some(height) = *since
            && chain.head_height() >= height.saturating_add(max_blocks)
            && !chain.is_shut_down()
        {
            if !is_logged {
                warn!(
                    "the archive cannot be written, so no block is imported: the store has {max_blocks} blocks that it has not"
                );
                is_logged = true;
            }
            let waited = self.written.wait_timeout(since, WAIT_INTERVAL);
            since = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if is_logged && since.is_none() {
            info!("blocks are imported again");
        }
    }

    /// Notes that an export failed
    fn note_failure(&self, chain: &Chain) {
        self.failures.inc();
        lock(&self.failing_since).get_or_insert_with(|| chain.head_height());
    }

    /// Notes that an export did not fail
    fn note_success(&self) {
        if lock(&self.failing_since).take().is_some() {
            info!("the archive is written again");
            self.written.notify_all();
        }
    }

    /// When requests ask the archive
    pub(crate) fn lookup(&self) -> ArchiveLookup {
        match self.lags.load(Relaxed) {
            true => ArchiveLookup::Unfinished,
            false => ArchiveLookup::Unknown,
        }
    }

    /// Counts blocks that the store forgot although they are not archived
    pub(crate) fn blocks_evicted(&self, count: u64) {
        if count == 0 {
            return;
        }
        let total = self.evicted_blocks.inc_by(count) + count;
        let mut warned = lock(&self.shed_warned);
        if warned.is_none_or(|warned| warned.elapsed() >= SHED_WARNING_INTERVAL) {
            *warned = Some(Instant::now());
            let max_blocks = self.options.max_blocks;
            warn!(
                "the store forgets blocks that are not archived, {total} so far: it keeps {max_blocks} at most"
            );
        }
    }

    /// The heights that the archive has, as they were read last
    ///
    /// Requests that begin after this find all that is archived at these heights.
    pub(crate) fn heights(&self) -> Arc<ArchivedHeights> {
        Arc::clone(&lock(&self.heights))
    }

    /// The newest and the oldest block of each archive with its height, by which a feed is compared
    /// with it; blocks the thread
    ///
    /// # Errors
    ///
    /// One of the archives cannot be read.
    pub(crate) fn blocks_to_compare(&self) -> Result<Vec<(BlockHeight, CryptoHash)>, Error> {
        let mut blocks = Vec::new();
        for archive in self.lookups.all() {
            let heights = WriterProgress::read_union(archive)?.heights;
            let (first, last) = (heights.iter().next(), heights.iter().last());
            let Some((first, last)) = first.zip(last) else { continue };
            // Heights without a block are archived as well.
            let newest = last.clone().rev().take(COMPARED_HEIGHTS);
            let oldest = first.clone().take(COMPARED_HEIGHTS);
            for heights in [newest.collect::<Vec<_>>(), oldest.collect()] {
                let keys = heights.iter().map(|height| ArchivedBlock::height_key(*height));
                let (keys, mut rows) = (keys.collect::<Vec<_>>(), Vec::new());
                archive.get_many(&keys, &mut rows)?;
                let mut found = heights.iter().zip(&rows);
                if let Some((height, row)) =
                    found.find_map(|(height, row)| Some((height, row.as_ref()?)))
                {
                    blocks.push((*height, ArchivedBlock::decode_hash(row)?));
                }
            }
        }
        Ok(blocks)
    }

    /// Finds out what the archive has before anything is exported, so that the first import may
    /// forget what is archived; blocks the thread
    pub(crate) fn begin(&self, chain: &Chain) -> Result<(), Error> {
        self.export(chain, false).map(drop)
    }

    /// Exports what became final, and finds out what may be forgotten; blocks the thread
    ///
    /// Returns whether there will never be more to export.
    pub(crate) fn step(&self, chain: &Chain) -> Result<bool, Error> {
        self.export(chain, true)
    }

    fn export(&self, chain: &Chain, writes: bool) -> Result<bool, Error> {
        let mut state = lock(&self.state);
        if !self.has_configs.load(Relaxed) {
            self.lookups.all().try_for_each(|archive| archived_configs::import(chain, archive))?;
            self.warn_of_missing(chain)?;
            self.has_configs.store(true, Relaxed);
        }
        let in_store = chain.status()?;
        let not_kept = self
            .options
            .kept_heights
            .zip(in_store.last_final)
            .map_or(0, |(kept, last)| last.height.saturating_sub(kept.get() - 1));
        state.exporter.keep_from(not_kept);
        let interval = if self.options.writes { PROGRESS_INTERVAL } else { READER_INTERVAL };
        let is_due = state.progress_read.is_none_or(|read| read.elapsed() >= interval);
        let exported = self.run(chain, &mut state.exporter, is_due, writes);
        if is_due && exported.is_ok() {
            state.progress_read = Some(Instant::now());
        }
        let (status, union) = (state.exporter.status(), state.exporter.union());
        self.lags.store(status.lookup == ArchiveLookup::Unfinished, Relaxed);
        let heights = ArchivedHeights::new(&union);
        if heights != *self.heights() {
            // Others may have put what was missing here.
            self.lookups.forget_misses();
            *lock(&self.heights) = Arc::new(heights);
        }
        // The store may forget blocks by it, so requests find their heights first.
        *lock(&self.status) = status;
        let is_complete = exported?;
        if let Some(earliest) = in_store.earliest {
            forgotten_heights::remember(chain.store(), &union.heights, earliest.height)?;
        }
        if let Some(kept) = self.options.kept_heights {
            self.remove_old(&mut state, not_kept, (kept.get() / REMOVAL_FRACTION).max(1))?;
        }
        Ok(is_complete)
    }

    /// Does all steps of an export
    fn run(
        &self,
        chain: &Chain,
        exporter: &mut ArchiveExporter,
        reads_progress: bool,
        writes: bool,
    ) -> Result<bool, Error> {
        let mut is_open = exporter.writer().is_some();
        let mut step = exporter.start(reads_progress);
        loop {
            if let Some(writer) = exporter.writer().filter(|_| !is_open) {
                info!("this server writes to the archive as writer {writer}");
                is_open = true;
            }
            let is_write = matches!(step, ExportStep::Write(_));
            let answer = match step {
                ExportStep::Done(result) => return result,
                ExportStep::Export(_) if !writes || chain.is_shut_down() => {
                    Ok(ExportAnswer::Export(None))
                }
                ExportStep::Write(write) => {
                    self.lookups.write(&write).map(|()| ExportAnswer::Written)
                }
                ExportStep::Scan { table, after } => self.scan(table, after.as_ref()),
                step => step.run(&mut chain.store(), self.lookups.archive()),
            };
            step = exporter.handle(answer);
            if is_write {
                // An export of a long chain takes long.
                *lock(&self.status) = exporter.status();
            }
        }
    }

    /// All rows of a table of this archive and the older ones, as one page
    fn scan(&self, table: Table, after: Option<&Key>) -> Result<ExportAnswer, Error> {
        let mut rows = Vec::new();
        for archive in self.lookups.all().filter(|_| after.is_none()) {
            for_each_row(archive, table, &mut |key, row| {
                rows.push((*key, row.clone()));
                Ok(())
            })?;
        }
        Ok(ExportAnswer::Page(rows))
    }

    /// Warns of heights that the store has forgotten, and the archive too
    fn warn_of_missing(&self, chain: &Chain) -> Result<(), Error> {
        let Some(earliest) = chain.status()?.earliest else { return Ok(()) };
        let archived = self.lookups.read_union()?.heights;
        let forgotten = Forgotten::read(&chain.store().snapshot(), earliest.height)?;
        if let Some(forgotten) = forgotten {
            forgotten_heights::warn_of(&forgotten.missing(&archived));
        }
        Ok(())
    }

    /// Removes some of the rows below this height, once it has risen far enough
    ///
    /// A pass that fails ends with a warning, and the next one removes what it left: the store still
    /// forgets archived blocks.
    fn remove_old(
        &self,
        state: &mut ExportState,
        first: BlockHeight,
        interval: u64,
    ) -> Result<(), Error> {
        let archive = self.lookups.archive();
        if state.exporter.writer().is_none() {
            return Ok(());
        }
        let before = match state.first_kept {
            Some(before) => before,
            None => {
                let union = WriterProgress::read_union(archive)?;
                union.heights.iter().next().map_or(0, |range| *range.start())
            }
        };
        state.first_kept = Some(before);
        if state.removal.is_none() && first >= before.saturating_add(interval) {
            // Before the rows, so that no height is called complete whose rows are removed.
            state.exporter.forget_below(first, archive)?;
            state.progress_read = None;
            state.first_kept = Some(first);
            state.removal = Some(Removal::new());
        } else if let Some(mut pass) = state.removal.take() {
            // From the step after it on, when requests do not count on the rows.
            let removed_before = pass.removed();
            let mut has_more = Ok(true);
            for _ in 0..PAGES_PER_STEP {
                has_more = pass.page(archive, &mut |row| row.height < before);
                if !matches!(has_more, Ok(true)) {
                    break;
                }
            }
            let count = pass.removed();
            self.removed_keys.inc_by(count - removed_before);
            match has_more {
                Ok(true) => state.removal = Some(pass),
                Ok(false) => debug!("removed the rows of {count} keys below height {before}"),
                Err(error) => warn!("rows below height {before} cannot be removed: {error}"),
            }
        }
        Ok(())
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        self.lookups.register(registry);
        let status = lock(&self.status).clone();
        let exported = if status.is_written { status.archived_height } else { None };
        let help = "Height of the newest block that this server has archived";
        gauge(registry, "archive_exported_height", help, Some(exported.unwrap_or(0)));
        let help = "Transactions of archived heights that are not finalized";
        gauge(registry, "archive_open_transactions", help, Some(status.open_transactions));
        let help = "Height from which on the store keeps blocks for the archive";
        gauge(registry, "archive_floor_height", help, Some(status.kept_from));
        let help = "Transactions that this server has archived";
        let exported = ConstCounter::new(status.exported_transactions);
        registry.register("archive_exported_transactions", help, exported);
        let help = "Exports that failed, and were tried again";
        registry.register("archive_export_failures", help, self.failures.clone());
        let help = "Keys whose rows were removed, because their heights are not kept";
        registry.register("archive_removed_keys", help, self.removed_keys.clone());
        let help = "Blocks that the store forgot although they were not archived";
        registry.register("archive_evicted_blocks", help, self.evicted_blocks.clone());
    }
}

/// Exports after each commit, until nothing more is to be exported or the service shuts down
pub(crate) async fn run_exporter(chain: Arc<Chain>, exporter: Arc<Exporter>) {
    let mut commits = chain.commits();
    let mut pause = MIN_PAUSE;
    let mut logged = LoggedKinds::default();
    loop {
        commits.borrow_and_update();
        let step = {
            let exporter = Arc::clone(&exporter);
            chain.spawn_blocking(move |chain| exporter.step(chain)).await
        };
        let failure = match step {
            Some(Ok(true)) => return,
            Some(Ok(false)) => None,
            Some(Err(error)) => Some(error.to_string()),
            None => Some("a defect of the server: the export panicked".to_owned()),
        };
        if let Some(text) = failure {
            exporter.note_failure(&chain);
            if logged.insert(&text) {
                warn!("the export to the archive failed, and is tried again: {text}");
            }
            tokio::select! {
                () = chain.shutdown_signal() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(MAX_PAUSE);
            continue;
        }
        exporter.note_success();
        (pause, logged) = (MIN_PAUSE, LoggedKinds::default());
        tokio::select! {
            () = chain.shutdown_signal() => return,
            changed = commits.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(READER_INTERVAL) => {}
        }
    }
}
