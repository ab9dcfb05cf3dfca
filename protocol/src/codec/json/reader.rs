//! A JSON reader for callers that know what they look for; reports errors with their position.
//!
//! A reader is before a value and moves past it; skipped text is checked by the grammar, so a text
//! that was read to its end is JSON. Error texts and offsets are those of `serde_json`, which reads
//! the typed views: hosts see the same errors of both, and tests compare them. Nothing recurses,
//! decodes what is not asked for or is generic over a type, which keeps the code small.

mod error;
mod scalar;
mod skip;
mod string;

use alloc::borrow::Cow;
use alloc::string::ToString as _;
use core::fmt;

pub use error::ReadError;
pub use scalar::{Number, Scalar};
pub(crate) use scalar::{exceeds_one, is_out_of_range};

use super::run::run_end;
use crate::ErrorKind;

/// A position in a JSON text
#[derive(Clone, Copy, Debug)]
pub struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Reader<'t> {
    /// A reader at the start of a text
    pub const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The offset of the reader in the text
    pub const fn offset(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    #[inline]
    pub(super) fn byte(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// An error at the last byte read
    fn error(&self, detail: &'static str) -> ReadError {
        ReadError::syntax(self.at, detail)
    }

    /// An error at the next byte
    pub(super) fn error_at_next(&self, detail: &'static str) -> ReadError {
        ReadError::syntax(self.text.len().min(self.at + 1), detail)
    }

    /// A schema error at the value read last
    pub fn schema_error(&self, detail: impl fmt::Display) -> ReadError {
        ReadError::new(ErrorKind::Schema, self.at, detail.to_string())
    }

    /// The next byte that is not whitespace
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.at = whitespace_end(self.bytes(), self.at);
        self.byte()
    }

    /// The first byte of the next value
    #[inline]
    pub fn peek_value(&mut self) -> Result<u8, ReadError> {
        self.peek().ok_or_else(|| self.error_at_next("EOF while parsing a value"))
    }

    /// Moves past `length` bytes, which must end where a value ends
    pub const fn advance(&mut self, length: usize) {
        self.at += length;
    }

    /// Moves back to an offset at which it was before
    pub const fn rewind(&mut self, offset: usize) {
        self.at = offset;
    }

    /// The text from here on
    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Checks that only whitespace is left
    pub fn end(&mut self) -> Result<(), ReadError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error_at_next("trailing characters")),
        }
    }

    /// Reads the next value and returns its text
    pub fn raw(&mut self) -> Result<&'t str, ReadError> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Reads the only value that is left and returns its text
    pub fn whole(mut self) -> Result<&'t str, ReadError> {
        let value = self.raw()?;
        self.end().map(|()| value)
    }

    /// Moves past `null`, `true` or `false`, by its first byte
    pub(super) fn literal(&mut self, first: u8) -> Result<(), ReadError> {
        let word: &[u8] = match first {
            b'n' => b"null",
            b't' => b"true",
            b'f' => b"false",
            _ => return Err(self.error_at_next("expected value")),
        };
        for expected in word {
            let Some(byte) = self.byte() else {
                return Err(self.error("EOF while parsing a value"));
            };
            self.at += 1;
            if byte != *expected {
                return Err(self.error("expected ident"));
            }
        }
        Ok(())
    }

    /// Moves past the number here
    pub(super) fn skip_number(&mut self) -> Result<(), ReadError> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
            if matches!(self.byte(), Some(b'0'..=b'9')) {
                return Err(self.error_at_next("invalid number"));
            }
        } else {
            self.digits(true)?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits(false)?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(true)?;
        }
        Ok(())
    }

    fn digits(&mut self, consume: bool) -> Result<(), ReadError> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start {
            return Ok(());
        }
        match self.byte() {
            None => Err(self.error_at_next("EOF while parsing a value")),
            Some(_) if consume => {
                self.at += 1;
                Err(self.error("invalid number"))
            }
            Some(_) => Err(self.error_at_next("invalid number")),
        }
    }

    /// Reads the number here
    fn number(&mut self) -> Result<Number<'t>, ReadError> {
        let start = self.at;
        // Most numbers are short integers.
        const MAX_DIGITS: usize = u64::MAX.ilog10() as usize;
        let digits = self.bytes().get(start..).unwrap_or_default();
        let length = digits.iter().take(MAX_DIGITS + 1).take_while(|byte| byte.is_ascii_digit());
        let length = length.count();
        let is_whole = !matches!(digits.get(length), Some(b'.' | b'e' | b'E'));
        if is_whole
            && (length == 1 || length <= MAX_DIGITS && length > 0 && digits.first() != Some(&b'0'))
        {
            let number = digits.iter().take(length);
            let number = number.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
            self.at = start + length;
            return Ok(Number::Unsigned(number));
        }
        self.skip_number()?;
        let text = self.text.get(start..self.at).unwrap_or_default();
        let whole = !text.contains(['.', 'e', 'E']);
        if whole && let Ok(number) = text.parse() {
            return Ok(Number::Unsigned(number));
        }
        if whole
            && let Some(Ok(magnitude)) = text.strip_prefix('-').map(str::parse)
            && let Some(number) = 0_i64.checked_sub_unsigned(magnitude)
            && number < 0
        {
            return Ok(Number::Negative(number));
        }
        if is_out_of_range(text) {
            Err(self.error("number out of range"))
        } else {
            Ok(Number::Fraction(text))
        }
    }

    /// Reads the next value if it is a scalar; stays before an array or an object
    pub fn scalar(&mut self) -> Result<Scalar<'t>, ReadError> {
        Ok(match self.peek_value()? {
            b'"' => Scalar::String(self.string()?),
            b'-' | b'0'..=b'9' => Scalar::Number(self.number()?),
            b'[' => Scalar::Array,
            b'{' => Scalar::Object,
            first => {
                self.literal(first)?;
                match first {
                    b'n' => Scalar::Null,
                    _ => Scalar::Bool(first == b't'),
                }
            }
        })
    }

    /// The error for a value of another type
    pub fn type_error(&self, found: &Scalar<'_>, expected: impl fmt::Display) -> ReadError {
        self.schema_error(format_args!("invalid type: {found}, expected {expected}"))
    }

    /// The same for a value that may be of several types: serde reads an opening bracket first
    pub fn untyped_error(&mut self, found: &Scalar<'_>, expected: impl fmt::Display) -> ReadError {
        let close = match found {
            Scalar::Array => b']',
            Scalar::Object => b'}',
            _ => return self.type_error(found, expected),
        };
        self.at += 1;
        if self.peek() == Some(close) {
            self.at += 1;
        }
        self.type_error(found, expected)
    }

    /// Reads a string
    #[inline]
    pub fn text(&mut self, expected: &str) -> Result<Cow<'t, str>, ReadError> {
        if self.peek_value()? != b'"' {
            return Err(self.mismatch(&expected));
        }
        self.string()
    }

    /// Moves past this key of the open object, which is given with quotes and colon, if it is next
    /// without whitespace; `first` before the object's first member
    #[inline]
    pub fn takes_key(&mut self, key: &str, first: bool) -> bool {
        if !first && self.byte() != Some(b',') {
            return false;
        }
        let start = self.at + usize::from(!first);
        let found = self.bytes().get(start..start + key.len());
        let is_next = found.is_some_and(|found| {
            // The first letter decides most comparisons.
            found.get(1) == key.as_bytes().get(1) && found == key.as_bytes()
        });
        if is_next {
            self.at = start + key.len();
        }
        is_next
    }

    /// Moves past a `null` if it is next; returns whether it was
    pub fn null(&mut self) -> Result<bool, ReadError> {
        let null = self.peek() == Some(b'n');
        if null {
            self.literal(b'n')?;
        }
        Ok(null)
    }

    /// Reads an integer up to `max`; `expected` is the name of its type
    pub fn unsigned(&mut self, max: u64, expected: &str) -> Result<u64, ReadError> {
        match self.scalar()? {
            Scalar::Number(Number::Unsigned(number)) if number <= max => Ok(number),
            found @ Scalar::Number(Number::Unsigned(_) | Number::Negative(_)) => {
                Err(self.schema_error(format_args!("invalid value: {found}, expected {expected}")))
            }
            other => Err(self.type_error(&other, expected)),
        }
    }

    /// Moves past the opening bracket of an array
    #[inline]
    pub fn open_array(&mut self, expected: impl fmt::Display) -> Result<(), ReadError> {
        self.open(b'[', expected)
    }

    /// Moves past the opening bracket of an object
    #[inline]
    pub fn open_object(&mut self, expected: impl fmt::Display) -> Result<(), ReadError> {
        self.open(b'{', expected)
    }

    #[inline]
    fn open(&mut self, bracket: u8, expected: impl fmt::Display) -> Result<(), ReadError> {
        if self.peek_value()? != bracket {
            return Err(self.mismatch(&expected));
        }
        self.at += 1;
        Ok(())
    }

    /// The error for the next value, which has another type, or the one in it
    #[cold]
    fn mismatch(&mut self, expected: &dyn fmt::Display) -> ReadError {
        match self.scalar() {
            Ok(found) => self.type_error(&found, expected),
            Err(error) => error,
        }
    }

    /// Moves past the end of the open array
    pub fn end_array(&mut self) -> Result<(), ReadError> {
        match self.peek() {
            Some(b',' | b']') | None if !self.item(false)? => Ok(()),
            _ => Err(self.error_at_next("trailing characters")),
        }
    }

    /// Moves to the next item of the open array, or past its end; `first` before its first item
    pub fn item(&mut self, first: bool) -> Result<bool, ReadError> {
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                match self.peek_value()? {
                    b']' => Err(self.error_at_next("trailing comma")),
                    _ => Ok(true),
                }
            }
            Some(_) if first => Ok(true),
            _ => Err(self.separator_error(false)),
        }
    }

    /// Reads the next key of the open object, or moves past the object's end; `first` before its
    /// first member
    pub fn key(&mut self, first: bool) -> Result<Option<Cow<'t, str>>, ReadError> {
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !first => {
                self.at += 1;
                self.peek_value()?;
                if self.byte() == Some(b'}') {
                    return Err(self.error_at_next("trailing comma"));
                }
            }
            Some(_) if first => {}
            _ => return Err(self.separator_error(true)),
        }
        if self.byte() != Some(b'"') {
            return Err(self.no_key_error());
        }
        self.string().map(Some)
    }

    /// Moves from the end of a key to its value
    pub fn colon(&mut self) -> Result<(), ReadError> {
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.error_at_next("expected `:`")),
            None => Err(self.error_at_next("EOF while parsing an object")),
        }
    }

    /// A schema error at the key read last
    pub fn key_error(&mut self, detail: impl fmt::Display) -> ReadError {
        self.peek();
        self.schema_error(detail)
    }

    /// Reads the next object; `member` gets the index in `names` of each member named there, which
    /// may appear once, and must move past its value
    ///
    /// Returns a bit for each name, the first lowest, which is set if the member is there.
    pub fn object<E: From<ReadError>>(
        &mut self,
        names: &[&str],
        expected: &str,
        member: &mut dyn FnMut(usize, &mut Self) -> Result<(), E>,
    ) -> Result<u32, E> {
        // One bit per name; no caller has more than 32.
        let (mut seen, mut first) = (0_u32, true);
        self.open_object(expected)?;
        while let Some(key) = self.key(first)? {
            first = false;
            let Some(index) = names.iter().position(|name| *name == key) else {
                self.colon()?;
                self.skip()?;
                continue;
            };
            if seen >> index & 1 == 1 {
                return Err(self.key_error(format_args!("duplicate field `{key}`")).into());
            }
            seen |= 1 << index;
            self.colon()?;
            self.peek();
            member(index, self)?;
        }
        Ok(seen)
    }

    /// Checks that members which are required are there; `found` is what [`object`](Self::object)
    /// returned for these names, or for more after them
    pub fn require(&self, found: u32, names: &[&str]) -> Result<(), ReadError> {
        let missing = names.get(found.trailing_ones() as usize);
        missing.map_or(Ok(()), |name| self.required(None, name))
    }

    /// Readers at the values of these members of the next object
    pub fn members<const N: usize>(
        &mut self,
        names: [&str; N],
        expected: &str,
    ) -> Result<[Option<Self>; N], ReadError> {
        let mut found = [None; N];
        self.object(&names, expected, &mut |index, reader| {
            found[index] = Some(*reader);
            reader.skip()
        })?;
        Ok(found)
    }

    /// The value of a member that is required, in the object that ends here
    pub fn required<T>(&self, found: Option<T>, name: &str) -> Result<T, ReadError> {
        found.ok_or_else(|| self.schema_error(format_args!("missing field `{name}`")))
    }
}

/// The offset of the next byte that is not whitespace
#[inline]
pub(super) fn whitespace_end(bytes: &[u8], mut at: usize) -> usize {
    // One comparison in the common case of no whitespace.
    while bytes.get(at).is_some_and(|byte| *byte <= b' ') {
        if !matches!(bytes[at], b' ' | b'\n' | b'\r' | b'\t') {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
