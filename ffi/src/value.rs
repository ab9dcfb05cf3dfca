//! Plain values: bytes, hashes, and the text of a hash.
//!
//! They are copied, hold no resource and have no owner; the bytes that a value points to belong to
//! the handle it came from.

use core::ptr;

use milepost::codec::base58;
use milepost::primitives::CryptoHash;
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::status::Refusal;

/// Bytes that belong to someone else; text is UTF-8, and never terminated by NUL
///
/// With `len` 0 there is nothing at `data`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_bytes {
    /// Where they start
    pub data: *const u8,
    /// How many there are
    pub len: usize,
}

impl milepost_bytes {
    /// No bytes
    pub(crate) const NONE: Self = Self { data: ptr::null(), len: 0 };

    /// These bytes, as long as they live
    pub(crate) const fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), len: bytes.len() }
    }
}

/// A hash: the name of a transaction, a receipt or a block
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct milepost_hash {
    /// Its bytes, as SHA-256 gives them
    pub bytes: [u8; 32],
}

impl From<CryptoHash> for milepost_hash {
    fn from(hash: CryptoHash) -> Self {
        Self { bytes: *hash.as_bytes() }
    }
}

/// The text of a hash in base58: 32 to 44 bytes
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_text {
    /// The bytes of the text; behind it zeroes
    pub bytes: [u8; 44],
    /// How many of them the text has
    pub len: u32,
}

ffi_function! {
    /// Reads a hash from its text in base58
    fn milepost_hash_parse(
        text: *const u8,
        text_len: usize,
        hash: *mut milepost_hash,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let text = text.text(text_len)?;
        let parsed: CryptoHash =
            text.parse().map_err(|error| Error::new(ErrorKind::Value, error))?;
        hash.put(parsed.into());
        Ok(())
    }
}

ffi_function! {
    /// Writes the text of a hash, in base58
    fn milepost_hash_format(hash: *const milepost_hash, text: *mut milepost_text) -> milepost_status_t {
        let mut written = String::new();
        base58::encode(&hash.bytes, &mut written);
        let mut bytes = [0; 44];
        // 32 bytes have 44 digits at the most, which is ceil(256 / log2(58)).
        let place = bytes.get_mut(..written.len());
        let place = place.ok_or_else(|| Refusal::usage("a hash of more than 44 digits"))?;
        place.copy_from_slice(written.as_bytes());
        text.put(milepost_text { bytes, len: written.len() as u32 });
        Ok(())
    }
}
