//! Storages of the host: its functions, and what they are called with.
//!
//! The host's functions get bytes only, and the rows they pass are copied before use; a return
//! value other than 0 and a wrong number of rows are storage errors. By passing the structure the
//! host promises that its functions may be called from several threads.

use core::ffi::c_void;
use core::mem::offset_of;
use core::ops::Deref;
use core::{fmt, ptr};

use milepost::storage::{Batch, Isolation, Key, Row, Snapshot};
use milepost::{Error, ErrorKind};

use crate::boundary::callback::SinkResult;
use crate::boundary::parameter::{Parameter, arrays, null, sized_input};
use crate::boundary::{Scope, callback};
use crate::sink::milepost_sink;
use crate::status::{CallError, MILEPOST_STATUS_NULL};
use crate::value::milepost_bytes;

/// Whether a change writes a row or removes one
pub type milepost_change_t = i32;

/// Writes the row, and replaces one that exists
pub const MILEPOST_CHANGE_PUT: milepost_change_t = 1;
/// Removes the row; one that does not exist is not an error
pub const MILEPOST_CHANGE_REMOVE: milepost_change_t = 2;

/// One change of the storage
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_change {
    /// Key: number of the table, then 1 to 32 bytes
    pub key: milepost_bytes,
    /// Row to write; no bytes for a removal
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
    /// 1, or 0 if the key has no row; then `bytes` is not looked at
    pub present: i32,
}

/// Finds the row of a key and passes it to the sink; returns 0, or another number to fail, whose
/// reason `milepost_sink_fail` can give
///
/// The key is the number of its table and 1 to 32 bytes, valid during the call.
pub type milepost_get_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        key: *const u8,
        key_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Finds the rows of many keys and passes them in the order of the keys; returns 0, or another
/// number to fail
pub type milepost_get_many_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        keys: *const milepost_bytes,
        keys_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Applies all changes in their order and returns 0, or applies none and returns another number
///
/// The sink takes the reason of a failure, and no rows.
pub type milepost_commit_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        changes: *const milepost_change,
        changes_len: usize,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Opens a snapshot of the newest commit, which later commits do not change; returns 0, or another
/// number to fail
///
/// The sink takes the reason of a failure, and no rows.
pub type milepost_snapshot_open_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        snapshot: *mut *mut c_void,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Closes a snapshot, on the thread that opened it
pub type milepost_snapshot_close_fn =
    Option<unsafe extern "C" fn(context: *mut c_void, snapshot: *mut c_void)>;

/// Called once, when nothing uses the storage any more
pub type milepost_finalize_fn = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Whether several reads of a storage see one state
pub type milepost_isolation_t = i32;

/// They do: only the engine commits, or all reads of a request see one snapshot
pub const MILEPOST_ISOLATION_SNAPSHOT: milepost_isolation_t = 0;
/// Each read sees the newest commit, and sees it whole or not at all: others may commit while a
/// request is answered, which then starts again
pub const MILEPOST_ISOLATION_READ_COMMITTED: milepost_isolation_t = 1;

/// The isolation of this number
pub(crate) fn isolation(number: milepost_isolation_t) -> Result<Isolation, CallError> {
    match number {
        MILEPOST_ISOLATION_SNAPSHOT => Ok(Isolation::Snapshot),
        MILEPOST_ISOLATION_READ_COMMITTED => Ok(Isolation::ReadCommitted),
        unknown => Err(CallError::invalid_enum("isolation", unknown)),
    }
}

/// Creates an empty storage, independent of any other; returns 0, or another number to fail
///
/// The sink takes the reason of a failure, and no rows.
pub type milepost_create_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        storage: *mut milepost_storage,
        sink: *mut milepost_sink,
    ) -> i32,
>;

