//! What is checked of the files of a database before fjall opens them.
//!
//! fjall drops what follows the first entry of a journal that it cannot read, as is right after a
//! power failure, and refuses a journal whose last batch is torn within; it deletes keyspaces
//! without their file `current`, and tables that the file of the newest version does not name,
//! which it does not check. Damage would be rows that are missing. So puts are numbered: the number
//! is a row of each batch, and is noted in a file when the batch is durable. Tables are left out:
//! fjall has a checksum for each of their blocks.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process;

use milepost::{Error, ErrorKind};
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128};

/// The key, in the keyspace of further rows, of the number of the last put: no key of a row has its
/// length
pub(crate) const PUT_KEY: &[u8] = b"\xffnumber of the last put";
/// The file with the number of a put that was acknowledged, and a checksum
const ACKNOWLEDGED: &str = "acknowledged";
/// Names of fjall
const LOCK: &str = "lock";
const VERSION: &str = "version";
const KEYSPACES: &str = "keyspaces";
const TABLES: &str = "tables";
const CURRENT: &str = "current";
/// What ends a batch in a journal
const BATCH_MAGIC: &[u8; 4] = b"FJL\x03";
/// Tags of a journal; after the last batch a journal that was not closed has zeros
const UNUSED: u8 = 0;
const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;

/// The file with a number that is not greater than that of the last acknowledged put
///
/// It is written after each put and not synced: after a power failure it may be any earlier one.
#[derive(Debug)]
pub(crate) struct Acknowledged(File);

impl Acknowledged {
    pub(crate) fn open(database: &Path) -> Result<Self, Error> {
        let path = database.join(ACKNOWLEDGED);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        file.map(Self).map_err(|error| io_error(&path, error))
    }

    pub(crate) fn write(&mut self, number: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(0))?;
        let number = number.to_le_bytes();
        self.0.write_all([number, xxh3_64(&number).to_le_bytes()].as_flattened())
    }

    /// The number; 0 if the file has not a whole one, `None` if there is no file
    pub(crate) fn read(database: &Path) -> Result<Option<u64>, Error> {
        let path = database.join(ACKNOWLEDGED);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(|error| io_error(&path, error))?,
        };
        let ([number, checksum], []) = bytes.as_chunks() else { return Ok(Some(0)) };
        let is_whole = xxh3_64(number) == u64::from_le_bytes(*checksum);
        Ok(Some(if is_whole { u64::from_le_bytes(*number) } else { 0 }))
    }
}

/// Checks that there is room beside a database for the files that fjall writes at its opening, and
/// for the next puts
pub(crate) fn check_room(database: &Path) -> Result<(), Error> {
    let path = database.with_extension(format!("{}.room", process::id()));
    let write = || {
        let mut file = File::create(&path)?;
        (0..ROOM.div_ceil(ZEROS.len())).try_for_each(|_| file.write_all(&ZEROS))
    };
    let written = write();
    let _ = fs::remove_file(&path);
    written.map_err(|error| io_error(database, error))
}

/// Empties the file with the number, so that any number is true
pub(crate) fn forget_acknowledged(database: &Path) -> Result<(), Error> {
    let path = database.join(ACKNOWLEDGED);
    File::create(&path).map(drop).map_err(|error| io_error(&path, error))
}

/// Checks the files of a database that exists, and cuts off a batch that a power failure tore
pub(crate) fn check(database: &Path) -> Result<(), Error> {
    let lock = database.join(LOCK);
    let lock = File::open(&lock).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => damaged(&lock, "the file is missing"),
        _ => io_error(&lock, error),
    })?;
    // Of a database that is open its process changes the files; fjall says that it is.
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(());
    }
    // fjall would create a database, in the files of this one.
    let version = database.join(VERSION);
    if !version.try_exists().map_err(|error| io_error(&version, error))? {
        return Err(damaged(&version, "the file is missing"));
    }
    // Read first, so that it is not newer than the journals.
    let acknowledged = Acknowledged::read(database)?;
    let mut journals = Journals::default();
    journals.read(database)?;
    if let (Some(last), Some(acknowledged)) = (journals.last_put, acknowledged) {
        if last < acknowledged {
            return Err(missing_puts(database, last, acknowledged));
        }
        if let Some((path, end)) = &journals.torn {
            let cut = OpenOptions::new().write(true).open(path).and_then(|file| {
                file.set_len(*end)?;
                file.sync_all()
            });
            cut.map_err(|error| io_error(path, error))?;
        }
    }
    check_keyspaces(&database.join(KEYSPACES), &journals.keyspaces)
}

