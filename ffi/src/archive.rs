//! Archives of the host: its functions, and what they are called with.
//!
//! The host keeps bytes and interprets none: which of several rows of one key is served, and if two
//! contents are a conflict, is decided here. Rows that the host passes are copied before use; a
//! return value other than 0, a row of a key that was not asked for and one that the sink refused
//! are errors, and never taken for a missing row.

use core::ffi::c_void;
use core::fmt;
use core::mem::offset_of;
use core::ptr;
use std::collections::BTreeMap;

use milepost::archive::{Archive, content_hash, served_row};
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};

use crate::boundary::Scope;
use crate::boundary::callback::{self, SinkResult};
use crate::boundary::parameter::{Parameter, null, sized_input};
use crate::sink::milepost_sink;
use crate::status::{CallError, MILEPOST_STATUS_NULL};
use crate::storage::{FlatKeys, check_result, milepost_finalize_fn};
use crate::value::milepost_bytes;

/// Maximum number of rows of one key that are read: more than one are an exception
const MAX_ROWS_OF_KEY: usize = 64;

/// A row to put into an archive
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_archive_row {
    /// Key: number of the table, then 1 to 32 bytes
    pub key: milepost_bytes,
    /// What the row says, as 32 bytes: rows of one key with the same `content` are one row
    pub content: milepost_bytes,
    /// The row, opaque to the host
    pub row: milepost_bytes,
}

/// Finds all rows of these keys and passes each by `milepost_sink_entry`, in any order, and nothing
/// for a key without a row; returns 0, or another number to fail
///
/// No key is there twice. All of them are read in one round trip, if that costs anything.
pub type milepost_archive_get_many_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        keys: *const milepost_bytes,
        keys_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Passes rows of a table by `milepost_sink_entry`: about `limit` of them, those of the keys after
/// `after`; returns 0, or another number to fail
///
/// `table` is the first byte of the keys. The order of the keys is the host's own and stays the
/// same; the rows of one key come one after the other. With `after_len` 0 from the start. Passes
/// no row only after the last one. A page may end between two rows of a key: the others are read
/// by `get_many`.
pub type milepost_archive_scan_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        table: u8,
        after: *const u8,
        after_len: usize,
        limit: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Writes rows; returns 0 when all of them are durable, or another number to fail; any part of them
/// may be there then
///
/// As `put_many` it adds each row, unless its key has one with the same `content`, which may stay
/// or be overwritten. As `replace_many` it first removes all rows of these keys, in one step with
/// adding the new ones for readers. The sink takes the reason of a failure, and no rows.
pub type milepost_archive_write_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        rows: *const milepost_archive_row,
        rows_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Removes all rows of these keys, some of which may have none; returns 0, or another number to
/// fail
///
/// The sink takes the reason of a failure, and no rows.
pub type milepost_archive_remove_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        keys: *const milepost_bytes,
        keys_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Creates an empty archive, independent of any other; returns 0, or another number to fail
///
/// The sink takes the reason of a failure, and no rows.
pub type milepost_archive_create_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        archive: *mut milepost_archive,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Archive of the host: finalized transactions, in rows that are put once
///
/// A set of rows by key and content: a table with the primary key (`key`, `content`), or a map
/// whose keys are both, one after the other. Any number of engines and processes may share it.
/// Every function is called from any thread that uses an engine, concurrently with itself and with
/// all others. `docs/C-API.md` states the requirements of callbacks.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct milepost_archive {
    /// `sizeof(milepost_archive)`: members beyond it are as if they were NULL
    pub size: usize,
    /// Passed to every function; opaque to the library
    pub context: *mut c_void,
    /// Finds the rows of keys; required
    pub get_many: milepost_archive_get_many_fn,
    /// Lists the rows of a table; required
    pub scan: milepost_archive_scan_fn,
    /// Adds rows; NULL, with the next two, for an engine that only reads the archive
    pub put_many: milepost_archive_write_fn,
    /// Replaces rows; NULL if `put_many` is
    pub replace_many: milepost_archive_write_fn,
    /// Removes rows; NULL if `put_many` is
    pub remove_many: milepost_archive_remove_fn,
    /// Ends the archive; may be NULL
    pub finalize: milepost_finalize_fn,
}

impl milepost_archive {
    /// No function
    const EMPTY: Self = Self {
        size: size_of::<Self>(),
        context: ptr::null_mut(),
        get_many: None,
        scan: None,
        put_many: None,
        replace_many: None,
        remove_many: None,
        finalize: None,
    };
}

/// The functions of a host's archive
impl Parameter for *const milepost_archive {
    type Checked<'call> = milepost_archive;

