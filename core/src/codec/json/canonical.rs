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
use core::ops::Range;

use self::watch::Watch;
use super::path::path_at;
use super::plain::plain_run;
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
/// use milepost::codec::json::canonical;
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
    watch: Watch,
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
        Cow::Owned(serde_json::from_str(&text[self.key - 1..=self.key_end]).unwrap_or_default())
    }

    fn compare(&self, other: &Self, text: &str) -> Ordering {
        if self.escaped || other.escaped {
            self.key(text).cmp(&other.key(text))
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
            watch: Watch::over(&[]),
        }
    }

    /// Appends the canonical text of the one JSON value in `text`
    ///
    /// Time is linear in the text when its keys are sorted; otherwise each level moves its bytes
    /// once and sorts its keys. Memory is the output, a copy of the largest unsorted object and
    /// of its keys if they have escapes, and 40 bytes for each member of the objects that are open
    /// at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Syntax`] when the text is not one JSON value, [`ErrorKind::Shape`] when an
    /// object has two members of one name, [`ErrorKind::Limit`] beyond the most levels. `out` is
    /// then as it was.
    pub fn append(&mut self, text: &str, out: &mut String) -> Result<(), Error> {
        self.append_and_find(text, &[], out).map(drop)
    }

    /// Appends as [`append`](Self::append) does, and says where in `out` the value of a member stands,
    /// by the keys that lead to it
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    ///
    /// ```
    /// use milepost::codec::json::Canonicalizer;
    ///
    /// let mut out = String::new();
    /// let text = r#"{"b": {"d": 1, "c": [true]}, "a": {"c": 0}}"#;
    /// let found = Canonicalizer::new().append_and_find(text, &["b", "c"], &mut out)?;
    /// assert_eq!(found.map(|place| &out[place]), Some("[true]"));
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn append_and_find(
        &mut self,
        text: &str,
        path: &'static [&'static str],
        out: &mut String,
    ) -> Result<Option<Range<usize>>, Error> {
        let begin = out.len();
        self.watch = Watch::over(path);
        out.reserve(text.len());
        self.levels.clear();
        self.members.clear();
        let scan = Scan { text, bytes: text.as_bytes(), at: 0, copied: 0, out };
        self.scan(scan).map_err(|refusal| {
            out.truncate(begin);
            let error = Error::new(refusal.kind, refusal.detail).with_offset(refusal.offset);
            error.at(path_at(text.as_bytes(), refusal.place))
        })?;
        Ok(self.watch.found.take())
    }

    fn scan(&mut self, mut scan: Scan<'_, '_>) -> Result<(), Refusal> {
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
                scan.blanks();
                let Some(level) = self.levels.last() else {
                    if scan.byte().is_some() {
                        return Err(scan.refusal("characters behind the value"));
                    }
                    scan.flush();
                    return Ok(());
                };
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
                        self.note_found(first, &scan);
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
        let member = Member { key, key_end: scan.at - 1, escaped, start, end: start };
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
        let wanted = self.watch.path.get(self.levels.len() - 1);
        let is_last = wanted.is_some_and(|wanted| {
            self.watch.follow(self.levels.len(), || member.key(scan.text) == *wanted)
        });
        if is_last {
            // Quotes and a colon; a key that is looked for needs no escapes in the output.
            let length = wanted.map_or(0, |wanted| wanted.len() + 3);
            self.watch.member = Some((self.members.len(), length));
        }
        self.members.push(member);
        scan.blanks();
        if scan.byte() != Some(b':') {
            return Err(scan.refusal("expected ':'"));
        }
        scan.at += 1;
        Ok(())
    }

    /// Notes where the value stands that is looked for, if its object is the one that closes here
    fn note_found(&mut self, first: usize, scan: &Scan<'_, '_>) {
        let Some((place, before)) = self.watch.member.filter(|(place, _)| *place >= first) else {
            return;
        };
        if let Some(member) = self.members.get(place) {
            let is_last = place + 1 == self.members.len();
            let end = if is_last { scan.end() } else { member.end };
            self.watch.found = Some(member.start + before..end);
        }
        self.watch.member = None;
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
        // What was found in a member moves with it, once.
        let mut moved = false;
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
            if let Some(found) = &mut self.watch.found
                && (member.start..member.end).contains(&found.start)
                && !moved
            {
                let start = begin + self.moved.len() + (found.start - member.start);
                *found = start..start + found.len();
                moved = true;
            }
            self.moved.push_str(&scan.out[member.start..member.end]);
            before = Some(member);
        }
        scan.out.truncate(begin);
        scan.out.push_str(&self.moved);
        Ok(())
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
            Self::Duplicate(key) => write!(formatter, "duplicate member {key:?}"),
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
        matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t'))
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
            self.at += plain_run(&self.bytes[self.at..]);
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

mod watch;

#[cfg(test)]
mod tests;
