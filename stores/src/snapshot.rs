//! One state of the storage: what a question is answered from.
//!
//! A snapshot is one redb read transaction. It stands between two commits and blocks none; the
//! pages it reads are kept until it is dropped, so one that is held for hours makes the file grow
//! by what is written meanwhile.

use alloc::sync::Arc;
use core::fmt;
use std::sync::OnceLock;

use milepost::facts::{Key, Row, Rows, Table};
use milepost::{Error, ErrorKind};
use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase};

use crate::checksum;
use crate::file;
use crate::guard::{self, Guarded};

type OpenTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// One state of a [`RedbStorage`](crate::RedbStorage), which later commits do not change
///
/// Cheap to take: no page is read before the first row is. It keeps the file open.
pub struct Snapshot {
    /// Tables that were asked for, by number; opened once
    tables: [OnceLock<Guarded<OpenTable>>; Table::ALL.len()],
    transaction: Guarded<ReadTransaction>,
    /// Dropped last: a database that is closed takes its transactions with it
    _database: Arc<Guarded<Database>>,
}

impl Snapshot {
    pub(crate) fn take(database: &Arc<Guarded<Database>>) -> Result<Self, Error> {
        let open = database.value()?;
        let transaction = guard::call(|| Ok(open.begin_read()?))?;
        Ok(Self {
            tables: [const { OnceLock::new() }; Table::ALL.len()],
            transaction: Guarded::new(transaction),
            _database: Arc::clone(database),
        })
    }

    fn table(&self, table: Table) -> Result<&OpenTable, Error> {
        let slot = self.tables.get(usize::from(table.number()));
        let slot = slot.ok_or_else(|| {
            Error::new(ErrorKind::Usage, format_args!("no table {} in this file", table.name()))
        })?;
        if let Some(open) = slot.get() {
            return open.value();
        }
        let transaction = self.transaction.value()?;
        // Every table was made with the file, so one that is missing is damage.
        let open = guard::call(|| Ok(transaction.open_table(file::definition(table))?))?;
        slot.get_or_init(|| Guarded::new(open)).value()
    }
}

impl Rows for Snapshot {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let table = self.table(key.table())?;
        guard::call(|| {
            let found = table.get(key.as_bytes())?;
            Ok(found.map(|found| unsealed(key, found.value()).map(Row::from)))
        })?
        .transpose()
    }

    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        let table = self.table(key.table())?;
        let found = guard::call(|| Ok(table.get(key.as_bytes())?.map(Guarded::new)))?;
        let Some(found) = found else { return Ok(false) };
        let page = found.value()?;
        // The reader's panics are not redb's, so it is called outside.
        reader(unsealed(key, guard::call(|| Ok(page.value()))?)?);
        Ok(true)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

/// The row behind its checksum
fn unsealed<'row>(key: &Key, sealed: &'row [u8]) -> Result<&'row [u8], Error> {
    let row = sealed.split_first_chunk::<{ checksum::LENGTH }>();
    match row {
        Some((checksum, row)) if *checksum == checksum::of(key, row) => Ok(row),
        _ => Err(Error::new(
            ErrorKind::Corrupt,
            format_args!("{} bytes on disk do not match their checksum", sealed.len()),
        )
        .at(format_args!("{key:?}"))),
    }
}
