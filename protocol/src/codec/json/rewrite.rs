//! Fast path of the canonicalizer: writes the canonical text of a plain value while reading it.
//!
//! "Plain" is what feeds send: keys without escapes, and no `\u` escape that has a shorter form.
//! For anything else, and for any error, the result is `None`, and
//! [`Canonicalizer`](super::Canonicalizer) does the work; both write the same text. Bytes are
//! copied in chunks of a fixed size while they are inspected; what a chunk copies beyond the end of
//! a run is overwritten next. Keys are predicted, see [`KeyPredictor`]. Nothing recurses.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::borrowed::{number_end, run_end, stops, word_end};
use super::key_predictor::{KeyPredictor, KeySlot};

/// Bytes that are inspected and copied at once, the first byte lowest
pub(super) type Chunk = u128;
/// The size of a chunk in bytes
pub(super) const CHUNK: usize = size_of::<Chunk>();
/// Chunks of a string after which the rest is copied in bulk
const SHORT_CHUNKS: u32 = 6;
/// Initial size of the output in bytes; the text of most transactions, receipts and outcomes fits
const MIN_CAPACITY: usize = 1 << 14;

/// Writes plain values in canonical form and reuses its buffers
#[derive(Clone, Debug)]
pub(super) struct Rewriter {
    max_depth: usize,
    /// The written text, followed by unused space
    out: Vec<u8>,
    keys: KeyPredictor,
    /// The levels around the innermost one
    levels: Vec<Level>,
    /// The members so far of all open objects
    members: Vec<Member>,
    /// A copy of the object whose members are being sorted
    scratch: Vec<u8>,
    /// Whether members of any object were reordered
    reordered: bool,
}

/// An open array or object
#[derive(Clone, Copy, Debug)]
struct Level {
    object: bool,
    /// Whether the keys so far are in order
    sorted: bool,
    /// Index of the object's first member
    first: usize,
    /// Slot of the object's next key, or of the first key of an object in the array
    slot: KeySlot,
}

/// A member of an open object
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Sort key of the name, see [`order`]
    order: u64,
    /// Offset in the output, at the quote of the key
    start: usize,
    /// Length of the key in bytes
    length: usize,
    /// Offset of its end, before the comma; set when members are sorted
    end: usize,
}

impl Member {
    /// Compares the keys of two members; `text` is the output from offset `from` on
    fn compare(&self, other: &Self, text: &[u8], from: usize) -> Ordering {
        self.order.cmp(&other.order).then_with(|| {
            let key = |member: &Self| {
                let start = member.start - from + 1;
                text.get(start..start + member.length)
            };
            key(self).cmp(&key(other))
        })
    }
}

/// The first eight bytes of a key as a big-endian number, padded with zeroes, which no key contains
pub(super) fn order(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    first.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(first)
}

/// Why nothing was written
enum Stop {
    /// The output buffer is full
    BufferFull,
    /// The text is not plain, or it is malformed
    Unsupported,
}

impl Rewriter {
    /// A rewriter with empty buffers and a limit of `max_depth` levels
    pub(super) const fn new(max_depth: usize) -> Self {
        Self {
            max_depth,
            out: Vec::new(),
            keys: KeyPredictor::new(),
            levels: Vec::new(),
            members: Vec::new(),
            scratch: Vec::new(),
            reordered: false,
        }
    }

