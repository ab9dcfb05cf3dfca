//! Merges the batches of several blocks into one commit.
//!
//! A commit that is durable waits for the disk, so a host that imports many blocks in a row commits
//! several together, and imports the next ones meanwhile. Batches are merged by key: a row that a
//! later batch removes is not written. Nothing here commits or decides when to: the host knows
//! whether more blocks wait, and how many it can afford to import again.

use alloc::vec::Vec;
use core::mem;

use hashbrown::HashMap;

use super::{Batch, Isolation, Key, Row, Snapshot, check_row_count, sorted_by_keys};
use crate::Error;
use crate::primitives::HashBuilder;

/// Changes of a storage that are not committed yet
///
/// A [`snapshot`](Self::snapshot) has the rows of the storage with these changes on top, so blocks
/// are imported one after the other, and [`take`](Self::take) returns all of it as one batch. Who
/// reads the storage itself sees nothing of the blocks before the commit, and all of them after
/// it. What is in the buffer when it is dropped, or when the process dies, is lost: those blocks
/// are imported again. Hand each [`ChainUpdate`](crate::import::ChainUpdate) to the endpoint after
/// the commit, in the order of the blocks. While a buffer is in use, blocks must be imported
/// through it only.
///
/// ```
/// use milepost::endpoint::Engine;
/// use milepost::import::{BlockImport, ImportSettings};
/// use milepost::storage::{MemoryStorage, Storage, WriteBuffer};
///
/// let engine = Engine::default();
/// let (mut storage, mut buffer) = (MemoryStorage::new(), WriteBuffer::new());
/// for height in 7..10 {
///     let message = format!(
///         r#"{{"block":{{"header":{{"height":{height},
///         "epoch_id":"11111111111111111111111111111111",
///         "hash":"1111111111111111111111111111111{height}",
///         "prev_hash":"1111111111111111111111111111111{}"}}}},"shards":[]}}"#,
///         height - 1,
///     );
///     let import = BlockImport::new(message.as_bytes(), ImportSettings::default())?;
///     let (batch, _) = import.run(&buffer.snapshot(&storage))?;
///     buffer.push(batch);
/// }
/// assert_eq!(engine.chain_status(&buffer.snapshot(&storage))?.blocks, 3);
/// assert_eq!(engine.chain_status(&storage)?.blocks, 0);
/// storage.commit(buffer.take())?;
/// assert_eq!(engine.chain_status(&storage)?.blocks, 3);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct WriteBuffer {
    changes: Changes,
    /// What was taken last: a snapshot of the storage may be of the time before its commit
    taken: Changes,
    bytes: usize,
}

type Changes = HashMap<Key, Option<Row>, HashBuilder>;

/// The memory of a change in the map besides the bytes of its row
const ENTRY_BYTES: usize = size_of::<(Key, Option<Row>)>();

impl WriteBuffer {
    /// An empty buffer
    pub fn new() -> Self {
        Self::default()
    }

    /// The rows of a storage with everything on top that was pushed
    ///
    /// `rows` is a snapshot of the time before or after the commit of the batch that was taken
    /// last, which may run on another thread.
    pub const fn snapshot<S: Snapshot>(&self, rows: S) -> BufferedSnapshot<'_, S> {
        BufferedSnapshot { rows, buffer: self }
    }

    /// Adds the changes of a batch
    pub fn push(&mut self, batch: Batch) {
        for (key, row) in batch {
            let length = |row: &Option<Row>| row.as_ref().map_or(0, |row| row.len());
            self.bytes += length(&row);
            match self.changes.insert(key, row) {
                Some(replaced) => self.bytes -= length(&replaced),
                None => self.bytes += ENTRY_BYTES,
            }
        }
    }

    /// Bytes of memory of the changes that are pushed and not taken, about
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns all changes since the last call as one batch, to be committed
    ///
    /// Each batch must be committed before the next one is taken. After a commit that failed, drop
    /// the buffer, and import the blocks since the last commit again.
    pub fn take(&mut self) -> Batch {
        self.bytes = 0;
        self.taken = mem::take(&mut self.changes);
        let changes = self.taken.iter().map(|(key, row)| (*key, row.clone())).collect::<Vec<_>>();
        Batch::from_changes(sorted_by_keys(changes, |(key, _)| *key))
    }

    fn change(&self, key: &Key) -> Option<&Option<Row>> {
        self.changes.get(key).or_else(|| self.taken.get(key))
    }
}

