//! Who sleeps on which fact.
//!
//! Those who sleep on one fact are a list, and a table finds its first by the fact. Lists run both
//! ways through the sleepers themselves, so that one who leaves pays for itself alone. Clients
//! choose the hashes they ask about, so the table mixes in a seed that they cannot know: without it,
//! ids made to collide would turn every look into a search. Says nothing of requests and time.

use alloc::collections::BTreeMap;
use core::mem;

use hashbrown::HashTable;

use super::pages::{NIL, Pages};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::status::Blocker;

/// One fact that one request sleeps on
#[derive(Debug)]
struct Sleeper {
    blocker: Blocker,
    request: u32,
    /// Neighbours among those who sleep on the same fact
    previous: u32,
    next: u32,
}

/// All sleepers
#[derive(Debug)]
pub(super) struct Sleepers {
    pages: Pages<Sleeper>,
    /// The first sleeper of each fact that has an id
    by_id: HashTable<u32>,
    /// The first sleeper of each height that is to become final
    by_height: BTreeMap<BlockHeight, u32>,
    /// The first sleeper of those that any block wakes
    by_anything: u32,
    mixer: Mixer,
}

/// Where the first sleeper of a fact is kept
enum Bed {
    Id(CryptoHash),
    Height(BlockHeight),
    Anything,
}

const fn bed(blocker: &Blocker) -> Bed {
    match blocker {
        Blocker::Inclusion(id) | Blocker::Outcome(id) | Blocker::OutcomeOrRefund(id) => {
            Bed::Id(*id)
        }
        Blocker::Finality(height) => Bed::Height(*height),
        Blocker::Anything => Bed::Anything,
    }
}

/// Hashes ids under keys made of the seed
///
/// Pairs of words are multiplied into 128 bits that are folded into 64. Every factor hides behind a
/// key of its own, or one could be made zero and hide its neighbour; without the seed nobody can
/// say which ids come out alike.
#[derive(Clone, Copy, Debug)]
struct Mixer([u64; 6]);

impl Mixer {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        // SplitMix64 (Steele, Lea, Flood 2014): neighbouring seeds give unlike keys.
        Self([0; 6].map(|_: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        }))
    }

    fn hash(&self, id: &CryptoHash) -> u64 {
        let fold = |left: u64, right: u64| {
            let product = u128::from(left) * u128::from(right);
            product as u64 ^ (product >> 64) as u64
        };
        let keys = &self.0;
        let (words, _) = id.as_bytes().as_chunks::<8>();
        let [a, b, c, d] = [0, 1, 2, 3].map(|word: usize| {
            words.get(word).map_or(0, |bytes| u64::from_le_bytes(*bytes)) ^ keys[word]
        });
        fold(fold(a, b) ^ keys[4], fold(c, d) ^ keys[5])
    }

    /// The hash of the id that the first sleeper of a list sleeps on
    fn hash_of(&self, pages: &Pages<Sleeper>, first: u32) -> u64 {
        match pages.at(first).map(|sleeper| bed(&sleeper.blocker)) {
            Some(Bed::Id(id)) => self.hash(&id),
            // The table holds none but sleepers with an id.
            _ => 0,
        }
    }
}