    unsafe fn check(self, name: &'static str, _: &Scope) -> Result<milepost_archive, CallError> {
        let last = offset_of!(milepost_archive, scan);
        // SAFETY: NULL, or by convention valid for the size that it states; the members are
        // addresses and functions of the host.
        unsafe { sized_input(self, name, milepost_archive::EMPTY, last) }
    }
}

/// A function of the host that creates archives
#[derive(Clone, Copy, Debug)]
pub struct ArchiveFactory(
    unsafe extern "C" fn(*mut c_void, *mut milepost_archive, *mut milepost_sink) -> i32,
);

impl ArchiveFactory {
    /// Lets the host create an archive
    pub(crate) fn create(self, context: *mut c_void) -> Result<HostArchive, Error> {
        let mut archive = milepost_archive::EMPTY;
        let result = callback::run_with_entries(0, |sink| {
            // SAFETY: the host's function with its context, and a structure that outlives the call.
            unsafe { (self.0)(context, &raw mut archive, sink.cast_mut().cast()) }
        });
        check_result("archive", "create", &result)?;
        HostArchive::new(archive).map_err(|error| Error::new(ErrorKind::Storage, error.details().2))
    }
}

/// A function of the host that creates archives
impl Parameter for milepost_archive_create_fn {
    type Checked<'call> = ArchiveFactory;

    unsafe fn check(self, name: &'static str, _: &Scope) -> Result<ArchiveFactory, CallError> {
        self.map(ArchiveFactory).ok_or_else(|| null(name))
    }

    fn is_absent(self) -> bool {
        self.is_none()
    }
}

type GetMany =
    unsafe extern "C" fn(*mut c_void, *const milepost_bytes, usize, *mut milepost_sink) -> i32;
type Scan =
    unsafe extern "C" fn(*mut c_void, u8, *const u8, usize, usize, *mut milepost_sink) -> i32;
type Write = unsafe extern "C" fn(
    *mut c_void,
    *const milepost_archive_row,
    usize,
    *mut milepost_sink,
) -> i32;

/// An archive that calls the functions of the host
pub(crate) struct HostArchive {
    functions: milepost_archive,
    get_many: GetMany,
    scan: Scan,
    /// `None` if it is only read
    writes: Option<WriteFunctions>,
}

/// The functions of an archive that is written
#[derive(Clone, Copy)]
struct WriteFunctions {
    put_many: Write,
    replace_many: Write,
    remove_many: GetMany,
}

// SAFETY: the context is only passed on, and the host promises with the structure that its
// functions may be called from any thread.
unsafe impl Send for HostArchive {}
// SAFETY: as above, concurrently.
unsafe impl Sync for HostArchive {}

impl fmt::Debug for HostArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostArchive").finish_non_exhaustive()
    }
}

impl HostArchive {
    /// An archive of these functions; dropping it calls `finalize`
    pub(crate) fn new(functions: milepost_archive) -> Result<Self, CallError> {
        let missing =
            |name| CallError::new(MILEPOST_STATUS_NULL, format!("archive.{name} is NULL"));
        let get_many = functions.get_many.ok_or_else(|| missing("get_many"))?;
        let scan = functions.scan.ok_or_else(|| missing("scan"))?;
        let milepost_archive { put_many, replace_many, remove_many, .. } = functions;
        let writes = match (put_many, replace_many, remove_many) {
            (None, None, None) => None,
            _ => Some(WriteFunctions {
                put_many: put_many.ok_or_else(|| missing("put_many"))?,
                replace_many: replace_many.ok_or_else(|| missing("replace_many"))?,
                remove_many: remove_many.ok_or_else(|| missing("remove_many"))?,
            }),
        };
        Ok(Self { functions, get_many, scan, writes })
    }

    /// Whether it has the functions that write
    pub(crate) const fn is_written(&self) -> bool {
        self.writes.is_some()
    }

    fn writes(&self) -> Result<WriteFunctions, Error> {
        self.writes.ok_or_else(|| Error::new(ErrorKind::Usage, "the archive is only read"))
    }

    /// All rows of these keys; each key is in the map
    fn rows_of(&self, keys: &[Key]) -> Result<BTreeMap<Key, Vec<Row>>, Error> {
        let mut rows: BTreeMap<Key, Vec<Row>> = keys.iter().map(|key| (*key, Vec::new())).collect();
        if rows.is_empty() {
            return Ok(rows);
        }
        let unique: Vec<Key> = rows.keys().copied().collect();
        let flat = FlatKeys::new(&unique);
        let max_entries = unique.len().saturating_mul(MAX_ROWS_OF_KEY);
        let result = callback::run_with_entries(max_entries, |sink| {
            let (data, len) = (flat.spans().as_ptr(), flat.spans().len());
            // SAFETY: the host's function with its context, and keys that outlive the call.
            unsafe { (self.get_many)(self.functions.context, data, len, sink.cast_mut().cast()) }
        });
        for (key, row) in check_entries("get_many", result)? {
            let Some(of_key) = rows.get_mut(&key) else {
                return Err(unexpected("get_many", &key, "which was not asked for"));
            };
            of_key.push(row);
        }
        Ok(rows)
    }