/// Storage of the host: a map from keys to rows
///
/// `get` and `get_many` are called from any thread that uses the engine, concurrently; `commit` is
/// called alone, or with snapshots by one thread at a time during them. `docs/C-API.md` states the
/// requirements of callbacks.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct milepost_storage {
    /// `sizeof(milepost_storage)`: members beyond it are as if they were NULL
    pub size: usize,
    /// Passed to every function; opaque to the library
    pub context: *mut c_void,
    /// Finds one row; required
    pub get: milepost_get_fn,
    /// Finds many rows in one round trip; NULL to call `get` for each key
    pub get_many: milepost_get_many_fn,
    /// Changes rows; required
    pub commit: milepost_commit_fn,
    /// Ends the storage; may be NULL
    pub finalize: milepost_finalize_fn,
    /// `MILEPOST_ISOLATION_...`; 0 if only the engine changes the rows
    pub isolation: milepost_isolation_t,
    /// Opens a snapshot for the reads of one call, which then get it in place of `context`, also
    /// while `commit` runs; NULL if the storage has none
    pub snapshot_open: milepost_snapshot_open_fn,
    /// Closes a snapshot; NULL if `snapshot_open` is
    pub snapshot_close: milepost_snapshot_close_fn,
}

impl milepost_storage {
    /// No function
    const EMPTY: Self = Self {
        size: size_of::<Self>(),
        context: ptr::null_mut(),
        get: None,
        get_many: None,
        commit: None,
        finalize: None,
        isolation: MILEPOST_ISOLATION_SNAPSHOT,
        snapshot_open: None,
        snapshot_close: None,
    };
}

arrays! { milepost_row }

/// The functions of a host's storage
impl Parameter for *const milepost_storage {
    type Checked<'call> = milepost_storage;

    unsafe fn check(self, name: &'static str, _: &Scope) -> Result<milepost_storage, CallError> {
        // SAFETY: NULL, or by convention valid for the size that it states; the members are
        // numbers, addresses and functions of the host.
        unsafe {
            sized_input(self, name, milepost_storage::EMPTY, offset_of!(milepost_storage, commit))
        }
    }
}

/// A function of the host that creates storages
impl Parameter for milepost_create_fn {
    type Checked<'call> = StorageFactory;

    unsafe fn check(self, name: &'static str, _: &Scope) -> Result<StorageFactory, CallError> {
        self.map(StorageFactory).ok_or_else(|| null(name))
    }

    fn is_absent(self) -> bool {
        self.is_none()
    }
}

/// Keys that the host sees until the endpoint is polled again
#[derive(Default)]
pub(crate) struct FlatKeys {
    /// Target of the pointers in `spans`
    keys: Vec<Key>,
    spans: Vec<milepost_bytes>,
}

// SAFETY: the pointers are to `keys` of the same structure, which is not changed while shared.
unsafe impl Send for FlatKeys {}
// SAFETY: as above.
unsafe impl Sync for FlatKeys {}

impl FlatKeys {
    pub(crate) fn new(keys: &[Key]) -> Self {
        let keys = keys.to_vec();
        let spans = keys.iter().map(|key| milepost_bytes::new(key.as_bytes())).collect();
        Self { keys, spans }
    }

    pub(crate) fn spans(&self) -> &[milepost_bytes] {
        debug_assert_eq!(self.keys.len(), self.spans.len(), "one span for each key");
        &self.spans
    }
}

/// Batch in the form that the host sees
#[derive(Default)]
pub(crate) struct FlatBatch {
    /// Target of the pointers in `changes`, together with `keys`
    batch: Batch,
    keys: FlatKeys,
    changes: Vec<milepost_change>,
}

// SAFETY: the pointers are to keys and rows of the same structure, which are not changed.
unsafe impl Send for FlatBatch {}
// SAFETY: as above.
unsafe impl Sync for FlatBatch {}

