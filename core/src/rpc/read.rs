//! Reading JSON without a tree: the members or items of one level, each as a slice of the text.
//!
//! One pass over the text finds the named members and checks the syntax of all others, so a value
//! that is not read costs no memory and no stack. Errors give the byte offset instead of line and
//! column. What the values mean is not known here.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::codec::floor_char_boundary;
use crate::codec::json::{self, ReadError, Reader, Scalar};
use crate::{Error, ErrorKind};

/// Maximum number of bytes of a client's text that an error quotes
const MAX_QUOTED_LEN: usize = 128;

/// The text, or its beginning with an ellipsis if it has more than [`MAX_QUOTED_LEN`] bytes
pub(super) fn truncated(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_QUOTED_LEN {
        return Cow::Borrowed(text);
    }
    Cow::Owned([&text[..floor_char_boundary(text, MAX_QUOTED_LEN)], "…"].concat())
}

/// One JSON value as its text, whose syntax is checked
#[derive(Clone, Copy, Debug)]
pub(super) struct RawValue<'a> {
    text: &'a str,
    /// Whether it is known to be a string without escapes
    is_plain_string: bool,
}

impl<'a> RawValue<'a> {
    /// The value with this text
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, is_plain_string: false }
    }

    /// The text, without white space around it
    pub(super) const fn text(self) -> &'a str {
        self.text
    }

    /// Reads the value that begins at the cursor
    #[inline]
    pub(super) fn next(cursor: &mut json::BorrowedReader<'a>) -> Option<Self> {
        let (text, is_plain_string) = cursor.value_or_string()?;
        Some(Self { text, is_plain_string })
    }

    /// The type of the value, which its first byte determines
    pub(super) fn json_type(self) -> JsonType {
        match self.text.as_bytes().first() {
            Some(b'n') => JsonType::Null,
            Some(b't' | b'f') => JsonType::Boolean,
            Some(b'"') => JsonType::String,
            Some(b'[') => JsonType::Array,
            Some(b'{') => JsonType::Object,
            _ => JsonType::Number,
        }
    }

    /// The string in it, if it is one without escapes
    #[inline]
    fn plain_string(self) -> Option<&'a str> {
        match self.is_plain_string {
            true => self.text.get(1..self.text.len().saturating_sub(1)),
            false => json::plain_string(self.text),
        }
    }
}

/// The type of a JSON value
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl fmt::Display for JsonType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// The text after its leading JSON white space
pub(super) fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// The error of reading a text, with the offset of the wrong byte
fn syntax_error(text: &str, error: &ReadError) -> Error {
    // The wrong byte is the last one that was read.
    let offset =
        if error.is_unexpected_end() { text.len() } else { error.bytes_read().saturating_sub(1) };
    value_error(error).with_offset(offset)
}

/// The same without an offset: for a value inside the text, which the path of the error names
fn value_error(error: &ReadError) -> Error {
    Error::new(ErrorKind::Syntax, error.detail())
}

/// Reads a text that has to be one value and nothing else
pub(super) fn value(text: &str) -> Result<RawValue<'_>, Error> {
    Reader::new(text).whole().map(RawValue::new).map_err(|error| syntax_error(text, &error))
}

/// Reads a value that has to be a string; borrowed unless it has escapes
///
/// `expected` is the expectation that an error names.
#[inline]
pub(super) fn string<'a>(
    value: RawValue<'a>,
    expected: impl fmt::Display,
) -> Result<Cow<'a, str>, Error> {
    match value.plain_string() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None => decoded_string(value, &expected),
    }
}

#[cold]
fn decoded_string<'a>(
    value: RawValue<'a>,
    expected: &dyn fmt::Display,
) -> Result<Cow<'a, str>, Error> {
    let found = value.json_type();
    if found != JsonType::String {
        return Err(Error::new(ErrorKind::Schema, format_args!("{found}, expected {expected}")));
    }
    Reader::new(value.text()).text("a string").map_err(|error| value_error(&error))
}

