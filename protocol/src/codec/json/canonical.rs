//! Canonical JSON text, produced in one scan that copies runs of bytes.
//!
//! Runs that are canonical already are copied whole, so a compact and sorted text costs the scan
//! and one copy. The members of an object whose keys are out of order are sorted when the object
//! closes; each byte moves at most once per level. Nothing recurses, and the whole JSON grammar is
//! checked. Numbers keep their text.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use super::borrowed::run_end;
use super::depth::{MAX_DEPTH, TOO_DEEP};
use super::path::path_at;
use super::reader::Reader;
use crate::{Error, ErrorKind};

/// Appends the canonical text of the one JSON value in `text`
///
/// Use a [`Canonicalizer`] for many texts: it reuses its buffers.
///
/// # Errors
///
/// As [`Canonicalizer::append`].
///
/// ```
/// use milepost_protocol::codec::json::canonical;
///
/// let mut out = String::new();
/// canonical(r#"{ "b": 1.0e5, "a": "\u0041\/" }"#, &mut out).unwrap();
/// assert_eq!(out, r#"{"a":"A/","b":1.0e5}"#);
/// ```
pub fn canonical(text: &str, out: &mut String) -> Result<(), Error> {
    Canonicalizer::new().append(text, out)
}

/// Makes canonical text and reuses its buffers
#[derive(Clone, Debug)]
pub struct Canonicalizer {
    max_depth: usize,
    levels: Vec<Level>,
    members: Vec<Member>,
    scratch: String,
}

/// An open array or object
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Index in `members` of this object's first member; `None` for an array
    members: Option<usize>,
    /// Whether the keys so far are in order
    sorted: bool,
}

/// A member of an open object
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Offset of the key in the text, after the quote
    key: usize,
    /// Offset of the key's end in the text, before the quote
    key_end: usize,
    /// Whether the key has escapes, so that its bytes differ from its text
    escaped: bool,
    /// The first eight bytes of the key as a big-endian number, padded with zeroes, which no key
    /// contains; most keys differ in them
    prefix: u64,
    /// Offset of the member in the output
    start: usize,
    /// Offset of its end in the output, before the comma; set when the next member begins
    end: usize,
}

impl Member {
    fn key<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.escaped {
            return Cow::Borrowed(&text[self.key..self.key_end]);
        }
        // The scan has checked the string, quotes included, so the fallback is never taken.
        Reader::new(&text[self.key - 1..=self.key_end]).text("a key").unwrap_or_default()
    }

    fn compare(&self, other: &Self, text: &str) -> Ordering {
        if self.escaped || other.escaped {
            self.key(text).cmp(&other.key(text))
        } else if self.prefix != other.prefix {
            self.prefix.cmp(&other.prefix)
        } else {
            text.as_bytes()[self.key..self.key_end].cmp(&text.as_bytes()[other.key..other.key_end])
        }
    }
}

impl Reader<'_> {
    /// Moves past the next value and appends its canonical text to `out`
    ///
    /// The path of an error is relative to the value, its offset is that in the whole text.
    ///
    /// # Errors
    ///
    /// As [`Canonicalizer::append`].
    pub fn canonical(
        &mut self,
        canonicalizer: &mut Canonicalizer,
        out: &mut String,
    ) -> Result<(), Error> {
        self.at = canonicalizer.append_next(self.text, self.at, out)?;
        Ok(())
    }
}

impl Default for Canonicalizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Canonicalizer {
    /// A canonicalizer with empty buffers and a limit of [`MAX_DEPTH`] levels
    pub const fn new() -> Self {
        Self::with_max_depth(MAX_DEPTH)
    }

    /// A canonicalizer with empty buffers and a limit of `max_depth` levels
    pub const fn with_max_depth(max_depth: usize) -> Self {
        Self { max_depth, levels: Vec::new(), members: Vec::new(), scratch: String::new() }
    }

