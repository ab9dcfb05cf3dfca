//! An archive in a directory, on the embedded store fjall.
//!
//! Each table is a keyspace; the rows of one key whose contents differ are beside it in a keyspace
//! of their own, which is nearly always empty, so a read is one lookup. Puts exclude each other:
//! a row is compared with the existing ones before it is added. After a failure fjall takes no put
//! until its database is opened again, which the next put does, once there is room on the disk.
//! Nothing is compressed here.

use core::fmt;
use core::ops::Bound;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use milepost::archive::{Archive, is_new_content, served_row};
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};

use crate::files::{self, Acknowledged, PUT_KEY, put_number};

/// The folder of the database; a folder of its own, so that it can be renamed where the directory
/// is that of a mounted disk
const DATABASE: &str = "rows";
/// The keyspace of the further rows of keys whose contents differ, and of the number of the last
/// put
const CONFLICTS: &str = "conflicts";
/// Bytes of a table that are in memory, and in the journal, before they are written to its files
///
/// The least that fjall recommends. Its default of 64 MiB let a server that archives 2 MB a minute
/// grow for half an hour, by as much for each table.
const MAX_MEMTABLE: u64 = 8 << 20;
/// Bytes of all tables that are in memory before those of each are written to its files
///
/// Two of the tables that are full: tables with few rows would otherwise keep theirs in memory for
/// hours, until their journal is the oldest one.
const MAX_MEMTABLES: u64 = 2 * MAX_MEMTABLE;
/// Bytes of all journals above which tables with few rows are written to their files as well, so
/// that the oldest journal can go
///
/// The least that fjall takes; one journal has as many. With its default of 512 MiB that much is on
/// the disk, and is read when the archive is opened, however few rows there are.
const MAX_JOURNALS: u64 = 64 << 20;
/// How often it is looked whether new rows are in a file
const FLUSH_INTERVAL: Duration = Duration::from_millis(10);

/// An archive in a directory
///
/// Shared by reference between any number of threads. Compaction runs on threads of its own.
pub struct DirectoryArchive {
    /// That of the database
    path: PathBuf,
    /// `None` if it could not be opened again yet
    rows: RwLock<Option<Rows>>,
    /// Held while rows are compared with those that are there, and put
    put: Mutex<Puts>,
}

/// The open database
struct Rows {
    database: Database,
    /// In the order of [`Table::ARCHIVE`]
    tables: Vec<Keyspace>,
    conflicts: Keyspace,
    /// Whether a put failed, after which fjall takes no other
    has_failed: AtomicBool,
}

/// The number of the last put, which is a row of it, and the file with that of an acknowledged one
#[derive(Debug)]
struct Puts {
    last: u64,
    acknowledged: Acknowledged,
}