/// The members of one object that have one of `N` names
///
/// After an error of [`read`](Self::read) the members before it are available.
pub(super) struct Members<'a, const N: usize> {
    names: [&'static str; N],
    values: [Option<RawValue<'a>>; N],
    is_duplicate: [bool; N],
    unknown: Option<String>,
}

impl<'a, const N: usize> Members<'a, N> {
    /// No members yet, for these names
    pub(super) const fn new(names: [&'static str; N]) -> Self {
        Self { names, values: [None; N], is_duplicate: [false; N], unknown: None }
    }

    /// Reads a text that has to be one object and nothing else
    pub(super) fn read(&mut self, text: &'a str) -> Result<(), Error> {
        self.visit(text).map_err(|error| syntax_error(text, &error))
    }

    /// Reads a value that is an object
    pub(super) fn read_value(&mut self, value: RawValue<'a>) -> Result<(), Error> {
        self.visit(value.text()).map_err(|error| value_error(&error))
    }

    fn visit(&mut self, text: &'a str) -> Result<(), ReadError> {
        let mut reader = Reader::new(text);
        reader.open_object("an object")?;
        let mut first = true;
        while let Some(name) = reader.key(first)? {
            first = false;
            reader.colon()?;
            let index = self.names.iter().position(|known| *known == name);
            if index.is_none() && self.unknown.is_none() {
                self.unknown = Some(truncated(&name).into_owned());
            }
            let value = RawValue::new(reader.raw()?);
            if let Some(index) = index {
                match &mut self.values[index] {
                    Some(_) => self.is_duplicate[index] = true,
                    none => *none = Some(value),
                }
            }
        }
        reader.end()
    }

    /// The first value of each member, in the order of the names
    pub(super) const fn values(&self) -> [Option<RawValue<'a>>; N] {
        self.values
    }

    /// The first of the names that occurs more than once
    pub(super) fn duplicate(&self) -> Option<&'static str> {
        let mut names = self.names.into_iter().zip(self.is_duplicate);
        names.find_map(|(name, is_duplicate)| is_duplicate.then_some(name))
    }

    /// The first other name in the object, truncated
    pub(super) fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }
}

/// Reads a text that has to be one array and nothing else: its first `limit` items, and the number
/// of all items
pub(super) fn items<'a>(text: &'a str, limit: usize) -> Result<(Vec<RawValue<'a>>, usize), Error> {
    let mut reader = Reader::new(text);
    let read = |reader: &mut Reader<'a>| {
        let (mut values, mut count) = (Vec::new(), 0);
        reader.open_array("an array")?;
        while reader.item(count == 0)? {
            let value = RawValue::new(reader.raw()?);
            if count < limit {
                values.push(value);
            }
            count += 1;
        }
        reader.end().map(|()| (values, count))
    };
    read(&mut reader).map_err(|error| syntax_error(text, &error))
}

/// Checks that strict JSON readers accept the value: no lone surrogates, no number out of range, at
/// most `max_depth` levels
///
/// A [`RawValue`] was only skipped, which does not check these.
pub(super) fn validate(value: RawValue<'_>, max_depth: usize) -> Result<(), Error> {
    // Every number of fewer than 19 digits is in range.
    let is_short = |text: &str| text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit());
    if value.plain_string().is_some() || is_short(value.text()) {
        return Ok(());
    }
    validate_value(&mut Reader::new(value.text()), max_depth, max_depth)
        .map_err(|error| value_error(&error))
}

