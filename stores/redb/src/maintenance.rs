//! Reading and rewriting a whole file: its rows, the sizes of its tables, compaction, copies.
//!
//! All of it reads a snapshot, except compaction, which needs the only handle to the file. A copy
//! gets its name when it is complete, so a file at that name is a whole one. What rows mean is not
//! known here.

use alloc::sync::Arc;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind as IoErrorKind};
use std::path::{Path, PathBuf};
use std::process;

use milepost::storage::{Batch, Key, Snapshot as _, Storage as _, Table};
use milepost::{Error, ErrorKind};
use redb::{ReadableTable as _, ReadableTableMetadata as _};

use crate::handle::Handle;
use crate::panic_guard::{self, PanicGuard};
use crate::snapshot::verify_row;
use crate::{OpenError, OpenErrorKind, Options, RedbSnapshot, RedbStorage, file};

/// Bytes of rows that one commit of a copy writes: 16 MiB, whose two `fsync`s are no longer felt
const COPY_BATCH_BYTES: usize = 16 << 20;

/// The callback of [`RedbSnapshot::for_each_row`]
pub type RowVisitor<'visit> = dyn FnMut(Result<(Key, &[u8]), Error>) -> Result<(), Error> + 'visit;

/// The callback of [`RedbSnapshot::verify_table`], with the bytes of each row
pub type VerifyProgress<'progress> = dyn FnMut(u64) -> Result<(), Error> + 'progress;

/// The size of a table in a file
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct TableSize {
    /// Number of rows
    pub rows: u64,
    /// Bytes of keys, rows and their checksums
    pub stored_bytes: u64,
    /// Bytes of the pages that hold them, used or not
    pub page_bytes: u64,
}

impl RedbSnapshot {
    /// The size of a table; reads every page of it
    ///
    /// # Errors
    ///
    /// If the table cannot be read.
    pub fn table_size(&self, table: Table) -> Result<TableSize, Error> {
        let table = self.table(table)?;
        self.call(|| {
            let (rows, stats) = (table.len()?, table.stats()?);
            let stored_bytes = stats.stored_bytes();
            let overhead = stats.metadata_bytes().saturating_add(stats.fragmented_bytes());
            Ok(TableSize { rows, stored_bytes, page_bytes: stored_bytes.saturating_add(overhead) })
        })
    }

    /// Calls `visit` with every row of a table in the order of the keys, or with the error of a row
    /// that does not match its checksum; ends early when `visit` returns an error
    ///
    /// # Errors
    ///
    /// That of `visit`, or of kind `Corrupt` or `Storage` if the rest of the table cannot be read.
    pub fn for_each_row(&self, table: Table, visit: &mut RowVisitor<'_>) -> Result<(), Error> {
        let open = self.table(table)?;
        let mut rows = PanicGuard::new(self.call(|| Ok(open.iter()?))?);
        loop {
            let rows = rows.value_mut()?;
            let next = self.call(|| Ok(rows.next().transpose()?.map(PanicGuard::new)))?;
            let Some(entry) = next else { return Ok(()) };
            let (key, value) = entry.value()?;
            let (key, value) = panic_guard::call(|| Ok((key.value(), value.value())))?;
            let row = match Key::new(table, key) {
                Some(key) => verify_row(&key, value).map(|row| (key, row)),
                None => Err(Error::new(
                    ErrorKind::Corrupt,
                    format_args!("{}: a key of {} bytes", table.name(), key.len()),
                )),
            };
            visit(row)?;
        }
    }

    /// Checks that every row of a table is found: reads all in the order of their keys, and each by
    /// its key, and counts them; calls `progress` after each, and ends early when that fails
    ///
    /// What a whole file is verified with while it is used. A damaged page is an error, a panic of
    /// redb, a key out of order, a row that its key does not find, or another number of rows.
    /// Commits continue, and the pages that they replace are not used again before the snapshot is
    /// dropped.
    ///
    /// # Errors
    ///
    /// That of `progress`, of kind `Corrupt` for the first damage, or of kind `Storage`.
    pub fn verify_table(
        &self,
        table: Table,
        progress: &mut VerifyProgress<'_>,
    ) -> Result<(), Error> {
        let damaged = |key: &Key, detail| {
            Err(Error::new(ErrorKind::Corrupt, detail).at(format_args!("{key:?}")))
        };
        let (mut last, mut count) = (None::<Key>, 0_u64);
        self.for_each_row(table, &mut |row| {
            let (key, row) = row?;
            if last.is_some_and(|last| last.bytes_in_table() >= key.bytes_in_table()) {
                return damaged(&key, "the key is not greater than the one before it");
            }
            let mut is_same = false;
            self.get_with(&key, &mut |found| {
                is_same = found == row;
                false
            })?;
            if !is_same {
                return damaged(&key, "the row is not found by its key");
            }
            (last, count) = (Some(key), count.saturating_add(1));
            let bytes = key.bytes_in_table().len().saturating_add(row.len());
            progress(bytes as u64)
        })?;
        let open = self.table(table)?;
        let expected = panic_guard::call(|| Ok(open.len()?))?;
        if count != expected {
            let detail = format_args!("{count} rows are found, and {expected} were written");
            return Err(Error::new(ErrorKind::Corrupt, detail).at(table.name()));
        }
        Ok(())
    }
}