impl DirectoryArchive {
    /// Opens the archive in this directory, which is created if it does not exist
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if the directory cannot be written or is open already, also in
    /// another process, which has an [`io::Error`] of kind `ResourceBusy` as its source;
    /// [`ErrorKind::Version`] if a release of fjall with another format wrote it;
    /// [`ErrorKind::Corrupt`] if it is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref();
        let path = directory.join(DATABASE);
        if !fs::exists(&path).unwrap_or(false) {
            create(directory, &path)?;
        }
        files::check(&path)?;
        Self::open_or_create(&path)
    }

    /// Whether this directory has an archive, without opening or making one
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if that cannot be seen: the directory may not be read, its disk does
    /// not answer, or it is a link to a place that is not there.
    pub fn exists(directory: impl AsRef<Path>) -> Result<bool, Error> {
        let directory = directory.as_ref();
        let path = directory.join(DATABASE);
        let io_error = |error: io::Error| {
            Error::new(ErrorKind::Storage, &error).at(path.display()).with_source(error)
        };
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Ok(true),
            Ok(_) => Err(io_error(io::ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(error)),
            Err(error) => {
                let is_dangling = |path: &Path| {
                    fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) && !path.exists()
                };
                let dangles = is_dangling(directory) || is_dangling(&path);
                if dangles { Err(io_error(error)) } else { Ok(false) }
            }
        }
    }

    /// Forgets which put of the archive in this directory was acknowledged last
    ///
    /// An archive that lost its last puts opens with its other rows after this.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if the file of that put cannot be written.
    pub fn forget_acknowledged(directory: impl AsRef<Path>) -> Result<(), Error> {
        files::forget_acknowledged(&directory.as_ref().join(DATABASE))
    }

    /// Renames the rows of the archive in this directory, so that the next [`open`](Self::open)
    /// makes an empty one; returns their new path
    ///
    /// For a damaged archive whose rows may still be looked at. The archive must not be open.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if they cannot be renamed.
    pub fn put_aside(directory: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let path = directory.as_ref().join(DATABASE);
        let mut number = 1_u32;
        loop {
            let aside = path.with_extension(format!("damaged.{number}"));
            if fs::symlink_metadata(&aside).is_err() {
                let renamed =
                    fs::rename(&path, &aside).and_then(|()| sync_directory(directory.as_ref()));
                return renamed.map(|()| aside).map_err(|error| {
                    Error::new(ErrorKind::Storage, &error).at(path.display()).with_source(error)
                });
            }
            number = number.saturating_add(1);
        }
    }

    fn open_or_create(path: &Path) -> Result<Self, Error> {
        let (rows, puts) = Rows::open_or_create(path)?;
        Ok(Self { path: path.to_owned(), rows: RwLock::new(Some(rows)), put: Mutex::new(puts) })
    }

    /// Calls a closure with the open database
    fn with_rows<T>(&self, work: impl FnOnce(&Rows) -> Result<T, Error>) -> Result<T, Error> {
        // A thread that panicked has replaced the value or not.
        match &*self.rows.read().unwrap_or_else(PoisonError::into_inner) {
            Some(rows) => work(rows),
            None => {
                let detail = "the archive is closed since its disk failed";
                Err(Error::new(ErrorKind::Storage, detail).at(self.path.display()))
            }
        }
    }

    /// Puts the batch that a closure makes of the open database; opens it again first if a put has
    /// failed
    fn put(&self, make: impl FnOnce(&Rows) -> Result<OwnedWriteBatch, Error>) -> Result<(), Error> {
        let mut puts = self.put.lock().unwrap_or_else(PoisonError::into_inner);
        let has_failed = {
            let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
            rows.as_ref().is_none_or(Rows::has_failed)
        };
        if has_failed {
            *puts = self.open_again()?;
        }
        self.with_rows(|rows| rows.commit(make(rows)?, &mut puts).map_err(|error| self.at(error)))
    }

    /// Closes the database and opens it again, if there is room for the next puts
    fn open_again(&self) -> Result<Puts, Error> {
        files::check_room(&self.path)?;
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        // Closed before it is opened.
        *rows = None;
        files::check(&self.path)?;
        let (opened, puts) = Rows::open_or_create(&self.path)?;
        *rows = Some(opened);
        Ok(puts)
    }

    /// An error of a put with the place of the disk
    fn at(&self, error: Error) -> Error {
        match error.path() {
            "" => error.at(self.path.display()),
            _ => error,
        }
    }

    /// Bytes on disk of a table, without the rows that are only in the journal; 0 for one that is
    /// not of an archive
    pub fn table_bytes(&self, table: Table) -> u64 {
        self.with_rows(|rows| rows.keyspace(table).map(Keyspace::disk_space)).unwrap_or(0)
    }

    /// Rewrites all tables without the replaced rows
    ///
    /// Needs as much free space as the largest table takes. Reads and puts are possible meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if the disk is full or fails; nothing is lost.
    pub fn compact(&self) -> Result<(), Error> {
        self.with_rows(Rows::compact)
    }
}

