//! An archive in memory, for tests and demos.
//!
//! Rows are as they were put, in the order of their keys, and a call sees those before it. Leaves
//! out compression, and locks: it is for one thread.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::ops::Bound;

use super::{Archive, is_new_content, served_row};
use crate::Error;
use crate::storage::{Key, Row, Table};

/// An archive in an ordered map, for one thread; hosts with threads put a lock around it
///
/// ```
/// use milepost::archive::{Archive, Envelope, MemoryArchive, Origin, WriterId};
/// use milepost::storage::{Key, Row, Table};
///
/// let archive = MemoryArchive::new();
/// let key = Key::number(Table::ArchivedConfigs, 7);
/// let row = Row::from(Envelope::plain(Origin::of(WriterId(1)), b"a configuration").encode());
/// archive.put_many(&[(key, row.clone())])?;
/// let mut rows = Vec::new();
/// archive.get_many(&[key, Key::number(Table::ArchivedConfigs, 8)], &mut rows)?;
/// assert_eq!(rows, [Some(row), None]);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryArchive {
    /// More than one row only where their contents differ
    rows: RefCell<BTreeMap<Key, Vec<Row>>>,
}

impl MemoryArchive {
    /// An empty archive
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of keys that hold a row
    pub fn len(&self) -> usize {
        self.rows.borrow().len()
    }

    /// Whether there are no rows
    pub fn is_empty(&self) -> bool {
        self.rows.borrow().is_empty()
    }
}

impl Archive for MemoryArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let stored = self.rows.borrow();
        for key in keys {
            rows.push(served_row(key, stored.get(key).into_iter().flatten().cloned())?);
        }
        Ok(())
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        let mut stored = self.rows.borrow_mut();
        for (key, row) in rows {
            let existing = stored.get(key).into_iter().flatten();
            if is_new_content(row, existing.map(|row| &**row))? {
                stored.entry(*key).or_default().push(row.clone());
            }
        }
        Ok(())
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        let mut stored = self.rows.borrow_mut();
        for (key, row) in rows {
            stored.insert(*key, [row.clone()].into());
        }
        Ok(())
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        let mut stored = self.rows.borrow_mut();
        for key in keys {
            stored.remove(key);
        }
        Ok(())
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        let stored = self.rows.borrow();
        let after = after.map_or(Bound::Unbounded, |key| Bound::Excluded(*key));
        let in_table = stored
            .range((after, Bound::Unbounded))
            .filter(|(key, _)| key.table() == table)
            .take(limit.max(1));
        rows.extend(in_table.flat_map(|(key, rows)| rows.iter().map(|row| (*key, row.clone()))));
        Ok(())
    }
}