    /// Writes the value that starts at `start`; returns its canonical text and its end
    ///
    /// A value that ends less than a chunk before the end of the text is not supported.
    pub(super) fn rewrite<'a>(
        &'a mut self,
        text: &'a str,
        start: usize,
    ) -> Option<(&'a str, usize)> {
        let (at, end) = loop {
            match self.write(text.as_bytes(), start) {
                Ok(ends) => break ends,
                Err(Stop::Unsupported) => return None,
                Err(Stop::BufferFull) => {
                    // The output is no longer than the text, so the loop ends.
                    let capacity = (4 * self.out.len()).max(MIN_CAPACITY);
                    self.out.resize(capacity, 0);
                }
            }
        };
        let same = text.get(start..at).filter(|text| !self.reordered && text.len() == end);
        // If nothing was left out or moved, the text itself is canonical. Runs end at ASCII bytes,
        // so the output is valid UTF-8.
        let text = same.or_else(|| str::from_utf8(self.out.get(..end)?).ok())?;
        Some((text, at))
    }

    /// Writes the value that starts at `at`; returns its end in the text and in the output
    fn write(&mut self, text: &[u8], at: usize) -> Result<(usize, usize), Stop> {
        let Self { max_depth, out, keys, levels, members, scratch, reordered } = self;
        *reordered = false;
        levels.clear();
        members.clear();
        let mut writer = Writer { text, at, out, end: 0 };
        let mut level = Level { object: false, sorted: true, first: 0, slot: KeySlot::START };
        'value: loop {
            writer.skip_whitespace();
            match writer.byte()? {
                b'"' => writer.string()?,
                open @ (b'{' | b'[') => {
                    if levels.len() >= *max_depth {
                        return Err(Stop::Unsupported);
                    }
                    writer.copy_byte(open)?;
                    writer.skip_whitespace();
                    levels.push(level);
                    let slot = if level.object { level.slot.inside() } else { level.slot };
                    let object = open == b'{';
                    level = Level { object, sorted: true, first: members.len(), slot };
                    match (writer.byte()?, object) {
                        (b'}', true) | (b']', false) => {}
                        (_, true) => {
                            writer.key(keys, &mut level, members)?;
                            continue 'value;
                        }
                        (_, false) => continue 'value,
                    }
                }
                b'-' | b'0'..=b'9' => writer.number()?,
                b't' => writer.word(b"true")?,
                b'f' => writer.word(b"false")?,
                b'n' => writer.word(b"null")?,
                _ => return Err(Stop::Unsupported),
            }
            // A value has ended, or its closing bracket is next.
            loop {
                let Some(outer) = levels.last() else { return Ok((writer.at, writer.end)) };
                writer.skip_whitespace();
                match (writer.byte()?, level.object) {
                    (b',', true) => {
                        writer.copy_byte(b',')?;
                        writer.skip_whitespace();
                        writer.key(keys, &mut level, members)?;
                        continue 'value;
                    }
                    (b',', false) => {
                        writer.copy_byte(b',')?;
                        continue 'value;
                    }
                    (b'}', true) => {
                        if !level.sorted {
                            *reordered = true;
                            sort(members, level.first, writer.out, writer.end, scratch)
                                .ok_or(Stop::Unsupported)?;
                        }
                        members.truncate(level.first);
                        writer.copy_byte(b'}')?;
                    }
                    (b']', false) => writer.copy_byte(b']')?,
                    _ => return Err(Stop::Unsupported),
                }
                level = *outer;
                levels.pop();
            }
        }
    }
}

/// Sorts the members of an object in the output, whose last member ends at `end`
fn sort(
    members: &mut [Member],
    first: usize,
    out: &mut [u8],
    end: usize,
    scratch: &mut Vec<u8>,
) -> Option<()> {
    let members = members.get_mut(first..)?;
    let begin = members.first()?.start;
    let mut next = end + 1;
    for member in members.iter_mut().rev() {
        member.end = next - 1;
        next = member.start;
    }
    scratch.clear();
    scratch.extend_from_slice(out.get(begin..end)?);
    members.sort_unstable_by(|left, right| left.compare(right, scratch, begin));
    let is_duplicate = |pair: &[Member]| match pair {
        [left, right] => left.compare(right, scratch, begin) == Ordering::Equal,
        _ => false,
    };
    if members.windows(2).any(is_duplicate) {
        return None;
    }
    let mut at = begin;
    for member in members {
        if at != begin {
            *out.get_mut(at)? = b',';
            at += 1;
        }
        let text = scratch.get(member.start - begin..member.end - begin)?;
        out.get_mut(at..at + text.len())?.copy_from_slice(text);
        at += text.len();
    }
    Some(())
}