/// The error for acknowledged puts that are not there
pub(crate) fn missing_puts(database: &Path, last: u64, acknowledged: u64) -> Error {
    let detail = format_args!("put {acknowledged} was acknowledged, and {last} is the last one");
    damaged(database, detail)
}

/// What the journals of a database have
#[derive(Debug, Default)]
pub(crate) struct Journals {
    last_put: Option<u64>,
    last_sequence: Option<u64>,
    keyspaces: BTreeSet<u64>,
    /// The newest journal, and the end of its last whole batch, if something else is after it
    torn: Option<(PathBuf, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Batch {
    sequence: u64,
    put: u64,
}

impl Journals {
    fn read(&mut self, database: &Path) -> Result<(), Error> {
        let mut journals = Vec::new();
        for path in entries(database)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(number) = name.strip_suffix(".jnl") {
                let number = number.parse::<u64>();
                journals.push((number.map_err(|_| damaged(&path, "no number"))?, path));
            }
        }
        journals.sort();
        // While the first journal is there, it has the first put.
        self.last_put = journals.first().and_then(|(number, _)| (*number == 0).then_some(0));
        let newest = journals.pop();
        for (_, path) in journals {
            // The next one was begun when all of it was durable, and not before there was much.
            let (end, is_whole) = self.read_journal_at(&path)?;
            if end == 0 || !is_whole {
                return Err(damaged(&path, "the journal has no whole batch, or ends within one"));
            }
        }
        // Whether the batch at the end of the newest one was acknowledged, its number says.
        if let Some((_, path)) = newest {
            let (end, is_whole) = self.read_journal_at(&path)?;
            self.torn = (!is_whole).then_some((path, end));
        }
        Ok(())
    }

    fn read_journal_at(&mut self, path: &Path) -> Result<(u64, bool), Error> {
        self.read_journal(path, File::open(path).map_err(|error| io_error(path, error))?)
    }

    /// Reads a journal; the end of its last whole batch, and whether nothing else is after it
    pub(crate) fn read_journal(
        &mut self,
        path: &Path,
        journal: impl Read + Seek,
    ) -> Result<(u64, bool), Error> {
        let mut reader = BufReader::with_capacity(READ_BYTES, journal);
        let mut end = 0;
        loop {
            let batch = match self.read_batch(&mut reader) {
                Ok(Some(batch)) if self.last_sequence < Some(batch.sequence) => batch,
                Ok(batch) => return Ok((end, batch.is_none())),
                Err(error) => match error.kind() {
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => {
                        return Ok((end, false));
                    }
                    _ => return Err(io_error(path, error)),
                },
            };
            end = reader.stream_position().map_err(|error| io_error(path, error))?;
            self.last_sequence = Some(batch.sequence);
            let put = batch.put;
            if let Some(last) = self.last_put
                && Some(put) != last.checked_add(1)
            {
                return Err(damaged(path, format_args!("put {put} follows {last}")));
            }
            self.last_put = Some(put);
        }
    }

    /// Reads a batch; `None` at the end. The error of an invalid one is `InvalidData` or
    /// `UnexpectedEof`.
    fn read_batch(&mut self, reader: &mut impl BufRead) -> io::Result<Option<Batch>> {
        if reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let tag = read(reader)?;
        if tag == [UNUSED] {
            return is_zero(reader).and_then(valid).map(|()| None);
        }
        valid(tag == [START])?;
        let count = u32::from_le_bytes(read(reader)?);
        let sequence = u64::from_le_bytes(read(reader)?);
        let (mut put, mut keyspaces) = (None, BTreeSet::new());
        let (mut checksum, mut bytes) = (Xxh3::new(), Vec::new());
        for _ in 0..count {
            let head: [[u8; 1]; 3] = [read(reader)?, read(reader)?, read(reader)?];
            let [[tag], [_], [compression]] = head;
            valid(tag == ITEM && compression == 0)?;
            let (keyspace, key_len) = (read::<8>(reader)?, read::<2>(reader)?);
            let lengths: [[u8; 4]; 2] = [read(reader)?, read(reader)?];
            // Length in memory, and in the journal.
            let [len, stored_len] = lengths.map(u32::from_le_bytes);
            valid(len == stored_len)?;
            for part in [head.as_flattened(), &keyspace, &key_len, lengths.as_flattened()] {
                checksum.update(part);
            }
            let key_len = u16::from_le_bytes(key_len);
            let len = u64::from(key_len).saturating_add(len.into());
            bytes.clear();
            // Grows with what is read, and not by what the length says.
            if reader.take(len).read_to_end(&mut bytes)? as u64 != len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            checksum.update(&bytes);
            keyspaces.insert(u64::from_le_bytes(keyspace));
            if let Some((PUT_KEY, number)) = bytes.split_at_checked(key_len.into()) {
                put = put_number(number);
            }
        }
        valid(read(reader)? == [END])?;
        valid(u64::from_le_bytes(read(reader)?) == checksum.digest())?;
        valid(read(reader)? == *BATCH_MAGIC)?;
        let put = put.ok_or(io::ErrorKind::InvalidData)?;
        self.keyspaces.append(&mut keyspaces);
        Ok(Some(Batch { sequence, put }))
    }
}

/// The number in the row of [`PUT_KEY`]
pub(crate) fn put_number(row: &[u8]) -> Option<u64> {
    row.try_into().ok().map(u64::from_le_bytes)
}

/// Checks that each keyspace has the version that it had last
///
/// A power failure leaves a keyspace without `current` while it is created, when neither its tables
/// nor the journals have rows of it.
fn check_keyspaces(path: &Path, with_rows: &BTreeSet<u64>) -> Result<(), Error> {
    // The keyspace with the names of the others has tables only.
    let mut missing: BTreeSet<u64> = with_rows.iter().copied().chain([0]).collect();
    for keyspace in entries(path)? {
        let name = keyspace.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Ok(number) = name.parse::<u64>() else { continue };
        let current = keyspace.join(CURRENT);
        match fs::read(&current) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let tables = keyspace.join(TABLES);
                let has_tables = tables.is_dir() && !entries(&tables)?.is_empty();
                if has_tables {
                    return Err(damaged(&current, "the file is missing"));
                }
            }
            bytes => {
                check_version(&keyspace, &bytes.map_err(|error| io_error(&current, error))?)?;
                missing.remove(&number);
            }
        }
    }
    match missing.first() {
        Some(number) => Err(damaged(&path.join(number.to_string()), "the keyspace is missing")),
        None => Ok(()),
    }
}

