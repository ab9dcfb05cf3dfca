//! A storage in memory, for tests, demos and hosts that keep a window of the chain.

use hashbrown::HashMap;

use super::{Batch, Key, Row, Snapshot, Storage};
use crate::Error;
use crate::primitives::HashBuilder;

/// A storage in a hash map
///
/// Keys are hashes or numbers already, so the map does not hash them again. A clone is a snapshot:
/// it shares the bytes of the rows and is not affected by later commits.
///
/// ```
/// use milepost::storage::{Batch, Key, MemoryStorage, Snapshot, Storage, Table};
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

    /// Whether there are no rows
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows, in no particular order
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }
}

impl Snapshot for MemoryStorage {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        Ok(self.rows.get(key).cloned())
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows.get(key).filter(|row| reader(row)).cloned())
    }
}

impl Storage for MemoryStorage {
    type Snapshot<'a> = &'a Self;

    fn snapshot(&self) -> Result<&Self, Error> {
        Ok(self)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        let changes = batch.changes().len();
        // An estimate: in a storage that has rows, about half of the changes replace or remove one.
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