    /// Appends the canonical text of the one JSON value in `text`
    ///
    /// Time is linear in the text when its keys are sorted; otherwise each level moves its bytes
    /// once and sorts its keys. Memory is the output, a copy of the largest unsorted object, a copy
    /// of its keys if they have escapes, and 48 bytes for each member of the objects that are open
    /// at the same time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Syntax`] when the text is not one JSON value, [`ErrorKind::Schema`] when an
    /// object has two members of one name, [`ErrorKind::Limit`] beyond the maximum depth. `out` is
    /// then unchanged.
    pub fn append(&mut self, text: &str, out: &mut String) -> Result<(), Error> {
        let begin = out.len();
        out.reserve(text.len());
        let appended = self.scan(text, 0, out).and_then(|at| {
            let mut scanner = Scanner { text, bytes: text.as_bytes(), at, copied: at, out };
            scanner.skip_whitespace();
            match scanner.byte() {
                None => Ok(()),
                Some(_) => Err(scanner.error("trailing characters after the JSON value")),
            }
        });
        appended.map_err(|error| {
            out.truncate(begin);
            error.into_error(text, 0)
        })
    }

    /// Appends the canonical text of the value that starts at `at`, and returns the value's end
    ///
    /// The path of an error is relative to the value; the content of `out` is then unspecified.
    pub(super) fn append_next(
        &mut self,
        text: &str,
        at: usize,
        out: &mut String,
    ) -> Result<usize, Error> {
        self.scan(text, at, out).map_err(|error| error.into_error(text, at))
    }

    /// Writes the value that starts at `at`; returns its end
    fn scan(&mut self, text: &str, at: usize, out: &mut String) -> Result<usize, ScanError> {
        self.levels.clear();
        self.members.clear();
        let mut scanner = Scanner { text, bytes: text.as_bytes(), at, copied: at, out };
        'value: loop {
            scanner.skip_whitespace();
            match scanner.byte() {
                Some(b'{') => {
                    self.open(&mut scanner, true)?;
                    if scanner.byte() != Some(b'}') {
                        self.key(&mut scanner, "expected a key or '}'")?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.open(&mut scanner, false)?;
                    if scanner.byte() != Some(b']') {
                        continue 'value;
                    }
                }
                Some(b'"') => drop(scanner.string()?),
                Some(b'-' | b'0'..=b'9') => scanner.number()?,
                Some(b't') => scanner.word("true")?,
                Some(b'f') => scanner.word("false")?,
                Some(b'n') => scanner.word("null")?,
                _ => return Err(scanner.error("expected a value")),
            }
            // A value has ended, or its closing bracket is next.
            loop {
                let Some(level) = self.levels.last() else {
                    scanner.flush();
                    return Ok(scanner.at);
                };
                scanner.skip_whitespace();
                match (scanner.byte(), level.members) {
                    (Some(b','), None) => {
                        scanner.at += 1;
                        continue 'value;
                    }
                    (Some(b','), Some(_)) => {
                        scanner.at += 1;
                        scanner.skip_whitespace();
                        self.key(&mut scanner, "expected a key")?;
                        continue 'value;
                    }
                    (Some(b']'), None) => {
                        self.levels.pop();
                    }
                    (Some(b'}'), Some(first)) => {
                        let sorted = level.sorted;
                        if !sorted {
                            self.sort(first, &mut scanner)?;
                        }
                        self.members.truncate(first);
                        self.levels.pop();
                    }
                    (_, None) => return Err(scanner.error("expected ',' or ']'")),
                    (_, Some(_)) => return Err(scanner.error("expected ',' or '}'")),
                }
                scanner.at += 1;
            }
        }
    }

    /// Moves past an opening bracket and the whitespace after it
    fn open(&mut self, scanner: &mut Scanner<'_, '_>, object: bool) -> Result<(), ScanError> {
        if self.levels.len() >= self.max_depth {
            let error = scanner.error(TOO_DEEP);
            return Err(ScanError { kind: ErrorKind::Limit, ..error });
        }
        self.levels.push(Level { members: object.then_some(self.members.len()), sorted: true });
        scanner.at += 1;
        scanner.skip_whitespace();
        Ok(())
    }