impl Rows {
    fn open_or_create(path: &Path) -> Result<(Self, Puts), Error> {
        let at = |error: fjall::Error| failed(error).at(path.display());
        let database = Database::builder(path).max_journaling_size(MAX_JOURNALS);
        let database = database.open().map_err(at)?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MAX_MEMTABLE);
        let keyspace = |name: &str| database.keyspace(name, options);
        let tables = Table::ARCHIVE.iter().map(|table| keyspace(table.name()));
        let tables = tables.collect::<Result<_, _>>().map_err(at)?;
        let conflicts = keyspace(CONFLICTS).map_err(at)?;
        let last = conflicts.get(PUT_KEY).map_err(at)?;
        let last = last.and_then(|row| put_number(&row)).unwrap_or(0);
        // Also if no journal is left that has numbers.
        let acknowledged = Acknowledged::read(path)?.unwrap_or(0);
        if last < acknowledged {
            return Err(files::missing_puts(path, last, acknowledged));
        }
        let puts = Puts { last, acknowledged: Acknowledged::open(path)? };
        Ok((Self { database, tables, conflicts, has_failed: AtomicBool::new(false) }, puts))
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    fn compact(&self) -> Result<(), Error> {
        for keyspace in self.tables.iter().chain([&self.conflicts]) {
            self.flush(keyspace).map_err(failed)?;
            keyspace.major_compact().map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the new rows of a table to a file
    ///
    /// Not by fjall's own function, which never ends when the thread that writes has failed.
    fn flush(&self, keyspace: &Keyspace) -> fjall::Result<()> {
        keyspace.rotate_memtable()?;
        while keyspace.sealed_memtable_count() > 0 {
            // Fails from then on.
            self.database.persist(PersistMode::Buffer)?;
            thread::sleep(FLUSH_INTERVAL);
        }
        Ok(())
    }

    fn keyspace(&self, table: Table) -> Result<&Keyspace, Error> {
        let index = Table::ARCHIVE.iter().position(|other| *other == table);
        index.and_then(|index| self.tables.get(index)).ok_or_else(|| {
            let detail = format_args!("{} is no table of an archive", table.name());
            Error::new(ErrorKind::Usage, detail)
        })
    }

    fn get(&self, key: &Key, has_conflicts: bool) -> Result<Option<Row>, Error> {
        let first = self.keyspace(key.table())?.get(key.bytes_in_table()).map_err(failed)?;
        let Some(first) = first.map(|bytes| Row::from(&*bytes)) else { return Ok(None) };
        let mut rows = vec![first];
        if has_conflicts {
            self.further(key, &mut rows)?;
        }
        served_row(key, rows)
    }

    /// Appends all rows of a key but the first
    fn further(&self, key: &Key, rows: &mut Vec<Row>) -> Result<(), Error> {
        for row in self.conflicts.prefix(conflict_prefix(key)) {
            let (_, bytes) = row.into_inner().map_err(failed)?;
            rows.push(Row::from(&*bytes));
        }
        Ok(())
    }

    fn has_conflicts(&self) -> bool {
        self.conflicts.range(..PUT_KEY).next().is_some()
    }

    fn batch(&self) -> OwnedWriteBatch {
        self.database.batch().durability(Some(PersistMode::SyncAll))
    }

    /// Makes a batch durable, with the number of its put
    fn commit(&self, mut batch: OwnedWriteBatch, puts: &mut Puts) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        let number = puts.last.saturating_add(1);
        batch.insert(&self.conflicts, PUT_KEY, number.to_le_bytes());
        batch.commit().map_err(failed).inspect_err(|_| {
            self.has_failed.store(true, Ordering::Release);
        })?;
        puts.last = number;
        // The put is durable; if this fails, an earlier number remains, which is true as well.
        let _ = puts.acknowledged.write(number);
        self.limit_memtables();
        Ok(())
    }

    /// Has the new rows of all tables written to files if they take too much memory
    ///
    /// fjall has such an option and does not look at it. What fails here fails in the next put.
    fn limit_memtables(&self) {
        if self.database.write_buffer_size() <= MAX_MEMTABLES {
            return;
        }
        let keyspaces = || self.tables.iter().chain([&self.conflicts]);
        // Bytes count until they are in a file.
        if keyspaces().all(|keyspace| keyspace.sealed_memtable_count() == 0) {
            for keyspace in keyspaces() {
                let _ = keyspace.rotate_memtable();
            }
        }
    }
}

impl Archive for DirectoryArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.with_rows(|database| {
            let has_conflicts = database.has_conflicts();
            rows.reserve(keys.len());
            for key in keys {
                rows.push(database.get(key, has_conflicts)?);
            }
            Ok(())
        })
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.put(|database| database.batch_of_new(rows))
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.put(|database| database.batch_of_replaced(rows))
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.put(|database| database.batch_without(keys))
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.with_rows(|database| database.scan(table, after, limit, rows))
    }
}

