//! The detail of a refusal: status, place in the JSON, offset in the input, sentence.
//!
//! Made by the boundary whenever a function refuses and the host wants to know; never changed
//! after that.

use crate::boundary::ffi_function;
use crate::boundary::handle::{Fixed, Handle};
use crate::status::{Refusal, milepost_status_t};
use crate::value::milepost_bytes;

/// Why a call was refused
///
/// Comes out of the last parameter of functions that can refuse more than their parameters.
pub struct milepost_error {
    _private: (),
}

/// What is known of a refusal
#[derive(Debug)]
pub struct Detail {
    status: milepost_status_t,
    path: String,
    offset: Option<usize>,
    message: String,
}

impl Detail {
    /// The detail of this refusal
    pub(crate) fn of(refusal: &Refusal) -> Self {
        let (path, offset, message) = refusal.parts();
        Self {
            status: refusal.status(),
            path: path.to_owned(),
            offset,
            message: message.to_owned(),
        }
    }
}

impl Handle for milepost_error {
    type Value = Detail;
    type Ownership = Fixed;
    const NAME: &'static str = "milepost_error";
}

/// The members of an error
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_detail {
    /// The status that the call returned: the kind of the refusal
    pub status: milepost_status_t,
    /// Whether `offset` is known: 0 or 1
    pub has_offset: i32,
    /// The byte of the input at which the refusal was found
    pub offset: u64,
    /// Where in the input, as in `shards[1].chunk.header`; empty when it is refused as a whole
    pub path: milepost_bytes,
    /// What is wrong, as a sentence without a period, in lower case
    pub message: milepost_bytes,
}

ffi_function! {
    /// Reads an error; the bytes belong to it
    fn milepost_error_read(error: *const milepost_error, detail: *mut milepost_detail) -> milepost_status_t {
        detail.put(milepost_detail {
            status: error.status,
            has_offset: i32::from(error.offset.is_some()),
            offset: error.offset.unwrap_or(0) as u64,
            path: milepost_bytes::of(error.path.as_bytes()),
            message: milepost_bytes::of(error.message.as_bytes()),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees an error
    fn milepost_error_free(error: *mut milepost_error);
}
