//! Reading JSON into types and writing it, with the crate's own errors.
//!
//! `serde_json` reports line and column; they become an offset and a path here, which a host in any
//! language can show. The text is scanned a second time only for an error.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::depth::TOO_DEEP;
use super::path::path_at;
use crate::codec::floor_char_boundary;
use crate::{Error, ErrorKind};

/// Maximum length of an error text in bytes; `serde` quotes wrong values in full
const MAX_DETAIL_LEN: usize = 512;

/// Reads the one JSON value in `text`
///
/// # Errors
///
/// [`ErrorKind::Syntax`] when the text is not JSON, [`ErrorKind::Schema`] when it is not a `T`,
/// [`ErrorKind::Limit`] beyond 127 levels; with path and offset.
///
/// ```
/// use milepost_protocol::ErrorKind;
/// use milepost_protocol::codec::json::read;
///
/// assert_eq!(read::<Vec<u8>>("[1, 2]").unwrap(), [1, 2]);
/// let error = read::<Vec<u8>>("[1,\n256]").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Schema);
/// assert_eq!(error.to_string(), "[1]: invalid value: integer `256`, expected u8 (byte 7)");
/// ```
pub fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| from_serde_json(text.as_bytes(), &error))
}

/// Reads the one JSON value in `text`; only the parts that become strings must be UTF-8
///
/// # Errors
///
/// As [`read`].
pub fn read_slice<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| from_serde_json(text, &error))
}

/// The compact JSON text of `value`
///
/// # Panics
///
/// If `value` cannot be written as JSON: a map whose keys are not strings, or a `Serialize` that
/// fails. No type of this crate is such a value.
///
/// ```
/// assert_eq!(milepost_protocol::codec::json::write(&[Some(1), None]), "[1,null]");
/// ```
pub fn write<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("a value that JSON can represent")
}

/// Converts an error of `serde_json`
fn from_serde_json(text: &[u8], error: &serde_json::Error) -> Error {
    let offset = offset_of(text, error.line(), error.column());
    let mut detail = error.to_string();
    if error.line() > 0
        && let Some(tail) = detail.rfind(" at line ")
    {
        detail.truncate(tail);
    }
    let kind = match error.classify() {
        // `serde_json` classifies its own limit as a syntax error and ours, of a raw value, as a
        // data error; only the text distinguishes them.
        _ if detail.starts_with("recursion limit") || detail == TOO_DEEP => ErrorKind::Limit,
        Category::Data => ErrorKind::Schema,
        Category::Syntax | Category::Eof | Category::Io => ErrorKind::Syntax,
    };
    error_with(kind, json_names(detail)).with_offset(offset).at(path_at(text, offset))
}

/// Replaces the names that `serde` has for arrays and objects
fn json_names(mut detail: String) -> String {
    for (start, name) in [("invalid type: sequence", "array"), ("invalid type: map", "object")] {
        if let Some(rest) = detail.strip_prefix(start) {
            detail = ["invalid type: ", name, rest].concat();
        }
    }
    match detail.strip_suffix("expected a sequence") {
        Some(start) => [start, "expected an array"].concat(),
        None => detail,
    }
}

/// An error with a text of `serde_json`
pub(super) fn error_with(kind: ErrorKind, mut detail: String) -> Error {
    if let Some(rest) = detail.strip_prefix("EOF while") {
        detail = "the text ends while".to_string() + rest;
    }
    if detail.len() > MAX_DETAIL_LEN {
        detail.truncate(floor_char_boundary(&detail, MAX_DETAIL_LEN));
        detail.push('…');
    }
    Error::new(kind, detail)
}

/// The offset of `line`:`column`, where columns count bytes and lines count from 1
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
    fn errors_have_kind_path_and_offset() {
        let cases = [
            ("{\"a\": [\"x\",\n 1]}", ErrorKind::Schema, "a[1]", 14),
            ("{\"a\": [[]]}", ErrorKind::Schema, "a[0]", 7),
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
    fn types_have_the_names_of_json() {
        let detail = |text| read::<Map<'_>>(text).unwrap_err().detail().to_string();
        assert_eq!(detail("[]"), "invalid type: array, expected a map");
        assert_eq!(detail("{\"a\": {}}"), "invalid type: object, expected an array");
        let quoted = "invalid type: string \"sequence, expected a sequence\", expected an array";
        assert_eq!(detail("{\"a\": \"sequence, expected a sequence\"}"), quoted);
    }

    #[test]
    fn error_texts_are_bounded_and_depth_is_a_limit() {
        let long = format!("{{\"a\": \"{}\"}}", "é".repeat(100_000));
        let error = read::<Map<'_>>(&long).unwrap_err();
        assert!(error.detail().len() < 600, "{}", error.detail().len());
        let deep = "[".repeat(200);
        let error = read::<serde_json::Value>(&deep).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(read_slice::<&RawValue>(b"\"\xff\"").is_err());
    }

    #[test]
    fn a_detail_is_shortened_above_512_bytes() {
        for (length, expected) in [(512, "d".repeat(512)), (513, "d".repeat(512) + "…")] {
            let error = error_with(ErrorKind::Schema, "d".repeat(length));
            assert_eq!(error.detail(), expected, "{length}");
        }
        let error = error_with(ErrorKind::Syntax, "EOF while parsing a list".into());
        assert_eq!(error.detail(), "the text ends while parsing a list");
    }
}
