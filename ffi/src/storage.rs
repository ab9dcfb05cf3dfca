//! Where an engine keeps its rows: in memory, or behind the functions of the host.
//!
//! A host's functions are called with nothing but bytes, and what they give is copied before it is
//! used; a number other than 0, a row too many or too few is an error of the storage. That they
//! may be called from several threads is the host's promise, made with the structure.

use core::ffi::c_void;
use core::{fmt, ptr};

use milepost::facts::{Batch, Key, MemoryStorage, Row, Rows, Storage};
use milepost::{Error, ErrorKind};

use crate::boundary::callback;
use crate::sink::milepost_sink;
use crate::status::{MILEPOST_STATUS_NULL, Refusal};
use crate::value::milepost_bytes;

/// Whether a change writes a row or removes one
pub type milepost_change_t = i32;

/// The row is written, in place of the one that may be there
pub const MILEPOST_CHANGE_PUT: milepost_change_t = 1;
/// The row is removed; one that is not there is no error
pub const MILEPOST_CHANGE_REMOVE: milepost_change_t = 2;

/// One change of the storage
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_change {
    /// The key: the number of the table, then 1 to 32 bytes
    pub key: milepost_bytes,
    /// The row to be written; no bytes when it is removed
    pub row: milepost_bytes,
    /// `MILEPOST_CHANGE_PUT` or `MILEPOST_CHANGE_REMOVE`
    pub kind: milepost_change_t,
}

/// A row that a host supplies
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_row {
    /// Its bytes, copied by the call they are passed to
    pub bytes: milepost_bytes,
    /// 1, or 0 when there is no row of this key, and then `bytes` is not looked at
    pub present: i32,
}

/// Finds the row of a key and hands it over to the sink; returns 0, or another number to fail
///
/// The key is its table's number and 1 to 32 bytes, good for the time of the call.
pub type milepost_get_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        key: *const u8,
        key_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Finds the rows of many keys and hands them over in the order of the keys; returns 0, or another number
/// to fail
pub type milepost_get_many_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        keys: *const milepost_bytes,
        keys_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Applies all changes, in their order, or none; returns 0, or another number when none was applied
pub type milepost_commit_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        changes: *const milepost_change,
        changes_len: usize,
    ) -> i32,
>;

/// Called once when nothing uses the storage any more
pub type milepost_finalize_fn = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Makes an empty storage that is not at hand of any other; returns 0, or another number to fail
pub type milepost_make_fn =
    Option<unsafe extern "C" fn(context: *mut c_void, storage: *mut milepost_storage) -> i32>;

/// A storage of the host's: a map from keys to rows
///
/// `get` and `get_many` are called from any thread that asks, several at a time; `commit` alone. What
/// callbacks owe is said in `docs/C-API.md`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct milepost_storage {
    /// `sizeof(milepost_storage)`, by which the library knows which members there are
    pub size: usize,
    /// Passed to every function; the host's, and never looked at
    pub context: *mut c_void,
    /// Finds one row; required
    pub get: milepost_get_fn,
    /// Finds many rows in one round trip; NULL when `get` is as good
    pub get_many: milepost_get_many_fn,
    /// Changes rows; required
    pub commit: milepost_commit_fn,
    /// Ends the storage; NULL when there is nothing to end
    pub finalize: milepost_finalize_fn,
}

/// A key as the host sees it: the number of its table, then its bytes
pub(crate) struct FlatKey {
    bytes: [u8; 1 + Key::LONGEST],
    len: usize,
}