impl Rows {
    /// A batch of the rows that are not there yet
    fn batch_of_new(&self, rows: &[(Key, Row)]) -> Result<OwnedWriteBatch, Error> {
        let mut batch = self.batch();
        // Of this call, which are not in the database yet.
        let mut added: Vec<&(Key, Row)> = Vec::new();
        let mut sorted: Vec<&(Key, Row)> = rows.iter().collect();
        sorted.sort_by_key(|(key, _)| *key);
        for pair @ (key, row) in sorted {
            if added.last().is_some_and(|(other, _)| other != key) {
                added.clear();
            }
            let first = self.keyspace(key.table())?.get(key.bytes_in_table()).map_err(failed)?;
            let mut existing: Vec<Row> =
                first.map(|bytes| Row::from(&*bytes)).into_iter().collect();
            if !existing.is_empty() {
                self.further(key, &mut existing)?;
            }
            existing.extend(added.iter().map(|(_, row)| row.clone()));
            if !is_new_content(row, existing.iter().map(|row| &**row))? {
                continue;
            }
            if existing.is_empty() {
                batch.insert(self.keyspace(key.table())?, key.bytes_in_table(), &**row);
            } else {
                let mut conflict = conflict_prefix(key);
                conflict.extend_from_slice(milepost::archive::content_hash(row)?.as_bytes());
                batch.insert(&self.conflicts, conflict, &**row);
            }
            added.push(pair);
        }
        Ok(batch)
    }

    /// A batch of these rows in the place of those that are there
    fn batch_of_replaced(&self, rows: &[(Key, Row)]) -> Result<OwnedWriteBatch, Error> {
        let mut batch = self.batch();
        for (key, row) in rows {
            for conflict in self.conflicts.prefix(conflict_prefix(key)) {
                batch.remove(&self.conflicts, conflict.key().map_err(failed)?);
            }
            batch.insert(self.keyspace(key.table())?, key.bytes_in_table(), &**row);
        }
        Ok(batch)
    }

