//! Opens and creates the file.
//!
//! A file is a redb database with one table per [`Table`] and a table `milepost`, in which a row
//! identifies it and names its format version, and another numbers its commits. An existing file is
//! first opened without being changed, and to be written only after both are checked. A new file is
//! complete before it gets its name.

use core::sync::atomic::{AtomicU64, Ordering};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind as IoErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process;

use milepost::storage::Table;
use redb::backends::FileBackend;
use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable as _,
    StorageError, TableDefinition, TableError, WriteTransaction,
};

use crate::acknowledged::{self, Commit};
use crate::copy_on_write::CopyOnWrite;
use crate::panic_guard::{self, PanicGuard};
use crate::{OpenError, OpenErrorKind, Options};

/// The format version: names of the tables, checksums of the rows, and this header
///
/// The rows have versions of their own.
pub const FORMAT_VERSION: u32 = 3;
/// The table that distinguishes a storage from other redb databases
const HEADER: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("milepost");
const HEADER_KEY: &str = "format";
/// The row with the number of the last commit, absent before the first
const COMMIT_KEY: &str = "commit";
/// The start of the header row; the version follows, four bytes, little endian
const MAGIC: &[u8; 16] = b"milepost storage";
/// The start of every redb file
const REDB_MAGIC: &[u8; 9] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// Cache for checking the header, which reads a few pages
const HEADER_CACHE_BYTES: usize = 1 << 20;

/// The redb table of a table
pub(crate) const fn definition(
    table: Table,
) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(table.name())
}

/// Begins a write transaction that is durable when its commit returns
///
/// Quick repair is on: redb stores the state of the allocator with each commit, and commits in two
/// phases, first the pages, then the byte that makes them the newest state. As a result,
///
/// - a file opens at once after a crash; without it redb reads the whole file up to three times
///   (measured at 2 GiB: 3 ms against 12 s);
/// - an incomplete commit is not detected by checksums, which according to redb do not protect
///   against rows that an attacker chooses, as those of a chain may be;
/// - a damaged newest state is an error; without it redb silently uses the previous state.
///
/// It costs a second `fsync` and about 64 KiB per GiB of file for each commit; commits of 1000 rows
/// of 1 kB into 2 GiB took 160 ms with it and without.
pub(crate) fn begin(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

/// Gives a transaction the number after that of the last commit
pub(crate) fn number(transaction: &WriteTransaction) -> Result<Commit, redb::Error> {
    let mut table = transaction.open_table(HEADER)?;
    let last = match table.get(COMMIT_KEY)? {
        Some(row) => Some(decode_commit(row.value())?),
        None => None,
    };
    let commit = last.unwrap_or_else(Commit::first).next();
    table.insert(COMMIT_KEY, commit.encode().as_slice())?;
    Ok(commit)
}

fn decode_commit(row: &[u8]) -> Result<Commit, redb::Error> {
    Commit::decode(row).ok_or_else(|| {
        redb::Error::Corrupted("the number of the last commit does not match its checksum".into())
    })
}

/// Opens the database at this path, creates it if there is no file; with whether it is verified
pub(crate) fn open(path: &Path, options: &Options) -> Result<(Database, bool), OpenError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == IoErrorKind::NotFound => create(path, options),
        metadata => {
            check_is_file(path, metadata)?;
            open_existing(path, options)
        }
    }
}

/// Opens the database at this path without changing the file
pub(crate) fn open_unchanged(path: &Path, options: &Options) -> Result<Database, OpenError> {
    check_is_file(path, fs::metadata(path))?;
    check_magic(path)?;
    let mut database = open_copy_on_write(path, options)?;
    verify(path, &mut database, options)?;
    Ok(database)
}

/// Opens a database whose header is checked, and which keeps in memory what redb writes
fn open_copy_on_write(path: &Path, options: &Options) -> Result<Database, OpenError> {
    let open = || builder_for(options).create_with_backend(CopyOnWrite::open(path)?);
    let database = try_redb(path, open)?;
    check_header(path, &database)?;
    Ok(database)
}

fn check_is_file(path: &Path, metadata: io::Result<Metadata>) -> Result<(), OpenError> {
    match metadata {
        Err(error) => Err(OpenError::caused_by(OpenErrorKind::Io, path, "", error)),
        Ok(metadata) if !metadata.is_file() => {
            Err(OpenError::new(OpenErrorKind::NotAStorage, path, "is not a file"))
        }
        Ok(_) => Ok(()),
    }
}

