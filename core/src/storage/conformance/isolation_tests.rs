//! Storages that are read while they change.
//!
//! One lock around all rows makes single reads, which are accepted if they are declared. A lock per
//! row makes commits visible in part, which only threads find. A cache misses commits.

extern crate std;

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{OnceCell, RefCell};
use std::sync::{Mutex, RwLock};
use std::thread;

use super::{ConcurrencyCheck, Requirement, Violation, check, check_snapshots};
use crate::Error;
use crate::storage::{Batch, Isolation, Key, MemoryStorage, Row, Snapshot, Storage};

/// A handle whose reads are of the newest commit, whatever it declares
#[derive(Clone)]
struct Shared(Rc<RefCell<MemoryStorage>>, Isolation);

impl Shared {
    fn new(isolation: Isolation) -> Self {
        Self(Rc::default(), isolation)
    }
}

impl Snapshot for Shared {
    fn isolation(&self) -> Isolation {
        self.1
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.0.borrow().get(key)
    }
}

impl Storage for Shared {
    type Snapshot<'a> = Self;

    fn snapshot(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.borrow_mut().commit(batch)
    }
}

/// A reader with the rows as they were when something was first read
struct ReadOnce(Shared, OnceCell<MemoryStorage>);

impl Snapshot for ReadOnce {
    fn isolation(&self) -> Isolation {
        self.0.1
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.1.get_or_init(|| self.0.0.borrow().clone()).get(key)
    }
}

#[test]
fn single_reads_are_accepted_only_if_declared() {
    check_snapshots(|| Shared::new(Isolation::ReadCommitted), Storage::snapshot).unwrap();
    let violation = check_snapshots(|| Shared::new(Isolation::Snapshot), Storage::snapshot);
    assert_eq!(violation.unwrap_err().requirement(), Requirement::SnapshotIsolation);
}

#[test]
fn a_snapshot_that_is_taken_by_the_first_read_is_a_violation() {
    let read_once = |storage: &Shared| Ok(ReadOnce(storage.clone(), OnceCell::new()));
    let violation = check_snapshots(|| Shared::new(Isolation::Snapshot), read_once).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::SnapshotIsolation);
    let start = "with a commit before read 0 of a walk, expected state 1, found states [2, 2,";
    assert!(violation.detail().starts_with(start), "{violation}");
    // The same for a reader that declares single reads but misses commits.
    let violation =
        check_snapshots(|| Shared::new(Isolation::ReadCommitted), read_once).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::ReadCommitted);
    let start = "with a commit before read 1 of a walk, expected state 3, found states [2, 2,";
    assert!(violation.detail().starts_with(start), "{violation}");
}

/// Rows that threads share, in a map with one lock
#[derive(Clone)]
struct OneLock(Arc<RwLock<MemoryStorage>>, Isolation);

impl Snapshot for OneLock {
    fn isolation(&self) -> Isolation {
        self.1
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.0.read().unwrap().get(key)
    }
}

impl Storage for OneLock {
    type Snapshot<'a> = Self;

    fn snapshot(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.write().unwrap().commit(batch)?;
        thread::yield_now();
        Ok(())
    }
}

/// A row with its lock
type LockedRow = Arc<Mutex<Option<Row>>>;

/// Rows that threads share, with a lock for each row
#[derive(Clone, Default)]
struct LockPerRow(Arc<RwLock<BTreeMap<Key, LockedRow>>>);

impl Snapshot for LockPerRow {
    fn isolation(&self) -> Isolation {
        Isolation::ReadCommitted
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let row = self.0.read().unwrap().get(key).cloned();
        Ok(row.and_then(|row| row.lock().unwrap().clone()))
    }
}

impl Storage for LockPerRow {
    type Snapshot<'a> = Self;

    fn snapshot(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        for (key, row) in batch {
            let slot = Arc::clone(self.0.write().unwrap().entry(key).or_default());
            *slot.lock().unwrap() = row;
            thread::yield_now();
        }
        Ok(())
    }
}

/// Runs the check with several readers, and returns what the storage violates
fn run_threads<S: Storage + Clone + Send>(storage: &S) -> Result<(), Violation> {
    let check = ConcurrencyCheck::new();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (storage, check) = (storage.clone(), &check);
                scope.spawn(move || check.read(|| storage.snapshot()))
            })
            .collect();
        check.write(&mut storage.clone())?;
        readers.into_iter().try_for_each(|reader| reader.join().unwrap())
    })
}

#[test]
fn a_map_with_one_lock_has_single_reads() {
    let storage = |isolation| OneLock(Arc::default(), isolation);
    check(|| storage(Isolation::ReadCommitted)).unwrap();
    run_threads(&storage(Isolation::ReadCommitted)).unwrap();
    let violation = check_snapshots(|| storage(Isolation::Snapshot), Storage::snapshot);
    assert_eq!(violation.unwrap_err().requirement(), Requirement::SnapshotIsolation);
}

#[test]
fn a_map_with_a_lock_per_row_is_a_violation() {
    // No check on one thread can tell.
    check(LockPerRow::default).unwrap();
    check_snapshots(LockPerRow::default, Storage::snapshot).unwrap();
    let violation = run_threads(&LockPerRow::default()).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::ReadCommitted, "{violation}");
}
