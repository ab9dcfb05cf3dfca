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

use alloc::string::String;
use core::fmt;

pub use self::isolation::ConcurrencyCheck;
use self::probe::Probe;
use super::{Isolation, Key, Snapshot, Storage};
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

/// What the engine requires of a storage
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Requirement {
    /// A row that was never written, or was removed, is `None` and not an error
    MissingRow,
    /// All rows that a batch puts can be read
    Put,
    /// A put replaces the existing row
    Replace,
    /// A remove removes the row, and no other row
    Remove,
    /// Removing a missing row is not an error and changes nothing
    RemoveMissing,
    /// The same bytes in two tables are two keys
    DistinctTables,
    /// Keys of 1 to 32 bytes of every value are distinct, also if one is a prefix of another
    DistinctKeys,
    /// An empty row is a row
    EmptyRow,
    /// Rows are read back unchanged, whatever their bytes
    ArbitraryBytes,
    /// Rows of several MiB are read back unchanged
    LargeRow,
    /// `get_many` returns rows in the order of the keys, including missing and repeated ones
    GetManyOrder,
    /// `get_many` appends to the vector
    GetManyAppends,
    /// `get_many` without keys returns no rows and no error
    GetManyWithoutKeys,
    /// `get_many` takes thousands of keys in one call
    GetManyThousands,
    /// The last change of a key in a batch wins
    LastChangeWins,
    /// An empty batch changes nothing
    EmptyBatch,
    /// A batch of ten thousand changes is applied whole
    LargeBatch,
    /// A row that was read does not change when its key is written again
    ImmutableRows,
    /// After each of many batches the storage has the rows of a plain map
    Model,
    /// A snapshot reads the state in which it was taken
    SnapshotIsolation,
    /// Without snapshots, a read is of the newest commit, and sees all of it or nothing
    ReadCommitted,
    /// Commits survive closing and opening the storage
    Durability,
}

impl Requirement {
    /// All requirements, in the order in which they are checked
    pub const ALL: [Self; 22] = [
        Self::MissingRow,
        Self::Put,
        Self::Replace,
        Self::Remove,
        Self::RemoveMissing,
        Self::DistinctTables,
        Self::DistinctKeys,
        Self::EmptyRow,
        Self::ArbitraryBytes,
        Self::LargeRow,
        Self::GetManyOrder,
        Self::GetManyAppends,
        Self::GetManyWithoutKeys,
        Self::GetManyThousands,
        Self::LastChangeWins,
        Self::EmptyBatch,
        Self::LargeBatch,
        Self::ImmutableRows,
        Self::Model,
        Self::SnapshotIsolation,
        Self::ReadCommitted,
        Self::Durability,
    ];

    /// The requirement in a few words, in lower case
    pub const fn description(self) -> &'static str {
        match self {
            Self::MissingRow => "a missing row is `None` and not an error",
            Self::Put => "a row that was put can be read",
            Self::Replace => "a put replaces the existing row",
            Self::Remove => "a remove removes the row, and no other row",
            Self::RemoveMissing => "removing a missing row changes nothing",
            Self::DistinctTables => "the same bytes in two tables are two keys",
            Self::DistinctKeys => "keys of 1 to 32 bytes are distinct",
            Self::EmptyRow => "an empty row is a row",
            Self::ArbitraryBytes => "rows are read back unchanged",
            Self::LargeRow => "rows of several MiB are read back unchanged",
            Self::GetManyOrder => "get_many returns rows in the order of the keys",
            Self::GetManyAppends => "get_many appends to the vector",
            Self::GetManyWithoutKeys => "get_many without keys returns no rows",
            Self::GetManyThousands => "get_many takes thousands of keys",
            Self::LastChangeWins => "the last change of a key in a batch wins",
            Self::EmptyBatch => "an empty batch changes nothing",
            Self::LargeBatch => "a batch of ten thousand changes is applied whole",
            Self::ImmutableRows => "a row that was read does not change",
            Self::Model => "the storage has the rows of a plain map after each of many batches",
            Self::SnapshotIsolation => "a snapshot reads the state in which it was taken",
            Self::ReadCommitted => {
                "a read is of the newest commit, and sees it whole or not at all"
            }
            Self::Durability => "commits survive closing and opening the storage",
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.description())
    }
}

/// A violated requirement: which one, at which key, and what was found
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    requirement: Requirement,
    key: Option<Key>,
    detail: String,
}

impl Violation {
    /// The violated requirement
    pub const fn requirement(&self) -> Requirement {
        self.requirement
    }

    /// The key that was read; `None` if it concerns a batch or a call as a whole
    pub const fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// What was expected and what was found
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "violated requirement \"{}\": ", self.requirement)?;
        if let Some(key) = &self.key {
            write!(formatter, "{key:?}: ")?;
        }
        formatter.write_str(&self.detail)
    }
}

impl core::error::Error for Violation {}
