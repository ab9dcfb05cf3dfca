//! The store of the server: in memory, or in a file.
//!
//! Any number of readers see the state between two commits; one writer of blocks and one of
//! configurations at a time change it. The memory store blocks its readers only while a finished
//! batch is applied, never while a block is checked. This module does not interpret rows.

pub(crate) mod disk_room;
pub(crate) mod finality;
pub(crate) mod io_budget;
mod location;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::{fs, thread};

use milepost::storage::{Batch, Isolation, Key, MemoryStorage, Row, Snapshot, Storage};
use milepost::{Error, ErrorKind};
use milepost_redb::{Options, RedbSnapshot, RedbStorage};

use tracing::{info, warn};

use crate::locks::lock;
use crate::store::io_budget::{IoBudget, IoPermit};
pub(crate) use location::{StoreLocation, store_file};

/// How often it is looked whether there is room on a disk that was full
const ROOM_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes that are there besides those of the rows before they are committed, for pages that change
const MIN_ROOM: usize = 1 << 20;

/// Rows in memory or in a file
pub(crate) struct Store {
    backend: Backend,
    /// Held by the writer of blocks: rows that were read for a commit must not change before it
    block_writer: Mutex<()>,
    /// Held by the writer of configurations, which shares no row with that of blocks
    config_writer: Mutex<()>,
    /// Whether all rows were found once, or there were none
    is_verified: AtomicBool,
    /// Whether a commit waits while the disk is full
    waits_for_room: AtomicBool,
}

enum Backend {
    Memory(RwLock<MemoryStorage>),
    File(RedbStorage, IoBudget),
}

/// Permission to read on a thread that serves sockets
pub(crate) struct InlineRead<'store> {
    _permit: Option<IoPermit<'store>>,
}

impl Store {
    /// Opens the store at this location; creates a file or a directory that does not exist
    pub(crate) fn open(location: &StoreLocation) -> Result<Self, Error> {
        Self::open_with(location, &Options::default())
    }

    /// Opens the store at this location, a file with these options
    pub(crate) fn open_with(location: &StoreLocation, options: &Options) -> Result<Self, Error> {
        if let StoreLocation::Directory(path) = location {
            let made = fs::create_dir_all(path);
            made.map_err(|error| {
                let detail = format_args!("{}: {error}", path.display());
                Error::new(ErrorKind::Storage, detail).with_source(error)
            })?;
        }
        let backend = match location.file() {
            None => Backend::Memory(RwLock::new(MemoryStorage::new())),
            Some(path) => Backend::File(RedbStorage::open(path, options)?, IoBudget::new()),
        };
        Ok(Self::new(backend))
    }

    const fn new(backend: Backend) -> Self {
        let is_verified = match &backend {
            Backend::Memory(_) => true,
            Backend::File(storage, _) => storage.is_verified(),
        };
        Self {
            backend,
            block_writer: Mutex::new(()),
            config_writer: Mutex::new(()),
            is_verified: AtomicBool::new(is_verified),
            waits_for_room: AtomicBool::new(false),
        }
    }

    /// Has commits wait while the disk is full, instead of failing, or not any more
    pub(crate) fn wait_for_room(&self, waits: bool) {
        self.waits_for_room.store(waits, Ordering::Relaxed);
    }

    /// Whether all rows that were there when the store was opened are found
    pub(crate) fn is_verified(&self) -> bool {
        self.is_verified.load(Ordering::Relaxed)
    }

    /// Says that all rows are found
    pub(crate) fn set_verified(&self) {
        self.is_verified.store(true, Ordering::Relaxed);
    }

    /// A store in memory with these rows
    #[cfg(any(test, feature = "internal-fuzz"))]
    pub(crate) fn with_rows(rows: MemoryStorage) -> Self {
        Self::new(Backend::Memory(RwLock::new(rows)))
    }

    /// A copy of the rows, if they are in memory
    #[cfg(test)]
    pub(crate) fn rows(&self) -> Option<MemoryStorage> {
        match &self.backend {
            Backend::Memory(rows) => Some(read_lock(rows).clone()),
            Backend::File(..) => None,
        }
    }

    /// The file, unless the rows are in memory
    pub(crate) const fn file(&self) -> Option<&RedbStorage> {
        match &self.backend {
            Backend::Memory(_) => None,
            Backend::File(storage, _) => Some(storage),
        }
    }