/// Opens the database at this path, at which there is a file; with whether it is verified
pub(crate) fn open_existing(path: &Path, options: &Options) -> Result<(Database, bool), OpenError> {
    check_magic(path)?;
    let for_header = Options { cache_bytes: HEADER_CACHE_BYTES, ..options.clone() };
    drop(PanicGuard::new(open_copy_on_write(path, &for_header)?));

    let mut database = try_redb(path, || builder_for(options).open(path))?;
    check_header(path, &database)?;
    let is_verified = verify(path, &mut database, options)?;
    Ok((database, is_verified))
}

/// Verifies a file page by page if it is small enough; returns whether it is
fn verify(path: &Path, database: &mut Database, options: &Options) -> Result<bool, OpenError> {
    let length = fs::metadata(path)
        .map_err(|error| OpenError::caused_by(OpenErrorKind::Io, path, "", error))?
        .len();
    let is_small = length <= options.verify_bytes;
    if is_small {
        // `Ok(false)`: allocator state was rebuilt, which is not damage; every row was verified.
        try_redb(path, || database.check_integrity())?;
    }
    Ok(is_small)
}

fn builder_for(options: &Options) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(options.cache_bytes);
    builder
}

/// Checks that the file starts as a redb file, for a clearer error than redb's
fn check_magic(path: &Path) -> Result<(), OpenError> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(REDB_MAGIC.len() as u64).read_to_end(&mut start))
        .map_err(|error| OpenError::caused_by(OpenErrorKind::Io, path, "", error))?;
    let detail = match start.as_slice() {
        start if start == REDB_MAGIC => return Ok(()),
        [] => "the file is empty, so it is not or no longer a milepost storage",
        _ => "the file is not a milepost storage: it does not start as a redb database",
    };
    // Commits of a storage at this path are noted, so it was one.
    let kind = match acknowledged::is_noted(path)? {
        true => OpenErrorKind::Damaged,
        false => OpenErrorKind::NotAStorage,
    };
    Err(OpenError::new(kind, path, detail))
}

/// Checks that the header identifies a storage of this format version, and that the file has the
/// last commit that was acknowledged
fn check_header(path: &Path, database: &impl ReadableDatabase) -> Result<(), OpenError> {
    let header = panic_guard::catch_panic(|| read_header(database));
    let header = match header {
        Ok(Ok(header)) => header,
        Ok(Err(error)) => {
            let kind = match error {
                redb::Error::Corrupted(_) => OpenErrorKind::Damaged,
                _ => OpenErrorKind::Io,
            };
            return Err(OpenError::caused_by(kind, path, "", error));
        }
        Err(text) => return Err(panicked(path, &text)),
    };

    let Header { format, commit } = header;
    let not_a_storage = |detail| Err(OpenError::new(OpenErrorKind::NotAStorage, path, detail));
    let Some(format) = format else {
        return not_a_storage("the file is a redb database of another program");
    };
    let version = format.strip_prefix(MAGIC).and_then(|version| <[u8; 4]>::try_from(version).ok());
    let Some(version) = version.map(u32::from_le_bytes) else {
        return not_a_storage("the file is a redb database whose header is not milepost's");
    };
    if version != FORMAT_VERSION {
        let detail = format!(
            "the file has format version {version}, this release reads version {FORMAT_VERSION}"
        );
        return Err(OpenError::new(OpenErrorKind::Version, path, detail));
    }
    acknowledged::check(path, commit)
}

/// The rows of the header
#[derive(Default)]
struct Header {
    /// `None` if the database has no such table or row
    format: Option<Vec<u8>>,
    /// The last commit, if it has a number
    commit: Option<Commit>,
}

fn read_header(database: &impl ReadableDatabase) -> Result<Header, redb::Error> {
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(HEADER) {
        Ok(table) => table,
        Err(TableError::Storage(error)) => return Err(error.into()),
        // No such table, or one of another type.
        Err(_) => return Ok(Header::default()),
    };
    let format = table.get(HEADER_KEY)?.map(|row| row.value().to_vec());
    let commit = table.get(COMMIT_KEY)?.map(|row| decode_commit(row.value())).transpose()?;
    Ok(Header { format, commit })
}

