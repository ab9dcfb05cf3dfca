//! The canonical text of a plain value, written while it is read: what nearly every fact is made by.
//!
//! Plain is what feeds send: keys without escapes, strings without codes. Anything else, and whatever is
//! wrong, ends in `None` and is left to [`Canonicalizer`](super::Canonicalizer), which says what it is; what
//! is written here, that would write as well. Bytes are copied in chunks of one size while they are looked
//! at, with what stands behind a run, which is written over next: so no run costs a call. Keys are
//! expected where they were before, see [`Keys`]. Nothing recurses, and all of the grammar is checked.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::keys::{Keys, Place};
use super::plain::{number_end, run_end, stops, word_end};

/// What is looked at and copied at once, the first byte lowest
pub(super) type Chunk = u128;
/// Its bytes
pub(super) const CHUNK: usize = size_of::<Chunk>();
/// How many chunks the strings have that are looked at chunk by chunk
const SHORT: u32 = 6;
/// Room for the text of most facts
const ROOM: usize = 1 << 14;

/// Writes plain values in canonical form, and keeps its buffers between them
#[derive(Clone, Debug)]
pub(super) struct Rewriter {
    most_levels: usize,
    /// What was written, and room behind it
    out: Vec<u8>,
    keys: Keys,
    /// The levels around the innermost one
    levels: Vec<Level>,
    /// The members so far of all objects that are open
    members: Vec<Member>,
    /// The object whose members are put in order, as it came
    moved: Vec<u8>,
    /// Whether there was one
    sorted: bool,
}

/// An open array or object
#[derive(Clone, Copy, Debug)]
struct Level {
    object: bool,
    /// Whether the keys so far came in order
    sorted: bool,
    /// Where the members of the object begin
    first: usize,
    /// Where the next key of the object stands, or the first key of an object in the array
    place: Place,
}

/// A member of an open object
#[derive(Clone, Copy, Debug)]
struct Member {
    /// The order of its key, as far as [`order`] goes
    order: u64,
    /// Where it begins in the output, at the quote of its key
    start: usize,
    /// The bytes of its key
    length: usize,
    /// Where it ends, before the comma; known when it is to be moved
    end: usize,
}

impl Member {
    /// The order of the keys of two members; `text` begins at `from` in the output
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

/// The first eight bytes of a key as a number, with zeroes behind a shorter one, which has none of its own;
/// most keys differ in them
pub(super) fn order(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    first.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(first)
}

/// Why nothing was written
enum Stop {
    /// There is not enough room
    Room,
    /// It is not plain
    Other,
}

impl Rewriter {
    /// One with empty buffers, that takes so many levels of arrays and objects
    pub(super) const fn new(most_levels: usize) -> Self {
        Self {
            most_levels,
            out: Vec::new(),
            keys: Keys::new(),
            levels: Vec::new(),
            members: Vec::new(),
            moved: Vec::new(),
            sorted: false,
        }
    }

    /// The canonical text of the value that begins here in `text`, and where that ends
    ///
    /// A value that ends less than a chunk before the text does is not looked at to its end.
    pub(super) fn rewrite<'a>(
        &'a mut self,
        text: &'a str,
        start: usize,
    ) -> Option<(&'a str, usize)> {
        let (at, end) = loop {
            match self.write(text.as_bytes(), start) {
                Ok(ends) => break ends,
                Err(Stop::Other) => return None,
                Err(Stop::Room) => {
                    // What is written is shorter than the text, so this comes to an end.
                    let room = (4 * self.out.len()).max(ROOM);
                    self.out.resize(room, 0);
                }
            }
        };
        let same = text.get(start..at).filter(|text| !self.sorted && text.len() == end);
        // Where nothing was left out or moved it is the text itself. Runs end at ASCII bytes, so what was
        // written is text again.
        let text = same.or_else(|| str::from_utf8(self.out.get(..end)?).ok())?;
        Some((text, at))
    }

