//! The file: recognised before it is written to, made whole before it has its name.
//!
//! A file is a redb database with one table per [`Table`] and a table `milepost` whose one row
//! says that it is ours and in which format. A file is first opened for reading; only one that is
//! ours, in a format we know, is opened for writing.

use core::sync::atomic::{AtomicU64, Ordering};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as IoErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process;

use milepost::facts::Table;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, StorageError, TableDefinition, TableError,
};

use crate::guard;
use crate::storage::begin;
use crate::{OpenError, OpenErrorKind, Options};

/// The version of the format: tables, their rows' checksums, and this header
const VERSION: u32 = 2;
/// The row that tells a storage from other redb databases
const HEADER: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("milepost");
const HEADER_KEY: &str = "format";
/// What the header row begins with; the version follows, four bytes, little endian
const MAGIC: &[u8; 16] = b"milepost storage";
/// What every redb file begins with
const REDB_MAGIC: &[u8; 9] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// Memory for the pages of the first look, which reads a handful
const LOOK_CACHE_BYTES: usize = 1 << 20;

/// How redb knows a table
pub(crate) const fn definition(
    table: Table,
) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(table.name())
}

/// The database in the file of this path, made if there is no file
pub(crate) fn open(path: &Path, options: &Options) -> Result<Database, OpenError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == IoErrorKind::NotFound => create(path, options),
        Err(error) => Err(OpenError::new(OpenErrorKind::Io, path, error)),
        Ok(found) if !found.is_file() => {
            Err(OpenError::new(OpenErrorKind::NotAStorage, path, "is not a file"))
        }
        Ok(_) => open_existing(path, options),
    }
}

fn open_existing(path: &Path, options: &Options) -> Result<Database, OpenError> {
    recognise(path)?;
    let mut builder = Builder::new();
    builder.set_cache_size(LOOK_CACHE_BYTES);
    match opened(path, || builder.open_read_only(path)) {
        Ok(database) => look(path, &database)?,
        // Only after a panic within redb: reading alone cannot repair, so the look comes later.
        Err(Refusal::NeedsRepair) => {}
        Err(Refusal::Final(error)) => return Err(error),
    }

    let mut database =
        opened(path, || builder_for(options).open(path)).map_err(|refusal| match refusal {
            Refusal::Final(error) => error,
            Refusal::NeedsRepair => OpenError::new(
                OpenErrorKind::Damaged,
                path,
                "the file needs a repair that was aborted",
            ),
        })?;
    look(path, &database)?;
    let length =
        fs::metadata(path).map_err(|error| OpenError::new(OpenErrorKind::Io, path, error))?.len();
    if length <= options.verify_bytes {
        // That bookkeeping had to be rebuilt is no damage: every row was verified.
        opened(path, || database.check_integrity()).map_err(|refusal| match refusal {
            Refusal::Final(error) => error,
            Refusal::NeedsRepair => {
                OpenError::new(OpenErrorKind::Damaged, path, "the file cannot be verified")
            }
        })?;
    }
    Ok(database)
}

fn builder_for(options: &Options) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(options.cache_bytes);
    builder
}

/// Whether the file begins as redb's do, which redb itself says less clearly
fn recognise(path: &Path) -> Result<(), OpenError> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(REDB_MAGIC.len() as u64).read_to_end(&mut start))
        .map_err(|error| OpenError::new(OpenErrorKind::Io, path, error))?;
    let detail = match start.as_slice() {
        start if start == REDB_MAGIC => return Ok(()),
        [] => "the file is empty, so it is not or no longer a milepost storage",
        _ => "the file is not a milepost storage: it does not begin as a redb database does",
    };
    Err(OpenError::new(OpenErrorKind::NotAStorage, path, detail))
}

/// Whether the header says that the database is ours, in the format of this version
fn look(path: &Path, database: &impl ReadableDatabase) -> Result<(), OpenError> {
    let header = guard::catch_panic(|| header(database));
    let header = match header {
        Ok(Ok(header)) => header,
        Ok(Err(error)) => {
            let kind = match error {
                redb::Error::Corrupted(_) => OpenErrorKind::Damaged,
                _ => OpenErrorKind::Io,
            };
            return Err(OpenError::new(kind, path, error));
        }
        Err(text) => return Err(panicked(path, &text)),
    };

    let not_ours = |detail| Err(OpenError::new(OpenErrorKind::NotAStorage, path, detail));
    let Some(header) = header else {
        return not_ours("the file is a redb database of another program");
    };
    let Some(version) = header.strip_prefix(MAGIC) else {
        return not_ours("the file is a redb database whose header is not milepost's");
    };
    let Ok(version) = <[u8; 4]>::try_from(version).map(u32::from_le_bytes) else {
        return not_ours("the file is a redb database whose header is not milepost's");
    };
    if version != VERSION {
        let detail = format!("the storage has format {version}, this version reads {VERSION}");
        return Err(OpenError::new(OpenErrorKind::Version, path, detail));
    }
    Ok(())
}

