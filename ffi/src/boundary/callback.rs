//! Whether this thread is inside a callback of the host, and which sink is open there.
//!
//! While a callback runs, every function except those of the sink fails: the engine's locks are
//! held, and its borrows are live. The open sink is known per thread, so a sink that the host kept,
//! or moved to another thread, is rejected without being dereferenced.

use core::cell::{Cell, RefCell};
use core::ptr;

use milepost::storage::{Key, Row};

/// What a callback passed so far: rows by the position of their keys, or rows with their keys
pub(crate) struct SinkState {
    rows: RefCell<Vec<Option<Row>>>,
    max_rows: usize,
    entries: RefCell<Vec<(Key, Row)>>,
    max_entries: usize,
    reason: RefCell<String>,
    is_refused: Cell<bool>,
}

/// Result of a callback, with what it passed to its sink
pub(crate) struct SinkResult<T> {
    pub(crate) result: T,
    pub(crate) rows: Vec<Option<Row>>,
    pub(crate) entries: Vec<(Key, Row)>,
    /// Why it failed, in the words of the host; empty if it did not say
    pub(crate) reason: String,
    /// Whether the sink did not take a row
    pub(crate) is_refused: bool,
}

/// Why a sink does not take a row
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SinkError {
    /// It is not the open sink
    Stale,
    /// It has all rows that it takes
    Full,
}

/// Maximum length of a reason: the rest of a longer one is cut off
const MAX_REASON_LEN: usize = 1_024;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    static OPEN_SINK: Cell<*const SinkState> = const { Cell::new(ptr::null()) };
}

/// Whether this thread is inside a callback
pub(crate) fn is_inside() -> bool {
    IS_INSIDE.get()
}

/// Restores the state from before a callback, also on unwinding
struct CallbackGuard {
    was_inside: bool,
    previous_sink: *const SinkState,
}

impl Drop for CallbackGuard {
    fn drop(&mut self) {
        OPEN_SINK.set(self.previous_sink);
        IS_INSIDE.set(self.was_inside);
    }
}

/// Runs a callback that has no sink
pub(crate) fn run<T>(callback: impl FnOnce() -> T) -> T {
    let _guard = CallbackGuard {
        was_inside: IS_INSIDE.replace(true),
        previous_sink: OPEN_SINK.replace(ptr::null()),
    };
    callback()
}

/// Runs a callback with a sink for up to `max_rows` rows
pub(crate) fn run_with_sink<T>(
    max_rows: usize,
    callback: impl FnOnce(*const SinkState) -> T,
) -> SinkResult<T> {
    run_with(max_rows, 0, callback)
}

/// Runs a callback with a sink for up to `max_entries` rows with their keys
pub(crate) fn run_with_entries<T>(
    max_entries: usize,
    callback: impl FnOnce(*const SinkState) -> T,
) -> SinkResult<T> {
    run_with(0, max_entries, callback)
}

fn run_with<T>(
    max_rows: usize,
    max_entries: usize,
    callback: impl FnOnce(*const SinkState) -> T,
) -> SinkResult<T> {
    let sink = SinkState {
        rows: RefCell::new(Vec::with_capacity(max_rows)),
        max_rows,
        entries: RefCell::default(),
        max_entries,
        reason: RefCell::default(),
        is_refused: Cell::default(),
    };
    let result = run(|| {
        OPEN_SINK.set(&raw const sink);
        callback(&raw const sink)
    });
    SinkResult {
        result,
        rows: sink.rows.into_inner(),
        entries: sink.entries.into_inner(),
        reason: sink.reason.into_inner(),
        is_refused: sink.is_refused.get(),
    }
}

/// Passes a row to the sink at this address
pub(crate) fn push_row(address: *const SinkState, row: Option<&[u8]>) -> Result<(), SinkError> {
    let sink = open_sink(&address).ok_or(SinkError::Stale)?;
    let mut rows = sink.rows.borrow_mut();
    if rows.len() == sink.max_rows {
        sink.is_refused.set(true);
        return Err(SinkError::Full);
    }
    rows.push(row.map(Row::from));
    Ok(())
}

/// Passes a row with its key to the sink at this address; without a key it is refused
pub(crate) fn push_entry(
    address: *const SinkState,
    key: Option<Key>,
    row: &[u8],
) -> Result<(), SinkError> {
    let sink = open_sink(&address).ok_or(SinkError::Stale)?;
    let mut entries = sink.entries.borrow_mut();
    let Some(key) = key.filter(|_| entries.len() < sink.max_entries) else {
        sink.is_refused.set(true);
        return Err(SinkError::Full);
    };
    entries.push((key, Row::from(row)));
    Ok(())
}

/// Passes the reason of a failure to the sink at this address; returns `None` if it is not the open
/// sink
pub(crate) fn set_reason(address: *const SinkState, reason: &[u8]) -> Option<()> {
    let reason = reason.get(..MAX_REASON_LEN).unwrap_or(reason);
    *open_sink(&address)?.reason.borrow_mut() = String::from_utf8_lossy(reason).into_owned();
    Some(())
}

/// The open sink, if it is the one at this address; borrows the address, so that no reference
/// outlives the call that the host made inside the callback
fn open_sink(address: &*const SinkState) -> Option<&SinkState> {
    let open = OPEN_SINK.get();
    if open.is_null() || open != *address {
        return None;
    }
    // SAFETY: `run_with_sink` sets the address of a sink that lives until `run` has reset it, on
    // this thread, and the sink is only ever shared.
    Some(unsafe { &*open })
}