/// Reads all parts of a value with `depth` of `max_depth` levels left; recurses at most that often
fn validate_value(
    reader: &mut Reader<'_>,
    depth: usize,
    max_depth: usize,
) -> Result<(), ReadError> {
    let is_object = match reader.scalar()? {
        Scalar::Array => false,
        Scalar::Object => true,
        _ => return Ok(()),
    };
    let Some(depth) = depth.checked_sub(1) else {
        return Err(reader.schema_error(format_args!("nested deeper than {max_depth} levels")));
    };
    let mut first = true;
    if is_object {
        reader.open_object("an object")?;
        while reader.key(first)?.is_some() {
            first = false;
            reader.colon()?;
            validate_value(reader, depth, max_depth)?;
        }
    } else {
        reader.open_array("an array")?;
        while reader.item(first)? {
            first = false;
            validate_value(reader, depth, max_depth)?;
        }
    }
    Ok(())
}

/// The number in a value, as an exact integer of 64 bits; `None` for a sign, a fraction or an
/// exponent, which a NEAR node rejects too
pub(super) fn unsigned(value: RawValue<'_>) -> Option<u64> {
    value.text().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_text_ends_at_a_character_boundary() {
        let long = "é".repeat(70);
        let text = truncated(&long);
        assert_eq!(text.len(), MAX_QUOTED_LEN + '…'.len_utf8());
        assert!(text.ends_with("é…"));
        assert_eq!(truncated(&long[..MAX_QUOTED_LEN]), long[..MAX_QUOTED_LEN]);
    }

    #[test]
    fn an_error_gives_the_offset_of_the_wrong_byte() {
        for (text, message, offset) in [
            ("", "EOF while parsing a value", 0),
            ("{\n \"a\": ?}", "expected value", 8),
            ("{\"a\":1}\n x", "trailing characters", 9),
            ("{\"a\":1", "EOF while parsing an object", 6),
            ("{\"a\" 1}", "expected `:`", 5),
            ("\u{feff}{}", "expected value", 0),
        ] {
            let error = value(text).unwrap_err();
            assert_eq!((error.detail(), error.offset()), (message, Some(offset)), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_not_read_may_be_deep() {
        let text = ["{\"a\":", &"[".repeat(100_000), &"]".repeat(100_000), ",\"b\":1}"].concat();
        let mut members = Members::new(["b"]);
        members.read(&text).unwrap();
        assert_eq!(members.values()[0].unwrap().text(), "1");
        assert_eq!(members.unknown(), Some("a"));
    }

    #[test]
    fn members_before_an_error_are_available() {
        let mut members = Members::new(["a", "b"]);
        assert!(members.read("{\"a\":1,\"b\":").is_err());
        assert_eq!(members.values()[0].unwrap().text(), "1");
        assert!(members.values()[1].is_none());
    }

    #[test]
    fn items_beyond_the_limit_are_counted_only() {
        let (values, count) = items("[1,2,[3],{\"4\":5}]", 2).unwrap();
        assert_eq!((values.len(), count), (2, 4));
        assert!(items("[1,2,3", 2).is_err());
        assert!(items("[1] 2", 2).is_err());
    }

    #[test]
    fn a_value_is_valid_up_to_its_depth_and_if_its_parts_are() {
        for (text, expected) in [
            ("\"plain\"", None),
            ("123456789012345678", None),
            ("-1.5e3", None),
            ("[{\"a\":[1,\"\\n\"],\"b\":{}},[]]", None),
            ("[[[[]]]]", Some("nested deeper than 3 levels")),
            ("{\"a\":{\"a\":[{}]}}", Some("nested deeper than 3 levels")),
            ("1e999", Some("number out of range")),
            ("[1,2e999]", Some("number out of range")),
            ("12345678e9999", Some("number out of range")),
            ("1234567890123456789e999", Some("number out of range")),
            ("\"\\ud800\"", Some("unexpected end of hex escape")),
            ("{\"a\":\"\\ud800\"}", Some("unexpected end of hex escape")),
        ] {
            let result = validate(value(text).unwrap(), 3);
            assert_eq!(result.as_ref().err().map(Error::detail), expected, "{text}");
        }
    }
}
