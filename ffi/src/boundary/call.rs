//! One call of an interface function: where it may be made, how long its arguments live, and what
//! catches its panic.

use core::any::Any;
use core::mem;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use super::callback;
use crate::status::{CallError, MILEPOST_STATUS_PANIC, MILEPOST_STATUS_REENTRANT};

/// Where a function may be called
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "inside a callback, or not")]
pub enum Entry {
    /// Not inside a callback
    Outside,
    /// Anywhere
    Anywhere,
}

/// Lifetime of a call: checked arguments borrow it, so none outlives the call
#[derive(Debug)]
pub struct Scope(());

/// Runs the body of a function
///
/// # Errors
///
/// Those of the body; a call inside a callback where `entry` does not allow it; a panic of the
/// body.
pub fn enter(
    name: &str,
    entry: Entry,
    body: impl FnOnce(&Scope) -> Result<(), CallError>,
) -> Result<(), CallError> {
    if entry == Entry::Outside && callback::is_inside() {
        let message = format!("{name} is called inside a callback");
        return Err(CallError::new(MILEPOST_STATUS_REENTRANT, message));
    }
    // State that a panic leaves inconsistent is owned by a handle, which is poisoned.
    match catch_unwind(AssertUnwindSafe(|| body(&Scope(())))) {
        Ok(result) => result,
        Err(payload) => Err(panic_error(name, payload)),
    }
}

fn panic_error(name: &str, payload: Box<dyn Any + Send>) -> CallError {
    let message = payload.downcast_ref::<&str>().copied();
    let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = format!("{name} panicked: {}", message.unwrap_or("no message"));
    // Dropping the payload could panic again, and nothing would catch that.
    mem::forget(payload);
    CallError::new(MILEPOST_STATUS_PANIC, message)
}
