//! Encodings, without knowledge of what they carry: base58, base64, borsh, JSON text.
//!
//! Every reader takes untrusted bytes: it checks lengths before it allocates, does not recurse, and
//! reports the offset of an error.

pub mod base58;
pub mod base64;
pub mod borsh;
pub mod json;

/// The largest boundary of a character that is not after `index`
///
/// To be replaced by the method of `str` with this name once the minimum Rust version is 1.91.
#[doc(hidden)]
pub fn floor_char_boundary(text: &str, index: usize) -> usize {
    let end = index.min(text.len());
    // A character has at most four bytes, and 0 is a boundary.
    (end.saturating_sub(3)..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
