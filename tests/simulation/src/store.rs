//! The storages that a simulation runs on: a map, or a file; each can be closed and opened again.
//!
//! What was committed is there after that, and nothing else; what a crash leaves behind is tried where
//! the file is made, and not here.

use milepost::Error;
use milepost::facts::{Batch, Key, MemoryStorage, Row, Rows, Storage};
use milepost_redb::{Options, RedbStorage};
use tempfile::TempDir;

/// A storage
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "tests look inside")]
pub enum Store {
    /// In memory
    Memory(MemoryStorage),
    /// In a file of a folder of its own; the handle is gone only while the file is opened again
    File(TempDir, Option<RedbStorage>),
}

impl Store {
    /// An empty one in memory
    pub fn memory() -> Self {
        Self::Memory(MemoryStorage::new())
    }

    /// An empty one in a file
    ///
    /// # Panics
    ///
    /// When there is no place for it.
    pub fn file() -> Self {
        let mut store = Self::File(TempDir::new().expect("a folder"), None);
        store.reopen();
        store
    }

    /// The rows as they are now, to be read later; a file has none that outlive it
    pub fn snapshot(&self) -> Option<MemoryStorage> {
        match self {
            Self::Memory(storage) => Some(storage.clone()),
            Self::File(..) => None,
        }
    }

    /// Closes the storage and opens it again: whatever is not in its rows is lost
    ///
    /// # Panics
    ///
    /// When the file does not open.
    pub fn reopen(&mut self) {
        match self {
            Self::Memory(storage) => {
                let mut batch = Batch::new();
                storage.iter().for_each(|(key, row)| batch.put(*key, row.clone()));
                *storage = MemoryStorage::new();
                storage.commit(batch).expect("memory takes every batch");
            }
            Self::File(folder, handle) => {
                drop(handle.take());
                let path = folder.path().join("chain.milepost");
                let mut options = Options::default();
                options.cache_bytes = 1 << 20;
                *handle = Some(RedbStorage::open(path, &options).expect("it opens"));
            }
        }
    }
}

fn handle(handle: &Option<RedbStorage>) -> &RedbStorage {
    handle.as_ref().expect("the file is open")
}

impl Rows for Store {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        match self {
            Self::Memory(storage) => storage.get(key),
            Self::File(_, file) => handle(file).get(key),
        }
    }

    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        match self {
            Self::Memory(storage) => storage.read(key, reader),
            Self::File(_, file) => handle(file).read(key, reader),
        }
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        match self {
            Self::Memory(storage) => storage.get_many(keys, rows),
            Self::File(_, file) => handle(file).get_many(keys, rows),
        }
    }
}

impl Storage for Store {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        match self {
            Self::Memory(storage) => storage.commit(batch),
            Self::File(_, file) => file.as_mut().expect("the file is open").commit(batch),
        }
    }
}
