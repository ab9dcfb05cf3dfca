//! The storage as it will be once the batch is committed.
//!
//! A plan undoes blocks and applies others; each step must see the steps before it. Changes are
//! kept by key, so the batch names every key once and in order.

use alloc::collections::BTreeMap;

use crate::facts::replay::{Stop, Supplied};
use crate::facts::{Batch, Key, Row};

/// Rows of the storage with the changes planned so far on top
pub(super) struct Overlay<'rows> {
    supplied: &'rows mut Supplied,
    changes: BTreeMap<Key, Option<Row>>,
}

impl<'rows> Overlay<'rows> {
    pub(super) fn new(supplied: &'rows mut Supplied) -> Self {
        Self { supplied, changes: BTreeMap::new() }
    }

    /// The row of a key after the changes so far
    pub(super) fn row(&mut self, key: Key) -> Result<Option<Row>, Stop> {
        match self.changes.get(&key) {
            Some(row) => Ok(row.clone()),
            None => self.supplied.row(key).map(|row| row.cloned()),
        }
    }

    /// Makes sure that the rows of all these keys can be read, in one round trip
    pub(super) fn all(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), Stop> {
        let changes = &self.changes;
        self.supplied.all(keys.into_iter().filter(|key| !changes.contains_key(key)))
    }

    pub(super) fn put(&mut self, key: Key, row: impl Into<Row>) {
        self.changes.insert(key, Some(row.into()));
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.changes.insert(key, None);
    }

    /// The changes as a batch
    pub(super) fn into_batch(self) -> Batch {
        let mut batch = Batch::new();
        for (key, row) in self.changes {
            match row {
                Some(row) => batch.put(key, row),
                None => batch.remove(key),
            }
        }
        batch
    }
}
