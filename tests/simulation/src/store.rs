//! The storages of a simulation: a map or a file, which can be closed and opened again.
//!
//! Reopening keeps what was committed and nothing else. Crashes are tested in `stores/redb`.

use milepost::Error;
use milepost::storage::{Batch, MemoryStorage, Snapshot, Storage};
use milepost_redb::{Options, RedbStorage};
use tempfile::TempDir;

/// A storage in memory or in a file
pub(crate) enum Store {
    /// In memory
    Memory(MemoryStorage),
    /// In a file in a temporary folder; the handle is `None` only while the file is reopened
    File(TempDir, Option<RedbStorage>),
}

impl Store {
    /// Creates an empty storage in memory
    pub(crate) fn memory() -> Self {
        Self::Memory(MemoryStorage::new())
    }

    /// Creates an empty storage in a file
    pub(crate) fn file() -> Self {
        let mut store = Self::File(TempDir::new().expect("a folder"), None);
        store.reopen();
        store
    }

    /// The newest state
    pub(crate) fn read(&self) -> Box<dyn Snapshot + '_> {
        match self {
            Self::Memory(storage) => Box::new(storage),
            Self::File(_, file) => {
                let file = file.as_ref().expect("the file is open");
                Box::new(file.snapshot().expect("the file can be read"))
            }
        }
    }

    /// A copy of the rows; `None` for a file
    pub(crate) fn rows(&self) -> Option<MemoryStorage> {
        match self {
            Self::Memory(storage) => Some(storage.clone()),
            Self::File(..) => None,
        }
    }

    /// Closes the storage and opens it again, which loses everything except its rows
    pub(crate) fn reopen(&mut self) {
        match self {
            Self::Memory(storage) => {
                let mut batch = Batch::new();
                storage.iter().for_each(|(key, row)| batch.put(*key, row.clone()));
                *storage = MemoryStorage::new();
                storage.commit(batch).expect("commits in memory succeed");
            }
            Self::File(folder, handle) => {
                drop(handle.take());
                let path = folder.path().join("chain.milepost");
                let mut options = Options::default();
                options.cache_bytes = 1 << 20;
                *handle = Some(RedbStorage::open(path, &options).expect("the file opens"));
            }
        }
    }
}

impl Storage for Store {
    type Snapshot<'a> = Box<dyn Snapshot + 'a>;

    fn snapshot(&self) -> Result<Self::Snapshot<'_>, Error> {
        Ok(self.read())
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        match self {
            Self::Memory(storage) => storage.commit(batch),
            Self::File(_, file) => file.as_mut().expect("the file is open").commit(batch),
        }
    }
}
