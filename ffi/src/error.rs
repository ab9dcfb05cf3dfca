//! Error objects: status, path in the JSON, offset in the input, message.
//!
//! The boundary creates one whenever a call fails and its `error` parameter is not NULL; it never
//! changes after that.

use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Immutable};
use crate::boundary::parameter::sized_outputs;
use crate::status::{CallError, milepost_status_t};
use crate::value::milepost_bytes;

/// Why a call failed
///
/// Output of the last parameter of functions that return a status.
pub struct milepost_error {
    _private: (),
}

/// Owned details of a failed call
#[derive(Debug)]
pub struct ErrorDetails {
    status: milepost_status_t,
    path: String,
    offset: Option<usize>,
    message: String,
}

impl From<&CallError> for ErrorDetails {
    fn from(error: &CallError) -> Self {
        let (path, offset, message) = error.details();
        Self { status: error.status(), path: path.to_owned(), offset, message: message.to_owned() }
    }
}

impl Handle for milepost_error {
    type Value = ErrorDetails;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_error";

    fn from_call_error(error: &CallError) -> Option<ErrorDetails> {
        Some(error.into())
    }
}

/// Members of an error; bytes belong to it
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_error_view {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Status that the call returned
    pub status: milepost_status_t,
    /// Whether `offset` is known: 0 or 1
    pub has_offset: i32,
    /// Byte of the input at which the error was found
    pub offset: u64,
    /// Path in the input, such as `shards[1].chunk.header`; empty for the input as a whole
    pub path: milepost_bytes,
    /// What is wrong, in lower case without a full stop
    pub message: milepost_bytes,
}

sized_outputs! { milepost_error_view }

ffi_function! {
    /// Returns the members of an error
    fn milepost_error_read(
        error: *const milepost_error,
        view: *mut milepost_error_view,
    ) -> milepost_status_t {
        view.write(milepost_error_view {
            size: size_of::<milepost_error_view>(),
            status: error.status,
            has_offset: i32::from(error.offset.is_some()),
            offset: error.offset.unwrap_or(0) as u64,
            path: milepost_bytes::new(error.path.as_bytes()),
            message: milepost_bytes::new(error.message.as_bytes()),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees an error
    fn milepost_error_free(error: *mut milepost_error);
}
