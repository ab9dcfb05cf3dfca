//! Storage of an engine: in memory, in a file, or of the host; shared by threads.
//!
//! Imports run one after the other. A storage with snapshots is read while a commit runs; in any
//! other a commit is exclusive, and reads wait for it. Either way the rows of one call come from
//! one state.

use std::sync::{Mutex, RwLock, RwLockReadGuard};

use milepost::storage::{Batch, Isolation, Key, MemoryStorage, Row, Snapshot, Storage};
use milepost::{Error, ErrorKind};

use crate::status::{CallError, MILEPOST_STATUS_POISONED};
use crate::storage::{HostSnapshot, HostStorage};

/// Storage of an engine
pub(crate) struct EngineStorage {
    kind: StorageKind,
    /// Held by the one import that runs
    import: Mutex<()>,
}

/// A storage, with the lock that it needs
pub(crate) enum StorageKind {
    Memory(RwLock<MemoryStorage>),
    /// Without snapshots its reads share the lock, and a commit is exclusive
    Host(HostStorage, RwLock<()>),
    #[cfg(feature = "store")]
    File(milepost_redb::RedbStorage),
}

/// One state of an [`EngineStorage`]
pub(crate) enum EngineSnapshot<'storage> {
    Memory(RwLockReadGuard<'storage, MemoryStorage>),
    Host {
        reads: HostSnapshot<&'storage HostStorage>,
        /// Keeps commits out of a storage that has no snapshots
        _lock: Option<RwLockReadGuard<'storage, ()>>,
    },
    #[cfg(feature = "store")]
    File(Box<milepost_redb::RedbSnapshot>),
}

impl EngineStorage {
    /// A storage of this kind
    pub(crate) const fn new(kind: StorageKind) -> Self {
        Self { kind, import: Mutex::new(()) }
    }

    /// Returns the newest state
    pub(crate) fn snapshot(&self) -> Result<EngineSnapshot<'_>, CallError> {
        Ok(match &self.kind {
            StorageKind::Memory(storage) => {
                EngineSnapshot::Memory(storage.read().map_err(poisoned)?)
            }
            StorageKind::Host(storage, lock) => {
                // Taken before the first read and released after the last one.
                let lock = match storage.has_snapshots() {
                    true => None,
                    false => Some(lock.read().map_err(poisoned)?),
                };
                EngineSnapshot::Host { _lock: lock, reads: HostSnapshot::open(storage)? }
            }
            #[cfg(feature = "store")]
            StorageKind::File(storage) => EngineSnapshot::File(Box::new(storage.snapshot()?)),
        })
    }

    /// Commits what `plan` makes of the newest state, while no other import runs
    pub(crate) fn import<T>(
        &self,
        plan: impl FnOnce(&EngineSnapshot<'_>) -> Result<(Batch, T), Error>,
    ) -> Result<T, CallError> {
        let _import = self.import.lock().map_err(poisoned)?;
        let (batch, output) = plan(&self.snapshot()?)?;
        if !batch.is_empty() {
            self.commit(batch)?;
        }
        Ok(output)
    }

    fn commit(&self, batch: Batch) -> Result<(), CallError> {
        match &self.kind {
            StorageKind::Memory(storage) => storage.write().map_err(poisoned)?.commit(batch)?,
            StorageKind::Host(storage, lock) => {
                let _guard = match storage.has_snapshots() {
                    true => None,
                    false => Some(lock.write().map_err(poisoned)?),
                };
                storage.commit(batch)?;
            }
            // The clone is another handle of the same database.
            #[cfg(feature = "store")]
            StorageKind::File(storage) => storage.clone().commit(batch)?,
        }
        Ok(())
    }
}

/// For exports, whose one commit is none of a block
impl<'engine> Storage for &'engine EngineStorage {
    type Snapshot<'storage>
        = EngineSnapshot<'engine>
    where
        Self: 'storage;

    fn snapshot(&self) -> Result<EngineSnapshot<'engine>, Error> {
        EngineStorage::snapshot(self).map_err(storage_error)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.import(|_| Ok((batch, ()))).map_err(storage_error)
    }
}

fn storage_error(error: CallError) -> Error {
    Error::new(ErrorKind::Storage, error.text())
}

fn poisoned<T>(_: T) -> CallError {
    CallError::new(MILEPOST_STATUS_POISONED, "the storage was in use by a call that panicked")
}

impl Snapshot for EngineSnapshot<'_> {
    fn isolation(&self) -> Isolation {
        match self {
            Self::Host { reads, .. } => reads.isolation(),
            _ => Isolation::Snapshot,
        }
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        match self {
            Self::Memory(storage) => storage.get(key),
            Self::Host { reads, .. } => reads.get(key),
            #[cfg(feature = "store")]
            Self::File(storage) => storage.get(key),
        }
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        match self {
            Self::Memory(storage) => storage.get_with(key, reader),
            // Reads from a copy, because a host may pass a row and fail afterwards.
            Self::Host { reads, .. } => reads.get_with(key, reader),
            #[cfg(feature = "store")]
            Self::File(storage) => storage.get_with(key, reader),
        }
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        match self {
            Self::Memory(storage) => storage.get_many(keys, rows),
            Self::Host { reads, .. } => reads.get_many(keys, rows),
            #[cfg(feature = "store")]
            Self::File(storage) => storage.get_many(keys, rows),
        }
    }
}