/// Compares the file of a version with the number and the checksum in `current`
fn check_version(keyspace: &Path, current: &[u8]) -> Result<(), Error> {
    let parts = current.split_first_chunk().and_then(|(number, rest)| {
        let (checksum, kind) = rest.split_first_chunk()?;
        (kind == [0]).then(|| (u64::from_le_bytes(*number), u128::from_le_bytes(*checksum)))
    });
    let Some((number, checksum)) = parts else {
        return Err(damaged(&keyspace.join(CURRENT), "it does not name a version"));
    };
    let path = keyspace.join(format!("v{number}"));
    match fs::read(&path) {
        Ok(bytes) if xxh3_128(&bytes) == checksum => Ok(()),
        Ok(_) => Err(damaged(&path, "it does not match its checksum")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(damaged(&path, "the file is missing"))
        }
        Err(error) => Err(io_error(&path, error)),
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    entries.map_err(|error| io_error(directory, error))
}

fn read<const LEN: usize>(reader: &mut impl Read) -> io::Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    reader.read_exact(&mut bytes).map(|()| bytes)
}

fn valid(is_valid: bool) -> io::Result<()> {
    if is_valid { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Whether only zeros are left
fn is_zero(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        let len = bytes.len();
        if len == 0 {
            return Ok(true);
        }
        // As slices: a journal of a new database has 64 MiB of zeros.
        if ZEROS.get(..len) != Some(bytes) {
            return Ok(false);
        }
        reader.consume(len);
    }
}

fn damaged(path: &Path, detail: impl core::fmt::Display) -> Error {
    Error::new(ErrorKind::Corrupt, detail).at(path.display())
}

fn io_error(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Storage, &error).at(path.display()).with_source(error)
}

/// Bytes without which a database is not opened again: some puts, which have some 100 kB each
const ROOM: usize = 1 << 20;
/// Bytes of a journal that are read at once
const READ_BYTES: usize = 64 << 10;
static ZEROS: [u8; READ_BYTES] = [0; READ_BYTES];