impl FlatKey {
    pub(crate) fn of(key: &Key) -> Self {
        let mut bytes = [0; 1 + Key::LONGEST];
        bytes[0] = key.table().number();
        // A key has at most `LONGEST` bytes.
        bytes[1..=key.as_bytes().len()].copy_from_slice(key.as_bytes());
        Self { bytes, len: 1 + key.as_bytes().len() }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Keys that the host sees until the question is polled again
#[derive(Default)]
pub(crate) struct FlatKeys {
    /// What `spans` point to
    keys: Vec<FlatKey>,
    spans: Vec<milepost_bytes>,
}

// SAFETY: the pointers are to the keys beside them, which nobody changes while they are shared.
unsafe impl Send for FlatKeys {}
// SAFETY: as above.
unsafe impl Sync for FlatKeys {}

impl FlatKeys {
    pub(crate) fn of(keys: &[Key]) -> Self {
        let keys: Vec<_> = keys.iter().map(FlatKey::of).collect();
        let spans = keys.iter().map(|key| milepost_bytes::of(key.as_bytes())).collect();
        Self { keys, spans }
    }

    pub(crate) fn spans(&self) -> &[milepost_bytes] {
        debug_assert_eq!(self.keys.len(), self.spans.len(), "one span for each key");
        &self.spans
    }
}

/// A batch as the host sees it
pub(crate) struct FlatBatch {
    /// What `changes` point to
    batch: Batch,
    keys: FlatKeys,
    changes: Vec<milepost_change>,
}

// SAFETY: the pointers are to the keys and rows beside them, which nobody changes.
unsafe impl Send for FlatBatch {}
// SAFETY: as above.
unsafe impl Sync for FlatBatch {}

impl FlatBatch {
    pub(crate) fn of(batch: Batch) -> Self {
        let keys: Vec<Key> = batch.changes().iter().map(|(key, _)| *key).collect();
        let keys = FlatKeys::of(&keys);
        let changes = keys.spans().iter().zip(batch.changes()).map(|(&key, (_, row))| match row {
            Some(row) => {
                milepost_change { key, row: milepost_bytes::of(row), kind: MILEPOST_CHANGE_PUT }
            }
            None => {
                let row = milepost_bytes::NONE;
                milepost_change { key, row, kind: MILEPOST_CHANGE_REMOVE }
            }
        });
        let changes = changes.collect();
        Self { batch, keys, changes }
    }

    pub(crate) fn changes(&self) -> &[milepost_change] {
        debug_assert_eq!(self.batch.changes().len(), self.keys.keys.len(), "one key for each");
        &self.changes
    }
}

/// The storage of an engine
pub(crate) enum AnyStorage {
    Memory(MemoryStorage),
    Host(HostStorage),
    #[cfg(feature = "store")]
    File(milepost_redb::RedbStorage),
}

impl Rows for AnyStorage {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        match self {
            Self::Memory(storage) => storage.get(key),
            Self::Host(storage) => storage.get(key),
            #[cfg(feature = "store")]
            Self::File(storage) => storage.get(key),
        }
    }

    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        match self {
            Self::Memory(storage) => storage.read(key, reader),
            // From a copy: a host may hand a row over and fail all the same.
            Self::Host(storage) => storage.read(key, reader),
            #[cfg(feature = "store")]
            Self::File(storage) => storage.read(key, reader),
        }
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        match self {
            Self::Memory(storage) => storage.get_many(keys, rows),
            Self::Host(storage) => storage.get_many(keys, rows),
            #[cfg(feature = "store")]
            Self::File(storage) => storage.get_many(keys, rows),
        }
    }
}

impl Storage for AnyStorage {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        match self {
            Self::Memory(storage) => storage.commit(batch),
            Self::Host(storage) => storage.commit(batch),
            #[cfg(feature = "store")]
            Self::File(storage) => storage.commit(batch),
        }
    }
}

/// A storage behind the functions of the host
pub(crate) struct HostStorage {
    functions: milepost_storage,
    get: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut milepost_sink) -> i32,
    commit: unsafe extern "C" fn(*mut c_void, *const milepost_change, usize) -> i32,
}

// SAFETY: the context is only passed on, and the host promises with the structure that its functions
// may be called from any thread.
unsafe impl Send for HostStorage {}
// SAFETY: as above; `get` and `get_many` several at a time.
unsafe impl Sync for HostStorage {}

impl fmt::Debug for HostStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostStorage").finish_non_exhaustive()
    }
}

