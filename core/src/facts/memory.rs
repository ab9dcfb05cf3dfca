//! A storage in memory: the one for tests, demos and hosts that keep a window of the chain.

use hashbrown::HashMap;

use super::{Batch, Key, Row, Rows, Storage};
use crate::Error;
use crate::primitives::HashBuilder;

/// A storage in a hash map, keyed by what are hashes already
///
/// A clone is a snapshot: it shares the bytes of the rows and goes its own way.
///
/// ```
/// use milepost::facts::{Batch, Key, MemoryStorage, Rows, Storage, Table};
///
/// let mut storage = MemoryStorage::new();
/// let key = Key::number(Table::Configs, 7);
/// let mut batch = Batch::new();
/// batch.put(key, &b"a row"[..]);
/// storage.commit(batch)?;
///
/// let snapshot = storage.clone();
/// let mut batch = Batch::new();
/// batch.remove(key);
/// storage.commit(batch)?;
/// assert_eq!(snapshot.get(&key)?.as_deref(), Some(&b"a row"[..]));
/// assert!(storage.is_empty());
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    rows: HashMap<Key, Row, HashBuilder>,
}

impl MemoryStorage {
    /// An empty storage
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of rows
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every row, in no order
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }
}

impl Rows for MemoryStorage {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        Ok(self.rows.get(key).cloned())
    }

    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        let row = self.rows.get(key);
        row.into_iter().for_each(|row| reader(row));
        Ok(row.is_some())
    }
}

impl Storage for MemoryStorage {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        let changes = batch.changes().len();
        // Some keys are there already, unless none is.
        self.rows.reserve(if self.is_empty() { changes } else { changes.div_ceil(2) });
        for (key, row) in batch {
            match row {
                Some(row) => self.rows.insert(key, row),
                None => self.rows.remove(&key),
            };
        }
        Ok(())
    }
}