/// The header row; `None` when the database has no such table or row
fn header(database: &impl ReadableDatabase) -> Result<Option<Vec<u8>>, redb::Error> {
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(HEADER) {
        Ok(table) => table,
        Err(TableError::Storage(error)) => return Err(error.into()),
        // No such table, or one of another type.
        Err(_) => return Ok(None),
    };
    Ok(table.get(HEADER_KEY)?.map(|header| header.value().to_vec()))
}

/// Makes the database under a name of its own, then gives it the name that was asked for
///
/// So a process that dies meanwhile leaves no half-made file in the way, and a file that another
/// process made meanwhile is not overwritten.
fn create(path: &Path, options: &Options) -> Result<Database, OpenError> {
    let failed = |error: io::Error| OpenError::new(OpenErrorKind::Io, path, error);
    let (draft, file) = draft_of(path).map_err(failed)?;
    let made = guard::call(|| {
        let database = builder_for(options).create_file(file)?;
        let transaction = begin(&database)?;
        let header = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
        transaction.open_table(HEADER)?.insert(HEADER_KEY, header.as_slice())?;
        for table in Table::ALL {
            transaction.open_table(definition(table))?;
        }
        transaction.commit()?;
        Ok(database)
    });
    let named = match made {
        Ok(database) => name(&draft, path).map(|()| database),
        Err(error) => Err(io::Error::other(error)),
    };
    match named {
        Ok(database) => {
            sync_folder(path).map_err(failed)?;
            Ok(database)
        }
        Err(error) => {
            // A draft that stays behind takes space and does no harm.
            let _ = fs::remove_file(&draft);
            match error.kind() {
                IoErrorKind::AlreadyExists => open_existing(path, options),
                _ => Err(failed(error)),
            }
        }
    }
}

/// A new file beside the path, of a name that no other process uses
fn draft_of(path: &Path) -> io::Result<(PathBuf, File)> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let mut name = OsString::from(path);
        name.push(format!(".{}-{number}.new", process::id()));
        let draft = PathBuf::from(name);
        match OpenOptions::new().read(true).write(true).create_new(true).open(&draft) {
            // Left by a process of the same number; there are only so many.
            Err(error) if error.kind() == IoErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => return Ok((draft, file)),
        }
    }
}

/// Gives the draft its name, unless there is a file of that name
fn name(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Ok(()) => {
            // A second name that stays behind does no harm.
            let _ = fs::remove_file(draft);
            Ok(())
        }
        Err(error) if error.kind() == IoErrorKind::AlreadyExists => Err(error),
        // A file system without links; a rename would replace, so look first.
        Err(_) if fs::symlink_metadata(path).is_ok() => Err(IoErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(draft, path),
    }
}

/// Makes the name of the file as durable as the file
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Only Unix opens folders; elsewhere the file system's journal keeps names
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Why redb did not open a file
enum Refusal {
    /// A reader found a file that only a writer can repair
    NeedsRepair,
    Final(OpenError),
}

fn opened<T>(path: &Path, work: impl FnOnce() -> Result<T, DatabaseError>) -> Result<T, Refusal> {
    let error = match guard::catch_panic(work) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(text) => return Err(Refusal::Final(panicked(path, &text))),
    };
    let kind = match &error {
        DatabaseError::RepairAborted => return Err(Refusal::NeedsRepair),
        DatabaseError::DatabaseAlreadyOpen => {
            let detail = "the file is open already, in this process or another";
            return Err(Refusal::Final(OpenError::new(OpenErrorKind::Locked, path, detail)));
        }
        DatabaseError::UpgradeRequired(_) => OpenErrorKind::Version,
        DatabaseError::Storage(StorageError::Corrupted(_)) => OpenErrorKind::Damaged,
        // A file that ends too early, or whose header is of no redb.
        DatabaseError::Storage(StorageError::Io(error))
            if matches!(error.kind(), IoErrorKind::UnexpectedEof | IoErrorKind::InvalidData) =>
        {
            OpenErrorKind::Damaged
        }
        _ => OpenErrorKind::Io,
    };
    Err(Refusal::Final(OpenError::new(kind, path, format_args!("redb: {error}"))))
}

fn panicked(path: &Path, text: &str) -> OpenError {
    OpenError::new(OpenErrorKind::Damaged, path, format_args!("redb panicked: {text}"))
}
