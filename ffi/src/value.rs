//! Plain values: bytes and hashes.
//!
//! They are copied, own no resource and are not freed; the bytes that a value points to belong to
//! the handle that it came from.

use core::ptr;

use milepost::primitives::CryptoHash;

use crate::boundary::parameter::{ArrayStart, plain_inputs, plain_outputs};
use crate::status::CallError;

/// Borrowed bytes; text is UTF-8, never terminated by NUL
///
/// With `len` 0, `data` points to nothing.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_bytes {
    /// First byte
    pub data: *const u8,
    /// Number of bytes
    pub len: usize,
}

impl milepost_bytes {
    /// No bytes
    pub(crate) const NONE: Self = Self { data: ptr::null(), len: 0 };

    /// Points to these bytes; the caller keeps them alive
    pub(crate) const fn new(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), len: bytes.len() }
    }

    /// Copies the bytes, which a structure of the host points to; `name` is its name in C
    ///
    /// # Errors
    ///
    /// NULL with a length, or a length that exceeds the address space.
    pub(crate) fn copy(&self, name: &'static str) -> Result<Vec<u8>, CallError> {
        // The conventions are the same as for a pointer and a length that are passed.
        ArrayStart::new(self.data, name).bytes(self.len).map(<[u8]>::to_vec)
    }
}

/// Hash of a transaction or a block, or id of a receipt
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct milepost_hash {
    /// SHA-256 digest
    pub bytes: [u8; 32],
}

impl From<CryptoHash> for milepost_hash {
    fn from(hash: CryptoHash) -> Self {
        Self { bytes: *hash.as_bytes() }
    }
}

plain_inputs! { milepost_hash }
plain_outputs! { milepost_bytes milepost_hash *const milepost_bytes }