/// A position in the text and the end of the output
///
/// All methods are inlined, and functions that are not get only what they need: so both positions
/// stay in registers, which every step depends on.
struct Writer<'t, 'o> {
    text: &'t [u8],
    at: usize,
    out: &'o mut [u8],
    end: usize,
}

impl Writer<'_, '_> {
    #[inline(always)]
    fn byte(&self) -> Result<u8, Stop> {
        self.text.get(self.at).copied().ok_or(Stop::Unsupported)
    }

    #[inline(always)]
    fn skip_whitespace(&mut self) {
        // One comparison in the common case of no whitespace.
        while let Some(byte) = self.text.get(self.at)
            && *byte <= b' '
            && matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
        {
            self.at += 1;
        }
    }

    /// The chunk here; read as a number, because compilers would assemble it byte by byte
    #[inline(always)]
    fn chunk(&self) -> Result<Chunk, Stop> {
        let chunk = self.text.get(self.at..self.at + CHUNK).and_then(<[u8]>::first_chunk);
        chunk.map(|chunk| Chunk::from_le_bytes(*chunk)).ok_or(Stop::Unsupported)
    }

    /// Copies a chunk, of which `length` bytes count
    #[inline(always)]
    fn copy_chunk(&mut self, chunk: Chunk, length: usize) -> Result<(), Stop> {
        let target = self.out.get_mut(self.end..self.end + CHUNK);
        *target.and_then(<[u8]>::first_chunk_mut).ok_or(Stop::BufferFull)? = chunk.to_le_bytes();
        self.at += length;
        self.end += length;
        Ok(())
    }

    /// Copies the byte here
    #[inline(always)]
    fn copy_byte(&mut self, byte: u8) -> Result<(), Stop> {
        *self.out.get_mut(self.end).ok_or(Stop::BufferFull)? = byte;
        self.at += 1;
        self.end += 1;
        Ok(())
    }

    /// Copies the string whose opening quote is here
    #[inline(always)]
    fn string(&mut self) -> Result<(), Stop> {
        self.copy_byte(b'"')?;
        let mut left = SHORT_CHUNKS;
        loop {
            let chunk = self.chunk()?;
            let (first, second) = (stops(chunk as u64), stops((chunk >> 64) as u64));
            if first | second == 0 {
                self.copy_chunk(chunk, CHUNK)?;
                left -= 1;
                if left > 0 {
                    continue;
                }
                self.copy(run_end(self.text, self.at))?;
                left = SHORT_CHUNKS;
            } else {
                self.copy_chunk(chunk, first_marked(first, second))?;
            }
            match self.byte()? {
                b'"' => return self.copy_byte(b'"'),
                b'\\' => self.copy(escape_end(self.text, self.at).ok_or(Stop::Unsupported)?)?,
                _ => return Err(Stop::Unsupported),
            }
        }
    }

    /// Copies the key here, with its colon
    #[inline(always)]
    fn key(
        &mut self,
        keys: &mut KeyPredictor,
        level: &mut Level,
        members: &mut Vec<Member>,
    ) -> Result<(), Stop> {
        let start = self.end;
        let chunk = self.chunk()?;
        let Some(known) = keys.predict(level.slot, chunk, self.text, self.at) else {
            return self.new_key(keys, level, members);
        };
        let length = known.length();
        level.sorted &= known.is_ascending();
        level.slot = known.next();
        members.push(Member { order: known.order(), start, length: length - 3, end: 0 });
        if length <= CHUNK {
            return self.copy_chunk(chunk, length);
        }
        self.copy(self.at + length)
    }

    /// Copies a key that was not predicted
    #[inline(always)]
    fn new_key(
        &mut self,
        keys: &mut KeyPredictor,
        level: &mut Level,
        members: &mut Vec<Member>,
    ) -> Result<(), Stop> {
        let start = self.end;
        let length = key_length(self.text, self.at).ok_or(Stop::Unsupported)?;
        self.copy(self.at + length + 2)?;
        self.skip_whitespace();
        if self.byte()? != b':' {
            return Err(Stop::Unsupported);
        }
        self.copy_byte(b':')?;
        let before = members.get(level.first..).unwrap_or_default().last().copied();
        let member = new_member(start, length, before, self.out, keys, level);
        members.push(member.ok_or(Stop::Unsupported)?);
        Ok(())
    }

