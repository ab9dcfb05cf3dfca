//! The storage as it will be after the batch is committed.
//!
//! A plan reverts blocks and applies others, and each step sees the steps before it. Changes are
//! kept by key, so a batch names every key once; they are sorted when the batch is made.

use core::iter;

use hashbrown::HashMap;

use crate::config::ReadRows;
use crate::primitives::HashBuilder;
use crate::storage::restartable::{RowCache, Suspend};
use crate::storage::{Key, Row};

/// Rows to be written (`Some`) or removed (`None`), by key
pub(super) type RowChanges = HashMap<Key, Option<Row>, HashBuilder>;

/// The rows of the storage with the planned changes on top
pub(super) struct WriteOverlay<'rows, 'source> {
    rows: &'rows mut RowCache<'source>,
    /// Changes of an earlier plan, which stay as they are
    base: &'rows RowChanges,
    changes: RowChanges,
}

impl<'rows, 'source> WriteOverlay<'rows, 'source> {
    pub(super) fn new(rows: &'rows mut RowCache<'source>) -> Self {
        static NO_CHANGES: RowChanges = RowChanges::with_hasher(HashBuilder::new());
        Self::with_base(rows, &NO_CHANGES)
    }

    /// An overlay on top of the changes of an earlier plan
    pub(super) fn with_base(rows: &'rows mut RowCache<'source>, base: &'rows RowChanges) -> Self {
        Self { rows, base, changes: RowChanges::default() }
    }

    /// Returns the row of a key after the changes so far
    pub(super) fn row(&mut self, key: Key) -> Result<Option<Row>, Suspend> {
        match self.changes.get(&key).or_else(|| self.base.get(&key)) {
            Some(row) => Ok(row.clone()),
            None => self.rows.row_cloned(key),
        }
    }

    /// Whether a row of this key is to be written
    pub(super) fn is_planned(&self, key: &Key) -> bool {
        matches!(self.changes.get(key), Some(Some(_)))
    }

    /// Fetches the rows of all these keys in one round trip
    pub(super) fn prefetch(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), Suspend> {
        let mut keys = keys.into_iter();
        self.prefetch_each(&mut || keys.next())
    }

    /// Not generic, because that would make code for each kind of iterator
    fn prefetch_each(&mut self, next: &mut dyn FnMut() -> Option<Key>) -> Result<(), Suspend> {
        let (changes, base) = (&self.changes, self.base);
        let unchanged = |key: &Key| !changes.contains_key(key) && !base.contains_key(key);
        self.rows.prefetch(iter::from_fn(next).filter(unchanged))
    }

    /// Allocates for this many more changes
    pub(super) fn reserve(&mut self, changes: usize) {
        self.changes.reserve(changes);
    }

    pub(super) fn put(&mut self, key: Key, row: impl Into<Row>) {
        self.changes.insert(key, Some(row.into()));
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.changes.insert(key, None);
    }

    /// The changes, without those of the earlier plan
    pub(super) fn into_changes(self) -> RowChanges {
        self.changes
    }
}

impl ReadRows for WriteOverlay<'_, '_> {
    fn read(&mut self, key: Key) -> Result<Option<Row>, Suspend> {
        self.row(key)
    }

    fn prefetch(&mut self, keys: &[Key]) -> Result<(), Suspend> {
        self.prefetch(keys.iter().copied())
    }
}
