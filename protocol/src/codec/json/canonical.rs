//! The canonical text of a JSON value, made in one scan that writes as it reads.
//!
//! Runs that are canonical already are copied whole, so a compact and sorted text costs the scan
//! and one copy. An object whose keys came out of order is put in order when it closes, by moving
//! its finished members; each byte moves at most once per level. Nothing here recurses, and all
//! of the JSON grammar is checked. Numbers are not interpreted.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use super::path::path_at;
use super::plain::run_end;
use super::reader::Reader;
use super::rewrite::Rewriter;
use crate::{Error, ErrorKind};

/// The most levels of arrays and objects inside each other, the same as `serde_json` reads
pub const MOST_LEVELS: usize = 127;

/// The most levels of a value that becomes part of an answer
///
/// An answer must stay readable for those who read [`MOST_LEVELS`]. A receipt in the last status
/// of a time-out in a batch has most around it: the batch, the response, `error`, `cause`, `info`,
/// `status` and `receipts` are 7 levels; one is kept in reserve.
pub const MOST_LEVELS_INSIDE: usize = MOST_LEVELS - 8;

/// What is said beyond the most levels
pub(super) const TOO_DEEP: &str = "too many levels of arrays and objects inside each other";

/// Appends the canonical text of the one JSON value in `text`
///
/// For many texts keep a [`Canonicalizer`], which reuses its buffers.
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

/// Makes canonical texts, and keeps its buffers between them
#[derive(Clone, Debug)]
pub struct Canonicalizer {
    most_levels: usize,
    levels: Vec<Level>,
    members: Vec<Member>,
    moved: String,
    /// Does the work where it can
    rewriter: Rewriter,
}

/// An open array or object
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Where the members of this object begin in `members`; `None` for an array
    members: Option<usize>,
    /// Whether the keys so far came in order
    sorted: bool,
}

/// A member of an open object
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Where its key begins in the text, behind the quote
    key: usize,
    /// Where its key ends in the text, before the quote
    key_end: usize,
    /// Whether the key has escapes, so that its bytes are not the key's own
    escaped: bool,
    /// The first eight bytes of the key as a number, with zeroes behind a shorter one, which has none
    /// of its own; most keys differ in them
    prefix: u64,
    /// Where the member begins in the output
    start: usize,
    /// Where it ends in the output, before the comma; known when the next one begins
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

impl Default for Canonicalizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Canonicalizer {
    /// One with empty buffers, that takes [`MOST_LEVELS`]
    pub const fn new() -> Self {
        Self::with_most_levels(MOST_LEVELS)
    }

    /// One with empty buffers, that takes so many levels of arrays and objects
    pub const fn with_most_levels(most_levels: usize) -> Self {
        Self {
            most_levels,
            levels: Vec::new(),
            members: Vec::new(),
            moved: String::new(),
            rewriter: Rewriter::new(most_levels),
        }
    }

    /// Appends the canonical text of the one JSON value in `text`
    ///
    /// Time is linear in the text when its keys are sorted; otherwise each level moves its bytes
    /// once and sorts its keys. Memory is the output, a copy of the largest unsorted object and
    /// of its keys if they have escapes, and 48 bytes for each member of the objects that are open
    /// at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Syntax`] when the text is not one JSON value, [`ErrorKind::Shape`] when an
    /// object has two members of one name, [`ErrorKind::Limit`] beyond the most levels. `out` is
    /// then as it was.
    pub fn append(&mut self, text: &str, out: &mut String) -> Result<(), Error> {
        let begin = out.len();
        out.reserve(text.len());
        let appended = self.scan(text, 0, out).and_then(|at| {
            let mut scan = Scan { text, bytes: text.as_bytes(), at, copied: at, out };
            scan.blanks();
            match scan.byte() {
                None => Ok(()),
                Some(_) => Err(scan.refusal("characters behind the value")),
            }
        });
        appended.map_err(|refusal| {
            out.truncate(begin);
            let error = Error::new(refusal.kind, refusal.detail).with_offset(refusal.offset);
            error.at(path_at(text.as_bytes(), refusal.place))
        })
    }

    /// Appends the canonical text of the value that begins here in `text`, and says where it ends; if it
    /// is refused, `out` is without meaning
    pub(crate) fn append_next(&mut self, text: &str, at: usize, out: &mut String) -> Option<usize> {
        if let Some((canonical, end)) = self.rewriter.rewrite(text, at) {
            out.push_str(canonical);
            return Some(end);
        }
        self.scan(text, at, out).ok()
    }