    fn write(&self, name: &str, write: Write, rows: &[(Key, Row)]) -> Result<(), Error> {
        let mut contents = Vec::with_capacity(rows.len());
        for (key, row) in rows {
            let hash = content_hash(row).map_err(|error| error.at(format_args!("{key:?}")))?;
            contents.push(hash);
        }
        let flat: Vec<milepost_archive_row> = rows
            .iter()
            .zip(&contents)
            .map(|((key, row), content)| milepost_archive_row {
                key: milepost_bytes::new(key.as_bytes()),
                content: milepost_bytes::new(content.as_bytes()),
                row: milepost_bytes::new(row),
            })
            .collect();
        if flat.is_empty() {
            return Ok(());
        }
        let result = callback::run_with_entries(0, |sink| {
            let (data, len) = (flat.as_ptr(), flat.len());
            // SAFETY: the host's function with its context, and rows that outlive the call.
            unsafe { write(self.functions.context, data, len, sink.cast_mut().cast()) }
        });
        check_result("archive", name, &result)
    }
}

impl Drop for HostArchive {
    fn drop(&mut self) {
        if let Some(finalize) = self.functions.finalize {
            // SAFETY: the host's function with its context, called only here.
            callback::run(|| unsafe { finalize(self.functions.context) });
        }
    }
}

/// Returns the rows that a callback passed with their keys, if it succeeded and none was refused
fn check_entries(name: &str, result: SinkResult<i32>) -> Result<Vec<(Key, Row)>, Error> {
    check_result("archive", name, &result)?;
    if result.is_refused {
        let detail = format_args!("the archive's {name} passed a row that its sink refused");
        return Err(Error::new(ErrorKind::Storage, detail));
    }
    Ok(result.entries)
}

fn unexpected(name: &str, key: &Key, what: &str) -> Error {
    let detail = format_args!("the archive's {name} passed a row of {key:?}, {what}");
    Error::new(ErrorKind::Storage, detail)
}

impl Archive for HostArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let found = self.rows_of(keys)?;
        rows.reserve(keys.len());
        for key in keys {
            let of_key = found.get(key).into_iter().flatten();
            rows.push(served_row(key, of_key.cloned())?);
        }
        Ok(())
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.write("put_many", self.writes()?.put_many, rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.write("replace_many", self.writes()?.replace_many, rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        let remove_many = self.writes()?.remove_many;
        let flat = FlatKeys::new(keys);
        if keys.is_empty() {
            return Ok(());
        }
        let result = callback::run_with_entries(0, |sink| {
            let (data, len) = (flat.spans().as_ptr(), flat.spans().len());
            // SAFETY: the host's function with its context, and keys that outlive the call.
            unsafe { remove_many(self.functions.context, data, len, sink.cast_mut().cast()) }
        });
        check_result("archive", "remove_many", &result)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        let limit = limit.max(1);
        let start = after.map_or(&[][..], Key::as_bytes);
        let max_entries = limit.saturating_mul(MAX_ROWS_OF_KEY);
        let result = callback::run_with_entries(max_entries, |sink| {
            let (context, sink) = (self.functions.context, sink.cast_mut().cast());
            let (data, len) = (start.as_ptr(), start.len());
            // SAFETY: the host's function with its context, and a key that outlives the call.
            unsafe { (self.scan)(context, table.number(), data, len, limit, sink) }
        });
        let mut page = check_entries("scan", result)?;
        if let Some((key, _)) = page.iter().find(|(key, _)| key.table() != table) {
            return Err(unexpected("scan", key, "which belongs to another table"));
        }
        if let Some((key, _)) = page.iter().find(|(key, _)| Some(key) == after) {
            return Err(unexpected("scan", key, "after which it was to continue"));
        }
        // The page may end within the rows of its last key.
        if page.len() >= limit
            && let Some(last) = page.last().map(|(key, _)| *key)
        {
            page.retain(|(key, _)| *key != last);
            let of_last = self.rows_of(&[last])?.into_values().flatten();
            page.extend(of_last.map(|row| (last, row)));
        }
        rows.append(&mut page);
        Ok(())
    }
}
