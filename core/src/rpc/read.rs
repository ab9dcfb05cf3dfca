//! Reading JSON without a tree: members and items of one level, each as a slice of the text.
//!
//! One pass over the text finds the wanted members and checks the syntax of all others, so a value
//! that no one asks for costs no memory and no stack. Errors give the byte instead of line and
//! column. What the values mean is not known here.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::codec::json::{self, Fault, Reader, Scalar};
use crate::{Error, ErrorKind};

/// The most bytes of a foreign text that are shown in an error
pub(super) const SHOWN: usize = 128;

/// The text, or its beginning with an ellipsis if it has more than [`SHOWN`] bytes
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN {
        return Cow::Borrowed(text);
    }
    Cow::Owned([&text[..text.floor_char_boundary(SHOWN)], "…"].concat())
}

/// The text of one JSON value, checked by the grammar
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    text: &'a str,
    /// Whether it is known to be a string of which nothing needs decoding
    is_plain: bool,
}

impl<'a> Text<'a> {
    /// The text, without blanks around it
    pub(super) const fn get(self) -> &'a str {
        self.text
    }

    /// A text of which nothing else is known
    pub(super) const fn of(text: &'a str) -> Self {
        Self { text, is_plain: false }
    }

    /// The value that begins at a cursor
    #[inline]
    pub(super) fn next(cursor: &mut json::Plain<'a>) -> Option<Self> {
        let (text, is_plain) = cursor.value_or_string()?;
        Some(Self { text, is_plain })
    }

    /// The string in it, if there is one and nothing of it needs decoding
    #[inline]
    fn plain_string(self) -> Option<&'a str> {
        match self.is_plain {
            true => self.text.get(1..self.text.len().saturating_sub(1)),
            false => json::plain_string(self.text),
        }
    }
}

/// The type of a JSON value
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl fmt::Display for Kind {
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

/// The type of a value, which its first byte tells
pub(super) fn kind(value: Text<'_>) -> Kind {
    match value.get().as_bytes().first() {
        Some(b'n') => Kind::Null,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'"') => Kind::String,
        Some(b'[') => Kind::Array,
        Some(b'{') => Kind::Object,
        _ => Kind::Number,
    }
}

/// The text behind the white space of JSON
pub(super) fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// The error of a text, with the byte at which it was refused
fn syntax(text: &str, fault: &Fault) -> Error {
    // The byte at fault is the last that was read.
    let offset = if fault.is_end() { text.len() } else { fault.read().saturating_sub(1) };
    unreadable(fault).with_offset(offset)
}

/// The same without a byte: for a value inside the text, where the path says more
fn unreadable(fault: &Fault) -> Error {
    Error::new(ErrorKind::Syntax, fault.detail())
}

/// A text that must hold one value and nothing else
pub(super) fn value(text: &str) -> Result<Text<'_>, Error> {
    Reader::new(text).whole().map(Text::of).map_err(|fault| syntax(text, &fault))
}

/// The string in a value; borrowed unless it holds escapes
///
/// `expected` says what the caller wants the string to be.
#[inline]
pub(super) fn string<'a>(
    value: Text<'a>,
    expected: impl fmt::Display,
) -> Result<Cow<'a, str>, Error> {
    match value.plain_string() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None => decoded_string(value, &expected),
    }
}

#[cold]
fn decoded_string<'a>(value: Text<'a>, expected: &dyn fmt::Display) -> Result<Cow<'a, str>, Error> {
    let kind = kind(value);
    if kind != Kind::String {
        return Err(Error::new(ErrorKind::Shape, format_args!("{kind}, expected {expected}")));
    }
    Reader::new(value.get()).text("a string").map_err(|fault| unreadable(&fault))
}

/// The members of one object that have one of `N` names
///
/// After a failed [`read`](Self::read) the members before the failure are there.
pub(super) struct Members<'a, const N: usize> {
    names: [&'static str; N],
    found: [Option<Text<'a>>; N],
    twice: [bool; N],
    unknown: Option<String>,
}

impl<'a, const N: usize> Members<'a, N> {
    /// No members yet, to be read by these names
    pub(super) const fn new(names: [&'static str; N]) -> Self {
        Self { names, found: [None; N], twice: [false; N], unknown: None }
    }

    /// Reads a text that must hold one object and nothing else
    pub(super) fn read(&mut self, text: &'a str) -> Result<(), Error> {
        self.visit(text).map_err(|fault| syntax(text, &fault))
    }

    /// Reads a value that is an object
    pub(super) fn read_value(&mut self, value: Text<'a>) -> Result<(), Error> {
        self.visit(value.get()).map_err(|fault| unreadable(&fault))
    }

    fn visit(&mut self, text: &'a str) -> Result<(), Fault> {
        let mut reader = Reader::new(text);
        reader.open_object("an object")?;
        let mut first = true;
        while let Some(name) = reader.key(first)? {
            first = false;
            reader.colon()?;
            let place = self.names.iter().position(|known| *known == name);
            if place.is_none() && self.unknown.is_none() {
                self.unknown = Some(shown(&name).into_owned());
            }
            let value = Text::of(reader.raw()?);
            if let Some(place) = place {
                match &mut self.found[place] {
                    Some(_) => self.twice[place] = true,
                    none => *none = Some(value),
                }
            }
        }
        reader.end()
    }

    /// The first value of each member, in the order of the names
    pub(super) const fn found(&self) -> [Option<Text<'a>>; N] {
        self.found
    }

    /// The first of the names that stands in the object more than once
    pub(super) fn repeated(&self) -> Option<&'static str> {
        self.names.into_iter().zip(self.twice).find_map(|(name, twice)| twice.then_some(name))
    }

    /// Another name that stands in the object, cut if it is long
    pub(super) fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }
}

