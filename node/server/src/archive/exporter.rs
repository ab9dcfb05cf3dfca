//! The task that exports final blocks to the archive, and says what the store may forget.
//!
//! After each commit it puts what became final, and reads the transactions back to notice those of
//! which another writer has put another content; nothing is forgotten before it is durable there. A
//! server that does not write reads the progress of those that do. While the archive fails, the
//! store keeps its blocks up to a bound, and the task tries again with growing pauses.

use alloc::sync::Arc;
use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::hash::RandomState;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use milepost::Error;
use milepost::archive::{
    Archive as _, ArchiveLookup, ArchiveWriter, ArchivedBlock, HeightRanges, Removal, WriterId,
    WriterProgress,
};
use milepost::import::{ArchiveFloor, ImportSettings};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::{Batch, Key, Snapshot as _, Storage as _, Table, run};
use tokio::time::Instant;
use tracing::{info, warn};

use super::{ArchiveOptions, Forgotten, Lookups, configs, forgotten_heights};
use crate::metrics::{family, sample};
use crate::service::Service;
use crate::store::Store;

/// How often the progress of all writers is read, by a server that writes and by one that does not
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
const READER_INTERVAL: Duration = Duration::from_secs(2);
/// Pauses after a failure: the first one, and the longest, so that an archive is written within
/// five seconds once it can be
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// Minimum time between two warnings of one failure
const FAILURE_WARNING_INTERVAL: Duration = Duration::from_secs(60);
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

/// The archive of a service
pub(crate) struct Exporter {
    pub(crate) lookups: Lookups,
    options: ArchiveOptions,
    /// Whether the store has the configurations of the archive
    has_configs: AtomicBool,
    /// `None` until the archive could be read
    writer: Mutex<Option<ArchiveWriter>>,
    /// The progress of all writers, and when it was read
    union: Mutex<(WriterProgress, Option<Instant>)>,
    /// What requests find in the archive, by the union that was read last
    heights: Mutex<Arc<ArchivedHeights>>,
    /// What is removed, if not everything is kept
    removal: Mutex<HeightRemoval>,
    /// The height from which on the store keeps its blocks
    floor: AtomicU64,
    lags: AtomicBool,
    exported_height: AtomicU64,
    exported_transactions: AtomicU64,
    open_transactions: AtomicU64,
    failures: AtomicU64,
    /// The height of the head when the first of the exports failed that have failed since the last
    /// one that did not
    failing_since: Mutex<Option<BlockHeight>>,
    /// Notified when an export does not fail
    written: Condvar,
    evicted_blocks: AtomicU64,
    /// When it was last warned of them
    shed_warned: Mutex<Option<Instant>>,
    removed_keys: AtomicU64,
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

/// The heights that the archive does not keep
#[derive(Default)]
struct HeightRemoval {
    /// No height below this one is complete; `None` until the archive was asked
    first: Option<BlockHeight>,
    /// The pass that removes their rows
    pass: Option<Removal>,
}

impl Exporter {
    pub(crate) fn new(lookups: Lookups, options: ArchiveOptions) -> Self {
        Self {
            lookups,
            options,
            has_configs: AtomicBool::default(),
            writer: Mutex::default(),
            union: Mutex::default(),
            heights: Mutex::default(),
            removal: Mutex::default(),
            floor: AtomicU64::default(),
            lags: AtomicBool::default(),
            exported_height: AtomicU64::default(),
            exported_transactions: AtomicU64::default(),
            open_transactions: AtomicU64::default(),
            failures: AtomicU64::default(),
            failing_since: Mutex::default(),
            written: Condvar::new(),
            evicted_blocks: AtomicU64::default(),
            shed_warned: Mutex::default(),
            removed_keys: AtomicU64::default(),
        }
    }