impl HostStorage {
    /// The storage of these functions, which is finalized when it is dropped
    pub(crate) fn new(functions: milepost_storage) -> Result<Self, Refusal> {
        let missing = |name| Refusal::new(MILEPOST_STATUS_NULL, format!("storage.{name} is NULL"));
        let get = functions.get.ok_or_else(|| missing("get"))?;
        let commit = functions.commit.ok_or_else(|| missing("commit"))?;
        Ok(Self { functions, get, commit })
    }
}

/// A function that makes storages
#[derive(Clone, Copy, Debug)]
pub struct Maker(pub(crate) unsafe extern "C" fn(*mut c_void, *mut milepost_storage) -> i32);

impl Maker {
    /// A storage that the host makes
    pub(crate) fn make(self, context: *mut c_void) -> Result<HostStorage, Error> {
        let mut storage = milepost_storage {
            size: size_of::<milepost_storage>(),
            context: ptr::null_mut(),
            get: None,
            get_many: None,
            commit: None,
            finalize: None,
        };
        // SAFETY: the host's function with its context, and a structure that outlives the call.
        let code = callback::inside(|| unsafe { (self.0)(context, &raw mut storage) });
        if code != 0 {
            return Err(failed("make", code));
        }
        HostStorage::new(storage)
            .map_err(|refusal| Error::new(ErrorKind::Storage, refusal.parts().2))
    }
}

impl Drop for HostStorage {
    fn drop(&mut self) {
        if let Some(finalize) = self.functions.finalize {
            // SAFETY: the host's function with the host's context, once, and never again.
            callback::inside(|| unsafe { finalize(self.functions.context) });
        }
    }
}

/// What a callback gave, if it kept its duties
fn given(
    name: &str,
    (code, rows): (i32, Vec<Option<Row>>),
    keys: usize,
) -> Result<Vec<Option<Row>>, Error> {
    if code != 0 {
        return Err(failed(name, code));
    }
    if rows.len() != keys {
        let detail = format_args!("the storage's {name} handed over {} rows of {keys}", rows.len());
        return Err(Error::new(ErrorKind::Storage, detail));
    }
    Ok(rows)
}

fn failed(name: &str, code: i32) -> Error {
    Error::new(ErrorKind::Storage, format_args!("the storage's {name} returned {code}"))
}

impl Rows for HostStorage {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let key = FlatKey::of(key);
        let given_by_host = callback::with_sink(1, |sink| {
            let (data, len) = (key.as_bytes().as_ptr(), key.as_bytes().len());
            // SAFETY: the host's function with its context, and a key that outlives the call.
            unsafe { (self.get)(self.functions.context, data, len, sink.cast_mut().cast()) }
        });
        Ok(given("get", given_by_host, 1)?.into_iter().next().flatten())
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let Some(get_many) = self.functions.get_many else {
            for key in keys {
                rows.push(self.get(key)?);
            }
            return Ok(());
        };
        let flat = FlatKeys::of(keys);
        let given_by_host = callback::with_sink(keys.len(), |sink| {
            let (data, len) = (flat.spans().as_ptr(), flat.spans().len());
            // SAFETY: the host's function with its context, and keys that outlive the call.
            unsafe { get_many(self.functions.context, data, len, sink.cast_mut().cast()) }
        });
        rows.extend(given("get_many", given_by_host, keys.len())?);
        Ok(())
    }
}

impl Storage for HostStorage {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        let batch = FlatBatch::of(batch);
        let (data, len) = (batch.changes().as_ptr(), batch.changes().len());
        // SAFETY: the host's function with its context, and changes that outlive the call.
        let code = callback::inside(|| unsafe { (self.commit)(self.functions.context, data, len) });
        if code == 0 { Ok(()) } else { Err(failed("commit", code)) }
    }
}

/// The rows that a host supplies, copied
pub(crate) fn rows(supplied: &[milepost_row]) -> Result<Vec<Option<Row>>, Refusal> {
    supplied
        .iter()
        .map(|row| match row.present {
            0 => Ok(None),
            1 => crate::boundary::parameter::copied(&row.bytes, "row").map(|row| Some(row.into())),
            other => Err(Refusal::number("presence of a row", other)),
        })
        .collect()
}
