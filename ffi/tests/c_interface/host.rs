//! A storage and an archive of the host, each over a map, which fail as a program says.
//!
//! A callback that does not fail keeps what the interface demands. One that passes wrong rows still
//! passes valid bytes.

use core::ffi::c_void;
use core::ptr;
use core::slice;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use std::{env, fs, process};

use milepost_ffi::archive::{milepost_archive, milepost_archive_row};
use milepost_ffi::hash::milepost_hash_parse;
use milepost_ffi::sink::{
    milepost_sink, milepost_sink_absent, milepost_sink_entry, milepost_sink_fail, milepost_sink_row,
};
use milepost_ffi::status::MILEPOST_STATUS_REENTRANT;
use milepost_ffi::storage::{MILEPOST_CHANGE_PUT, milepost_change, milepost_storage};
use milepost_ffi::value::{milepost_bytes, milepost_hash};

/// The file of the engines that keep their rows in one
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| env::temp_dir().join(format!("milepost-fuzz-{}", process::id())));

/// Rows, and what callbacks do
pub(crate) struct Host {
    rows: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// What the next calls do, the last one first; then all do what they should
    behaviors: Mutex<Vec<u8>>,
}

/// Removes the file, if there is one: no engine has it open
pub(crate) fn remove_file() {
    let _ = fs::remove_file(&*FILE);
}

/// How the storages and archives of a check behave: as the program says, then correctly for some
/// calls, then they fail, because a check of correct ones takes seconds
pub(crate) struct Checked(Vec<u8>);

impl Checked {
    pub(crate) fn new(behaviors: Vec<u8>, correct: u8) -> Self {
        // More failures than a check has calls after the first one.
        Self([vec![1; 1 << 10], vec![0; correct.into()], behaviors].concat())
    }

    pub(crate) const fn as_pointer(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }
}

/// Creates a storage for a check
///
/// # Safety
///
/// The context is a [`Checked`], and the storage is valid.
pub(crate) unsafe extern "C" fn create_storage(
    context: *mut c_void,
    storage: *mut milepost_storage,
    _: *mut milepost_sink,
) -> i32 {
    // SAFETY: by the caller.
    unsafe { *storage = self::storage((*context.cast::<Checked>()).0.clone(), true) };
    0
}

/// Creates an archive for a check
///
/// # Safety
///
/// The context is a [`Checked`], and the archive is valid.
pub(crate) unsafe extern "C" fn create_archive(
    context: *mut c_void,
    archive: *mut milepost_archive,
    _: *mut milepost_sink,
) -> i32 {
    // SAFETY: by the caller.
    unsafe { *archive = self::archive((*context.cast::<Checked>()).0.clone(), true) };
    0
}

/// The path of the file, or mostly one that cannot be opened
pub(crate) fn path(choice: u8) -> Vec<u8> {
    match choice % 8 {
        0 => FILE.as_os_str().as_encoded_bytes().to_vec(),
        1 => b"a path that is no UTF-8 \xff".to_vec(),
        2 => Vec::new(),
        _ => b"/dev/null/a file below a file".to_vec(),
    }
}

/// What a callback does
enum Behavior {
    Correct,
    Fails,
    FailsWithReason,
    PassesTooLittle,
    PassesTooMuch,
    PassesOther,
    CallsTheLibrary,
}

impl Host {
    /// A host that is freed by `finalize`
    pub(crate) fn context(behaviors: Vec<u8>) -> *mut c_void {
        let host = Self { rows: Mutex::default(), behaviors: Mutex::new(behaviors) };
        Box::into_raw(Box::new(host)).cast()
    }

    fn next(&self) -> Behavior {
        match self.behaviors.lock().expect("no panic").pop().unwrap_or_default() {
            1 => Behavior::Fails,
            2 => Behavior::FailsWithReason,
            3 => Behavior::PassesTooLittle,
            4 => Behavior::PassesTooMuch,
            5 => Behavior::PassesOther,
            6 => Behavior::CallsTheLibrary,
            _ => Behavior::Correct,
        }
    }
}

/// The functions of a storage
pub(crate) fn storage(behaviors: Vec<u8>, has_get_many: bool) -> milepost_storage {
    milepost_storage {
        size: size_of::<milepost_storage>(),
        context: Host::context(behaviors),
        get: Some(get),
        get_many: has_get_many.then_some(get_many),
        commit: Some(commit),
        finalize: Some(finalize),
        isolation: 0,
        snapshot_open: None,
        snapshot_close: None,
    }
}