    /// A batch that removes the rows of these keys
    fn batch_without(&self, keys: &[Key]) -> Result<OwnedWriteBatch, Error> {
        let mut batch = self.batch();
        for key in keys {
            for conflict in self.conflicts.prefix(conflict_prefix(key)) {
                batch.remove(&self.conflicts, conflict.key().map_err(failed)?);
            }
            batch.remove(self.keyspace(key.table())?, key.bytes_in_table());
        }
        Ok(batch)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        let has_conflicts = self.has_conflicts();
        let after = match after {
            Some(key) => Bound::Excluded(key.bytes_in_table().to_vec()),
            None => Bound::Unbounded,
        };
        let range = self.keyspace(table)?.range((after, Bound::<Vec<u8>>::Unbounded));
        let mut further = Vec::new();
        for row in range.take(limit.max(1)) {
            let (key, row) = row.into_inner().map_err(failed)?;
            let key = Key::new(table, &key).ok_or_else(|| {
                let detail = format_args!("a key of {} bytes", key.len());
                Error::new(ErrorKind::Corrupt, detail).at(table.name())
            })?;
            rows.push((key, Row::from(&*row)));
            if has_conflicts {
                self.further(&key, &mut further)?;
                rows.extend(further.drain(..).map(|row| (key, row)));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DirectoryArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DirectoryArchive").finish_non_exhaustive()
    }
}

/// Creates the database under another name, then renames it
///
/// fjall does not open what it had begun to create, so a process that dies or a disk that is full
/// must leave nothing under the name.
fn create(directory: &Path, path: &Path) -> Result<(), Error> {
    let io_error = |error: io::Error| {
        Error::new(ErrorKind::Storage, &error).at(directory.display()).with_source(error)
    };
    fs::create_dir_all(directory).map_err(io_error)?;
    let mut temporary = OsString::from(path);
    temporary.push(format!(".{}.new", process::id()));
    let temporary = Path::new(&temporary);
    // Left by a process with the same id.
    match fs::remove_dir_all(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(error)),
        _ => {}
    }
    let created = DirectoryArchive::open_or_create(temporary).map(drop);
    // fjall syncs what is in the folders of keyspaces, and not that they are there.
    let synced = created.and_then(|()| sync_directories(temporary).map_err(io_error));
    let renamed = synced.and_then(|()| match fs::rename(temporary, path) {
        // Another process was faster.
        Err(_) if fs::exists(path).unwrap_or(false) => {
            let _ = fs::remove_dir_all(temporary);
            Ok(())
        }
        renamed => renamed.map_err(io_error),
    });
    if renamed.is_err() {
        // What remains takes space and is harmless.
        let _ = fs::remove_dir_all(temporary);
        return renamed;
    }
    sync_directory(directory).map_err(io_error)?;
    directory.parent().map_or(Ok(()), sync_directory).map_err(io_error)
}

/// Makes the names in a directory and in all below it durable
fn sync_directories(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    sync_directory(directory)
}

/// Makes the names in a directory durable
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Does nothing: only Unix opens directories; elsewhere the journal of the file system covers them
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// What the keys of the further rows of a key begin with: its length, so that no key is the
/// beginning of another, and its bytes
fn conflict_prefix(key: &Key) -> Vec<u8> {
    let bytes = key.as_bytes();
    // A key has at most 33 bytes.
    let mut prefix = vec![bytes.len() as u8];
    prefix.extend_from_slice(bytes);
    prefix
}

/// The engine's error for one of fjall, which is its source
fn failed(error: fjall::Error) -> Error {
    if matches!(error, fjall::Error::Locked) {
        let detail = "the archive is open already, in this process or another";
        let source = io::Error::from(io::ErrorKind::ResourceBusy);
        return Error::new(ErrorKind::Storage, detail).with_source(source);
    }
    // What is neither damage nor another format is a failure of the disk or of its use.
    let kind = match &error {
        fjall::Error::InvalidVersion(_) => ErrorKind::Version,
        fjall::Error::JournalRecovery(_)
        | fjall::Error::InvalidTrailer
        | fjall::Error::InvalidTag(_)
        | fjall::Error::Decompress(_)
        | fjall::Error::Unrecoverable => ErrorKind::Corrupt,
        fjall::Error::Storage(inner) if !is_io(inner) => ErrorKind::Corrupt,
        _ => ErrorKind::Storage,
    };
    let text = match &error {
        fjall::Error::Io(error) => error.to_string(),
        fjall::Error::Poisoned => "an earlier write to the disk failed".to_owned(),
        error => format!("fjall: {error:?}"),
    };
    Error::new(kind, text).with_source(error)
}

fn is_io(error: &dyn core::error::Error) -> bool {
    error.source().is_some_and(|source| source.is::<io::Error>())
}