/// The first `limit` items of a text that must hold one array and nothing else, and the number of
/// all its items
pub(super) fn items<'a>(text: &'a str, limit: usize) -> Result<(Vec<Text<'a>>, usize), Error> {
    let mut reader = Reader::new(text);
    let read = |reader: &mut Reader<'a>| {
        let (mut values, mut count) = (Vec::new(), 0);
        reader.open_array("an array")?;
        while reader.item(count == 0)? {
            let value = Text::of(reader.raw()?);
            if count < limit {
                values.push(value);
            }
            count += 1;
        }
        reader.end().map(|()| (values, count))
    };
    read(&mut reader).map_err(|fault| syntax(text, &fault))
}

/// Checks that every reader can read the value: no lone surrogates, no number out of range, no
/// more than `depth` levels
///
/// Finding a value skips over it and leaves these unchecked.
pub(super) fn check(value: Text<'_>, depth: usize) -> Result<(), Error> {
    // Of fewer than 19 digits every number is in range.
    let is_short = |text: &str| text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit());
    if value.plain_string().is_some() || is_short(value.get()) {
        return Ok(());
    }
    sound(&mut Reader::new(value.get()), depth, depth).map_err(|fault| unreadable(&fault))
}

/// Reads all parts of a value, `depth` of `limit` levels deep; recurses at most that often
fn sound(reader: &mut Reader<'_>, depth: usize, limit: usize) -> Result<(), Fault> {
    let object = match reader.scalar()? {
        Scalar::Array => false,
        Scalar::Object => true,
        _ => return Ok(()),
    };
    let Some(depth) = depth.checked_sub(1) else {
        return Err(reader.refuse(format_args!("nested deeper than {limit} levels")));
    };
    let mut first = true;
    if object {
        reader.open_object("an object")?;
        while reader.key(first)?.is_some() {
            first = false;
            reader.colon()?;
            sound(reader, depth, limit)?;
        }
    } else {
        reader.open_array("an array")?;
        while reader.item(first)? {
            first = false;
            sound(reader, depth, limit)?;
        }
    }
    Ok(())
}

/// The number in a value, exact to 64 bits; `None` for a sign, a fraction or an exponent, which
/// make other types of number in the node's readers as well
pub(super) fn unsigned(value: Text<'_>) -> Option<u64> {
    value.get().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_ends_between_characters() {
        let long = "é".repeat(70);
        let cut = shown(&long);
        assert_eq!(cut.len(), SHOWN + '…'.len_utf8());
        assert!(cut.ends_with("é…"));
        assert_eq!(shown(&long[..SHOWN]), long[..SHOWN]);
    }

    #[test]
    fn an_error_gives_the_byte_at_fault() {
        for (text, message, place) in [
            ("", "EOF while parsing a value", 0),
            ("{\n \"a\": ?}", "expected value", 8),
            ("{\"a\":1}\n x", "trailing characters", 9),
            ("{\"a\":1", "EOF while parsing an object", 6),
            ("{\"a\" 1}", "expected `:`", 5),
            ("\u{feff}{}", "expected value", 0),
        ] {
            let error = value(text).unwrap_err();
            assert_eq!((error.detail(), error.offset()), (message, Some(place)), "{text}");
        }
    }

    #[test]
    fn values_that_no_one_asks_for_may_be_deep() {
        let text = ["{\"a\":", &"[".repeat(100_000), &"]".repeat(100_000), ",\"b\":1}"].concat();
        let mut members = Members::new(["b"]);
        members.read(&text).unwrap();
        assert_eq!(members.found()[0].unwrap().get(), "1");
        assert_eq!(members.unknown(), Some("a"));
    }

    #[test]
    fn members_before_a_failure_are_kept() {
        let mut members = Members::new(["a", "b"]);
        assert!(members.read("{\"a\":1,\"b\":").is_err());
        assert_eq!(members.found()[0].unwrap().get(), "1");
        assert!(members.found()[1].is_none());
    }

    #[test]
    fn items_beyond_the_limit_are_counted_only() {
        let (values, count) = items("[1,2,[3],{\"4\":5}]", 2).unwrap();
        assert_eq!((values.len(), count), (2, 4));
        assert!(items("[1,2,3", 2).is_err());
        assert!(items("[1] 2", 2).is_err());
    }
}
