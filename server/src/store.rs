//! The store behind the service: in memory, or in a file.
//!
//! Any number of readers see the state between two commits; one writer at a time changes it. In
//! memory, readers are kept out only while a finished batch is put in, never while a block is
//! checked. Keeps no rows itself and knows nothing of what they mean.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use milepost::Error;
use milepost::facts::{Batch, Key, MemoryStorage, Row, Rows, Storage};
use milepost_redb::{Options, RedbStorage, Snapshot};

use crate::disk::{Turnstile, Visit};
use crate::units::Place;

/// Rows in memory or in a file
pub(crate) struct Store {
    rows: Kind,
    /// Held by whoever writes: what is read for a commit must not change before it is committed
    writer: Mutex<()>,
}

enum Kind {
    Memory(RwLock<MemoryStorage>),
    File(RedbStorage, Turnstile),
}

/// Leave to read on a thread that serves sockets
pub(crate) struct InPlace<'store> {
    _visit: Option<Visit<'store>>,
}

impl Store {
    /// Opens the store at this place; a file that is not there is made
    pub(crate) fn open(place: &Place) -> Result<Self, String> {
        let rows = match place {
            Place::Memory => Kind::Memory(RwLock::new(MemoryStorage::new())),
            Place::File(path) => {
                let storage = RedbStorage::open(path, &Options::default());
                Kind::File(storage.map_err(|error| error.to_string())?, Turnstile::new())
            }
        };
        Ok(Self { rows, writer: Mutex::new(()) })
    }

    /// Leave to read on a thread that serves sockets; `None` when the disk may hold it up
    pub(crate) fn in_place(&self) -> Option<InPlace<'_>> {
        match &self.rows {
            Kind::Memory(_) => Some(InPlace { _visit: None }),
            Kind::File(_, turnstile) => {
                turnstile.enter().map(|visit| InPlace { _visit: Some(visit) })
            }
        }
    }

    /// The rows as they are now; a store that cannot say fails each question that is asked of it
    pub(crate) fn read(&self) -> Reading<'_> {
        match &self.rows {
            Kind::Memory(rows) => Reading::Memory(shared(rows)),
            Kind::File(storage, _) => match storage.snapshot() {
                Ok(snapshot) => Reading::File(Box::new(snapshot)),
                Err(error) => Reading::Failed(error),
            },
        }
    }

    /// The rows to be changed, once every other writer is done
    pub(crate) fn write(&self) -> Writing<'_> {
        // A writer that panicked has committed its batch or has not; either way the store is whole.
        let turn = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = match &self.rows {
            Kind::Memory(rows) => Changing::Memory(rows),
            Kind::File(storage, _) => Changing::File(storage.clone()),
        };
        Writing { rows, _turn: turn }
    }
}

/// The rows between two commits
pub(crate) enum Reading<'store> {
    /// In memory; no batch is put in while this is held
    Memory(RwLockReadGuard<'store, MemoryStorage>),
    /// In a file, as it was when this was taken
    File(Box<Snapshot>),
    /// In a file that cannot be read: every row fails with the reason
    Failed(Error),
}

impl Rows for Reading<'_> {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        match self {
            Self::Memory(rows) => rows.get(key),
            Self::File(rows) => rows.get(key),
            Self::Failed(error) => Err(error.clone()),
        }
    }

    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        match self {
            Self::Memory(rows) => rows.read(key, reader),
            Self::File(rows) => rows.read(key, reader),
            Self::Failed(error) => Err(error.clone()),
        }
    }

    fn get_many(&self, keys: &[Key], found: &mut Vec<Option<Row>>) -> Result<(), Error> {
        match self {
            Self::Memory(rows) => rows.get_many(keys, found),
            Self::File(rows) => rows.get_many(keys, found),
            Self::Failed(error) => Err(error.clone()),
        }
    }
}

/// The rows in the hands of the one writer
pub(crate) struct Writing<'store> {
    rows: Changing<'store>,
    _turn: MutexGuard<'store, ()>,
}

enum Changing<'store> {
    Memory(&'store RwLock<MemoryStorage>),
    File(RedbStorage),
}

impl Rows for Writing<'_> {
    // The reads of a writer come from one state although each takes its own lock: only the
    // writer changes it.
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        match &self.rows {
            Changing::Memory(rows) => shared(rows).get(key),
            Changing::File(rows) => rows.get(key),
        }
    }

    fn get_many(&self, keys: &[Key], found: &mut Vec<Option<Row>>) -> Result<(), Error> {
        match &self.rows {
            Changing::Memory(rows) => shared(rows).get_many(keys, found),
            Changing::File(rows) => rows.get_many(keys, found),
        }
    }
}

impl Storage for Writing<'_> {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        match &mut self.rows {
            Changing::Memory(rows) => {
                rows.write().unwrap_or_else(PoisonError::into_inner).commit(batch)
            }
            Changing::File(rows) => rows.commit(batch),
        }
    }
}

fn shared(rows: &RwLock<MemoryStorage>) -> RwLockReadGuard<'_, MemoryStorage> {
    // Poisoned means that a thread panicked while it put a batch in, which only moves rows.
    rows.read().unwrap_or_else(PoisonError::into_inner)
}
