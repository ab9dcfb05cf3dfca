//! The keys that objects had before, by the place where they stood.
//!
//! The facts of a block look alike: behind a key in an object nearly always comes the one that came there
//! last time. So a key is compared with what is known of its place before it is looked at byte by byte,
//! and whether it is in order was found out once. What is kept is bounded whatever comes in; a key beyond
//! the bounds is not known, and nothing else follows from that.

use alloc::vec::Vec;

use super::rewrite::{CHUNK, Chunk, order};

/// The most keys that are kept: far more than the facts of a block have
const MOST: usize = 1024;
/// The most keys that are kept for one place, each of which is compared
const MOST_AT_PLACE: usize = 16;
/// The most bytes of a key that is kept, with its quotes and its colon
const LONGEST: usize = 48;

/// Where a key stands: behind another one in an object, or first in the object that is its value
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place(usize);

impl Place {
    /// Before everything
    pub(super) const START: Self = Self(1);
    /// Behind a key that is not kept
    const NOWHERE: Self = Self(2);

    /// Behind the key of this number
    const fn behind(key: usize) -> Self {
        Self(2 * key)
    }

    /// First in the object that is the value of the key before this place
    #[inline]
    pub(super) const fn inside(self) -> Self {
        Self(self.0 | 1)
    }
}

/// A key that is kept
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// The first of its bytes as a number, with its quotes and its colon
    first: Chunk,
    /// The bits of that number that are the key's
    mask: Chunk,
    text: [u8; LONGEST],
    length: usize,
    order: u64,
    is_behind: bool,
    /// Its own number
    number: usize,
    /// The number of another key that was seen in its place, or zero
    other: usize,
}

impl Key {
    /// Its bytes, with its quotes and its colon
    #[inline]
    pub(super) const fn length(&self) -> usize {
        self.length
    }

    /// See [`order`]
    #[inline]
    pub(super) const fn order(&self) -> u64 {
        self.order
    }

    /// Whether it is behind the key before it, if there is one
    #[inline]
    pub(super) const fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Where the next key stands
    #[inline]
    pub(super) const fn next(&self) -> Place {
        Place::behind(self.number)
    }
}

/// The keys by their places
#[derive(Clone, Debug)]
pub(super) struct Keys {
    keys: Vec<Key>,
    /// The number of the first key that was seen at a place, or zero
    places: Vec<usize>,
}

/// The numbers that no key has: nothing, and what is not kept
const RESERVED: usize = 2;

impl Keys {
    /// No keys
    pub(super) const fn new() -> Self {
        Self { keys: Vec::new(), places: Vec::new() }
    }

    /// The key that begins here in the text with this chunk, if it is one that was seen at this place
    #[inline(always)]
    pub(super) fn known(&self, place: Place, chunk: Chunk, text: &[u8], at: usize) -> Option<&Key> {
        let mut number = *self.places.get(place.0)?;
        loop {
            let key = self.keys.get(number.wrapping_sub(RESERVED))?;
            if (chunk ^ key.first) & key.mask == 0
                && (key.length <= CHUNK
                    || text.get(at + CHUNK..at + key.length) == key.text.get(CHUNK..key.length))
            {
                return Some(key);
            }
            number = key.other;
        }
    }

    /// Keeps a key that was seen at a place, and says what is behind it
    pub(super) fn learn(&mut self, place: Place, key: &[u8], is_behind: bool) -> Place {
        let length = key.len() + 3;
        let number = self.keys.len() + RESERVED;
        if place.0 | 1 == Place::NOWHERE.0 | 1 || length > LONGEST || number > MOST {
            return Place::NOWHERE;
        }
        let mut text = [0; LONGEST];
        let quoted = [&b"\""[..], key, b"\":"];
        text.iter_mut().zip(quoted.into_iter().flatten()).for_each(|(to, from)| *to = *from);
        let Some(first) = text.first_chunk().map(|first| Chunk::from_le_bytes(*first)) else {
            return Place::NOWHERE;
        };
        let mask = Chunk::MAX >> (8 * CHUNK.saturating_sub(length));
        self.places.resize(2 * (number + 1), 0);
        // The last key of the place, which the new one goes behind.
        let mut last = None;
        let mut other = self.places.get(place.0).copied().unwrap_or_default();
        for _ in 0..MOST_AT_PLACE {
            let index = other.wrapping_sub(RESERVED);
            let Some(known) = self.keys.get(index) else {
                let order = order(key);
                self.keys.push(Key {
                    first,
                    mask,
                    text,
                    length,
                    order,
                    is_behind,
                    number,
                    other: 0,
                });
                let link = match last {
                    None => self.places.get_mut(place.0),
                    Some(last) => self.keys.get_mut(last).map(|key: &mut Key| &mut key.other),
                };
                link.into_iter().for_each(|link| *link = number);
                return Place::behind(number);
            };
            if known.text == text {
                return known.next();
            }
            last = Some(index);
            other = known.other;
        }
        Place::NOWHERE
    }
}
