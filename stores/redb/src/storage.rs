//! The storage: a handle that takes snapshots of the newest state and commits batches.
//!
//! A commit is durable when it returns, and a reader sees all of it or nothing. `checksum` detects
//! damaged rows, `file` opens the file.

use alloc::sync::Arc;
use core::fmt;
use std::path::{Path, PathBuf};

use milepost::Error;
use milepost::storage::{Batch, Storage, Table};
use redb::WriteTransaction;

use crate::acknowledged::{self, Acknowledged};
use crate::handle::Handle;
use crate::{OpenError, Options, RedbSnapshot, checksum, file};

/// A storage in one file
///
/// A clone is another handle to the same file; the file is closed when the last handle and snapshot
/// are dropped. Several threads may commit, one at a time. Rows are read from a
/// [`snapshot`](Storage::snapshot).
///
/// ```
/// use milepost::storage::{Batch, Key, Snapshot, Storage, Table};
/// use milepost_redb::{Options, RedbStorage};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chain.milepost");
/// let key = Key::number(Table::Heights, 258);
/// let mut storage = RedbStorage::open(&path, &Options::default())?;
/// let before = storage.snapshot()?;
///
/// let mut batch = Batch::new();
/// batch.put(key, &b"a block hash"[..]);
/// storage.commit(batch)?;
///
/// assert_eq!(storage.snapshot()?.get(&key)?.as_deref(), Some(&b"a block hash"[..]));
/// assert_eq!(before.get(&key)?, None);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RedbStorage {
    pub(crate) handle: Arc<Handle>,
    /// `None` for a file that has not its name yet
    acknowledged: Option<Arc<Acknowledged>>,
    is_verified: bool,
}

impl RedbStorage {
    /// Opens the storage at this path; creates it if there is no file
    ///
    /// An empty file is rejected: this crate never leaves one, so it belongs to another program or
    /// lost its content. Opening after a crash is fast, because every commit stores what a repair
    /// would compute. A file beside it, `FILE.acknowledged`, gets the number of each commit; it
    /// moves with the storage, or is left behind.
    ///
    /// # Errors
    ///
    /// An [`OpenError`] with the reason and what to do; the rows in the file are unchanged.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let mut storage = Self::open_alone(path, options)?;
        storage.acknowledged = Some(Arc::new(Acknowledged::open(path)?));
        Ok(storage)
    }

    /// Whether a storage was at this path, and its file is gone: `FILE.acknowledged` is left
    ///
    /// [`open`](Self::open) makes a new storage there all the same, which has nothing of the old
    /// one.
    ///
    /// # Errors
    ///
    /// An [`OpenError`] of kind [`Io`](crate::OpenErrorKind::Io) if `FILE.acknowledged` cannot be
    /// read.
    pub fn is_gone(path: impl AsRef<Path>) -> Result<bool, OpenError> {
        acknowledged::is_gone(path.as_ref())
    }

    /// Forgets which commit of the file at this path was acknowledged last
    ///
    /// A file that lost its last commits opens with its other rows after this.
    ///
    /// # Errors
    ///
    /// An [`OpenError`] of kind [`Io`](crate::OpenErrorKind::Io) if `FILE.acknowledged` cannot be
    /// removed.
    pub fn forget_acknowledged(path: impl AsRef<Path>) -> Result<(), OpenError> {
        acknowledged::forget(path.as_ref())
    }

    /// Renames the file at this path, so that the next [`open`](Self::open) makes a new storage;
    /// returns its new path
    ///
    /// For a damaged file whose rows may still be looked at. The file must not be open.
    ///
    /// # Errors
    ///
    /// An [`OpenError`] of kind [`Io`](crate::OpenErrorKind::Io) if it cannot be renamed.
    pub fn put_aside(path: impl AsRef<Path>) -> Result<PathBuf, OpenError> {
        file::put_aside(path.as_ref())
    }

    /// Opens or creates a file of which no commit is noted beside it
    pub(crate) fn open_alone(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let (database, is_verified) = file::open(path, options)?;
        let handle = Arc::new(Handle::new(database, path, options));
        Ok(Self { handle, acknowledged: None, is_verified })
    }

    /// Whether the file was verified page by page when it was opened, or is new
    ///
    /// Of another one, [`RedbSnapshot::verify_table`] says whether a row may be missing.
    pub const fn is_verified(&self) -> bool {
        self.is_verified
    }

    /// The path passed to [`open`](Self::open)
    pub fn path(&self) -> &Path {
        self.handle.path()
    }

    /// As [`commit`](Storage::commit), of a batch that can be committed again if this fails
    ///
    /// # Errors
    ///
    /// As there.
    pub fn commit_ref(&self, batch: &Batch) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        let open = self.handle.database()?;
        let database = open.value()?;
        let commit = open.call(|| {
            let transaction = file::begin(database)?;
            write(&transaction, batch)?;
            let commit = file::number(&transaction)?;
            transaction.commit()?;
            Ok(commit)
        })?;
        if let Some(acknowledged) = &self.acknowledged {
            acknowledged.note(commit);
        }
        Ok(())
    }
}

impl Storage for RedbStorage {
    /// It borrows nothing: later commits do not change it
    type Snapshot<'a> = RedbSnapshot;

    /// Opens the file again after an error of the disk
    fn snapshot(&self) -> Result<RedbSnapshot, Error> {
        RedbSnapshot::new(&self.handle.database()?)
    }

    /// Writes the batch to disk, all of it or nothing
    ///
    /// An empty batch does not access the file. After an error of the disk the next call opens the
    /// file again, once the snapshots of before are dropped; a batch that failed can be committed
    /// again.
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.commit_ref(&batch)
    }
}

impl fmt::Debug for RedbStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RedbStorage").field("path", &self.path()).finish_non_exhaustive()
    }
}

fn write(transaction: &WriteTransaction, batch: &Batch) -> Result<(), redb::Error> {
    for table in Table::ALL {
        let mut changes = batch.changes().iter().filter(|(key, _)| key.table() == table).peekable();
        if changes.peek().is_none() {
            continue;
        }
        let mut redb_table = transaction.open_table(file::definition(table))?;
        for (key, row) in changes {
            let Some(row) = row else {
                redb_table.remove(key.bytes_in_table())?;
                continue;
            };
            let length = checksum::LENGTH.saturating_add(row.len());
            let mut value = redb_table.insert_reserve(key.bytes_in_table(), length)?;
            let (checksum, bytes) = value.as_mut().split_at_mut(checksum::LENGTH);
            checksum.copy_from_slice(&checksum::of(key, row));
            bytes.copy_from_slice(row);
        }
    }
    Ok(())
}
