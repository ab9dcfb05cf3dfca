//! The archive that `milepost archive repair` writes to: what differs is replaced.
//!
//! A row that is put is compared with the one that is there. Conflicts and rows that cannot be read
//! are replaced as well, and rows that are right stay as they are. Afterwards rows of the repaired
//! heights are removed that no block has; a proof goes with its block, whether or not the blocks
//! were checked this time. The progress of the writers is kept in memory, because it
//! says what was repaired, not what the archive has.

use std::collections::HashSet;
use std::sync::Mutex;

use milepost::archive::{
    Archive, ArchivedBlock, MemoryArchive, Removal, WriterProgress, is_new_content,
};
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};

use crate::archive::{SharedArchive, read_each};
use crate::locks::lock;

/// An archive whose rows are replaced by those that are put
pub(super) struct RepairedArchive {
    archive: SharedArchive,
    progress: Mutex<MemoryArchive>,
    /// Locked while rows are compared and replaced: parts overlap, and each key counts once
    repaired: Mutex<Repaired>,
}

#[derive(Default)]
struct Repaired {
    /// Number of keys whose rows were replaced
    replaced: u64,
    /// The keys of the rows that were put, some 40 bytes each
    right: HashSet<Key>,
}

impl RepairedArchive {
    pub(super) fn new(archive: SharedArchive) -> Self {
        Self { archive, progress: Mutex::default(), repaired: Mutex::default() }
    }

    /// Number of keys whose rows were replaced
    pub(super) fn replaced(&self) -> u64 {
        lock(&self.repaired).replaced
    }

    /// Removes the rows of these heights that were not put; returns the number of their keys
    ///
    /// Only of the heights that are complete by now, and not of transactions that are open.
    pub(super) fn remove_others(&self, progress: &WriterProgress) -> Result<u64, Error> {
        let open: HashSet<CryptoHash> = progress.open.iter().map(|open| open.hash).collect();
        let repaired = lock(&self.repaired);
        let mut removal = Removal::new();
        while removal.page(&self.archive, &mut |row| {
            let is_open = row.transaction.is_some_and(|hash| open.contains(&hash));
            let key = match (row.key.table(), row.key.bytes_in_table().try_into()) {
                (Table::ArchivedProofs, Ok(hash)) => ArchivedBlock::key(CryptoHash::new(hash)),
                _ => row.key,
            };
            progress.heights.contains(row.height) && !is_open && !repaired.right.contains(&key)
        })? {}
        Ok(removal.removed())
    }

    fn with_progress<R>(&self, work: impl FnOnce(&mut MemoryArchive) -> R) -> R {
        work(&mut lock(&self.progress))
    }
}

impl Archive for RepairedArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        if keys.iter().all(|key| key.table() == Table::ArchiveProgress) {
            return self.with_progress(|progress| progress.get_many(keys, rows));
        }
        self.archive.get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        let mut repaired = lock(&self.repaired);
        let keys: Vec<Key> = rows.iter().map(|(key, _)| *key).collect();
        let (mut missing, mut wrong) = (Vec::new(), Vec::new());
        let stored = read_each(&keys, |keys, rows| self.archive.get_many(keys, rows))?;
        for (stored, (key, row)) in stored.into_iter().zip(rows) {
            match stored {
                Ok(None) => missing.push((*key, row.clone())),
                Ok(Some(other)) if !is_new_content(row, [&*other])? => {}
                // What another release has put is not wrong.
                Err(error) if error.kind() == ErrorKind::Version => return Err(error),
                Ok(Some(_)) | Err(_) => wrong.push((*key, row.clone())),
            }
        }
        self.archive.put_many(&missing)?;
        self.archive.replace_many(&wrong)?;
        repaired.replaced += wrong.len() as u64;
        repaired.right.extend(keys);
        Ok(())
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.with_progress(|progress| progress.replace_many(rows))
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.archive.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        match table {
            Table::ArchiveProgress => {
                self.with_progress(|progress| progress.scan(table, after, limit, rows))
            }
            _ => self.archive.scan(table, after, limit, rows),
        }
    }
}