    /// Where the value ends that begins here
    fn scan(&mut self, text: &str, at: usize, out: &mut String) -> Result<usize, Refusal> {
        self.levels.clear();
        self.members.clear();
        let mut scan = Scan { text, bytes: text.as_bytes(), at, copied: at, out };
        'value: loop {
            scan.blanks();
            match scan.byte() {
                Some(b'{') => {
                    self.open(&mut scan, true)?;
                    if scan.byte() != Some(b'}') {
                        self.key(&mut scan, "expected a key or '}'")?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.open(&mut scan, false)?;
                    if scan.byte() != Some(b']') {
                        continue 'value;
                    }
                }
                Some(b'"') => drop(scan.string()?),
                Some(b'-' | b'0'..=b'9') => scan.number()?,
                Some(b't') => scan.word("true")?,
                Some(b'f') => scan.word("false")?,
                Some(b'n') => scan.word("null")?,
                _ => return Err(scan.refusal("expected a value")),
            }
            // A value has ended, or its end is next: go on in what is around it.
            loop {
                let Some(level) = self.levels.last() else {
                    scan.flush();
                    return Ok(scan.at);
                };
                scan.blanks();
                match (scan.byte(), level.members) {
                    (Some(b','), None) => {
                        scan.at += 1;
                        continue 'value;
                    }
                    (Some(b','), Some(_)) => {
                        scan.at += 1;
                        scan.blanks();
                        self.key(&mut scan, "expected a key")?;
                        continue 'value;
                    }
                    (Some(b']'), None) => {
                        self.levels.pop();
                    }
                    (Some(b'}'), Some(first)) => {
                        let sorted = level.sorted;
                        if !sorted {
                            self.sort(first, &mut scan)?;
                        }
                        self.members.truncate(first);
                        self.levels.pop();
                    }
                    (_, None) => return Err(scan.refusal("expected ',' or ']'")),
                    (_, Some(_)) => return Err(scan.refusal("expected ',' or '}'")),
                }
                scan.at += 1;
            }
        }
    }

    /// Goes behind an opening bracket and the blanks after it
    fn open(&mut self, scan: &mut Scan<'_, '_>, object: bool) -> Result<(), Refusal> {
        if self.levels.len() >= self.most_levels {
            let refusal = scan.refusal(TOO_DEEP);
            return Err(Refusal { kind: ErrorKind::Limit, ..refusal });
        }
        self.levels.push(Level { members: object.then_some(self.members.len()), sorted: true });
        scan.at += 1;
        scan.blanks();
        Ok(())
    }

    /// Reads a key and its colon; notes whether it is behind the key before it
    fn key(&mut self, scan: &mut Scan<'_, '_>, expected: &'static str) -> Result<(), Refusal> {
        if scan.byte() != Some(b'"') {
            return Err(scan.refusal(expected));
        }
        let start = scan.end();
        let key = scan.at + 1;
        let escaped = scan.string()?;
        let key_end = scan.at - 1;
        let prefix = prefix(&scan.bytes[key..], key_end - key);
        let member = Member { key, key_end, escaped, prefix, start, end: start };
        if let Some(level) = self.levels.last_mut()
            && let Some(first) = level.members
            && let Some(before) = self.members[first..].last_mut()
        {
            before.end = start - 1;
            if level.sorted {
                match before.compare(&member, scan.text) {
                    Ordering::Less => {}
                    Ordering::Equal => return Err(scan.duplicate(&member)),
                    Ordering::Greater => level.sorted = false,
                }
            }
        }
        self.members.push(member);
        scan.blanks();
        if scan.byte() != Some(b':') {
            return Err(scan.refusal("expected ':'"));
        }
        scan.at += 1;
        Ok(())
    }

    /// Puts the members of the object that closes here in order, in the output
    fn sort(&mut self, first: usize, scan: &mut Scan<'_, '_>) -> Result<(), Refusal> {
        scan.flush();
        let end = scan.out.len();
        let members = &mut self.members[first..];
        let Some(begin) = members.first().map(|member| member.start) else { return Ok(()) };
        if let Some(last) = members.last_mut() {
            last.end = end;
        }
        if members.iter().any(|member| member.escaped) {
            // Each key is decoded once: a long one may be compared with all others.
            members.sort_by_cached_key(|member| member.key(scan.text));
        } else {
            members.sort_unstable_by(|left, right| left.compare(right, scan.text));
        }
        self.moved.clear();
        self.moved.reserve(end - begin);
        let mut before: Option<&Member> = None;
        for member in members.iter() {
            if let Some(before) = before
                && before.compare(member, scan.text) == Ordering::Equal
            {
                let later = if before.key > member.key { before } else { member };
                return Err(scan.duplicate(later));
            }
            if before.is_some() {
                self.moved.push(',');
            }
            self.moved.push_str(&scan.out[member.start..member.end]);
            before = Some(member);
        }
        scan.out.truncate(begin);
        scan.out.push_str(&self.moved);
        Ok(())
    }
}

