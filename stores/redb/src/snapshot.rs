//! One state of the storage.
//!
//! A snapshot is one redb read transaction. It does not block commits. redb does not reuse the
//! pages of its state until it is dropped, so the file grows by what is written in the meantime.

use alloc::sync::Arc;
use core::fmt;
use std::path::Path;
use std::sync::OnceLock;

use milepost::storage::{Key, Row, Snapshot, Table};
use milepost::{Error, ErrorKind};
use redb::{ReadOnlyTable, ReadTransaction, ReadableDatabase};

use crate::checksum;
use crate::file;
use crate::handle::OpenDatabase;
use crate::panic_guard::{self, PanicGuard};
use crate::{OpenError, OpenErrorKind, Options};

type OpenTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// One state of a [`RedbStorage`](crate::RedbStorage), which later commits do not change
///
/// Cheap to create: pages are read when rows are. It keeps the file open.
pub struct RedbSnapshot {
    /// By table number; each table is opened by the first read
    tables: [OnceLock<PanicGuard<OpenTable>>; Table::ALL.len()],
    transaction: PanicGuard<ReadTransaction>,
    /// Dropped last: closing a database ends its transactions
    database: Arc<OpenDatabase>,
}

impl RedbSnapshot {
    /// The newest state of an existing file, which is not changed
    ///
    /// What opening a storage would write, after a crash too, stays in memory, so the disk may be
    /// read-only. No storage can open the file meanwhile; other snapshots can.
    ///
    /// # Errors
    ///
    /// An [`OpenError`] with the reason and what to do.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let database = file::open_unchanged(path, options)?;
        Self::new(&Arc::new(OpenDatabase::new(database)))
            .map_err(|error| OpenError::caused_by(OpenErrorKind::Io, path, "", error))
    }

    pub(crate) fn new(database: &Arc<OpenDatabase>) -> Result<Self, Error> {
        let redb_database = database.value()?;
        let transaction = database.call(|| Ok(redb_database.begin_read()?))?;
        Ok(Self {
            tables: [const { OnceLock::new() }; Table::ALL.len()],
            transaction: PanicGuard::new(transaction),
            database: Arc::clone(database),
        })
    }

    /// Runs a closure that reads, and notes an error of the disk for the storage
    pub(crate) fn call<T>(
        &self,
        work: impl FnOnce() -> Result<T, redb::Error>,
    ) -> Result<T, Error> {
        self.database.call(work)
    }

    pub(crate) fn table(&self, table: Table) -> Result<&OpenTable, Error> {
        let slot = self.tables.get(usize::from(table.number()));
        let slot = slot.ok_or_else(|| {
            Error::new(ErrorKind::Usage, format_args!("no table {} in this file", table.name()))
        })?;
        if let Some(open) = slot.get() {
            return open.value();
        }
        let transaction = self.transaction.value()?;
        // The file is created with every table, so a missing one is an error.
        let open = self.call(|| Ok(transaction.open_table(file::definition(table))?))?;
        slot.get_or_init(|| PanicGuard::new(open)).value()
    }
}

impl Snapshot for RedbSnapshot {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let table = self.table(key.table())?;
        self.call(|| {
            let value = table.get(key.bytes_in_table())?;
            Ok(value.map(|value| verify_row(key, value.value()).map(Row::from)))
        })?
        .transpose()
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        let table = self.table(key.table())?;
        let value = self.call(|| Ok(table.get(key.bytes_in_table())?.map(PanicGuard::new)))?;
        let Some(value) = value else { return Ok(None) };
        let value = value.value()?;
        let row = verify_row(key, panic_guard::call(|| Ok(value.value()))?)?;
        // Outside of `panic_guard`: a panic of the reader is not an error of redb.
        Ok(reader(row).then(|| Row::from(row)))
    }
}

impl fmt::Debug for RedbSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RedbSnapshot").finish_non_exhaustive()
    }
}

/// Checks the checksum of a value on disk and returns the row after it
pub(crate) fn verify_row<'row>(key: &Key, value: &'row [u8]) -> Result<&'row [u8], Error> {
    match value.split_first_chunk::<{ checksum::LENGTH }>() {
        Some((checksum, row)) if *checksum == checksum::of(key, row) => Ok(row),
        _ => Err(Error::new(
            ErrorKind::Corrupt,
            format_args!("{} bytes on disk do not match their checksum", value.len()),
        )
        .at(format_args!("{key:?}"))),
    }
}
