//! The base58 text of a hash.

use milepost::codec::base58;
use milepost::primitives::CryptoHash;
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::boundary::parameter::plain_outputs;
use crate::error::milepost_error;
use crate::status::CallError;
use crate::value::milepost_hash;

/// Base58 text of a hash: 32 to 44 bytes
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_hash_text {
    /// The text, padded with zeroes
    pub bytes: [u8; 44],
    /// Length of the text
    pub len: u32,
}

plain_outputs! { milepost_hash_text }

ffi_function! {
    /// Reads a hash from its base58 text
    fn milepost_hash_parse(
        text: *const u8,
        text_len: usize,
        hash: *mut milepost_hash,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let text = text.text(text_len)?;
        let parsed: CryptoHash =
            text.parse().map_err(|error| Error::new(ErrorKind::Value, error))?;
        hash.write(parsed.into());
        Ok(())
    }
}

ffi_function! {
    /// Writes the base58 text of a hash
    fn milepost_hash_format(
        hash: *const milepost_hash,
        text: *mut milepost_hash_text,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let mut encoded = String::new();
        base58::encode(&hash.bytes, &mut encoded);
        let mut bytes = [0; 44];
        // 32 bytes have at most ceil(256 / log2(58)) = 44 digits.
        let digits = bytes.get_mut(..encoded.len());
        let digits = digits.ok_or_else(|| CallError::usage("a hash of more than 44 digits"))?;
        digits.copy_from_slice(encoded.as_bytes());
        text.write(milepost_hash_text { bytes, len: encoded.len() as u32 });
        Ok(())
    }
}
