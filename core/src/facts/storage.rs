//! What the engine asks of a storage.
//!
//! Two traits, because reading and changing are done by different hands: any number of readers
//! hold a snapshot, one writer commits.

use alloc::vec::Vec;

use super::{Batch, Key, Row};
use crate::Error;

/// A state of the storage that does not change while it is read
///
/// Duties of the storage: all rows read through one `Rows` come from one state, the one between
/// two commits. A missing row is `None`, never an error; an error means that the storage cannot
/// say. Duties of the engine: keys have 1 to 32 bytes, and a question about a transaction calls
/// [`get_many`](Self::get_many) once per level of its receipt tree.
pub trait Rows {
    /// The row of this key
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) or
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) when the storage cannot say.
    fn get(&self, key: &Key) -> Result<Option<Row>, Error>;

    /// Shows the row of this key to `reader` if there is one; whether there is
    ///
    /// For rows that are looked at and not kept. A storage that has the bytes at hand lends them,
    /// and saves the reference count or the copy that a [`Row`] costs; by default the row is
    /// read by [`get`](Self::get). `reader` is called at most once.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and then nothing was shown.
    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        let row = self.get(key)?;
        row.iter().for_each(|row| reader(row));
        Ok(row.is_some())
    }

    /// Appends the rows of these keys to `rows`, in the order of the keys
    ///
    /// A storage that pays per call should answer all keys in one round trip; by default each
    /// key is read by itself.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get). What was appended before is then without meaning.
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        rows.reserve(keys.len());
        for key in keys {
            rows.push(self.get(key)?);
        }
        Ok(())
    }
}

impl<R: Rows + ?Sized> Rows for &R {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        (**self).get(key)
    }

    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        (**self).read(key, reader)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        (**self).get_many(keys, rows)
    }
}

/// A storage that can be changed
///
/// Duties of the storage: a commit happens whole or not at all, also when the process dies in the
/// middle; when it returns `Ok`, every later read sees it. Duties of the engine: one commit at a
/// time.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use milepost::Error;
/// use milepost::facts::{Batch, Key, Row, Rows, Storage, conformance};
///
/// #[derive(Default)]
/// struct Ordered(BTreeMap<Key, Row>);
///
/// impl Rows for Ordered {
///     fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
///         Ok(self.0.get(key).cloned())
///     }
/// }
///
/// impl Storage for Ordered {
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
/// conformance::check(Ordered::default)?;
/// # Ok::<(), conformance::Violation>(())
/// ```
pub trait Storage: Rows {
    /// Applies the changes of a batch, all of them or none
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) when nothing was changed.
    fn commit(&mut self, batch: Batch) -> Result<(), Error>;
}