    /// These settings of an import, which keeps what is not archived
    ///
    /// While the archive cannot be written nothing is forgotten that it has not, as blocks wait.
    pub(crate) fn import_settings(&self, settings: ImportSettings) -> ImportSettings {
        let max_blocks = match *self.failing_since() {
            Some(_) => u64::MAX,
            None => self.options.max_blocks,
        };
        settings.with_archive_floor(ArchiveFloor { height: self.floor.load(Relaxed), max_blocks })
    }

    /// Waits while the archive cannot be written and the store has as many blocks as it may keep
    /// for it; blocks the thread
    ///
    /// Called before a block is read, so those that were read before come in addition.
    pub(crate) fn wait_until_written(&self, service: &Service) {
        let max_blocks = self.options.max_blocks;
        let mut is_logged = false;
        let mut since = self.failing_since();
        while let Some(height) = *since
            && service.head_height() >= height.saturating_add(max_blocks)
            && !service.is_shut_down()
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

    fn failing_since(&self) -> MutexGuard<'_, Option<BlockHeight>> {
        self.failing_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that an export failed
    fn note_failure(&self, service: &Service) {
        self.failures.fetch_add(1, Relaxed);
        self.failing_since().get_or_insert_with(|| service.head_height());
    }

    /// Notes that an export did not fail
    fn note_success(&self) {
        if self.failing_since().take().is_some() {
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
        let total = self.evicted_blocks.fetch_add(count, Relaxed) + count;
        let mut warned = self.shed_warned.lock().unwrap_or_else(PoisonError::into_inner);
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
        Arc::clone(&self.heights.lock().unwrap_or_else(PoisonError::into_inner))
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
    pub(crate) fn begin(&self, service: &Service) -> Result<(), Error> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.open(service, &mut writer)?;
        self.note_progress(service, &mut writer).map(drop)
    }

    /// Exports what became final, and finds out what may be forgotten; blocks the thread
    ///
    /// Returns whether there will never be more to export.
    pub(crate) fn step(&self, service: &Service) -> Result<bool, Error> {
        let (store, archive) = (service.store(), self.lookups.archive());
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.open(service, &mut writer)?;
        while let Some(writer) = writer.as_mut().filter(|_| !service.is_shut_down()) {
            // The snapshot is dropped before the archive is waited for.
            let export = run(&mut writer.export(), &store.snapshot())?;
            let Some(export) = export else { break };
            let (last, transactions) = (export.last, export.transactions);
            let keys = export.rows.iter().map(|(key, _)| *key);
            let keys: Vec<Key> =
                keys.filter(|key| key.table() == Table::ArchivedTransactions).collect();
            let put = writer.put(export, archive);
            put.inspect_err(|error| self.lookups.conflicts.note(error))?;
            self.lookups.forget_misses();
            self.lookups.read_back(&keys);
            self.exported_transactions.fetch_add(transactions as u64, Relaxed);
            if let Some(last) = last {
                self.exported_height.store(last.height, Relaxed);
            }
        }
        self.note_progress(service, &mut writer)
    }

    /// Reads what a store has to know before it writes: configurations, and its writer's progress
    fn open(&self, service: &Service, writer: &mut Option<ArchiveWriter>) -> Result<(), Error> {
        if !self.has_configs.load(Relaxed) {
            self.lookups.all().try_for_each(|archive| configs::import(service, archive))?;
            self.warn_of_missing(service)?;
            self.has_configs.store(true, Relaxed);
        }
        if self.options.writes && writer.is_none() {
            let id = writer_id(service.store())?;
            let opened = ArchiveWriter::open(id, self.lookups.archive())?;
            let opened = opened.until(self.options.until.unwrap_or(BlockHeight::MAX));
            info!("writes to the archive as {}", opened.id());
            *writer = Some(opened);
        }
        Ok(())
    }

    /// Finds out what is complete and what may be forgotten; whether nothing is left to export
    fn note_progress(
        &self,
        service: &Service,
        writer: &mut Option<ArchiveWriter>,
    ) -> Result<bool, Error> {
        let chain = service.chain_status_blocking()?;
        let mut not_kept = 0;
        if let (Some(kept), Some(writer), Some(last_final)) =
            (self.options.kept_heights, writer.as_mut(), chain.last_final)
        {
            not_kept = last_final.height.saturating_sub(kept.get() - 1);
            self.remove_old(writer, not_kept, (kept.get() / REMOVAL_FRACTION).max(1))?;
        }
        let mut union = self.union.lock().unwrap_or_else(PoisonError::into_inner);
        let interval = if self.options.writes { PROGRESS_INTERVAL } else { READER_INTERVAL };
        if union.1.is_none_or(|read| read.elapsed() >= interval) {
            *union = (self.lookups.read_union()?, Some(Instant::now()));
        }
        if let Some(writer) = writer.as_ref() {
            union.0 = WriterProgress::union([&union.0, writer.progress()]);
        }
        let heights = ArchivedHeights::new(&union.0);
        if heights != *self.heights() {
            // Others may have put what was missing here.
            self.lookups.forget_misses();
            *self.heights.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(heights);
        }
        let lookup = union.0.lookup(chain.head.map_or(0, |head| head.height));
        self.lags.store(lookup == ArchiveLookup::Unfinished, Relaxed);
        let progress = writer.as_ref().map_or(&union.0, ArchiveWriter::progress);
        self.open_transactions.store(progress.open.len() as u64, Relaxed);
        let last_final = chain.last_final.map_or(0, |block| block.height);
        let is_past_end = self.options.until.is_some_and(|until| last_final > until);
        let is_complete = is_past_end && progress.open.is_empty();
        let floor = match chain.earliest {
            _ if is_complete => BlockHeight::MAX,
            Some(earliest) => progress.floor(earliest.height.max(not_kept)),
            None => 0,
        };
        self.floor.store(floor, Relaxed);
        if let Some(earliest) = chain.earliest {
            forgotten_heights::remember(service.store(), &union.0.heights, earliest.height)?;
        }
        Ok(is_complete)
    }

    /// Warns of heights that the store has forgotten, and the archive too
    fn warn_of_missing(&self, service: &Service) -> Result<(), Error> {
        let Some(earliest) = service.chain_status_blocking()?.earliest else { return Ok(()) };
        let archived = self.lookups.read_union()?.heights;
        let forgotten = Forgotten::read(&service.store().snapshot(), earliest.height)?;
        if let Some(forgotten) = forgotten {
            forgotten_heights::warn_of(&forgotten.missing(&archived));
        }
        Ok(())
    }

    /// Removes some of the rows below this height, once it has risen far enough
    ///
    /// A pass that fails ends with a warning, and the next one removes what it left: the store goes
    /// on forgetting what is archived.
    fn remove_old(
        &self,
        writer: &mut ArchiveWriter,
        first: BlockHeight,
        interval: u64,
    ) -> Result<(), Error> {
        let archive = self.lookups.archive();
        let mut removal = self.removal.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match removal.first {
            Some(before) => before,
            None => {
                let union = WriterProgress::read_union(archive)?;
                union.heights.iter().next().map_or(0, |range| *range.start())
            }
        };
        removal.first = Some(before);
        if removal.pass.is_none() && first >= before.saturating_add(interval) {
            // Before the rows, so that no height is called complete whose rows are removed.
            writer.forget_below(first, archive)?;
            self.union.lock().unwrap_or_else(PoisonError::into_inner).1 = None;
            removal.first = Some(first);
            removal.pass = Some(Removal::new());
            // Rows are removed from the next step on, when requests do not count on them.
            return Ok(());
        }
        let kept_from = removal.first.unwrap_or_default();
        let Some(mut pass) = removal.pass.take() else { return Ok(()) };
        let removed_before = pass.removed();
        let mut goes_on = Ok(true);
        for _ in 0..PAGES_PER_STEP {
            goes_on = pass.page(archive, &mut |row| row.height < kept_from);
            if !matches!(goes_on, Ok(true)) {
                break;
            }
        }
        let count = pass.removed();
        self.removed_keys.fetch_add(count - removed_before, Relaxed);
        match goes_on {
            Ok(true) => removal.pass = Some(pass),
            Ok(false) => info!("removed the rows of {count} keys below height {kept_from}"),
            Err(error) => warn!("rows below height {kept_from} cannot be removed: {error}"),
        }
        Ok(())
    }

    /// Appends the metrics
    pub(crate) fn text(&self, out: &mut String) {
        self.lookups.text(out);
        let gauge = |out: &mut String, name, help, value: &AtomicU64| {
            family(out, name, "gauge", help);
            sample(out, name, "", value.load(Relaxed));
        };
        let counter = |out: &mut String, name, help, value: &AtomicU64| {
            family(out, name, "counter", help);
            sample(out, name, "", value.load(Relaxed));
        };
        let height = "Height of the newest block that this server has archived";
        gauge(out, "archive_exported_height", height, &self.exported_height);
        let open = "Transactions of archived heights that are not finalized";
        gauge(out, "archive_open_transactions", open, &self.open_transactions);
        let floor = "Height from which on the store keeps blocks for the archive";
        gauge(out, "archive_floor_height", floor, &self.floor);
        let exported = "Transactions that this server has archived";
        counter(out, "archive_exported_transactions_total", exported, &self.exported_transactions);
        let failures = "Exports that failed, and were tried again";
        counter(out, "archive_export_failures_total", failures, &self.failures);
        let removed = "Keys whose rows were removed, because their heights are not kept";
        counter(out, "archive_removed_keys_total", removed, &self.removed_keys);
        let evicted = "Blocks that the store forgot although they were not archived";
        counter(out, "archive_evicted_blocks_total", evicted, &self.evicted_blocks);
    }
}

/// The id of the writer of a store, which is chosen at the first time
fn writer_id(store: &Store) -> Result<WriterId, Error> {
    let mut writer = store.config_writer();
    if let Some(row) = writer.snapshot()?.get(&WriterId::key())? {
        return WriterId::decode(&row);
    }
    // Random per process.
    let id = WriterId(RandomState::new().hash_one(0));
    let mut batch = Batch::new();
    batch.put(WriterId::key(), id.encode());
    writer.commit(batch)?;
    Ok(id)
}

/// Exports after each commit, until nothing more is to be exported or the service shuts down
pub(crate) async fn run_exporter(service: Arc<Service>, exporter: Arc<Exporter>) {
    let mut commits = service.commits();
    let mut pause = MIN_PAUSE;
    let mut warned: Option<(String, Instant)> = None;
    loop {
        commits.borrow_and_update();
        let step = {
            let exporter = Arc::clone(&exporter);
            service.spawn_blocking(move |service| exporter.step(service)).await
        };
        let failure = match step {
            Some(Ok(true)) => return,
            Some(Ok(false)) => None,
            Some(Err(error)) => Some(error.to_string()),
            None => Some("a defect of the server: the export panicked".to_owned()),
        };
        if let Some(text) = failure {
            exporter.note_failure(&service);
            let is_new = warned.as_ref().is_none_or(|(warned, time)| {
                *warned != text || time.elapsed() >= FAILURE_WARNING_INTERVAL
            });
            if is_new {
                warn!("the export to the archive failed, and is tried again in {pause:?}: {text}");
                warned = Some((text, Instant::now()));
            }
            tokio::select! {
                () = service.shutdown_signal() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(MAX_PAUSE);
            continue;
        }
        exporter.note_success();
        (pause, warned) = (MIN_PAUSE, None);
        tokio::select! {
            () = service.shutdown_signal() => return,
            changed = commits.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(READER_INTERVAL) => {}
        }
    }
}
