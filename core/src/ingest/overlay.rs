//! The storage as it will be once the batch is committed.
//!
//! A plan undoes blocks and applies others; each step must see the steps before it. Changes are
//! kept by key, so a batch names every key once; they are put in order when it is made.

use hashbrown::HashMap;

use crate::facts::replay::{Stop, Supplied};
use crate::facts::{Key, Row};
use crate::primitives::HashBuilder;

/// Changed rows, and removed ones, by key
pub(super) type Changed = HashMap<Key, Option<Row>, HashBuilder>;

/// Rows of the storage with the changes planned so far on top
pub(super) struct Overlay<'rows, 'source> {
    supplied: &'rows mut Supplied<'source>,
    /// What was planned before, and stays as it is
    before: &'rows Changed,
    changes: Changed,
}

impl<'rows, 'source> Overlay<'rows, 'source> {
    pub(super) fn new(supplied: &'rows mut Supplied<'source>) -> Self {
        static NOTHING: Changed = Changed::with_hasher(HashBuilder::new());
        Self::over(supplied, &NOTHING)
    }

    /// An overlay over what was planned before
    pub(super) fn over(supplied: &'rows mut Supplied<'source>, before: &'rows Changed) -> Self {
        Self { supplied, before, changes: Changed::default() }
    }

    /// The row of a key after the changes so far
    pub(super) fn row(&mut self, key: Key) -> Result<Option<Row>, Stop> {
        match self.changes.get(&key).or_else(|| self.before.get(&key)) {
            Some(row) => Ok(row.clone()),
            None => self.supplied.cloned(key),
        }
    }

    /// Makes sure that the rows of all these keys can be read, in one round trip
    pub(super) fn all(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), Stop> {
        let (changes, before) = (&self.changes, self.before);
        let unknown = |key: &Key| !changes.contains_key(key) && !before.contains_key(key);
        self.supplied.all(keys.into_iter().filter(unknown))
    }

    /// Makes room for so many changes
    pub(super) fn reserve(&mut self, changes: usize) {
        self.changes.reserve(changes);
    }

    pub(super) fn put(&mut self, key: Key, row: impl Into<Row>) {
        self.changes.insert(key, Some(row.into()));
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.changes.insert(key, None);
    }

    /// The changes, without those before
    pub(super) fn into_changes(self) -> Changed {
        self.changes
    }
}