/// The functions of an archive
pub(crate) fn archive(behaviors: Vec<u8>, is_writer: bool) -> milepost_archive {
    milepost_archive {
        size: size_of::<milepost_archive>(),
        context: Host::context(behaviors),
        get_many: Some(archive_get_many),
        scan: Some(scan),
        put_many: is_writer.then_some(put_many),
        replace_many: is_writer.then_some(put_many),
        remove_many: is_writer.then_some(remove_many),
        finalize: Some(finalize),
    }
}

/// The host of a context
///
/// # Safety
///
/// The context is that of [`Host::context`], and is not finalized.
unsafe fn host<'call>(context: *mut c_void) -> &'call Host {
    // SAFETY: by the caller.
    unsafe { &*context.cast::<Host>() }
}

/// The bytes that the library passes to a callback
///
/// # Safety
///
/// They are valid during the call, by the contract of callbacks.
unsafe fn bytes<'call>(bytes: milepost_bytes) -> &'call [u8] {
    match bytes.len {
        0 => &[],
        // SAFETY: by the caller.
        length => unsafe { slice::from_raw_parts(bytes.data, length) },
    }
}

/// What a callback continues with, or what it returns at once
///
/// # Safety
///
/// The sink is that of the running call.
unsafe fn begin(host: &Host, sink: *mut milepost_sink) -> Result<Behavior, i32> {
    match host.next() {
        Behavior::Fails => Err(7),
        // SAFETY: by the caller.
        Behavior::FailsWithReason => Err(unsafe { fail(sink) }),
        Behavior::CallsTheLibrary => {
            call_the_library();
            Ok(Behavior::Correct)
        }
        behavior => Ok(behavior),
    }
}

/// Passes the row of a key, or does what the program says; returns the result of the callback
///
/// # Safety
///
/// The sink is that of the running call.
unsafe fn pass(host: &Host, keys: &[&[u8]], sink: *mut milepost_sink) -> i32 {
    // SAFETY: the sink is that of the running call, by the caller; rows are copied at once.
    unsafe {
        let behavior = match begin(host, sink) {
            Ok(Behavior::PassesTooLittle) => return 0,
            Ok(behavior) => behavior,
            Err(code) => return code,
        };
        if matches!(behavior, Behavior::PassesTooMuch) {
            milepost_sink_absent(sink);
        }
        let rows = host.rows.lock().expect("no panic");
        for key in keys {
            let _status = match (&behavior, rows.get(*key)) {
                (Behavior::PassesOther, _) => milepost_sink_row(sink, key.as_ptr(), key.len()),
                (_, Some(row)) => milepost_sink_row(sink, row.as_ptr(), row.len()),
                (_, None) => milepost_sink_absent(sink),
            };
        }
    }
    0
}

unsafe extern "C" fn get(
    context: *mut c_void,
    key: *const u8,
    key_len: usize,
    sink: *mut milepost_sink,
) -> i32 {
    // SAFETY: the context is that of the storage; key and sink are valid during the call.
    unsafe { pass(host(context), &[slice::from_raw_parts(key, key_len)], sink) }
}

unsafe extern "C" fn get_many(
    context: *mut c_void,
    keys: *const milepost_bytes,
    keys_len: usize,
    sink: *mut milepost_sink,
) -> i32 {
    // SAFETY: the context is that of the storage; keys and sink are valid during the call.
    unsafe {
        let keys = slice::from_raw_parts(keys, keys_len);
        let keys: Vec<&[u8]> = keys.iter().map(|key| bytes(*key)).collect();
        pass(host(context), &keys, sink)
    }
}

unsafe extern "C" fn commit(
    context: *mut c_void,
    changes: *const milepost_change,
    changes_len: usize,
    sink: *mut milepost_sink,
) -> i32 {
    // SAFETY: the context is that of the storage; changes and sink are valid during the call.
    unsafe {
        let host = host(context);
        if let Err(code) = begin(host, sink) {
            return code;
        }
        let mut rows = host.rows.lock().expect("no panic");
        for change in slice::from_raw_parts(changes, changes_len) {
            let key = bytes(change.key).to_vec();
            match change.kind {
                MILEPOST_CHANGE_PUT => drop(rows.insert(key, bytes(change.row).to_vec())),
                _ => drop(rows.remove(&key)),
            }
        }
        0
    }
}

