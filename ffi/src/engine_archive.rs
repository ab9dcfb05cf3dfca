//! The archive of an engine: what requests read from it, and what imports put into it.
//!
//! After each commit final blocks are exported, and nothing is forgotten before it is durable in
//! the archive. An archive that fails never fails an import: the engine keeps its blocks, up to a
//! bound, and the next import tries again. No lock of the storage is held while it is called.

use core::cell::RefCell;
use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use milepost::archive::{ArchiveLookup, WithArchive, WriterId};
use milepost::endpoint::{ArchiveExporter, ArchiveStatus};
use milepost::import::{ArchiveFloor, ImportSettings, ImportSummary, Retention};
use milepost::storage::{Isolation, Key, Row, Snapshot, Storage};
use milepost::{Error, ErrorKind};

use crate::archive::HostArchive;
use crate::engine_storage::{EngineSnapshot, EngineStorage};
use crate::status::CallError;

/// Default of `MILEPOST_SETTING_ARCHIVE_BACKLOG`
pub(crate) const DEFAULT_BACKLOG: u64 = 50_000;

/// The archive of an engine
pub(crate) struct EngineArchive {
    archive: Arc<HostArchive>,
    /// Maximum number of blocks that the storage keeps for the archive
    max_blocks: u64,
    exporter: Mutex<ArchiveExporter>,
    /// As it was after the last import, so that who asks does not wait for the archive
    status: Mutex<ArchiveStatus>,
    /// Whether the archive has blocks above the head of the storage
    lags: AtomicBool,
}

impl EngineArchive {
    pub(crate) fn new(archive: Arc<HostArchive>, max_blocks: u64, retention: Retention) -> Self {
        // Random per process.
        let new_writer = archive.is_written().then(|| WriterId(RandomState::new().hash_one(0)));
        let exporter = ArchiveExporter::new(max_blocks, new_writer).with_retention(retention);
        Self {
            archive,
            max_blocks,
            status: Mutex::new(exporter.status()),
            exporter: Mutex::new(exporter),
            lags: AtomicBool::default(),
        }
    }

    /// When requests ask the archive
    pub(crate) fn lookup(&self) -> ArchiveLookup {
        match self.lags.load(Relaxed) {
            true => ArchiveLookup::Unfinished,
            false => ArchiveLookup::Unknown,
        }
    }

    /// These settings of an import, which keeps what is not archived
    pub(crate) fn import_settings(&self, settings: ImportSettings) -> ImportSettings {
        let (height, max_blocks) = (self.lock_status().kept_from, self.max_blocks);
        settings.with_archive_floor(ArchiveFloor { height, max_blocks })
    }

    /// Exports what became final, and finds out what may be forgotten, after an import
    pub(crate) fn handle_import(&self, mut storage: &EngineStorage, summary: &ImportSummary) {
        // A call that panicked has exported or not; the next one continues either way.
        let mut exporter = self.exporter.lock().unwrap_or_else(PoisonError::into_inner);
        exporter.handle_import(summary);
        // The status says why it failed.
        let _ = exporter.run(&mut storage, &*self.archive, false);
        let status = exporter.status();
        self.lags.store(status.lookup == ArchiveLookup::Unfinished, Relaxed);
        *self.lock_status() = status;
    }

    fn lock_status(&self) -> MutexGuard<'_, ArchiveStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows that were exported so far, and those that were not
    pub(crate) fn status(&self) -> ArchiveStatus {
        self.lock_status().clone()
    }
}

/// The rows that a call reads: those of the storage and, if there is an archive, those of both
///
/// The storage is read in one state until the archive is, and then in its newest state each time,
/// so that no commit waits for the archive.
pub(crate) struct EngineRows<'engine> {
    storage: &'engine EngineStorage,
    archive: Option<&'engine HostArchive>,
    held: RefCell<Option<EngineSnapshot<'engine>>>,
}

impl<'engine> EngineRows<'engine> {
    pub(crate) fn new(
        storage: &'engine EngineStorage,
        archive: Option<&'engine EngineArchive>,
    ) -> Result<Self, CallError> {
        let held = RefCell::new(Some(storage.snapshot()?));
        Ok(Self { storage, archive: archive.map(|archive| &*archive.archive), held })
    }

    /// Ends the state that is held, and returns where rows are read from then on
    fn release(&self) -> Result<WithArchive<Newest<'engine>, &'engine HostArchive>, Error> {
        let archive = self.archive.ok_or_else(|| Error::new(ErrorKind::Usage, "no archive"))?;
        self.held.take();
        Ok(WithArchive { snapshot: Newest(self.storage), archive })
    }
}

impl Snapshot for EngineRows<'_> {
    fn isolation(&self) -> Isolation {
        match (self.archive, &*self.held.borrow()) {
            (None, Some(held)) => held.isolation(),
            _ => Isolation::ReadCommitted,
        }
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        if key.table().is_archive() {
            return self.release()?.get(key);
        }
        match &*self.held.borrow() {
            Some(held) => held.get(key),
            None => Newest(self.storage).get(key),
        }
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        if key.table().is_archive() {
            return self.release()?.get_with(key, reader);
        }
        match &*self.held.borrow() {
            Some(held) => held.get_with(key, reader),
            None => Newest(self.storage).get_with(key, reader),
        }
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        if keys.iter().any(|key| key.table().is_archive()) {
            return self.release()?.get_many(keys, rows);
        }
        match &*self.held.borrow() {
            Some(held) => held.get_many(keys, rows),
            None => Newest(self.storage).get_many(keys, rows),
        }
    }
}

/// A storage in its newest state at each read
struct Newest<'engine>(&'engine EngineStorage);

impl<'engine> Newest<'engine> {
    fn snapshot(&self) -> Result<EngineSnapshot<'engine>, Error> {
        Storage::snapshot(&self.0)
    }
}

impl Snapshot for Newest<'_> {
    fn isolation(&self) -> Isolation {
        Isolation::ReadCommitted
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.snapshot()?.get(key)
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        self.snapshot()?.get_with(key, reader)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.snapshot()?.get_many(keys, rows)
    }
}