impl RedbStorage {
    /// Moves pages to the start of the file and cuts its end off, as far as possible
    ///
    /// Needs the only handle to the file and no snapshot. Takes minutes for large files, and the
    /// file is complete at any moment of it.
    ///
    /// # Errors
    ///
    /// Of kind `Usage` if there is another handle or snapshot, otherwise as a commit.
    pub fn compact(&mut self) -> Result<(), Error> {
        let only = Arc::get_mut(&mut self.handle).and_then(Handle::only);
        let database = only.ok_or_else(|| {
            Error::new(
                ErrorKind::Usage,
                "a file is compacted by its only handle, without snapshots",
            )
        })?;
        let database = database.value_mut()?;
        // Each pass moves what the one before made room for.
        while panic_guard::call(|| database.compact().map_err(redb::Error::from))? {}
        Ok(())
    }
}

/// A copy of a storage in a new file, which gets its name when it is complete
///
/// ```
/// use milepost::storage::{Batch, Key, Snapshot, Storage, Table};
/// use milepost_redb::{FileCopy, Options, RedbStorage};
///
/// # let folder = tempfile::tempdir()?;
/// # let (path, to) = (folder.path().join("chain.milepost"), folder.path().join("copy.milepost"));
/// let key = Key::number(Table::Heights, 258);
/// let mut storage = RedbStorage::open(&path, &Options::default())?;
/// let mut batch = Batch::new();
/// batch.put(key, &b"a block hash"[..]);
/// storage.commit(batch)?;
///
/// let (snapshot, mut copy) = (storage.snapshot()?, FileCopy::create(&to)?);
/// for table in Table::ALL {
///     snapshot.for_each_row(table, &mut |row| row.and_then(|(key, row)| copy.put(key, row)))?;
/// }
/// copy.finish()?;
/// let copy = RedbStorage::open(&to, &Options::default())?;
/// assert_eq!(copy.snapshot()?.get(&key)?.as_deref(), Some(&b"a block hash"[..]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileCopy {
    /// Present until the copy is finished
    storage: Option<RedbStorage>,
    batch: Batch,
    batch_bytes: usize,
    temporary: PathBuf,
    path: PathBuf,
}

impl FileCopy {
    /// A copy without rows, next to this path, at which there must be nothing
    ///
    /// # Errors
    ///
    /// An [`OpenError`] of kind [`Io`](OpenErrorKind::Io) if there is something at the path, or if
    /// no file can be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        if fs::symlink_metadata(path).is_ok() {
            return Err(exists(path));
        }
        let mut temporary = OsString::from(path);
        temporary.push(format!(".{}.copy", process::id()));
        let temporary = PathBuf::from(temporary);
        if fs::symlink_metadata(&temporary).is_ok() {
            return Err(exists(&temporary));
        }
        let storage = Some(RedbStorage::open_alone(&temporary, &Options::default())?);
        let (batch, path) = (Batch::new(), path.to_owned());
        Ok(Self { storage, batch, batch_bytes: 0, temporary, path })
    }

    /// Adds a row
    ///
    /// # Errors
    ///
    /// As a commit.
    pub fn put(&mut self, key: Key, row: &[u8]) -> Result<(), Error> {
        self.batch_bytes = self.batch_bytes.saturating_add(row.len());
        self.batch.put(key, row);
        if self.batch_bytes < COPY_BATCH_BYTES {
            return Ok(());
        }
        self.commit()
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.batch_bytes = 0;
        let batch = core::mem::take(&mut self.batch);
        match &mut self.storage {
            Some(storage) => storage.commit(batch),
            None => Err(Error::new(ErrorKind::Usage, "the copy is finished")),
        }
    }

    /// Commits the last rows, closes the file and gives it its name
    ///
    /// # Errors
    ///
    /// As a commit; also if something is at the path by now. Nothing remains of the copy then.
    pub fn finish(mut self) -> Result<(), Error> {
        self.commit()?;
        self.storage = None;
        file::rename_new(&self.temporary, &self.path)
            .and_then(|()| file::sync_directory(&self.path))
            .map_err(|error| match error.kind() {
                IoErrorKind::AlreadyExists => exists(&self.path),
                _ => OpenError::caused_by(OpenErrorKind::Io, &self.path, "", error),
            })
            .map_err(Error::from)
    }
}

impl Drop for FileCopy {
    fn drop(&mut self) {
        self.storage = None;
        // Not there if the copy was finished; a remaining one takes space and is harmless.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn exists(path: &Path) -> OpenError {
    let error = io::Error::new(IoErrorKind::AlreadyExists, "there is a file already");
    OpenError::caused_by(OpenErrorKind::Io, path, "", error)
}
