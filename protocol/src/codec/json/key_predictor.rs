//! Predicts the next key of an object from the keys that were seen in the same slot before.
//!
//! The values in a block are alike: after a key nearly always comes the key that came after it last
//! time. So a key is first compared with those known for its slot, whose order relative to the
//! previous key is known too. Memory is bounded for any input; a key beyond the bounds is not
//! tracked and is read byte by byte.

use alloc::vec::Vec;

use super::rewrite::{CHUNK, Chunk, order};

/// Maximum number of tracked keys: far more than the values in a block have
const MAX_KEYS: usize = 1024;
/// Maximum number of keys tracked for one slot, which are compared in turn
const MAX_KEYS_PER_SLOT: usize = 16;
/// Maximum length of a tracked key in bytes, with its quotes and its colon
const MAX_LEN: usize = 48;

/// Where a key is: after another key of its object, or first in the object that is that key's value
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct KeySlot(usize);

impl KeySlot {
    /// The start of a text
    pub(super) const START: Self = Self(1);
    /// After a key that is not tracked
    const UNTRACKED: Self = Self(2);

    /// After the key with this number
    const fn after(key: usize) -> Self {
        Self(2 * key)
    }

    /// First in the object that is the value of the key before this slot
    #[inline]
    pub(super) const fn inside(self) -> Self {
        Self(self.0 | 1)
    }
}

/// A tracked key
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// Its first bytes, with the opening quote, as a number
    first: Chunk,
    /// The bits of that number that belong to the key
    mask: Chunk,
    text: [u8; MAX_LEN],
    length: usize,
    order: u64,
    is_ascending: bool,
    /// The number of this key
    number: usize,
    /// The number of another key seen in the same slot, or zero
    alternative: usize,
}

impl Key {
    /// Its length in bytes, with its quotes and its colon
    #[inline]
    pub(super) const fn length(&self) -> usize {
        self.length
    }

    /// See [`order`]
    #[inline]
    pub(super) const fn order(&self) -> u64 {
        self.order
    }

    /// Whether it sorts after the previous key of its object, if there is one
    #[inline]
    pub(super) const fn is_ascending(&self) -> bool {
        self.is_ascending
    }

    /// The slot after this key
    #[inline]
    pub(super) const fn next(&self) -> KeySlot {
        KeySlot::after(self.number)
    }
}

/// The tracked keys, by slot
#[derive(Clone, Debug)]
pub(super) struct KeyPredictor {
    keys: Vec<Key>,
    /// For each slot the number of the first key that was seen there, or zero
    slots: Vec<usize>,
}

/// Numbers that no key has: zero for none, one for untracked keys
const RESERVED: usize = 2;

impl KeyPredictor {
    /// A predictor without keys
    pub(super) const fn new() -> Self {
        Self { keys: Vec::new(), slots: Vec::new() }
    }

    /// The key at offset `at` of the text, if it was seen in this slot; `chunk` is the text there
    #[inline(always)]
    pub(super) fn predict(
        &self,
        slot: KeySlot,
        chunk: Chunk,
        text: &[u8],
        at: usize,
    ) -> Option<&Key> {
        let mut number = *self.slots.get(slot.0)?;
        loop {
            let key = self.keys.get(number.wrapping_sub(RESERVED))?;
            if (chunk ^ key.first) & key.mask == 0
                && (key.length <= CHUNK
                    || text.get(at + CHUNK..at + key.length) == key.text.get(CHUNK..key.length))
            {
                return Some(key);
            }
            number = key.alternative;
        }
    }

    /// Tracks a key that was seen in a slot; returns the slot after it
    pub(super) fn observe(&mut self, slot: KeySlot, key: &[u8], is_ascending: bool) -> KeySlot {
        let length = key.len() + 3;
        let number = self.keys.len() + RESERVED;
        if slot.0 | 1 == KeySlot::UNTRACKED.0 | 1 || length > MAX_LEN || number > MAX_KEYS {
            return KeySlot::UNTRACKED;
        }
        let mut text = [0; MAX_LEN];
        let quoted = [&b"\""[..], key, b"\":"];
        text.iter_mut().zip(quoted.into_iter().flatten()).for_each(|(to, from)| *to = *from);
        let Some(first) = text.first_chunk().map(|first| Chunk::from_le_bytes(*first)) else {
            return KeySlot::UNTRACKED;
        };
        let mask = Chunk::MAX >> (8 * CHUNK.saturating_sub(length));
        self.slots.resize(2 * (number + 1), 0);
        // The last key of the slot, which the new one is linked to.
        let mut last = None;
        let mut alternative = self.slots.get(slot.0).copied().unwrap_or_default();
        for _ in 0..MAX_KEYS_PER_SLOT {
            let index = alternative.wrapping_sub(RESERVED);
            let Some(known) = self.keys.get(index) else {
                let order = order(key);
                self.keys.push(Key {
                    first,
                    mask,
                    text,
                    length,
                    order,
                    is_ascending,
                    number,
                    alternative: 0,
                });
                let link = match last {
                    None => self.slots.get_mut(slot.0),
                    Some(last) => self.keys.get_mut(last).map(|key: &mut Key| &mut key.alternative),
                };
                link.into_iter().for_each(|link| *link = number);
                return KeySlot::after(number);
            };
            if known.text == text {
                return known.next();
            }
            last = Some(index);
            alternative = known.alternative;
        }
        KeySlot::UNTRACKED
    }
}
