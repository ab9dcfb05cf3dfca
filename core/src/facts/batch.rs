//! A change of the storage that happens whole or not at all.

use alloc::vec::Vec;

use super::{Key, Row};

/// Rows to be written and removed in one atomic step
///
/// Each key occurs at most once when the engine builds the batch; a batch built by hand may name
/// a key twice, and then the last word counts.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    changes: Vec<(Key, Option<Row>)>,
}

impl Batch {
    /// A batch that changes nothing
    pub const fn new() -> Self {
        Self { changes: Vec::new() }
    }

    /// A batch of these changes
    pub(crate) const fn of(changes: Vec<(Key, Option<Row>)>) -> Self {
        Self { changes }
    }

    /// Writes a row, in place of the one that may be there
    pub fn put(&mut self, key: Key, row: impl Into<Row>) {
        self.changes.push((key, Some(row.into())));
    }

    /// Removes a row; one that is not there is no error
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

impl IntoIterator for Batch {
    type Item = (Key, Option<Row>);
    type IntoIter = alloc::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.changes.into_iter()
    }
}
