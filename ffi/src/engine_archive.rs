//! The archive of an engine: what requests read from it, and what imports put into it.
//!
//! After each commit final blocks are exported, and nothing is forgotten before it is durable in
//! the archive. An archive that fails never fails an import: the engine keeps its blocks, up to a
//! bound, and the next import tries again. No lock of the storage is held while it is called.

use core::cell::RefCell;
use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use milepost::archive::{ArchiveLookup, ArchiveWriter, WithArchive, WriterId, WriterProgress};
use milepost::endpoint::Engine;
use milepost::import::{ArchiveFloor, ImportSettings, Retention};
use milepost::storage::{Batch, Isolation, Key, Row, Snapshot, run};
use milepost::{Error, ErrorKind};

use crate::archive::HostArchive;
use crate::archive_status::{ArchiveStatus, milepost_height_range};
use crate::engine_storage::{EngineSnapshot, EngineStorage};
use crate::status::CallError;

/// Default of `MILEPOST_SETTING_ARCHIVE_BACKLOG`
pub(crate) const DEFAULT_BACKLOG: u64 = 50_000;

/// The archive of an engine
pub(crate) struct EngineArchive {
    archive: Arc<HostArchive>,
    /// Maximum number of blocks that the storage keeps for the archive
    max_blocks: u64,
    is_forgetting: bool,
    exports: Mutex<Exports>,
    /// As it was after the last import, so that who asks does not wait for the archive
    status: Mutex<ArchiveStatus>,
    /// The height from which on the storage keeps its blocks
    floor: AtomicU64,
    /// Whether the archive has blocks above the head of the storage
    lags: AtomicBool,
}

/// The exported rows
#[derive(Default)]
struct Exports {
    /// `None` until the archive could be read, and for an archive that is only read
    writer: Option<ArchiveWriter>,
    /// The progress of all writers, as it was read last: once by a writer, and by an engine that
    /// only reads when it can forget nothing otherwise
    union: WriterProgress,
    transactions: u64,
}

impl EngineArchive {
    pub(crate) fn new(archive: Arc<HostArchive>, max_blocks: u64, retention: Retention) -> Self {
        let status = ArchiveStatus { is_written: archive.is_written(), ..Default::default() };
        Self {
            archive,
            max_blocks,
            is_forgetting: retention != Retention::Everything,
            exports: Mutex::default(),
            status: Mutex::new(status),
            floor: AtomicU64::default(),
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
        let (height, max_blocks) = (self.floor.load(Relaxed), self.max_blocks);
        settings.with_archive_floor(ArchiveFloor { height, max_blocks })
    }

    /// Exports what became final, and finds out what may be forgotten, after a commit that forgot
    /// `evicted_blocks` although they are not archived
    pub(crate) fn handle_commit(
        &self,
        engine: &Engine,
        storage: &EngineStorage,
        evicted_blocks: u64,
    ) {
        // A call that panicked has exported or not, and the next one goes on either way.
        let mut exports = self.exports.lock().unwrap_or_else(PoisonError::into_inner);
        let exported = self.export(&mut exports, engine, storage);
        let progress = exports.progress();
        let mut status = self.lock_status();
        status.archived_height = progress.heights.iter().last().map(|range| *range.end());
        status.open_transactions = progress.open.len() as u64;
        status.kept_from = self.floor.load(Relaxed);
        status.exported_transactions = exports.transactions;
        status.evicted_blocks += evicted_blocks;
        let complete = progress.complete_heights();
        status.complete = complete
            .iter()
            .map(|range| milepost_height_range { first: *range.start(), last: *range.end() })
            .collect();
        status.failures += u64::from(exported.is_err());
        status.failure = exported.err().map_or_else(String::new, |error| error.text());
    }

    fn lock_status(&self) -> MutexGuard<'_, ArchiveStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn export(
        &self,
        exports: &mut Exports,
        engine: &Engine,
        storage: &EngineStorage,
    ) -> Result<(), CallError> {
        if self.archive.is_written() {
            let writer = match &mut exports.writer {
                Some(writer) => writer,
                none => {
                    let opened = ArchiveWriter::open(writer_id(storage)?, &*self.archive)?;
                    // Others may have archived what this storage does not have yet.
                    exports.union = WriterProgress::read_union(&*self.archive)?;
                    none.insert(opened)
                }
            };
            loop {
                // The snapshot is dropped before the archive is called.
                let export = run(&mut writer.export(), &storage.snapshot()?)?;
                let Some(export) = export else { break };
                let transactions = export.transactions;
                writer.put(export, &*self.archive)?;
                exports.transactions += transactions as u64;
            }
        }
        let chain = engine.chain_status(&storage.snapshot()?)?;
        let Some(earliest) = chain.earliest.map(|earliest| earliest.height) else { return Ok(()) };
        let mut floor = exports.progress().floor(earliest);
        // What others have archived is read when nothing can be forgotten by what was known.
        if exports.writer.is_none() && self.is_forgetting && floor <= earliest {
            exports.union = WriterProgress::read_union(&*self.archive)?;
            floor = exports.progress().floor(earliest);
        }
        self.floor.store(floor, Relaxed);
        let lookup = exports.union.lookup(chain.head.map_or(0, |head| head.height));
        self.lags.store(lookup == ArchiveLookup::Unfinished, Relaxed);
        Ok(())
    }

    /// The rows that were exported so far, and those that were not
    pub(crate) fn status(&self) -> ArchiveStatus {
        self.lock_status().clone()
    }
}

impl Exports {
    /// The heights that this engine has archived or, if it only reads, those of all writers
    fn progress(&self) -> &WriterProgress {
        self.writer.as_ref().map_or(&self.union, ArchiveWriter::progress)
    }
}

/// The id of the writer of a storage, which is chosen at the first time
fn writer_id(storage: &EngineStorage) -> Result<WriterId, CallError> {
    storage.import(|snapshot| {
        if let Some(row) = snapshot.get(&WriterId::key())? {
            return Ok((Batch::new(), WriterId::decode(&row)?));
        }
        // Random per process.
        let id = WriterId(RandomState::new().hash_one(0));
        let mut batch = Batch::new();
        batch.put(WriterId::key(), id.encode());
        Ok((batch, id))
    })
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
        self.0.snapshot().map_err(|error| Error::new(ErrorKind::Storage, error.text()))
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