    /// Reads a key and its colon; records whether it comes after the previous key in order
    fn key(
        &mut self,
        scanner: &mut Scanner<'_, '_>,
        expected: &'static str,
    ) -> Result<(), ScanError> {
        if scanner.byte() != Some(b'"') {
            return Err(scanner.error(expected));
        }
        let start = scanner.end();
        let key = scanner.at + 1;
        let escaped = scanner.string()?;
        let key_end = scanner.at - 1;
        let prefix = prefix(&scanner.bytes[key..], key_end - key);
        let member = Member { key, key_end, escaped, prefix, start, end: start };
        if let Some(level) = self.levels.last_mut()
            && let Some(first) = level.members
            && let Some(before) = self.members[first..].last_mut()
        {
            before.end = start - 1;
            if level.sorted {
                match before.compare(&member, scanner.text) {
                    Ordering::Less => {}
                    Ordering::Equal => return Err(scanner.duplicate(&member)),
                    Ordering::Greater => level.sorted = false,
                }
            }
        }
        self.members.push(member);
        scanner.skip_whitespace();
        if scanner.byte() != Some(b':') {
            return Err(scanner.error("expected ':'"));
        }
        scanner.at += 1;
        Ok(())
    }

    /// Sorts the members of the object that closes here, in the output
    fn sort(&mut self, first: usize, scanner: &mut Scanner<'_, '_>) -> Result<(), ScanError> {
        scanner.flush();
        let end = scanner.out.len();
        let members = &mut self.members[first..];
        let Some(begin) = members.first().map(|member| member.start) else { return Ok(()) };
        if let Some(last) = members.last_mut() {
            last.end = end;
        }
        if members.iter().any(|member| member.escaped) {
            // Each key is decoded once: a long one may be compared with all others.
            members.sort_by_cached_key(|member| member.key(scanner.text));
        } else {
            members.sort_unstable_by(|left, right| left.compare(right, scanner.text));
        }
        self.scratch.clear();
        self.scratch.reserve(end - begin);
        let mut before: Option<&Member> = None;
        for member in members.iter() {
            if let Some(before) = before
                && before.compare(member, scanner.text) == Ordering::Equal
            {
                let later = if before.key > member.key { before } else { member };
                return Err(scanner.duplicate(later));
            }
            if before.is_some() {
                self.scratch.push(',');
            }
            self.scratch.push_str(&scanner.out[member.start..member.end]);
            before = Some(member);
        }
        scanner.out.truncate(begin);
        scanner.out.push_str(&self.scratch);
        Ok(())
    }
}

/// The first eight of `length` bytes as a big-endian number, which sorts as the bytes do
#[inline]
fn prefix(bytes: &[u8], length: usize) -> u64 {
    let Some(first) = bytes.first_chunk::<8>() else {
        // The text ends less than eight bytes after the start of its last key.
        let mut padded = [0; 8];
        padded.iter_mut().zip(&bytes[..length]).for_each(|(to, from)| *to = *from);
        return u64::from_be_bytes(padded);
    };
    match length {
        0 => 0,
        1..8 => u64::from_be_bytes(*first) & u64::MAX << (64 - 8 * length),
        _ => u64::from_be_bytes(*first),
    }
}

/// Why and where the scan stopped
struct ScanError {
    kind: ErrorKind,
    detail: ErrorDetail,
    offset: usize,
    /// The offset that the path is computed from: after the key, for a duplicate
    path_offset: usize,
}

impl ScanError {
    /// The error with its path in the value that starts at `start`
    #[cold]
    fn into_error(self, text: &str, start: usize) -> Error {
        let value = text.as_bytes().get(start..).unwrap_or_default();
        let path = path_at(value, self.path_offset - start);
        Error::new(self.kind, self.detail).with_offset(self.offset).at(path)
    }
}

enum ErrorDetail {
    Fixed(&'static str),
    Duplicate(String),
}

impl fmt::Display for ErrorDetail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(text) => formatter.write_str(text),
            Self::Duplicate(key) => write!(formatter, "duplicate member {}", super::write(key)),
        }
    }
}

/// A position in the text; the run `copied..at` is not in the output yet
struct Scanner<'t, 'o> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    copied: usize,
    out: &'o mut String,
}

impl Scanner<'_, '_> {
    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The length of the output once the pending run is copied
    const fn end(&self) -> usize {
        self.out.len() + (self.at - self.copied)
    }