    /// Writes the value that begins here; where it ends in the text and in the output
    fn write(&mut self, text: &[u8], at: usize) -> Result<(usize, usize), Stop> {
        let Self { most_levels, out, keys, levels, members, moved, sorted } = self;
        *sorted = false;
        levels.clear();
        members.clear();
        let mut pen = Pen { text, at, out, end: 0 };
        let mut level = Level { object: false, sorted: true, first: 0, place: Place::START };
        'value: loop {
            pen.blanks();
            match pen.byte()? {
                b'"' => pen.string()?,
                open @ (b'{' | b'[') => {
                    if levels.len() >= *most_levels {
                        return Err(Stop::Other);
                    }
                    pen.put(open)?;
                    pen.blanks();
                    levels.push(level);
                    let place = if level.object { level.place.inside() } else { level.place };
                    let object = open == b'{';
                    level = Level { object, sorted: true, first: members.len(), place };
                    match (pen.byte()?, object) {
                        (b'}', true) | (b']', false) => {}
                        (_, true) => {
                            pen.key(keys, &mut level, members)?;
                            continue 'value;
                        }
                        (_, false) => continue 'value,
                    }
                }
                b'-' | b'0'..=b'9' => pen.number()?,
                b't' => pen.word(b"true")?,
                b'f' => pen.word(b"false")?,
                b'n' => pen.word(b"null")?,
                _ => return Err(Stop::Other),
            }
            // A value has ended, or its end is next: go on in what is around it.
            loop {
                let Some(outer) = levels.last() else { return Ok((pen.at, pen.end)) };
                pen.blanks();
                match (pen.byte()?, level.object) {
                    (b',', true) => {
                        pen.put(b',')?;
                        pen.blanks();
                        pen.key(keys, &mut level, members)?;
                        continue 'value;
                    }
                    (b',', false) => {
                        pen.put(b',')?;
                        continue 'value;
                    }
                    (b'}', true) => {
                        if !level.sorted {
                            *sorted = true;
                            sort(members, level.first, pen.out, pen.end, moved)
                                .ok_or(Stop::Other)?;
                        }
                        members.truncate(level.first);
                        pen.put(b'}')?;
                    }
                    (b']', false) => pen.put(b']')?,
                    _ => return Err(Stop::Other),
                }
                level = *outer;
                levels.pop();
            }
        }
    }
}

/// Puts the members of an object in order, in the output that ends with the last of them
fn sort(
    members: &mut [Member],
    first: usize,
    out: &mut [u8],
    end: usize,
    moved: &mut Vec<u8>,
) -> Option<()> {
    let members = members.get_mut(first..)?;
    let begin = members.first()?.start;
    let mut next = end + 1;
    for member in members.iter_mut().rev() {
        member.end = next - 1;
        next = member.start;
    }
    moved.clear();
    moved.extend_from_slice(out.get(begin..end)?);
    members.sort_unstable_by(|left, right| left.compare(right, moved, begin));
    let twice = |pair: &[Member]| match pair {
        [left, right] => left.compare(right, moved, begin) == Ordering::Equal,
        _ => false,
    };
    if members.windows(2).any(twice) {
        return None;
    }
    let mut place = begin;
    for member in members {
        if place != begin {
            *out.get_mut(place)? = b',';
            place += 1;
        }
        let text = moved.get(member.start - begin..member.end - begin)?;
        out.get_mut(place..place + text.len())?.copy_from_slice(text);
        place += text.len();
    }
    Some(())
}

/// A place in the text, and the place in the output where it is written
///
/// All that is done with it is inlined, and what is not is handed what it needs: so both places stay in
/// registers, for which each step waits.
struct Pen<'t, 'o> {
    text: &'t [u8],
    at: usize,
    out: &'o mut [u8],
    end: usize,
}

impl Pen<'_, '_> {
    #[inline(always)]
    fn byte(&self) -> Result<u8, Stop> {
        self.text.get(self.at).copied().ok_or(Stop::Other)
    }

    #[inline(always)]
    fn blanks(&mut self) {
        // One comparison for what is most often there.
        while let Some(byte) = self.text.get(self.at)
            && *byte <= b' '
            && matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
        {
            self.at += 1;
        }
    }

    /// The chunk that begins here: as a number, or compilers put it together byte by byte
    #[inline(always)]
    fn chunk(&self) -> Result<Chunk, Stop> {
        let chunk = self.text.get(self.at..self.at + CHUNK).and_then(<[u8]>::first_chunk);
        chunk.map(|chunk| Chunk::from_le_bytes(*chunk)).ok_or(Stop::Other)
    }

    /// Writes a chunk, of which so many bytes count
    #[inline(always)]
    fn show(&mut self, chunk: Chunk, length: usize) -> Result<(), Stop> {
        let room = self.out.get_mut(self.end..self.end + CHUNK);
        *room.and_then(<[u8]>::first_chunk_mut).ok_or(Stop::Room)? = chunk.to_le_bytes();
        self.at += length;
        self.end += length;
        Ok(())
    }

    /// Copies the byte that stands here
    #[inline(always)]
    fn put(&mut self, byte: u8) -> Result<(), Stop> {
        *self.out.get_mut(self.end).ok_or(Stop::Room)? = byte;
        self.at += 1;
        self.end += 1;
        Ok(())
    }

    /// Copies the string whose quote stands here
    #[inline(always)]
    fn string(&mut self) -> Result<(), Stop> {
        self.put(b'"')?;
        let mut left = SHORT;
        loop {
            let chunk = self.chunk()?;
            let (first, second) = (stops(chunk as u64), stops((chunk >> 64) as u64));
            if first | second == 0 {
                self.show(chunk, CHUNK)?;
                left -= 1;
                if left > 0 {
                    continue;
                }
                self.copy(run_end(self.text, self.at))?;
                left = SHORT;
            } else {
                self.show(chunk, first_marked(first, second))?;
            }
            match self.byte()? {
                b'"' => return self.put(b'"'),
                b'\\' => self.copy(escape_end(self.text, self.at).ok_or(Stop::Other)?)?,
                _ => return Err(Stop::Other),
            }
        }
    }