impl FlatBatch {
    pub(crate) fn new(batch: Batch) -> Self {
        let keys: Vec<Key> = batch.changes().iter().map(|(key, _)| *key).collect();
        let keys = FlatKeys::new(&keys);
        let changes = keys.spans().iter().zip(batch.changes()).map(|(&key, (_, row))| match row {
            Some(row) => {
                milepost_change { key, row: milepost_bytes::new(row), kind: MILEPOST_CHANGE_PUT }
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

/// A storage that calls the functions of the host
pub(crate) struct HostStorage {
    functions: milepost_storage,
    get: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut milepost_sink) -> i32,
    commit:
        unsafe extern "C" fn(*mut c_void, *const milepost_change, usize, *mut milepost_sink) -> i32,
    snapshots: Option<SnapshotFunctions>,
    isolation: Isolation,
}

/// The functions of a storage that has snapshots
#[derive(Clone, Copy)]
struct SnapshotFunctions {
    open: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut milepost_sink) -> i32,
    close: unsafe extern "C" fn(*mut c_void, *mut c_void),
}

// SAFETY: the context is only passed on, and the host promises with the structure that its
// functions may be called from any thread.
unsafe impl Send for HostStorage {}
// SAFETY: as above; `get` and `get_many` may be called concurrently.
unsafe impl Sync for HostStorage {}

impl fmt::Debug for HostStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostStorage").finish_non_exhaustive()
    }
}

impl HostStorage {
    /// A storage of these functions; dropping it calls `finalize`
    pub(crate) fn new(functions: milepost_storage) -> Result<Self, CallError> {
        let missing =
            |name| CallError::new(MILEPOST_STATUS_NULL, format!("storage.{name} is NULL"));
        let get = functions.get.ok_or_else(|| missing("get"))?;
        let commit = functions.commit.ok_or_else(|| missing("commit"))?;
        let snapshots = match (functions.snapshot_open, functions.snapshot_close) {
            (Some(open), Some(close)) => Some(SnapshotFunctions { open, close }),
            (None, None) => None,
            (None, _) => return Err(missing("snapshot_open")),
            (_, None) => return Err(missing("snapshot_close")),
        };
        let isolation = isolation(functions.isolation)?;
        Ok(Self { functions, get, commit, snapshots, isolation })
    }

