//! A change of the storage that is applied whole or not at all.

use alloc::vec::Vec;

use super::{Key, Row};

/// Rows to be written and removed in one atomic step
///
/// A batch made by the engine names each key at most once, sorted by the number of the table and
/// the bytes of the key, which is the order in which many storages write fastest. A batch made by
/// hand may name a key twice; the last change of a key wins.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    changes: Vec<(Key, Option<Row>)>,
}

impl Batch {
    /// An empty batch
    pub const fn new() -> Self {
        Self { changes: Vec::new() }
    }

    /// A batch of these changes
    pub(crate) const fn from_changes(changes: Vec<(Key, Option<Row>)>) -> Self {
        Self { changes }
    }

    /// Writes a row and replaces the one that may be there
    pub fn put(&mut self, key: Key, row: impl Into<Row>) {
        self.changes.push((key, Some(row.into())));
    }

    /// Removes a row; does nothing if there is none
    pub fn remove(&mut self, key: Key) {
        self.changes.push((key, None));
    }

    /// The changes in the order in which they apply: a row to write, or `None` to remove
    pub fn changes(&self) -> &[(Key, Option<Row>)] {
        &self.changes
    }

    /// Whether the batch changes nothing
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// A batch of these changes: rows to write, and keys to remove
impl FromIterator<(Key, Option<Row>)> for Batch {
    fn from_iter<I: IntoIterator<Item = (Key, Option<Row>)>>(changes: I) -> Self {
        Self { changes: changes.into_iter().collect() }
    }
}

impl IntoIterator for Batch {
    type Item = (Key, Option<Row>);
    type IntoIter = alloc::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.changes.into_iter()
    }
}