    /// Copies the key that begins here, with its colon
    #[inline(always)]
    fn key(
        &mut self,
        keys: &mut Keys,
        level: &mut Level,
        members: &mut Vec<Member>,
    ) -> Result<(), Stop> {
        let start = self.end;
        let chunk = self.chunk()?;
        let Some(known) = keys.known(level.place, chunk, self.text, self.at) else {
            return self.new_key(keys, level, members);
        };
        let length = known.length();
        level.sorted &= known.is_behind();
        level.place = known.next();
        members.push(Member { order: known.order(), start, length: length - 3, end: 0 });
        if length <= CHUNK {
            return self.show(chunk, length);
        }
        self.copy(self.at + length)
    }

    /// Copies a key that was not expected
    #[inline(always)]
    fn new_key(
        &mut self,
        keys: &mut Keys,
        level: &mut Level,
        members: &mut Vec<Member>,
    ) -> Result<(), Stop> {
        let start = self.end;
        let length = key_length(self.text, self.at).ok_or(Stop::Other)?;
        self.copy(self.at + length + 2)?;
        self.blanks();
        if self.byte()? != b':' {
            return Err(Stop::Other);
        }
        self.put(b':')?;
        let before = members.get(level.first..).unwrap_or_default().last().copied();
        let member = new_member(start, length, before, self.out, keys, level);
        members.push(member.ok_or(Stop::Other)?);
        Ok(())
    }

    /// Copies the number that begins here
    #[inline(always)]
    fn number(&mut self) -> Result<(), Stop> {
        let chunk = self.chunk()?;
        let length = digits_in(chunk);
        // Most are whole and short; a zero has no digit behind it.
        let is_whole = length < CHUNK
            && !matches!(self.text.get(self.at + length), None | Some(b'.' | b'e' | b'E'));
        if is_whole && (length == 1 || length > 1 && chunk as u8 != b'0') {
            return self.show(chunk, length);
        }
        self.copy(number_end(self.text, self.at).ok_or(Stop::Other)?)
    }

    #[inline(always)]
    fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        self.copy(word_end(self.text, self.at, word).ok_or(Stop::Other)?)
    }

    /// Copies what stands before this place
    #[inline(always)]
    fn copy(&mut self, end: usize) -> Result<(), Stop> {
        let text = self.text.get(self.at..end).ok_or(Stop::Other)?;
        copy(text, self.out, self.end).ok_or(Stop::Room)?;
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

/// Behind the escape that begins here, if it stays what it is: a code only if its character has no other
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

/// The bytes of the key that begins here at its quote
#[inline(never)]
fn key_length(text: &[u8], at: usize) -> Option<usize> {
    let key = text.get(at..)?.strip_prefix(b"\"")?;
    let length = run_end(key, 0);
    (*key.get(length)? == b'"').then_some(length)
}

/// What is known of the key that was written here, in the level whose last member was `before`; none if it
/// is the same as that one's
#[inline(never)]
fn new_member(
    start: usize,
    length: usize,
    before: Option<Member>,
    out: &[u8],
    keys: &mut Keys,
    level: &mut Level,
) -> Option<Member> {
    let key = out.get(start + 1..)?.get(..length)?;
    let member = Member { order: order(key), start, length, end: 0 };
    let order = before.map_or(Ordering::Less, |before| before.compare(&member, out, 0));
    if order == Ordering::Equal {
        return None;
    }
    level.sorted &= order == Ordering::Less;
    level.place = keys.learn(level.place, key, order == Ordering::Less);
    Some(member)
}

/// How many decimal digits a chunk begins with
#[inline(always)]
const fn digits_in(chunk: Chunk) -> usize {
    first_marked(no_digits(chunk as u64), no_digits((chunk >> 64) as u64))
}

/// The top bit of each byte that is no decimal digit
#[inline(always)]
const fn no_digits(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // With 0x30 turned over a digit is below 10, so that adding 0x76 leaves its top bit as it is.
    let word = word ^ (ONES * 0x30);
    (((word & (ONES * 0x7f)) + ONES * 0x76) | word) & (ONES * 0x80)
}

/// How many bytes stand before the first whose top bit is set, of those of two words
#[inline(always)]
const fn first_marked(first: u64, second: u64) -> usize {
    // Without a branch for the second, which nobody could foretell; a word of zeroes has 64 of them.
    let behind = 64 + second.trailing_zeros();
    (if first == 0 { behind } else { first.trailing_zeros() }) as usize / 8
}
