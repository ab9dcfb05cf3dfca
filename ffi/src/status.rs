//! Statuses: what every function returns, and what a refusal carries to the error object.
//!
//! Numbers are stable and never reused. 1 to 8 are the kinds of the engine's errors; from 64 on
//! they are the boundary's own. `docs/C-API.md` lists them.

use milepost::Error;

/// What a function returns: `MILEPOST_STATUS_OK`, or why it refused
pub type milepost_status_t = i32;

/// Done; outputs are valid
pub const MILEPOST_STATUS_OK: milepost_status_t = 0;
/// The text is not JSON, or the bytes are not borsh
pub const MILEPOST_STATUS_SYNTAX: milepost_status_t = 1;
/// The JSON lacks a member, has one too many, or has one of the wrong type
pub const MILEPOST_STATUS_SHAPE: milepost_status_t = 2;
/// A scalar breaks its rules: a hash of 31 bytes, an account id with an upper-case letter
pub const MILEPOST_STATUS_VALUE: milepost_status_t = 3;
/// A limit would be exceeded: depth, size, number of items
pub const MILEPOST_STATUS_LIMIT: milepost_status_t = 4;
/// A block contradicts the chain that is already known
pub const MILEPOST_STATUS_CHAIN: milepost_status_t = 5;
/// The storage failed
pub const MILEPOST_STATUS_STORAGE: milepost_status_t = 6;
/// A row in the storage is not what the engine wrote
pub const MILEPOST_STATUS_CORRUPT: milepost_status_t = 7;
/// The order of calls was broken
pub const MILEPOST_STATUS_USAGE: milepost_status_t = 8;
/// A pointer is NULL that must not be
pub const MILEPOST_STATUS_NULL: milepost_status_t = 64;
/// A number is not one of its constants
pub const MILEPOST_STATUS_ENUM: milepost_status_t = 65;
/// A length that nothing in memory has, a structure of another size, or an array at an odd address
pub const MILEPOST_STATUS_LENGTH: milepost_status_t = 66;
/// An index is past the end
pub const MILEPOST_STATUS_INDEX: milepost_status_t = 67;
/// The handle is in use by another call
pub const MILEPOST_STATUS_BUSY: milepost_status_t = 68;
/// Called from inside a callback, where only `milepost_sink_*` may be called
pub const MILEPOST_STATUS_REENTRANT: milepost_status_t = 69;
/// A defect of the library; the handles of this call are poisoned
pub const MILEPOST_STATUS_PANIC: milepost_status_t = 70;
/// An earlier call with this handle ended in `MILEPOST_STATUS_PANIC`
pub const MILEPOST_STATUS_POISONED: milepost_status_t = 71;
/// The handle was freed, or never was one; told in debug builds
pub const MILEPOST_STATUS_STALE: milepost_status_t = 72;

/// Why a function refuses
#[derive(Debug)]
pub struct Refusal {
    status: milepost_status_t,
    error: Refused,
}

/// What there is to tell beside the status
#[derive(Debug)]
enum Refused {
    /// The engine's error
    Engine(Error),
    /// A sentence of the boundary
    Boundary(String),
}

impl Refusal {
    /// A refusal of the boundary
    pub(crate) fn new(status: milepost_status_t, sentence: impl Into<String>) -> Self {
        Self { status, error: Refused::Boundary(sentence.into()) }
    }

    /// An index is past the end
    pub(crate) fn index(index: usize, count: usize) -> Self {
        Self::new(MILEPOST_STATUS_INDEX, format!("index {index} of {count}"))
    }

    /// A number is not one of its constants
    pub(crate) fn number(what: &str, number: impl core::fmt::Display) -> Self {
        Self::new(MILEPOST_STATUS_ENUM, format!("{number} is no {what}"))
    }

    /// The order of calls was broken
    pub(crate) fn usage(sentence: &str) -> Self {
        Error::new(milepost::ErrorKind::Usage, sentence).into()
    }

    /// The status to return
    pub const fn status(&self) -> milepost_status_t {
        self.status
    }

    /// Place, offset and sentence
    pub(crate) fn parts(&self) -> (&str, Option<usize>, &str) {
        match &self.error {
            Refused::Engine(error) => (error.path(), error.offset(), error.detail()),
            Refused::Boundary(sentence) => ("", None, sentence),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { status: milepost_status_t::from(error.kind().code()), error: Refused::Engine(error) }
    }
}
