//! Reading JSON into types and writing it, with the crate's own errors.
//!
//! `serde_json` says line and column; here they become an offset and a path, which is what a host
//! in any language can show. The text is scanned a second time only when it was refused.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::canonical::TOO_DEEP;
use super::path::path_at;
use crate::{Error, ErrorKind};

/// The most bytes of a sentence; `serde` repeats a wrong value in full
const LONGEST_DETAIL: usize = 512;

/// Reads the one JSON value in `text`
///
/// # Errors
///
/// [`ErrorKind::Syntax`] when the text is not JSON, [`ErrorKind::Shape`] when it is no `T`,
/// [`ErrorKind::Limit`] beyond 127 levels; with path and offset.
///
/// ```
/// use milepost_protocol::ErrorKind;
/// use milepost_protocol::codec::json::read;
///
/// assert_eq!(read::<Vec<u8>>("[1, 2]").unwrap(), [1, 2]);
/// let error = read::<Vec<u8>>("[1,\n256]").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Shape);
/// assert_eq!(error.to_string(), "[1]: invalid value: integer `256`, expected u8 (byte 7)");
/// ```
pub fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| refusal(text.as_bytes(), &error))
}

/// Reads the one JSON value in `text`, which is checked to be UTF-8 where it is kept
///
/// # Errors
///
/// As [`read`].
pub fn read_slice<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| refusal(text, &error))
}

/// The compact JSON text of `value`
///
/// # Panics
///
/// If `value` cannot be JSON: a map whose keys are not strings, or a `Serialize` that fails. None
/// of the types of this crate is such a value.
///
/// ```
/// assert_eq!(milepost_protocol::codec::json::write(&[Some(1), None]), "[1,null]");
/// ```
pub fn write<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("a value that JSON can show")
}

/// The refusal of `serde_json` as one of ours
fn refusal(text: &[u8], error: &serde_json::Error) -> Error {
    let offset = offset_of(text, error.line(), error.column());
    let mut detail = error.to_string();
    if error.line() > 0
        && let Some(tail) = detail.rfind(" at line ")
    {
        detail.truncate(tail);
    }
    let kind = match error.classify() {
        // `serde_json` files its limit under syntax, and ours, of a value that is kept as it is,
        // under data; the sentence is all that tells them apart.
        _ if detail.starts_with("recursion limit") || detail == TOO_DEEP => ErrorKind::Limit,
        Category::Data => ErrorKind::Shape,
        Category::Syntax | Category::Eof | Category::Io => ErrorKind::Syntax,
    };
    refused(kind, detail).with_offset(offset).at(path_at(text, offset))
}

/// A refusal with a sentence in the words of `serde_json`
pub(super) fn refused(kind: ErrorKind, mut detail: String) -> Error {
    if let Some(rest) = detail.strip_prefix("EOF while") {
        detail = "the text ends while".to_string() + rest;
    }
    if detail.len() > LONGEST_DETAIL {
        detail.truncate(detail.floor_char_boundary(LONGEST_DETAIL));
        detail.push('…');
    }
    Error::new(kind, detail)
}

/// Bytes before the place `line`:`column`, where columns count bytes and lines count from 1
fn offset_of(text: &[u8], line: usize, column: usize) -> usize {
    let mut begin = 0;
    for _ in 1..line {
        match text[begin..].iter().position(|byte| *byte == b'\n') {
            Some(length) => begin += length + 1,
            None => break,
        }
    }
    begin.saturating_add(column).min(text.len())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use alloc::{format, string::String};

    use serde_json::value::RawValue;

    use super::*;

    type Map<'a> = alloc::collections::BTreeMap<&'a str, Vec<String>>;

    #[test]
    fn refusals_carry_kind_path_and_offset() {
        let cases = [
            ("{\"a\": [\"x\",\n 1]}", ErrorKind::Shape, "a[1]", 14),
            ("{\"a\": [[]]}", ErrorKind::Shape, "a[0]", 7),
            ("{\"a\": [\"x\"", ErrorKind::Syntax, "a[0]", 10),
            ("{\"a\": []} x", ErrorKind::Syntax, "", 11),
            ("{\"a\": [}", ErrorKind::Syntax, "a", 8),
        ];
        for (text, kind, path, offset) in cases {
            let error = read::<Map<'_>>(text).unwrap_err();
            assert_eq!(
                (error.kind(), error.path(), error.offset()),
                (kind, path, Some(offset)),
                "{text}"
            );
            assert_eq!(read_slice::<Map<'_>>(text.as_bytes()).unwrap_err(), error);
            assert!(!error.detail().contains("line"), "{error}");
            assert!(error.detail().starts_with(|first: char| first.is_lowercase()), "{error}");
        }
    }

    #[test]
    fn sentences_are_bounded_and_depth_is_a_limit() {
        let long = format!("{{\"a\": \"{}\"}}", "é".repeat(100_000));
        let error = read::<Map<'_>>(&long).unwrap_err();
        assert!(error.detail().len() < 600, "{}", error.detail().len());
        let deep = "[".repeat(200);
        let error = read::<serde_json::Value>(&deep).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(read_slice::<&RawValue>(b"\"\xff\"").is_err());
    }
}
