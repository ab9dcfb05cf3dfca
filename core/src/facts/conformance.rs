//! Whether a storage keeps its duties: a check that every author of a storage can run.
//!
//! The duties are those of [`Rows`] and [`Storage`]. Nothing here panics: a broken
//! duty is a [`Violation`] that names the duty, the key and what was found, so that adapters in
//! other languages can run the same check. Every input is computed, none is random, so a
//! violation is found again.
//!
//! Left out is what cannot be seen from inside a process: that a commit cut short by a crash
//! leaves all of itself or nothing. A storage on disk needs a test that kills it.

mod duties;
mod model;
mod probe;
#[cfg(test)]
mod tests;

use alloc::string::String;
use core::fmt;

use self::probe::Probe;
use super::{Key, Rows, Storage};
use crate::Error;

/// Checks the duties that every storage has, and says which one is broken first
///
/// `make` gives an empty storage each time; it is called once per duty, fewer than 32 times. At
/// most about 16 MiB of rows are held at once.
///
/// ```
/// use milepost::facts::{MemoryStorage, conformance};
///
/// conformance::check(MemoryStorage::new)?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// The first broken duty, in the order of [`Duty::ALL`]; an error of the storage breaks the duty
/// that was being checked.
pub fn check<S: Storage>(mut make: impl FnMut() -> S) -> Result<(), Violation> {
    for (duty, keeps) in duties::in_order() {
        keeps(&mut Probe::new(&mut make(), duty))?;
    }
    model::agrees(&mut Probe::new(&mut make(), Duty::Model))
}

/// Checks that a snapshot goes on reading the state it was taken of
///
/// For storages that give snapshots; `make` gives an empty storage, `snapshot` takes a snapshot
/// of its newest state.
///
/// ```
/// use milepost::facts::{MemoryStorage, conformance};
///
/// conformance::check_snapshots(MemoryStorage::new, |storage| Ok(storage.clone()))?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// A [`Violation`] of [`Duty::Snapshots`].
pub fn check_snapshots<S: Storage, R: Rows>(
    mut make: impl FnMut() -> S,
    mut snapshot: impl FnMut(&S) -> Result<R, Error>,
) -> Result<(), Violation> {
    duties::snapshots_stand(&mut make(), &mut snapshot)
}

/// Checks that what was committed is there after the storage was dropped and opened again
///
/// `open` opens the same storage each time. It is empty at first; the check leaves rows behind.
///
/// ```
/// use milepost::facts::{Batch, Key, MemoryStorage, Row, Rows, Storage, conformance};
/// use milepost::Error;
/// use std::{cell::RefCell, rc::Rc};
///
/// /// Stands for a storage on disk: what is shared outlives each handle
/// struct Disk(Rc<RefCell<MemoryStorage>>);
///
/// impl Rows for Disk {
///     fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
///         self.0.borrow().get(key)
///     }
/// }
///
/// impl Storage for Disk {
///     fn commit(&mut self, batch: Batch) -> Result<(), Error> {
///         self.0.borrow_mut().commit(batch)
///     }
/// }
///
/// let disk = Rc::default();
/// conformance::check_durable(|| Ok(Disk(Rc::clone(&disk))))?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// A [`Violation`] of [`Duty::Durable`]; also when `open` refuses.
pub fn check_durable<S: Storage>(
    mut open: impl FnMut() -> Result<S, Error>,
) -> Result<(), Violation> {
    model::survives(&mut open)
}

/// What a storage owes the engine
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Duty {
    /// A row that was never written, or was removed, is `None` and no error
    Missing,
    /// A row that was put is read, and all rows of one batch are
    Put,
    /// A put replaces the row that is there
    Replace,
    /// A removed row is gone, and no other
    Remove,
    /// Removing a row that is not there is no error and changes nothing
    RemoveMissing,
    /// The same bytes in two tables are two keys
    TablesApart,
    /// Keys of 1 to 32 bytes of every value are told apart, also when one begins with another
    KeysApart,
    /// An empty row is a row
    EmptyRow,
    /// Rows come back byte for byte, whatever the bytes
    AllBytes,
    /// Rows of several MiB come back byte for byte
    LargeRow,
    /// Many rows are given in the order of the keys, also missing and repeated ones
    ManyInOrder,
    /// Many rows are appended to what is in the vector
    ManyAppend,
    /// No keys are no rows and no error
    ManyOfNone,
    /// Thousands of keys are answered in one call
    ManyThousands,
    /// When a batch names a key twice the last word counts
    LastWord,
    /// An empty batch changes nothing
    EmptyBatch,
    /// A batch of ten thousand changes is applied whole
    LargeBatch,
    /// A row that was read stays what it was when its key is written again
    RowsStay,
    /// Over a long run of batches the storage agrees with a plain map
    Model,
    /// A snapshot reads one state, the one it was taken of
    Snapshots,
    /// What was committed is there after the storage was closed and opened again
    Durable,
}

impl Duty {
    /// Every duty, in the order in which they are checked
    pub const ALL: [Self; 21] = [
        Self::Missing,
        Self::Put,
        Self::Replace,
        Self::Remove,
        Self::RemoveMissing,
        Self::TablesApart,
        Self::KeysApart,
        Self::EmptyRow,
        Self::AllBytes,
        Self::LargeRow,
        Self::ManyInOrder,
        Self::ManyAppend,
        Self::ManyOfNone,
        Self::ManyThousands,
        Self::LastWord,
        Self::EmptyBatch,
        Self::LargeBatch,
        Self::RowsStay,
        Self::Model,
        Self::Snapshots,
        Self::Durable,
    ];

    /// The duty in a few words
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "a missing row is none, and no error",
            Self::Put => "a row that was put is read",
            Self::Replace => "a put replaces the row that is there",
            Self::Remove => "a removed row is gone, and no other",
            Self::RemoveMissing => "removing a missing row changes nothing",
            Self::TablesApart => "the same bytes in two tables are two keys",
            Self::KeysApart => "keys of 1 to 32 bytes are told apart",
            Self::EmptyRow => "an empty row is a row",
            Self::AllBytes => "rows come back byte for byte",
            Self::LargeRow => "rows of several MiB come back byte for byte",
            Self::ManyInOrder => "many rows come in the order of their keys",
            Self::ManyAppend => "many rows are appended to what is in the vector",
            Self::ManyOfNone => "no keys are no rows",
            Self::ManyThousands => "thousands of keys are answered in one call",
            Self::LastWord => "the last word on a key in a batch counts",
            Self::EmptyBatch => "an empty batch changes nothing",
            Self::LargeBatch => "a batch of ten thousand changes is applied whole",
            Self::RowsStay => "a row that was read stays what it was",
            Self::Model => "a long run of batches agrees with a plain map",
            Self::Snapshots => "a snapshot reads the one state it was taken of",
            Self::Durable => "what was committed is there after opening again",
        }
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sentence())
    }
}

/// A broken duty: which, at which key, and what was found instead
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    duty: Duty,
    key: Option<Key>,
    detail: String,
}

impl Violation {
    /// The duty that is broken
    pub const fn duty(&self) -> Duty {
        self.duty
    }

    /// The key at which it showed; `None` when it concerns a batch or a call as a whole
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
        write!(formatter, "broken duty \"{}\": ", self.duty)?;
        if let Some(key) = &self.key {
            write!(formatter, "{key:?}: ")?;
        }
        formatter.write_str(&self.detail)
    }
}

impl core::error::Error for Violation {}