    /// Permission to read on a thread that serves sockets; `None` if the disk may block it
    pub(crate) fn try_inline_read(&self) -> Option<InlineRead<'_>> {
        match &self.backend {
            Backend::Memory(_) => Some(InlineRead { _permit: None }),
            Backend::File(_, budget) => {
                budget.try_acquire().map(|permit| InlineRead { _permit: Some(permit) })
            }
        }
    }

    /// The rows after the last commit; if the file cannot be read, every read returns its error
    pub(crate) fn snapshot(&self) -> StoreSnapshot<'_> {
        match &self.backend {
            Backend::Memory(rows) => StoreSnapshot::Memory(read_lock(rows)),
            Backend::File(storage, _) => match storage.snapshot() {
                Ok(snapshot) => StoreSnapshot::File(Box::new(snapshot)),
                Err(error) => StoreSnapshot::Failed(error),
            },
        }
    }

    /// Write access to the rows of blocks; waits for others who write them
    pub(crate) fn block_writer(&self) -> StoreWriter<'_> {
        StoreWriter { store: self, _lock: lock(&self.block_writer) }
    }

    /// Write access to the rows of configurations; waits for others who write them
    pub(crate) fn config_writer(&self) -> StoreWriter<'_> {
        StoreWriter { store: self, _lock: lock(&self.config_writer) }
    }
}

/// The rows of a store, of one state unless they are the newest
pub(crate) enum StoreSnapshot<'store> {
    /// In memory; commits wait until this is dropped
    Memory(RwLockReadGuard<'store, MemoryStorage>),
    /// In a file, as of the time of the snapshot
    File(Box<RedbSnapshot>),
    /// In a file that cannot be read: every read returns this error
    Failed(Error),
    /// Of the newest state at each read, so that no commit waits
    Newest(&'store Store),
}

impl StoreSnapshot<'_> {
    fn read<T>(&self, read: impl FnOnce(&dyn Snapshot) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Memory(rows) => read(&**rows),
            Self::File(rows) => read(&**rows),
            Self::Failed(error) => Err(error.clone()),
            Self::Newest(store) => Store::snapshot(store).read(read),
        }
    }
}

impl Snapshot for StoreSnapshot<'_> {
    fn isolation(&self) -> Isolation {
        match self {
            Self::Newest(_) => Isolation::ReadCommitted,
            _ => Isolation::Snapshot,
        }
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.read(|rows| rows.get(key))
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        self.read(|rows| rows.get_with(key, reader))
    }

    fn get_many(&self, keys: &[Key], found: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.read(|rows| rows.get_many(keys, found))
    }
}

/// Exclusive write access to the rows of blocks, or to those of configurations
pub(crate) struct StoreWriter<'store> {
    store: &'store Store,
    _lock: MutexGuard<'store, ()>,
}

impl StoreWriter<'_> {
    /// Commits a batch while another thread of the same writer may read
    pub(crate) fn commit_shared(&self, batch: Batch) -> Result<(), Error> {
        match &self.store.backend {
            Backend::Memory(rows) => {
                rows.write().unwrap_or_else(PoisonError::into_inner).commit(batch)
            }
            Backend::File(rows, _) => self.commit_to_file(rows, &batch).map_err(|error| {
                let path = rows.path().display();
                Error::new(error.kind(), format_args!("commit to {path}: {}", error.detail()))
                    .with_source(error)
            }),
        }
    }

    /// Commits a batch, once there is room for it if the store waits for that
    fn commit_to_file(&self, rows: &RedbStorage, batch: &Batch) -> Result<(), Error> {
        let waits = || self.store.waits_for_room.load(Ordering::Relaxed);
        let error = match rows.commit_ref(batch) {
            Err(error) if disk_room::is_full(&error) && waits() => error,
            committed => return committed,
        };
        let path = rows.path();
        let shown = path.display();
        warn!("there is no room for {shown}, and no block is imported until there is: {error}");
        let changes = batch.changes().iter().filter_map(|(_, row)| row.as_ref());
        let bytes = MIN_ROOM.saturating_add(changes.map(|row| row.len()).sum());
        while waits() {
            thread::sleep(ROOM_INTERVAL);
            // A commit that fails ends all reads, so it is tried only if there is room.
            if !disk_room::is_there(path, bytes) {
                continue;
            }
            match rows.commit_ref(batch) {
                Ok(()) => {
                    info!("there is room for {shown} again");
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Storage => {}
                failed => return failed,
            }
        }
        Err(error)
    }
}

/// For exports: they write as those who write configurations do, and only while they commit
impl<'store> Storage for &'store Store {
    type Snapshot<'a>
        = StoreSnapshot<'store>
    where
        Self: 'a;

    fn snapshot(&self) -> Result<StoreSnapshot<'store>, Error> {
        Ok(Store::snapshot(self))
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.config_writer().commit_shared(batch)
    }
}

impl<'store> Storage for StoreWriter<'store> {
    type Snapshot<'a>
        = StoreSnapshot<'a>
    where
        'store: 'a;

    fn snapshot(&self) -> Result<StoreSnapshot<'_>, Error> {
        match self.store.snapshot() {
            StoreSnapshot::Failed(error) => Err(error),
            snapshot => Ok(snapshot),
        }
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.commit_shared(batch)
    }
}

fn read_lock(rows: &RwLock<MemoryStorage>) -> RwLockReadGuard<'_, MemoryStorage> {
    // Poisoned if a thread panicked while it applied a batch, which only moves rows.
    rows.read().unwrap_or_else(PoisonError::into_inner)
}