    /// The isolation that the host declares
    pub(crate) const fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Whether reads may continue while a commit runs
    pub(crate) const fn has_snapshots(&self) -> bool {
        self.snapshots.is_some()
    }
}

/// A function of the host that creates storages
#[derive(Clone, Copy, Debug)]
pub struct StorageFactory(
    pub(crate) unsafe extern "C" fn(*mut c_void, *mut milepost_storage, *mut milepost_sink) -> i32,
);

impl StorageFactory {
    /// Lets the host create a storage
    pub(crate) fn create(self, context: *mut c_void) -> Result<HostStorage, Error> {
        let mut storage = milepost_storage::EMPTY;
        let result = callback::run_with_sink(0, |sink| {
            // SAFETY: the host's function with its context, and a structure that outlives the call.
            unsafe { (self.0)(context, &raw mut storage, sink.cast_mut().cast()) }
        });
        check_result("storage", "create", &result)?;
        HostStorage::new(storage).map_err(|error| Error::new(ErrorKind::Storage, error.details().2))
    }
}

impl Drop for HostStorage {
    fn drop(&mut self) {
        if let Some(finalize) = self.functions.finalize {
            // SAFETY: the host's function with its context, called only here.
            callback::run(|| unsafe { finalize(self.functions.context) });
        }
    }
}

/// Returns the rows that a callback passed, if it succeeded and passed one for each key
fn check_rows(name: &str, result: SinkResult<i32>, keys: usize) -> Result<Vec<Option<Row>>, Error> {
    check_result("storage", name, &result)?;
    if result.rows.len() != keys {
        let passed = result.rows.len();
        let detail = format_args!("the storage's {name} passed {passed} rows for {keys} keys");
        return Err(Error::new(ErrorKind::Storage, detail));
    }
    Ok(result.rows)
}

/// Returns the error of a callback that failed, with its number and its reason
pub(crate) fn check_result(
    of: &str,
    name: &str,
    SinkResult { result, reason, .. }: &SinkResult<i32>,
) -> Result<(), Error> {
    if *result == 0 {
        return Ok(());
    }
    let separator = if reason.is_empty() { "" } else { ": " };
    let detail = format_args!("the {of}'s {name} returned {result}{separator}{reason}");
    Err(Error::new(ErrorKind::Storage, detail))
}

/// What the reads of one call get as their context: a snapshot of the host, or its storage
pub(crate) struct HostSnapshot<S: Deref<Target = HostStorage>> {
    storage: S,
    context: *mut c_void,
}

impl<S: Deref<Target = HostStorage>> HostSnapshot<S> {
    /// Opens a snapshot if the storage has them; dropping it closes it
    pub(crate) fn open(storage: S) -> Result<Self, Error> {
        let mut context = storage.functions.context;
        if let Some(SnapshotFunctions { open, .. }) = storage.snapshots {
            let mut snapshot = ptr::null_mut();
            let result = callback::run_with_sink(0, |sink| {
                // SAFETY: the host's function with its context, and an output that outlives the
                // call.
                unsafe { open(context, &raw mut snapshot, sink.cast_mut().cast()) }
            });
            check_result("storage", "snapshot_open", &result)?;
            context = snapshot;
        }
        Ok(Self { storage, context })
    }
}

impl<S: Deref<Target = HostStorage>> Drop for HostSnapshot<S> {
    fn drop(&mut self) {
        if let Some(SnapshotFunctions { close, .. }) = self.storage.snapshots {
            let context = self.storage.functions.context;
            // SAFETY: the host's function with its context, and a snapshot that it opened, which is
            // not used again.
            callback::run(|| unsafe { close(context, self.context) });
        }
    }
}

impl<S: Deref<Target = HostStorage>> Snapshot for HostSnapshot<S> {
    fn isolation(&self) -> Isolation {
        if self.storage.has_snapshots() { Isolation::Snapshot } else { self.storage.isolation }
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let result = callback::run_with_sink(1, |sink| {
            let (data, len) = (key.as_bytes().as_ptr(), key.as_bytes().len());
            // SAFETY: the host's function with its context or a snapshot that is open, and a key
            // that outlives the call.
            unsafe { (self.storage.get)(self.context, data, len, sink.cast_mut().cast()) }
        });
        let rows = check_rows("get", result, 1)
            .map_err(|error| error.at(format_args!("storage.get({key:?})")))?;
        Ok(rows.into_iter().next().flatten())
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let Some(get_many) = self.storage.functions.get_many else {
            for key in keys {
                rows.push(self.get(key)?);
            }
            return Ok(());
        };
        let flat = FlatKeys::new(keys);
        let result = callback::run_with_sink(keys.len(), |sink| {
            let (data, len) = (flat.spans().as_ptr(), flat.spans().len());
            // SAFETY: the host's function with its context or a snapshot that is open, and keys
            // that outlive the call.
            unsafe { get_many(self.context, data, len, sink.cast_mut().cast()) }
        });
        rows.extend(check_rows("get_many", result, keys.len())?);
        Ok(())
    }
}

impl HostStorage {
    /// Applies a batch; only snapshots may be read meanwhile
    pub(crate) fn commit(&self, batch: Batch) -> Result<(), Error> {
        let batch = FlatBatch::new(batch);
        let (data, len) = (batch.changes().as_ptr(), batch.changes().len());
        let result = callback::run_with_sink(0, |sink| {
            // SAFETY: the host's function with its context, and changes that outlive the call.
            unsafe { (self.commit)(self.functions.context, data, len, sink.cast_mut().cast()) }
        });
        check_result("storage", "commit", &result)
    }
}

/// Copies the rows that a host supplies
pub(crate) fn copy_rows(supplied: &[milepost_row]) -> Result<Vec<Option<Row>>, CallError> {
    supplied
        .iter()
        .map(|row| match row.present {
            0 => Ok(None),
            1 => Ok(Some(row.bytes.copy("row")?.into())),
            other => Err(CallError::invalid_enum("value of present (0 or 1)", other)),
        })
        .collect()
}
