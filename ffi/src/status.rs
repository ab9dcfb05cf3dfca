//! Status codes: what every function returns, and the error of a call that fails.
//!
//! Numbers are stable and never reused. 1 to 63 are the kinds of the engine's errors; from 64 on
//! they are the boundary's own. `docs/C-API.md` lists them.

use core::ffi::{CStr, c_char};

use milepost::Error;

use crate::boundary::ffi_function;

/// What a function returns: `MILEPOST_STATUS_OK`, or why it failed
pub type milepost_status_t = i32;

/// Success; outputs are valid
pub const MILEPOST_STATUS_OK: milepost_status_t = 0;
/// The text is not JSON, or the bytes are not borsh
pub const MILEPOST_STATUS_SYNTAX: milepost_status_t = 1;
/// A JSON member is missing, unexpected or of the wrong type
pub const MILEPOST_STATUS_SCHEMA: milepost_status_t = 2;
/// A scalar is invalid: a hash of 31 bytes, an account id with an upper-case letter
pub const MILEPOST_STATUS_VALUE: milepost_status_t = 3;
/// A limit is exceeded: depth, size, number of items
pub const MILEPOST_STATUS_LIMIT: milepost_status_t = 4;
/// A block contradicts the known chain
pub const MILEPOST_STATUS_CHAIN: milepost_status_t = 5;
/// The storage failed
pub const MILEPOST_STATUS_STORAGE: milepost_status_t = 6;
/// A row in the storage is not one that the engine wrote
pub const MILEPOST_STATUS_CORRUPT: milepost_status_t = 7;
/// The call is not allowed in the present state of its handles
pub const MILEPOST_STATUS_USAGE: milepost_status_t = 8;
/// A stored row or file has a format version that this release does not read
pub const MILEPOST_STATUS_VERSION: milepost_status_t = 9;
/// An archive holds two rows of one key whose content differs
pub const MILEPOST_STATUS_CONFLICT: milepost_status_t = 10;
/// A pointer that must not be NULL is NULL
pub const MILEPOST_STATUS_NULL: milepost_status_t = 64;
/// A number is not one of its constants
pub const MILEPOST_STATUS_ENUM: milepost_status_t = 65;
/// A length above `PTRDIFF_MAX`, a structure of another size, or a misaligned array
pub const MILEPOST_STATUS_LENGTH: milepost_status_t = 66;
/// An index is out of range
pub const MILEPOST_STATUS_INDEX: milepost_status_t = 67;
/// The handle is in use by another call
pub const MILEPOST_STATUS_BUSY: milepost_status_t = 68;
/// Called inside a callback, where only `milepost_sink_*` may be called
pub const MILEPOST_STATUS_REENTRANT: milepost_status_t = 69;
/// A bug in the library; the handles of this call are poisoned
pub const MILEPOST_STATUS_PANIC: milepost_status_t = 70;
/// An earlier call with this handle returned `MILEPOST_STATUS_PANIC`
pub const MILEPOST_STATUS_POISONED: milepost_status_t = 71;
/// The handle was freed, or never was one; detected in debug builds
pub const MILEPOST_STATUS_STALE: milepost_status_t = 72;

/// The statuses with these names
macro_rules! names {
    ($number:ident: $($name:ident)*) => {
        match $number {
            $($name => terminated(concat!(stringify!($name), "\0")),)*
            _ => c"unknown status",
        }
    };
}

ffi_function! {
    @constant
    /// Name of a status, such as `MILEPOST_STATUS_STORAGE`; `unknown status` for any other number
    ///
    /// The text is static and ends with a NUL. May be called inside a callback.
    fn milepost_status_name(status: milepost_status_t) -> *const c_char {
        name(status).as_ptr()
    }
}

/// The text before the NUL at its end
const fn terminated(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

const fn name(status: milepost_status_t) -> &'static CStr {
    names! {
        status:
        MILEPOST_STATUS_OK
        MILEPOST_STATUS_SYNTAX
        MILEPOST_STATUS_SCHEMA
        MILEPOST_STATUS_VALUE
        MILEPOST_STATUS_LIMIT
        MILEPOST_STATUS_CHAIN
        MILEPOST_STATUS_STORAGE
        MILEPOST_STATUS_CORRUPT
        MILEPOST_STATUS_USAGE
        MILEPOST_STATUS_VERSION
        MILEPOST_STATUS_CONFLICT
        MILEPOST_STATUS_NULL
        MILEPOST_STATUS_ENUM
        MILEPOST_STATUS_LENGTH
        MILEPOST_STATUS_INDEX
        MILEPOST_STATUS_BUSY
        MILEPOST_STATUS_REENTRANT
        MILEPOST_STATUS_PANIC
        MILEPOST_STATUS_POISONED
        MILEPOST_STATUS_STALE
    }
}

/// Why a call failed
#[derive(Debug)]
pub struct CallError {
    status: milepost_status_t,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    /// An error of the engine
    Engine(Error),
    /// A message of the boundary
    Boundary(String),
}

impl CallError {
    /// An error of the boundary
    pub(crate) fn new(status: milepost_status_t, message: impl Into<String>) -> Self {
        Self { status, cause: Cause::Boundary(message.into()) }
    }

    /// An index is out of range
    pub(crate) fn index(index: usize, count: usize) -> Self {
        let message = format!("index {index} is out of range: {count} items");
        Self::new(MILEPOST_STATUS_INDEX, message)
    }

    /// A number is not one of its constants
    pub(crate) fn invalid_enum(what: &str, number: impl core::fmt::Display) -> Self {
        Self::new(MILEPOST_STATUS_ENUM, format!("{number} is not a valid {what}"))
    }

    /// The call is not allowed in the present state of its handles
    pub(crate) fn usage(message: &str) -> Self {
        Error::new(milepost::ErrorKind::Usage, message).into()
    }

    /// The status to return
    pub const fn status(&self) -> milepost_status_t {
        self.status
    }

    /// Path and message
    pub(crate) fn text(&self) -> String {
        match self.details() {
            ("", _, message) => message.to_owned(),
            (path, _, message) => format!("{path}: {message}"),
        }
    }

    /// Path, offset and message
    pub(crate) fn details(&self) -> (&str, Option<usize>, &str) {
        match &self.cause {
            Cause::Engine(error) => (error.path(), error.offset(), error.detail()),
            Cause::Boundary(message) => ("", None, message),
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self { status: milepost_status_t::from(error.kind().code()), cause: Cause::Engine(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_name() {
        let source = include_str!("status.rs");
        let mut statuses = 0;
        for line in source.lines() {
            let Some(rest) = line.strip_prefix("pub const ") else { continue };
            let (constant, rest) = rest.split_once(": milepost_status_t = ").unwrap();
            let name = name(rest.trim_end_matches(';').parse().unwrap());
            assert_eq!(name.to_str(), Ok(constant));
            statuses += 1;
        }
        assert!(statuses > 18, "{statuses} statuses");
        assert_eq!(name(-1), c"unknown status");
    }
}