/// The rows of a storage with what a [`WriteBuffer`] has on top of them
#[derive(Debug)]
pub struct BufferedSnapshot<'buffer, S> {
    rows: S,
    buffer: &'buffer WriteBuffer,
}

impl<S: Snapshot> Snapshot for BufferedSnapshot<'_, S> {
    fn isolation(&self) -> Isolation {
        self.rows.isolation()
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        match self.buffer.change(key) {
            Some(row) => Ok(row.clone()),
            None => self.rows.get(key),
        }
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        match self.buffer.change(key) {
            Some(row) => Ok(row.as_ref().filter(|row| reader(row)).cloned()),
            None => self.rows.get_with(key, reader),
        }
    }

    /// Reads what the buffer does not have in one call of the storage
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let is_stored = |key: &&Key| self.buffer.change(key).is_none();
        let stored_keys: Vec<Key> = keys.iter().filter(is_stored).copied().collect();
        let mut stored = Vec::new();
        self.rows.get_many(&stored_keys, &mut stored)?;
        check_row_count(stored.len(), stored_keys.len())?;
        let mut stored = stored.into_iter();
        rows.extend(keys.iter().map(|key| match self.buffer.change(key) {
            Some(row) => row.clone(),
            None => stored.next().flatten(),
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{MemoryStorage, Storage as _, Table};

    fn key(number: u64) -> Key {
        Key::number(Table::Heights, number)
    }

    fn batch(changes: &[(u64, Option<&[u8]>)]) -> Batch {
        let mut batch = Batch::new();
        for (number, row) in changes {
            match row {
                Some(row) => batch.put(key(*number), *row),
                None => batch.remove(key(*number)),
            }
        }
        batch
    }

    /// The rows of keys 1 to 5, each read in all ways
    fn rows(snapshot: &impl Snapshot) -> [Option<Row>; 5] {
        let keys = [1, 2, 3, 4, 5].map(key);
        let mut many = Vec::new();
        snapshot.get_many(&keys, &mut many).unwrap();
        for (key, row) in keys.iter().zip(&many) {
            assert_eq!(&snapshot.get(key).unwrap(), row);
            assert_eq!(&snapshot.get_with(key, &mut |_| true).unwrap(), row);
            assert_eq!(snapshot.get_with(key, &mut |_| false).unwrap(), None);
        }
        many.try_into().unwrap()
    }

    #[test]
    fn snapshots_are_the_same_before_during_and_after_a_commit() {
        let row = |bytes: &[u8]| Some(Row::from(bytes));
        let mut storage = MemoryStorage::new();
        storage.commit(batch(&[(1, Some(b"one")), (2, Some(b"two"))])).unwrap();
        let mut buffer = WriteBuffer::new();
        buffer.push(batch(&[(2, None), (3, Some(b"three")), (4, Some(b"four"))]));
        buffer.push(batch(&[(3, Some(b"3")), (4, None)]));
        let expected = [row(b"one"), None, row(b"3"), None, None];
        assert_eq!(rows(&buffer.snapshot(&storage)), expected);

        let taken = buffer.take();
        assert_eq!(rows(&buffer.snapshot(&storage)), expected);
        buffer.push(batch(&[(1, None), (5, Some(b"five"))]));
        let next = [None, None, row(b"3"), None, row(b"five")];
        assert_eq!(rows(&buffer.snapshot(&storage)), next);
        storage.commit(taken).unwrap();
        assert_eq!(rows(&storage), expected);
        assert_eq!(rows(&buffer.snapshot(&storage)), next);
        storage.commit(buffer.take()).unwrap();
        assert_eq!(rows(&storage), next);
        assert!(buffer.take().is_empty());
    }

    #[test]
    fn a_row_that_is_removed_again_is_not_written() {
        let mut buffer = WriteBuffer::new();
        buffer.push(batch(&[(2, Some(b"a row")), (1, Some(b"kept"))]));
        assert_eq!(buffer.bytes(), 2 * ENTRY_BYTES + 9);
        buffer.push(batch(&[(2, None)]));
        assert_eq!(buffer.bytes(), 2 * ENTRY_BYTES + 4);
        let taken = buffer.take();
        assert_eq!(taken.changes(), [(key(1), Some(Row::from(&b"kept"[..]))), (key(2), None)]);
        assert_eq!(buffer.bytes(), 0);
    }
}
