//! The two traits of a storage: its snapshots are read, the storage itself is changed.
//!
//! They are two because any number of readers hold snapshots while one writer commits, and because
//! two reads of a storage that changes in between would see two states.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Batch, Key, Row, failed_read};
use crate::Error;

/// Whether the reads of one [`Snapshot`] see one state
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "queries have to handle each")]
pub enum Isolation {
    /// All reads see one state between two commits
    #[default]
    Snapshot,
    /// Each read sees the newest commit, so two reads may see two states; a commit is visible
    /// whole or not at all
    ReadCommitted,
}

/// A state of the storage that does not change while it is read
///
/// The storage guarantees that all rows read through one `Snapshot` come from one state between
/// two commits, unless it declares another [`isolation`](Self::isolation). A missing row is `None`
/// and never an error; an error means that the storage cannot answer. The engine guarantees that a
/// key has 2 to 33 bytes ([`Key::as_bytes`]): the number of its table, then 1 to 32. It also
/// guarantees that a query about a transaction calls [`get_many`](Self::get_many) once per level of
/// its receipt tree.
pub trait Snapshot {
    /// Whether all reads see one state; the default is [`Isolation::Snapshot`]
    ///
    /// With [`Isolation::ReadCommitted`] a query reads the generation of the chain before, with and
    /// after its rows, and starts again if the storage changed in between. That is sound only if
    /// commits are atomic for readers: while a commit is applied row by row, nothing may be read,
    /// and once a read has seen it, no read may see the state before.
    fn isolation(&self) -> Isolation {
        Isolation::Snapshot
    }

    /// Returns the row of a key
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) or
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if the storage cannot answer.
    fn get(&self, key: &Key) -> Result<Option<Row>, Error>;

    /// Calls `reader` with the row of a key if there is one, and returns the row if `reader` keeps
    /// it by returning `true`
    ///
    /// For rows of which few are kept: a storage that has the bytes in memory passes them borrowed
    /// and saves the reference count or the copy of a [`Row`]. The default calls
    /// [`get`](Self::get). `reader` is called at most once.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); `reader` is not called then.
    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        Ok(self.get(key)?.filter(|row| reader(row)))
    }

    /// Appends the rows of these keys to `rows`, in the order of the keys
    ///
    /// A storage that pays per call should read all keys in one round trip; the default reads each
    /// key by itself.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get). What was appended before the error has no meaning.
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        rows.reserve(keys.len());
        for key in keys {
            rows.push(self.get(key).map_err(|error| failed_read(error, "get", &[*key]))?);
        }
        Ok(())
    }
}

macro_rules! snapshot_by_deref {
    ($($pointer:ty),+) => {$(
        impl<S: Snapshot + ?Sized> Snapshot for $pointer {
            fn isolation(&self) -> Isolation {
                (**self).isolation()
            }

            fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
                (**self).get(key)
            }

            fn get_with(
                &self,
                key: &Key,
                reader: &mut dyn FnMut(&[u8]) -> bool,
            ) -> Result<Option<Row>, Error> {
                (**self).get_with(key, reader)
            }

            fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
                (**self).get_many(keys, rows)
            }
        }
    )+};
}

snapshot_by_deref!(&S, Box<S>, Arc<S>);

/// A storage: its newest state can be read by a snapshot, and changed
///
/// The storage guarantees that a commit is applied whole or not at all, even if the process dies
/// in the middle of it, and that every snapshot taken after an `Ok` sees it. The engine makes one
/// commit at a time.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use milepost::Error;
/// use milepost::storage::{Batch, Key, Row, Snapshot, Storage};
///
/// #[derive(Default)]
/// struct OrderedStorage(BTreeMap<Key, Row>);
///
/// /// The borrow keeps commits out.
/// struct OrderedSnapshot<'storage>(&'storage BTreeMap<Key, Row>);
///
/// impl Snapshot for OrderedSnapshot<'_> {
///     fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
///         Ok(self.0.get(key).cloned())
///     }
/// }
///
/// impl Storage for OrderedStorage {
///     type Snapshot<'a> = OrderedSnapshot<'a>;
///
///     fn snapshot(&self) -> Result<OrderedSnapshot<'_>, Error> {
///         Ok(OrderedSnapshot(&self.0))
///     }
///
///     fn commit(&mut self, batch: Batch) -> Result<(), Error> {
///         for (key, row) in batch {
///             match row {
///                 Some(row) => self.0.insert(key, row),
///                 None => self.0.remove(&key),
///             };
///         }
///         Ok(())
///     }
/// }
///
/// // The crate feature `conformance` has the tests that every storage should pass. Where snapshots
/// // are read while the storage changes, `check_shared` is the one.
/// #[cfg(feature = "conformance")]
/// milepost::storage::conformance::check(OrderedStorage::default).unwrap();
/// ```
pub trait Storage {
    /// A state of this storage; `&'a Self` where the storage cannot change while it is borrowed
    type Snapshot<'a>: Snapshot
    where
        Self: 'a;

    /// Returns the newest state
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) if the storage cannot be read.
    fn snapshot(&self) -> Result<Self::Snapshot<'_>, Error>;

    /// Applies all changes of a batch, or none
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) if nothing was changed.
    fn commit(&mut self, batch: Batch) -> Result<(), Error>;
}
