//! Tests of the guarantees that every storage gives, for authors of storages.
//!
//! The requirements are those of [`Snapshot`] and [`Storage`]. Nothing here panics: a failed test
//! is a [`Violation`] that names the requirement, the key and what was found, so that adapters in
//! other languages can run the same tests. All input is computed from fixed seeds, so a violation
//! can be reproduced. Left out is what cannot be tested from inside a process: that a commit
//! interrupted by a crash is applied whole or not at all. That takes a test that kills the process.

mod isolation;
#[cfg(test)]
mod isolation_tests;
mod model;
mod probe;
mod requirements;
#[cfg(test)]
mod tests;
mod violation;

pub use self::isolation::ConcurrencyCheck;
use self::probe::Probe;
pub use self::violation::{Requirement, Violation};
use super::{Isolation, Snapshot, Storage};
use crate::Error;

/// Checks the requirements on every storage
///
/// `make` returns a new, empty storage; it is called once per requirement, fewer than 32 times. At
/// most about 16 MiB of rows are stored at a time.
///
/// ```
/// use milepost::storage::{MemoryStorage, conformance};
///
/// conformance::check(MemoryStorage::new)?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// The first violation, in the order of [`Requirement::ALL`]. An error of the storage violates the
/// requirement that is being checked.
pub fn check<S: Storage>(mut make: impl FnMut() -> S) -> Result<(), Violation> {
    for (requirement, test) in requirements::in_order() {
        test(&mut Probe::new(&mut make(), requirement))?;
    }
    model::check(&mut Probe::new(&mut make(), Requirement::Model))
}

/// Checks that queries read one state, whatever is committed meanwhile
///
/// For storages that can be changed while a snapshot is read. `make` returns a new, empty storage;
/// `snapshot` takes a snapshot of its newest state, or returns a reader that declares
/// [`Isolation::ReadCommitted`]. A batch is committed between any two reads of a query. For
/// storages that are shared by threads, see also [`ConcurrencyCheck`].
///
/// ```
/// use milepost::storage::{MemoryStorage, conformance};
///
/// conformance::check_snapshots(MemoryStorage::new, |storage| Ok(storage.clone()))?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// A [`Violation`] of [`Requirement::SnapshotIsolation`] or, by a reader that declares it, of
/// [`Requirement::ReadCommitted`].
pub fn check_snapshots<S: Storage, R: Snapshot>(
    make: impl FnOnce() -> S,
    mut snapshot: impl FnMut(&S) -> Result<R, Error>,
) -> Result<(), Violation> {
    let mut storage = make();
    let reader = snapshot(&storage).map(|reader| reader.isolation());
    if reader != Ok(Isolation::ReadCommitted) {
        requirements::snapshot_isolation(&mut storage, &mut snapshot)?;
    }
    isolation::interleavings(&mut storage, &mut snapshot)
}

/// Checks that commits survive when the storage is dropped and opened again
///
/// `open` opens the same storage each time. It must be empty at first; rows are left in it.
///
/// ```
/// use milepost::storage::{Batch, Key, MemoryStorage, Row, Snapshot, Storage, conformance};
/// use milepost::Error;
/// use std::{cell::RefCell, rc::Rc};
///
/// /// In place of a storage on disk: the shared part outlives each handle
/// struct SharedStorage(Rc<RefCell<MemoryStorage>>);
///
/// impl Snapshot for SharedStorage {
///     fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
///         self.0.borrow().get(key)
///     }
/// }
///
/// impl Storage for SharedStorage {
///     type Snapshot<'a> = &'a Self;
///
///     fn snapshot(&self) -> Result<&Self, Error> {
///         Ok(self)
///     }
///
///     fn commit(&mut self, batch: Batch) -> Result<(), Error> {
///         self.0.borrow_mut().commit(batch)
///     }
/// }
///
/// let shared = Rc::default();
/// conformance::check_durable(|| Ok(SharedStorage(Rc::clone(&shared))))?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// A [`Violation`] of [`Requirement::Durability`], also if `open` fails.
pub fn check_durable<S: Storage>(
    mut open: impl FnMut() -> Result<S, Error>,
) -> Result<(), Violation> {
    model::check_durable(&mut open)
}
