//! Whether this thread is inside a callback of the host, and which sink is open there.
//!
//! While a callback runs, every function but those of the sink refuses: the engine's locks are
//! held, and its borrows are live. The sink is known by the thread that passed it out, so one that
//! was kept, or taken to another thread, is told from the open one without touching it.

use core::cell::{Cell, RefCell};
use core::ptr;

use milepost::facts::Row;

/// The rows that a callback hands over
pub(crate) struct SinkState {
    rows: RefCell<Vec<Option<Row>>>,
    most: usize,
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static OPEN: Cell<*const SinkState> = const { Cell::new(ptr::null()) };
}

/// Whether this thread is inside a callback
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Ends the callback also when what runs inside it unwinds
struct Leave {
    was_inside: bool,
    was_open: *const SinkState,
}

impl Drop for Leave {
    fn drop(&mut self) {
        OPEN.set(self.was_open);
        INSIDE.set(self.was_inside);
    }
}

/// Runs a callback that has no sink
pub(crate) fn inside<T>(callback: impl FnOnce() -> T) -> T {
    let _leave = Leave { was_inside: INSIDE.replace(true), was_open: OPEN.replace(ptr::null()) };
    callback()
}

/// Runs a callback with a sink for so many rows; what it gave, and what was handed over
pub(crate) fn with_sink<T>(
    most: usize,
    callback: impl FnOnce(*const SinkState) -> T,
) -> (T, Vec<Option<Row>>) {
    let sink = SinkState { rows: RefCell::new(Vec::with_capacity(most)), most };
    let given = inside(|| {
        OPEN.set(&raw const sink);
        callback(&raw const sink)
    });
    (given, sink.rows.into_inner())
}

/// Hands a row over to the sink at this address; `None` if that is not the open one, `Some(false)` if
/// it wants no more rows
pub(crate) fn hand_over(address: *const SinkState, row: Option<&[u8]>) -> Option<bool> {
    let open = OPEN.get();
    if open.is_null() || open != address {
        return None;
    }
    // SAFETY: `with_sink` sets the address of a sink that lives until `inside` has reset it, on this
    // very thread, and the sink is only ever shared.
    let sink = unsafe { &*open };
    let mut rows = sink.rows.borrow_mut();
    if rows.len() == sink.most {
        return Some(false);
    }
    rows.push(row.map(Row::from));
    Some(true)
}