impl Sleepers {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            pages: Pages::new(),
            by_id: HashTable::new(),
            by_height: BTreeMap::new(),
            by_anything: NIL,
            mixer: Mixer::new(seed),
        }
    }

    /// Lets a request sleep on a fact
    pub(super) fn add(&mut self, blocker: Blocker, request: u32) -> u32 {
        let number = self.pages.add(Sleeper { blocker, request, previous: NIL, next: NIL });
        let next = match bed(&blocker) {
            Bed::Height(height) => self.by_height.insert(height, number).unwrap_or(NIL),
            Bed::Anything => mem::replace(&mut self.by_anything, number),
            Bed::Id(id) => {
                let (mixer, pages) = (self.mixer, &self.pages);
                let hash = mixer.hash(&id);
                let same = |first: &u32| is_on(pages, *first, &blocker);
                match self.by_id.find_mut(hash, same) {
                    Some(first) => mem::replace(first, number),
                    None => {
                        self.by_id
                            .insert_unique(hash, number, |first| mixer.hash_of(pages, *first));
                        NIL
                    }
                }
            }
        };
        if let Some(sleeper) = self.pages.at_mut(number) {
            sleeper.next = next;
        }
        if let Some(neighbour) = self.pages.at_mut(next) {
            neighbour.previous = number;
        }
        number
    }

    /// Takes a sleeper away
    pub(super) fn remove(&mut self, number: u32) {
        let Some(Sleeper { blocker, previous, next, .. }) = self.pages.at(number) else { return };
        let (blocker, previous, next) = (*blocker, *previous, *next);
        if let Some(neighbour) = self.pages.at_mut(next) {
            neighbour.previous = previous;
        }
        match (self.pages.at_mut(previous), bed(&blocker)) {
            (Some(neighbour), _) => neighbour.next = next,
            (None, Bed::Anything) => self.by_anything = next,
            (None, Bed::Height(height)) if next == NIL => {
                self.by_height.remove(&height);
            }
            (None, Bed::Height(height)) => {
                self.by_height.insert(height, next);
            }
            (None, Bed::Id(id)) => {
                let hash = self.mixer.hash(&id);
                if let Ok(mut first) = self.by_id.find_entry(hash, |first| *first == number) {
                    if next == NIL {
                        first.remove();
                    } else {
                        *first.get_mut() = next;
                    }
                }
            }
        }
        self.pages.remove(number);
        if self.by_id.is_empty() {
            // What was taken for many need not be kept for none.
            self.by_id.shrink_to(1024, |_| 0);
        }
    }

    /// A request that sleeps on this fact
    pub(super) fn on(&self, blocker: &Blocker) -> Option<u32> {
        let first = match bed(blocker) {
            Bed::Id(id) => {
                let same = |first: &u32| is_on(&self.pages, *first, blocker);
                *self.by_id.find(self.mixer.hash(&id), same)?
            }
            Bed::Height(height) => *self.by_height.get(&height)?,
            Bed::Anything => self.by_anything,
        };
        self.pages.at(first).map(|sleeper| sleeper.request)
    }

    /// A request that sleeps on a height up to this one
    pub(super) fn on_height_to(&self, height: BlockHeight) -> Option<u32> {
        let (_, first) = self.by_height.range(..=height).next()?;
        self.pages.at(*first).map(|sleeper| sleeper.request)
    }

    /// A request that sleeps on a height above this one
    pub(super) fn on_height_above(&self, height: BlockHeight) -> Option<u32> {
        let (_, first) = self.by_height.range(height.checked_add(1)?..).next()?;
        self.pages.at(*first).map(|sleeper| sleeper.request)
    }
}

fn is_on(pages: &Pages<Sleeper>, first: u32, blocker: &Blocker) -> bool {
    pages.at(first).is_some_and(|sleeper| sleeper.blocker == *blocker)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn hash(number: u64) -> CryptoHash {
        CryptoHash::digest(&number.to_le_bytes())
    }

    #[test]
    fn a_list_survives_whoever_leaves() {
        let mut sleepers = Sleepers::new(7);
        let blocker = Blocker::Outcome(hash(1));
        for leaving in 0..4 {
            let numbers: Vec<u32> = (0..4).map(|request| sleepers.add(blocker, request)).collect();
            sleepers.remove(numbers[leaving]);
            sleepers.remove(numbers[leaving]);
            let mut left = Vec::new();
            while let Some(request) = sleepers.on(&blocker) {
                left.push(request);
                sleepers.remove(numbers[request as usize]);
            }
            left.sort_unstable();
            let expected: Vec<u32> = (0..4).filter(|one| *one != leaving as u32).collect();
            assert_eq!(left, expected);
            assert!(sleepers.by_id.is_empty());
        }
    }

    #[test]
    fn facts_of_one_id_are_told_apart() {
        let mut sleepers = Sleepers::new(0);
        let id = hash(3);
        sleepers.add(Blocker::Outcome(id), 1);
        sleepers.add(Blocker::Inclusion(id), 2);
        assert_eq!(sleepers.on(&Blocker::Outcome(id)), Some(1));
        assert_eq!(sleepers.on(&Blocker::Inclusion(id)), Some(2));
        assert_eq!(sleepers.on(&Blocker::OutcomeOrRefund(id)), None);
    }

    #[test]
    fn heights_are_found_from_both_sides() {
        let mut sleepers = Sleepers::new(0);
        for height in [10, 20, u64::MAX] {
            sleepers.add(Blocker::Finality(height), height as u32);
        }
        assert_eq!(sleepers.on_height_to(9), None);
        assert_eq!(sleepers.on_height_to(25), Some(10));
        assert_eq!(sleepers.on_height_above(10), Some(20));
        assert_eq!(sleepers.on_height_above(20), Some(u32::MAX));
        assert_eq!(sleepers.on_height_above(u64::MAX), None);
    }

    #[test]
    fn ids_alike_in_every_word_but_one_do_not_collide() {
        let mut seen = Vec::new();
        for seed in [0, 1, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            let mixer = Mixer::new(seed);
            for byte in 0..32 {
                for value in 0..=255 {
                    let mut id = [0x5a; 32];
                    id[byte] = value;
                    if value != 0x5a {
                        seen.push(mixer.hash(&CryptoHash::new(id)));
                    }
                }
            }
            seen.sort_unstable();
            let before = seen.len();
            seen.dedup();
            assert_eq!(seen.len(), before, "seed {seed}");
            seen.clear();
        }
    }
}