/// Creates the database under a temporary name, then renames it
///
/// So a process that dies in between leaves no incomplete file at the path, and a file that another
/// process creates in between is not overwritten.
fn create(path: &Path, options: &Options) -> Result<(Database, bool), OpenError> {
    let failed = |error: io::Error| OpenError::caused_by(OpenErrorKind::Io, path, "", error);
    let (temporary, file) = create_temporary(path).map_err(failed)?;
    let created = panic_guard::call(|| {
        let database = builder_for(options).create_with_backend(FileBackend::new(file)?)?;
        let transaction = begin(&database)?;
        let header = [&MAGIC[..], &FORMAT_VERSION.to_le_bytes()].concat();
        let mut table = transaction.open_table(HEADER)?;
        table.insert(HEADER_KEY, header.as_slice())?;
        table.insert(COMMIT_KEY, Commit::first().encode().as_slice())?;
        drop(table);
        for table in Table::ALL {
            transaction.open_table(definition(table))?;
        }
        transaction.commit()?;
        Ok(database)
    });
    let renamed = match created {
        Ok(database) => rename_new(&temporary, path).map(|()| database),
        Err(error) => Err(io::Error::other(error)),
    };
    match renamed {
        Ok(database) => {
            sync_directory(path).map_err(failed)?;
            Ok((database, true))
        }
        Err(error) => {
            // A remaining temporary file takes space and is harmless.
            let _ = fs::remove_file(&temporary);
            match error.kind() {
                IoErrorKind::AlreadyExists => open_existing(path, options),
                _ => Err(failed(error)),
            }
        }
    }
}

/// Creates a file next to the path, under a name that no other process uses
fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let mut name = OsString::from(path);
        name.push(format!(".{}-{number}.new", process::id()));
        let temporary = PathBuf::from(name);
        match OpenOptions::new().read(true).write(true).create_new(true).open(&temporary) {
            // Left by an earlier process with the same id; the next number is tried.
            Err(error) if error.kind() == IoErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => return Ok((temporary, file)),
        }
    }
}

/// Renames a file without replacing an existing one
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => {
            // A remaining second name is harmless.
            let _ = fs::remove_file(from);
            Ok(())
        }
        Err(error) if error.kind() == IoErrorKind::AlreadyExists => Err(error),
        // The file system has no hard links, and a rename would replace an existing file.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(IoErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Renames a file to the first free one of `FILE.damaged.1`, `FILE.damaged.2` and so on
pub(crate) fn put_aside(path: &Path) -> Result<PathBuf, OpenError> {
    let mut number = 1_u32;
    loop {
        let mut aside = OsString::from(path);
        aside.push(format!(".damaged.{number}"));
        let aside = PathBuf::from(aside);
        match rename_new(path, &aside).and_then(|()| sync_directory(path)) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == IoErrorKind::AlreadyExists => {
                number = number.saturating_add(1);
            }
            Err(error) => return Err(OpenError::caused_by(OpenErrorKind::Io, path, "", error)),
        }
    }
}

/// Makes the directory entry of the file durable
#[cfg(unix)]
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Does nothing: only Unix opens directories; elsewhere the journal of the file system covers them
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

fn try_redb<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, DatabaseError>,
) -> Result<T, OpenError> {
    let error = match panic_guard::catch_panic(work) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(text) => return Err(panicked(path, &text)),
    };
    let kind = match &error {
        DatabaseError::DatabaseAlreadyOpen => {
            let detail = "the file is open already, in this process or another";
            return Err(OpenError::new(OpenErrorKind::Locked, path, detail));
        }
        DatabaseError::UpgradeRequired(_) => OpenErrorKind::Version,
        DatabaseError::Storage(StorageError::Corrupted(_)) => OpenErrorKind::Damaged,
        // The file is truncated, or its header is not redb's.
        DatabaseError::Storage(StorageError::Io(error))
            if matches!(error.kind(), IoErrorKind::UnexpectedEof | IoErrorKind::InvalidData) =>
        {
            OpenErrorKind::Damaged
        }
        _ => OpenErrorKind::Io,
    };
    Err(OpenError::caused_by(kind, path, "redb: ", error))
}

fn panicked(path: &Path, text: &str) -> OpenError {
    OpenError::new(OpenErrorKind::Damaged, path, format_args!("redb panicked: {text}"))
}