    /// Copies the pending run; it ends at ASCII bytes, so at character boundaries
    fn flush(&mut self) {
        self.out.push_str(&self.text[self.copied..self.at]);
        self.copied = self.at;
    }

    /// Skips whitespace, which most texts have none of
    #[inline]
    fn skip_whitespace(&mut self) {
        if self.is_whitespace() {
            self.flush();
            while self.is_whitespace() {
                self.at += 1;
            }
            self.copied = self.at;
        }
    }

    #[inline]
    fn is_whitespace(&self) -> bool {
        // One comparison in the common case of no whitespace.
        self.byte().is_some_and(|byte| byte <= b' ' && matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
    }

    fn word(&mut self, word: &'static str) -> Result<(), ScanError> {
        for byte in word.bytes() {
            if self.byte() != Some(byte) {
                return Err(self.error("expected true, false or null"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Reads a number by the grammar of RFC 8259 and keeps it as it is
    fn number(&mut self) -> Result<(), ScanError> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => {
                self.at += 1;
                if matches!(self.byte(), Some(b'0'..=b'9')) {
                    return Err(self.error("a number with a leading zero"));
                }
            }
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanError> {
        let first = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == first { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    /// Reads a string from its opening quote; returns whether it has escapes
    fn string(&mut self) -> Result<bool, ScanError> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at = run_end(self.bytes, self.at);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.error("a control character in a string")),
                None => return Err(self.error("expected '\"'")),
            }
        }
    }

    /// Reads an escape from its backslash and writes it as `serde_json` does
    fn escape(&mut self) -> Result<(), ScanError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'/') => {
                self.flush();
                self.copied += 1;
                self.at += 2;
            }
            Some(b'u') => {
                self.flush();
                let character = self.unicode()?;
                self.copied = self.at;
                match character {
                    '"' => self.out.push_str("\\\""),
                    '\\' => self.out.push_str("\\\\"),
                    '\u{8}' => self.out.push_str("\\b"),
                    '\t' => self.out.push_str("\\t"),
                    '\n' => self.out.push_str("\\n"),
                    '\u{c}' => self.out.push_str("\\f"),
                    '\r' => self.out.push_str("\\r"),
                    '\0'..='\u{1f}' => {
                        self.out.push_str("\\u00");
                        let code = u32::from(character);
                        // Four bits are below 16, so `from_digit` returns a digit.
                        self.out.extend(char::from_digit(code >> 4, 16));
                        self.out.extend(char::from_digit(code & 15, 16));
                    }
                    _ => self.out.push(character),
                }
            }
            _ => return Err(self.error("an escape that JSON does not have")),
        }
        Ok(())
    }

    /// Reads `\uXXXX`, or both halves of a surrogate pair
    fn unicode(&mut self) -> Result<char, ScanError> {
        let begin = self.at;
        let first = self.hex()?;
        let code = match first {
            // 0xd800..0xdc00 is the upper half of a pair: ten bits above the lower half's ten.
            0xd800..=0xdbff => match self.bytes.get(self.at..self.at + 2) {
                Some(b"\\u") => match self.hex()? {
                    second @ 0xdc00..=0xdfff => {
                        0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    _ => first,
                },
                _ => first,
            },
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| {
            self.at = begin;
            self.error("half of a surrogate pair")
        })
    }

    fn hex(&mut self) -> Result<u32, ScanError> {
        self.at += 2;
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.byte().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.error("expected a hexadecimal digit"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    #[cold]
    fn error(&self, detail: &'static str) -> ScanError {
        let detail = if self.at < self.bytes.len() { detail } else { "the text ends too early" };
        ScanError {
            kind: ErrorKind::Syntax,
            detail: ErrorDetail::Fixed(detail),
            offset: self.at,
            path_offset: self.at,
        }
    }

    #[cold]
    fn duplicate(&self, member: &Member) -> ScanError {
        let key = member.key(self.text).chars().take(64).collect();
        ScanError {
            kind: ErrorKind::Schema,
            detail: ErrorDetail::Duplicate(key),
            offset: member.key - 1,
            path_offset: member.key_end + 1,
        }
    }
}

#[cfg(test)]
mod tests;
