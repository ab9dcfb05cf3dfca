//! A storage in a SQLite file.
//!
//! In the mode WAL a read transaction sees one state while another connection writes, which is what
//! a snapshot has to be. A commit is one write transaction, durable before it returns.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use milepost::storage::{Batch, Key, Row, Snapshot, Storage};
use milepost::{Error, ErrorKind};
use rusqlite::{Connection, OptionalExtension as _, params};

/// Rows in a table of a SQLite file, by table number and key
#[derive(Debug)]
pub struct SqliteStorage {
    writer: Connection,
    readers: Arc<Readers>,
}

/// The connections of snapshots
#[derive(Debug)]
struct Readers {
    path: PathBuf,
    /// Those that no snapshot uses at the moment
    free: Mutex<Vec<Connection>>,
}

impl Readers {
    fn free(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a snapshot of the newest commit
    fn snapshot(self: &Arc<Self>) -> Result<SqliteSnapshot, Error> {
        let free = self.free().pop();
        let connection = free.map_or_else(|| connect(&self.path), Ok)?;
        // The state is chosen by the first read and not by `BEGIN`.
        connection.execute_batch("BEGIN; SELECT 1 FROM rows LIMIT 1").map_err(storage_error)?;
        Ok(SqliteSnapshot { readers: Arc::clone(self), connection: Some(connection) })
    }
}

/// An open read transaction
#[derive(Debug)]
pub struct SqliteSnapshot {
    readers: Arc<Readers>,
    /// Taken out when it is dropped
    connection: Option<Connection>,
}

impl SqliteStorage {
    /// Opens a file, or creates it
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if the file cannot be opened or is no database of SQLite.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let writer = connect(path)?;
        writer
            .execute_batch(
                "CREATE TABLE IF NOT EXISTS rows (
                    key BLOB PRIMARY KEY, row BLOB NOT NULL
                ) WITHOUT ROWID",
            )
            .map_err(storage_error)?;
        let readers = Readers { path: path.into(), free: Mutex::default() };
        Ok(Self { writer, readers: Arc::new(readers) })
    }
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path).map_err(storage_error)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(storage_error)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(storage_error)?;
    Ok(connection)
}

/// The error of a storage that cannot answer; its source is SQLite's
fn storage_error(error: rusqlite::Error) -> Error {
    Error::new(ErrorKind::Storage, &error).with_source(error)
}

impl Storage for SqliteStorage {
    type Snapshot<'a> = SqliteSnapshot;

    fn snapshot(&self) -> Result<SqliteSnapshot, Error> {
        self.readers.snapshot()
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        let write = |writer: &mut Connection| {
            let transaction = writer.transaction()?;
            {
                let mut put =
                    transaction.prepare_cached("INSERT OR REPLACE INTO rows VALUES (?1, ?2)")?;
                let mut remove = transaction.prepare_cached("DELETE FROM rows WHERE key = ?1")?;
                for (key, row) in batch {
                    match row {
                        Some(row) => put.execute(params![key.as_bytes(), &row[..]])?,
                        None => remove.execute(params![key.as_bytes()])?,
                    };
                }
            }
            // Dropped without this, it changes nothing.
            transaction.commit()
        };
        write(&mut self.writer).map_err(storage_error)
    }
}

impl Snapshot for SqliteSnapshot {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let read = || {
            connection
                .prepare_cached("SELECT row FROM rows WHERE key = ?1")?
                .query_row(params![key.as_bytes()], |row| Ok(Row::from(row.get_ref(0)?.as_blob()?)))
                .optional()
        };
        read().map_err(storage_error)
    }
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // A connection whose transaction cannot be ended is closed.
            if connection.execute_batch("ROLLBACK").is_ok() {
                self.readers.free().push(connection);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use milepost::storage::conformance;

    use super::SqliteStorage;

    #[test]
    fn the_storage_conforms() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = 0;
        let make = || {
            files += 1;
            let storage = SqliteStorage::open(&folder.path().join(files.to_string())).unwrap();
            let readers = Arc::clone(&storage.readers);
            (storage, move || readers.snapshot())
        };
        let side_by_side: &conformance::SideBySide<'_> = &|one, other| {
            thread::scope(|scope| {
                scope.spawn(one);
                other();
            });
        };
        conformance::check_shared(make, Some(side_by_side)).unwrap();
        let path = folder.path().join("durable");
        conformance::check_durable(|| SqliteStorage::open(&path)).unwrap();
    }
}
