//! The version of the library, to be compared with that of the header.

use crate::boundary::ffi_function;
use crate::value::milepost_bytes;

/// A part of the version, from Cargo
const fn part(text: &str) -> u32 {
    let (digits, mut number, mut at) = (text.as_bytes(), 0, 0);
    while at < digits.len() {
        number = number * 10 + (digits[at] - b'0') as u32;
        at += 1;
    }
    number
}

/// Major in the bits from 16 on, minor in those from 8 on, patch in the lowest
const NUMBER: u32 = (part(env!("CARGO_PKG_VERSION_MAJOR")) << 16)
    | (part(env!("CARGO_PKG_VERSION_MINOR")) << 8)
    | part(env!("CARGO_PKG_VERSION_PATCH"));

ffi_function! {
    @constant
    /// The version of the library, as `MILEPOST_VERSION_NUMBER` is that of the header; may be called anywhere
    fn milepost_version_number() -> u32 {
        NUMBER
    }
}

ffi_function! {
    @constant
    /// The version of the library as text, such as `0.1.0`; the bytes live as long as the library, and it may be
    /// called anywhere
    fn milepost_version_text() -> milepost_bytes {
        milepost_bytes::of(env!("CARGO_PKG_VERSION").as_bytes())
    }
}
