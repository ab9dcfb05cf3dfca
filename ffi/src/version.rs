//! Version of the library, to compare with the version of the header.

use crate::boundary::ffi_function;
use crate::value::milepost_bytes;

/// Parses one decimal component of the version
const fn component(text: &str) -> u32 {
    let (digits, mut number, mut at) = (text.as_bytes(), 0, 0);
    while at < digits.len() {
        number = number * 10 + (digits[at] - b'0') as u32;
        at += 1;
    }
    number
}

/// Major version from bit 16 up, minor in bits 8 to 15, patch in bits 0 to 7
const NUMBER: u32 = (component(env!("CARGO_PKG_VERSION_MAJOR")) << 16)
    | (component(env!("CARGO_PKG_VERSION_MINOR")) << 8)
    | component(env!("CARGO_PKG_VERSION_PATCH"));

ffi_function! {
    @constant
    /// Version of the library, encoded as `MILEPOST_VERSION_NUMBER` of the header
    ///
    /// May be called inside a callback.
    fn milepost_version_number() -> u32 {
        NUMBER
    }
}

ffi_function! {
    @constant
    /// Version of the library as text, such as `0.1.0`; the bytes are static
    ///
    /// May be called inside a callback.
    fn milepost_version_text() -> milepost_bytes {
        milepost_bytes::new(env!("CARGO_PKG_VERSION").as_bytes())
    }
}