unsafe extern "C" fn archive_get_many(
    context: *mut c_void,
    keys: *const milepost_bytes,
    keys_len: usize,
    sink: *mut milepost_sink,
) -> i32 {
    // SAFETY: the context is that of the archive; keys and sink are valid during the call.
    unsafe {
        let host = host(context);
        let behavior = match begin(host, sink) {
            Ok(behavior) => behavior,
            Err(code) => return code,
        };
        let rows = host.rows.lock().expect("no panic");
        for key in slice::from_raw_parts(keys, keys_len) {
            let key = bytes(*key);
            let row = match behavior {
                Behavior::PassesTooLittle => None,
                Behavior::PassesOther => Some(key),
                _ => rows.get(key).map(Vec::as_slice),
            };
            let Some(row) = row else { continue };
            let times = if matches!(behavior, Behavior::PassesTooMuch) { 2 } else { 1 };
            for _ in 0..times {
                milepost_sink_entry(sink, key.as_ptr(), key.len(), row.as_ptr(), row.len());
            }
        }
        0
    }
}

unsafe extern "C" fn scan(
    context: *mut c_void,
    table: u8,
    after: *const u8,
    after_len: usize,
    limit: usize,
    sink: *mut milepost_sink,
) -> i32 {
    // SAFETY: the context is that of the archive; key and sink are valid during the call.
    unsafe {
        let after = bytes(milepost_bytes { data: after, len: after_len });
        let rows = host(context).rows.lock().expect("no panic");
        let of_table = rows.iter().filter(|(key, _)| key.first() == Some(&table));
        for (key, row) in of_table.filter(|(key, _)| key.as_slice() > after).take(limit) {
            milepost_sink_entry(sink, key.as_ptr(), key.len(), row.as_ptr(), row.len());
        }
        0
    }
}

unsafe extern "C" fn put_many(
    context: *mut c_void,
    rows: *const milepost_archive_row,
    rows_len: usize,
    sink: *mut milepost_sink,
) -> i32 {
    // SAFETY: the context is that of the archive; rows and sink are valid during the call.
    unsafe {
        let host = host(context);
        match begin(host, sink) {
            Ok(Behavior::PassesTooLittle) => return 0,
            Ok(_) => {}
            Err(code) => return code,
        }
        let mut kept = host.rows.lock().expect("no panic");
        for row in slice::from_raw_parts(rows, rows_len) {
            assert_eq!(row.content.len, 32);
            kept.insert(bytes(row.key).to_vec(), bytes(row.row).to_vec());
        }
        0
    }
}

unsafe extern "C" fn remove_many(
    context: *mut c_void,
    keys: *const milepost_bytes,
    keys_len: usize,
    _sink: *mut milepost_sink,
) -> i32 {
    // SAFETY: the context is that of the archive; keys are valid during the call.
    unsafe {
        let mut rows = host(context).rows.lock().expect("no panic");
        for key in slice::from_raw_parts(keys, keys_len) {
            rows.remove(bytes(*key));
        }
        0
    }
}

unsafe extern "C" fn finalize(context: *mut c_void) {
    // SAFETY: called once, when nothing uses the context any more.
    drop(unsafe { Box::from_raw(context.cast::<Host>()) });
}

/// Fails with a reason that is not UTF-8 to its end
///
/// # Safety
///
/// The sink is that of the running call.
unsafe fn fail(sink: *mut milepost_sink) -> i32 {
    let reason = b"the disk is full \xf0\x9f";
    // SAFETY: by the caller.
    unsafe { milepost_sink_fail(sink, reason.as_ptr(), reason.len()) };
    -1
}

/// A call that is not allowed inside a callback, and says so
fn call_the_library() {
    let mut hash = milepost_hash { bytes: [0; 32] };
    // SAFETY: the text is empty, and the output is valid.
    let status = unsafe { milepost_hash_parse(b"1".as_ptr(), 1, &mut hash, ptr::null_mut()) };
    assert_eq!(status, MILEPOST_STATUS_REENTRANT);
}
