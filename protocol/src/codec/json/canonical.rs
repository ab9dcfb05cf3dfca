//! Canonical JSON text, produced in one scan that copies runs of bytes.
//!
//! Runs that are canonical already are copied whole, so a compact and sorted text costs the scan
//! and one copy. The members of an object whose keys are out of order are sorted when the object
//! closes; each byte moves at most once per level. Nothing recurses, and the whole JSON grammar is
//! checked. Numbers keep their text.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::depth::{MAX_DEPTH, TOO_DEEP};
use super::path::path_at;
use super::reader::{ReadError, Reader};
use super::run::run_end;
use super::text::error_with;
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
        let appended = self.append_next(text, 0, out).and_then(|at| {
            let end = Reader { text, at }.end();
            end.map_err(|error| error.into_error(text))
        });
        appended.inspect_err(|_| out.truncate(begin))
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
        self.levels.clear();
        self.members.clear();
        let mut scanner = Scanner { reader: Reader { text, at }, start: at, copied: at, out };
        'value: loop {
            let read = match scanner.peek() {
                Some(b'{') => {
                    if self.open(&mut scanner, true)? != Some(b'}') {
                        self.key(&mut scanner)?;
                        continue 'value;
                    }
                    Ok(())
                }
                Some(b'[') => match self.open(&mut scanner, false)? {
                    Some(b']') => Ok(()),
                    Some(_) => continue 'value,
                    None => Err(scanner.reader.separator_error(false)),
                },
                Some(b'"') => {
                    scanner.string()?;
                    Ok(())
                }
                Some(b'-' | b'0'..=b'9') => scanner.reader.skip_number(),
                Some(first) => scanner.reader.literal(first),
                None => scanner.reader.peek_value().map(drop),
            };
            if read.is_err() {
                return Err(scanner.syntax_error(read));
            }
            // A value has ended, or its closing bracket is next.
            loop {
                let Some(level) = self.levels.last() else {
                    scanner.flush();
                    return Ok(scanner.reader.at);
                };
                match (scanner.peek(), level.members) {
                    (Some(b','), None) => {
                        scanner.reader.at += 1;
                        continue 'value;
                    }
                    (Some(b','), Some(_)) => {
                        scanner.reader.at += 1;
                        scanner.peek();
                        self.key(&mut scanner)?;
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
                    (_, members) => {
                        let error = scanner.reader.separator_error(members.is_some());
                        return Err(scanner.syntax_error(Err(error)));
                    }
                }
                scanner.reader.at += 1;
            }
        }
    }

    /// Moves past an opening bracket and the whitespace after it; returns the byte there
    fn open(&mut self, scanner: &mut Scanner<'_, '_>, object: bool) -> Result<Option<u8>, Error> {
        if self.levels.len() >= self.max_depth {
            let at = scanner.reader.at;
            return Err(scanner.error(ErrorKind::Limit, TOO_DEEP, at, at));
        }
        self.levels.push(Level { members: object.then_some(self.members.len()), sorted: true });
        scanner.reader.at += 1;
        Ok(scanner.peek())
    }

    /// Reads a key and its colon; records whether it comes after the previous key in order
    fn key(&mut self, scanner: &mut Scanner<'_, '_>) -> Result<(), Error> {
        if scanner.byte() != Some(b'"') {
            let error = scanner.reader.no_key_error();
            return Err(scanner.syntax_error(Err(error)));
        }
        let start = scanner.end();
        let key = scanner.reader.at + 1;
        let escaped = scanner.string()?;
        let key_end = scanner.reader.at - 1;
        let prefix = prefix(&scanner.reader.bytes()[key..], key_end - key);
        let member = Member { key, key_end, escaped, prefix, start, end: start };
        if let Some(level) = self.levels.last_mut()
            && let Some(first) = level.members
            && let Some(before) = self.members[first..].last_mut()
        {
            before.end = start - 1;
            if level.sorted {
                match before.compare(&member, scanner.reader.text) {
                    Ordering::Less => {}
                    Ordering::Equal => return Err(scanner.duplicate(&member)),
                    Ordering::Greater => level.sorted = false,
                }
            }
        }
        self.members.push(member);
        if scanner.peek() != Some(b':') {
            let colon = scanner.reader.colon();
            return Err(scanner.syntax_error(colon));
        }
        scanner.reader.at += 1;
        Ok(())
    }

    /// Sorts the members of the object that closes here, in the output
    fn sort(&mut self, first: usize, scanner: &mut Scanner<'_, '_>) -> Result<(), Error> {
        scanner.flush();
        let end = scanner.out.len();
        let members = &mut self.members[first..];
        let Some(begin) = members.first().map(|member| member.start) else { return Ok(()) };
        if let Some(last) = members.last_mut() {
            last.end = end;
        }
        if members.iter().any(|member| member.escaped) {
            // Each key is decoded once: a long one may be compared with all others.
            members.sort_by_cached_key(|member| member.key(scanner.reader.text));
        } else {
            members.sort_unstable_by(|left, right| left.compare(right, scanner.reader.text));
        }
        self.scratch.clear();
        self.scratch.reserve(end - begin);
        let mut before: Option<&Member> = None;
        for member in members.iter() {
            if let Some(before) = before
                && before.compare(member, scanner.reader.text) == Ordering::Equal
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

/// A position in the text; the run `copied..reader.at` is not in the output yet
struct Scanner<'t, 'o> {
    reader: Reader<'t>,
    /// Where the value starts, which the paths of errors are relative to
    start: usize,
    copied: usize,
    out: &'o mut String,
}

impl Scanner<'_, '_> {
    fn byte(&self) -> Option<u8> {
        self.reader.byte()
    }

    /// The length of the output once the pending run is copied
    const fn end(&self) -> usize {
        self.out.len() + (self.reader.at - self.copied)
    }

    /// Copies the pending run; it ends at ASCII bytes, so at character boundaries
    fn flush(&mut self) {
        self.out.push_str(&self.reader.text[self.copied..self.reader.at]);
        self.copied = self.reader.at;
    }

    /// Skips whitespace, which most texts have none of; returns the byte after it
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let byte = self.byte();
        if byte.is_none_or(|byte| byte > b' ') {
            return byte;
        }
        self.flush();
        let byte = self.reader.peek();
        self.copied = self.reader.at;
        byte
    }

    /// Reads a string from its opening quote; returns whether it has escapes
    fn string(&mut self) -> Result<bool, Error> {
        let start = self.reader.at;
        self.reader.at += 1;
        let mut escaped = false;
        loop {
            self.reader.at = run_end(self.reader.bytes(), self.reader.at);
            match self.byte() {
                Some(b'"') => {
                    self.reader.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') if self.escape().is_some() => escaped = true,
                _ => {
                    // Reading it as a string finds the error.
                    self.reader.at = start;
                    let read = self.reader.string().map(drop);
                    return Err(self.syntax_error(read));
                }
            }
        }
    }

    /// Reads an escape from its backslash and writes it as `serde_json` does, if it is valid
    fn escape(&mut self) -> Option<()> {
        match self.reader.bytes().get(self.reader.at + 1)? {
            b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => self.reader.at += 2,
            b'/' => {
                self.flush();
                self.copied += 1;
                self.reader.at += 2;
            }
            b'u' => {
                self.flush();
                self.reader.at += 1;
                let character = self.reader.character().ok()?;
                self.copied = self.reader.at;
                match character {
                    '\0'..' ' | '"' | '\\' => {
                        let quoted = super::write(&character);
                        self.out.extend(quoted.get(1..quoted.len() - 1));
                    }
                    _ => self.out.push(character),
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The error of a reader that must have found one
    #[cold]
    fn syntax_error(&self, read: Result<(), ReadError>) -> Error {
        let error = read.err().unwrap_or_else(|| self.reader.error_at_next("expected value"));
        self.error(ErrorKind::Syntax, error.detail(), error.bytes_read(), error.bytes_read())
    }

    #[cold]
    fn duplicate(&self, member: &Member) -> Error {
        let key: String = member.key(self.reader.text).chars().take(64).collect();
        let detail = format!("duplicate member {}", super::write(&key));
        self.error(ErrorKind::Schema, &detail, member.key - 1, member.key_end + 1)
    }

    /// An error whose path is that of `path_offset`: after the key, for a duplicate
    #[cold]
    fn error(&self, kind: ErrorKind, detail: &str, offset: usize, path_offset: usize) -> Error {
        let value = self.reader.bytes().get(self.start..).unwrap_or_default();
        let path = path_at(value, path_offset - self.start);
        error_with(kind, detail.into()).with_offset(offset).at(path)
    }
}

#[cfg(test)]
mod tests;
