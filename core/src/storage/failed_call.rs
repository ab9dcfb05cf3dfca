//! The call of a storage that failed, in its error.
//!
//! The error of a host's storage says what went wrong there; which call it was, and for which row,
//! only the engine knows. All of it is on the path of the error, so a call that succeeds costs
//! nothing.

use core::fmt;

use super::Key;
use crate::Error;

/// The error of a read of these keys; one that has a path, of a storage that names its calls, stays
/// as it is
#[cold]
#[inline(never)]
pub(crate) fn failed_read(error: Error, call: &str, keys: &[Key]) -> Error {
    match keys {
        [] => failed_call(error, call),
        [key] => named(error, format_args!("{}.{call}({key:?})", owner(*key))),
        [key, more @ ..] => {
            named(error, format_args!("{}.{call}({key:?}, {} more)", owner(*key), more.len()))
        }
    }
}

/// Whose row it is
fn owner(key: Key) -> &'static str {
    if key.table().name().starts_with("archive") { "archive" } else { "storage" }
}

/// The error of another call of the storage
#[cold]
#[inline(never)]
pub(crate) fn failed_call(error: Error, call: &str) -> Error {
    named(error, format_args!("storage.{call}"))
}

fn named(error: Error, call: fmt::Arguments<'_>) -> Error {
    if error.path().is_empty() { error.at(call) } else { error }
}