/// The first eight of so many bytes as a number, in whose order they are
#[inline]
fn prefix(bytes: &[u8], length: usize) -> u64 {
    let Some(first) = bytes.first_chunk::<8>() else {
        // The text ends soon behind its last key.
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
struct Refusal {
    kind: ErrorKind,
    detail: Detail,
    offset: usize,
    /// The offset by which the path is found: behind the key, for a duplicate
    place: usize,
}

enum Detail {
    Fixed(&'static str),
    Duplicate(String),
}

impl fmt::Display for Detail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(text) => formatter.write_str(text),
            Self::Duplicate(key) => write!(formatter, "duplicate member {}", super::write(key)),
        }
    }
}

/// The place in the text, and the output behind it by the run `copied..at`
struct Scan<'t, 'o> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    copied: usize,
    out: &'o mut String,
}

impl Scan<'_, '_> {
    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Where the output ends once the pending run is copied
    const fn end(&self) -> usize {
        self.out.len() + (self.at - self.copied)
    }

    /// Copies the pending run; its ends are ASCII bytes, so they are ends of characters
    fn flush(&mut self) {
        self.out.push_str(&self.text[self.copied..self.at]);
        self.copied = self.at;
    }

    /// Goes on behind blanks, which most texts have none of
    #[inline]
    fn blanks(&mut self) {
        if self.is_blank() {
            self.flush();
            while self.is_blank() {
                self.at += 1;
            }
            self.copied = self.at;
        }
    }

    #[inline]
    fn is_blank(&self) -> bool {
        // One comparison for what is most often there.
        self.byte().is_some_and(|byte| byte <= b' ' && matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
    }

    fn word(&mut self, word: &'static str) -> Result<(), Refusal> {
        for byte in word.bytes() {
            if self.byte() != Some(byte) {
                return Err(self.refusal("expected true, false or null"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// A number by the grammar of RFC 8259, kept as it is
    fn number(&mut self) -> Result<(), Refusal> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => {
                self.at += 1;
                if matches!(self.byte(), Some(b'0'..=b'9')) {
                    return Err(self.refusal("a number with a leading zero"));
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

    fn digits(&mut self) -> Result<(), Refusal> {
        let first = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == first { Err(self.refusal("expected a digit")) } else { Ok(()) }
    }

    /// Reads a string from its opening quote; whether it has escapes
    fn string(&mut self) -> Result<bool, Refusal> {
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
                Some(_) => return Err(self.refusal("a control character in a string")),
                None => return Err(self.refusal("expected '\"'")),
            }
        }
    }

    /// Reads an escape from its backslash and writes it as `serde_json` would
    fn escape(&mut self) -> Result<(), Refusal> {
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
                        // A half byte is below 16, so it is a digit.
                        self.out.extend(char::from_digit(code >> 4, 16));
                        self.out.extend(char::from_digit(code & 15, 16));
                    }
                    _ => self.out.push(character),
                }
            }
            _ => return Err(self.refusal("an escape that JSON does not have")),
        }
        Ok(())
    }

    /// Reads `\uXXXX`, or the two of a surrogate pair
    fn unicode(&mut self) -> Result<char, Refusal> {
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
            self.refusal("half of a surrogate pair")
        })
    }

    fn hex(&mut self) -> Result<u32, Refusal> {
        self.at += 2;
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.byte().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.refusal("expected a hexadecimal digit"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn refusal(&self, detail: &'static str) -> Refusal {
        let detail = if self.at < self.bytes.len() { detail } else { "the text ends too early" };
        Refusal {
            kind: ErrorKind::Syntax,
            detail: Detail::Fixed(detail),
            offset: self.at,
            place: self.at,
        }
    }

    fn duplicate(&self, member: &Member) -> Refusal {
        let key = member.key(self.text).chars().take(64).collect();
        Refusal {
            kind: ErrorKind::Shape,
            detail: Detail::Duplicate(key),
            offset: member.key - 1,
            place: member.key_end + 1,
        }
    }
}

#[cfg(test)]
mod tests;