    /// Copies the number here
    #[inline(always)]
    fn number(&mut self) -> Result<(), Stop> {
        let chunk = self.chunk()?;
        let length = digits_in(chunk);
        // Most numbers are short integers; no digit may follow a zero.
        let is_whole = length < CHUNK
            && !matches!(self.text.get(self.at + length), None | Some(b'.' | b'e' | b'E'));
        if is_whole && (length == 1 || length > 1 && chunk as u8 != b'0') {
            return self.copy_chunk(chunk, length);
        }
        self.copy(number_end(self.text, self.at).ok_or(Stop::Unsupported)?)
    }

    #[inline(always)]
    fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        self.copy(word_end(self.text, self.at, word).ok_or(Stop::Unsupported)?)
    }

    /// Copies the text up to `end`
    #[inline(always)]
    fn copy(&mut self, end: usize) -> Result<(), Stop> {
        let text = self.text.get(self.at..end).ok_or(Stop::Unsupported)?;
        copy(text, self.out, self.end).ok_or(Stop::BufferFull)?;
        self.at += text.len();
        self.end += text.len();
        Ok(())
    }
}

#[inline(never)]
fn copy(text: &[u8], out: &mut [u8], end: usize) -> Option<()> {
    out.get_mut(end..)?.get_mut(..text.len())?.copy_from_slice(text);
    Some(())
}

/// The end of the escape here if it is canonical: `\u` only for a character without a short escape
fn escape_end(text: &[u8], at: usize) -> Option<usize> {
    let length = match text.get(at + 1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
        b'u' => match text.get(at + 2..at + 6)? {
            [b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f']
            | [b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f'] => 6,
            _ => return None,
        },
        _ => return None,
    };
    Some(at + length)
}

/// The length of the key whose opening quote is here
#[inline(never)]
fn key_length(text: &[u8], at: usize) -> Option<usize> {
    let key = text.get(at..)?.strip_prefix(b"\"")?;
    let length = run_end(key, 0);
    (*key.get(length)? == b'"').then_some(length)
}

/// The member whose key was just written, in the level whose last member is `before`; `None` if
/// both keys are equal
#[inline(never)]
fn new_member(
    start: usize,
    length: usize,
    before: Option<Member>,
    out: &[u8],
    keys: &mut KeyPredictor,
    level: &mut Level,
) -> Option<Member> {
    let key = out.get(start + 1..)?.get(..length)?;
    let member = Member { order: order(key), start, length, end: 0 };
    let order = before.map_or(Ordering::Less, |before| before.compare(&member, out, 0));
    if order == Ordering::Equal {
        return None;
    }
    level.sorted &= order == Ordering::Less;
    level.slot = keys.observe(level.slot, key, order == Ordering::Less);
    Some(member)
}

/// The number of decimal digits that a chunk begins with
#[inline(always)]
const fn digits_in(chunk: Chunk) -> usize {
    first_marked(non_digits(chunk as u64), non_digits((chunk >> 64) as u64))
}

/// Sets the top bit of each byte that is not a decimal digit
#[inline(always)]
const fn non_digits(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // XOR with 0x30 maps a digit below 10, so that adding 0x76 leaves its top bit clear.
    let word = word ^ (ONES * 0x30);
    (((word & (ONES * 0x7f)) + ONES * 0x76) | word) & (ONES * 0x80)
}

/// The number of bytes before the first whose top bit is set, in two words
#[inline(always)]
const fn first_marked(first: u64, second: u64) -> usize {
    // No branch for the second word, which would be mispredicted; a zero word has 64 zeroes.
    let in_second = 64 + second.trailing_zeros();
    (if first == 0 { in_second } else { first.trailing_zeros() }) as usize / 8
}
