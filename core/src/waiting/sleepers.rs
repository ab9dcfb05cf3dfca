//! Who sleeps on which fact.
//!
//! Those who sleep on one fact are a list, and a table finds its first by the fact. Lists run both
//! ways through the sleepers themselves, so that one who leaves pays for itself alone. Clients
//! choose the hashes they ask about, so the table mixes in a seed that they cannot know: without it,
//! ids made to collide would turn every look into a search. Says nothing of requests and time.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::hint::black_box;
use core::mem;

use hashbrown::HashTable;

use super::pages::{NIL, Pages};
use crate::ingest::Change;
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
    by_id: HashTable<First>,
    /// The first sleeper of each height that is to become final
    by_height: BTreeMap<BlockHeight, u32>,
    /// The first sleeper of those that any block wakes
    by_anything: u32,
    mixer: Mixer,
}

/// The first sleeper of a fact, with the hash of the fact's id
///
/// Kept here, the hash settles nearly every look without a look at the sleeper, which is somewhere
/// else in memory; and a table that grows looks at no sleeper at all.
#[derive(Clone, Copy, Debug)]
struct First {
    hash: IdHash,
    sleeper: u32,
}

/// The hash of an id
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct IdHash(u32);

impl IdHash {
    /// The hash for the table, which takes a place from the lowest bits and a mark from the highest
    const fn wide(self) -> u64 {
        (self.0 as u64) << 32 | self.0 as u64
    }
}

/// Where the first sleeper of a fact is kept
enum Bed<'fact> {
    Id(&'fact CryptoHash),
    Height(BlockHeight),
    Anything,
}

const fn bed(blocker: &Blocker) -> Bed<'_> {
    match blocker {
        Blocker::Inclusion(id) | Blocker::Outcome(id) | Blocker::OutcomeOrRefund(id) => Bed::Id(id),
        Blocker::Finality(height) => Bed::Height(*height),
        Blocker::Anything => Bed::Anything,
    }
}

/// The id that a change is about
const fn id_of(change: &Change) -> &CryptoHash {
    match change {
        Change::Transaction(id) | Change::Outcome(id) | Change::Refund(id) => id,
    }
}

/// Whether a change is about this fact
fn is_about(change: &Change, blocker: &Blocker) -> bool {
    match (change, blocker) {
        (Change::Transaction(id), Blocker::Inclusion(blocker))
        | (Change::Outcome(id), Blocker::Outcome(blocker) | Blocker::OutcomeOrRefund(blocker))
        | (Change::Refund(id), Blocker::OutcomeOrRefund(blocker)) => id == blocker,
        _ => false,
    }
}

/// Hashes ids under keys made of the seed
///
/// Pairs of words are multiplied into 128 bits that are folded into 64, and at last into 32. Every
/// factor hides behind a key of its own, or one could be made zero and hide its neighbour; without
/// the seed nobody can say which ids come out alike.
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

    fn hash(&self, id: &CryptoHash) -> IdHash {
        let fold = |left: u64, right: u64| {
            let product = u128::from(left) * u128::from(right);
            product as u64 ^ (product >> 64) as u64
        };
        let [key_a, key_b, key_c, key_d, key_e, key_f] = self.0;
        // An id has four words.
        let (&[a, b, c, d], _) = id.as_bytes().as_chunks::<8>() else { return IdHash(0) };
        let word = |bytes: [u8; 8], key: u64| u64::from_le_bytes(bytes) ^ key;
        let left = fold(word(a, key_a), word(b, key_b));
        let right = fold(word(c, key_c), word(d, key_d));
        let whole = fold(left ^ key_e, right ^ key_f);
        IdHash(whole as u32 ^ (whole >> 32) as u32)
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
                let (hash, pages) = (self.mixer.hash(id), &self.pages);
                let same = |first: &First| {
                    first.hash == hash
                        && pages.at(first.sleeper).is_some_and(|other| other.blocker == blocker)
                };
                match self.by_id.find_mut(hash.wide(), same) {
                    Some(first) => mem::replace(&mut first.sleeper, number),
                    None => {
                        let first = First { hash, sleeper: number };
                        self.by_id.insert_unique(hash.wide(), first, |first| first.hash.wide());
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
                let hash = self.mixer.hash(id).wide();
                let own = |first: &First| first.sleeper == number;
                if let Ok(mut first) = self.by_id.find_entry(hash, own) {
                    if next == NIL {
                        first.remove();
                    } else {
                        first.get_mut().sleeper = next;
                    }
                }
            }
        }
        self.pages.remove(number);
        if self.by_id.is_empty() {
            // What was taken for many need not be kept for none.
            self.by_id.shrink_to(1024, |first| first.hash.wide());
        }
    }

    /// The requests that sleep on what these changes are about; one can be named twice
    ///
    /// With many sleepers nearly every look goes into far memory, and what takes the time is a look
    /// that the next one has to wait for, or a guess about it that was wrong. So there is a short pass
    /// for each thing that is looked at: the marks of the table, its entries, the sleepers; in a short
    /// pass the processor fetches many of them at a time.
    pub(super) fn on_changes(&self, changes: &[Change]) -> Vec<u32> {
        let hashes: Vec<IdHash> =
            changes.iter().map(|change| self.mixer.hash(id_of(change))).collect();
        // Where the table will begin to search: only looked at, to have it near.
        let last = self.by_id.num_buckets().wrapping_sub(1);
        let taken = |hash: &&IdHash| self.by_id.get_bucket(hash.0 as usize & last).is_some();
        black_box(hashes.iter().filter(taken).count());
        // Mostly nobody sleeps on a change, so a small part of them will do.
        let mut marked = Vec::with_capacity(changes.len() / 8);
        for (change, hash) in changes.iter().zip(hashes) {
            // Content with the mark; the entry is not looked at.
            if let Some(first) = self.by_id.find(hash.wide(), |_| true) {
                marked.push((change, hash, first));
            }
        }
        // The first look at the entries.
        let likely = marked.iter().filter(|(_, hash, first)| first.hash == *hash).count();
        let mut found = Vec::with_capacity(likely);
        for (change, hash, _) in marked {
            // Never content, for there may be several facts of one id.
            let _ = self.by_id.find(hash.wide(), |first| {
                if first.hash == hash {
                    found.push((change, first.sleeper));
                }
                false
            });
        }
        let mut requests = Vec::with_capacity(found.len());
        for (change, first) in found {
            let Some(sleeper) = self.pages.at(first) else { continue };
            // All of a list sleep on one fact.
            if is_about(change, &sleeper.blocker) {
                requests.push(sleeper.request);
                let mut next = sleeper.next;
                while let Some(sleeper) = self.pages.at(next) {
                    requests.push(sleeper.request);
                    next = sleeper.next;
                }
            }
        }
        requests
    }

    /// A request that sleeps on whatever comes
    pub(super) fn on_anything(&self) -> Option<u32> {
        self.pages.at(self.by_anything).map(|sleeper| sleeper.request)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> CryptoHash {
        CryptoHash::digest(&number.to_le_bytes())
    }

    #[test]
    fn a_list_survives_whoever_leaves() {
        let mut sleepers = Sleepers::new(7);
        let (blocker, change) = (Blocker::Outcome(hash(1)), Change::Outcome(hash(1)));
        for leaving in 0..4 {
            let numbers: Vec<u32> = (0..4).map(|request| sleepers.add(blocker, request)).collect();
            sleepers.remove(numbers[leaving]);
            sleepers.remove(numbers[leaving]);
            let mut left = Vec::new();
            while let [request, rest @ ..] = &sleepers.on_changes(&[change])[..] {
                assert_eq!(rest.len(), 2 - left.len());
                left.push(*request);
                sleepers.remove(numbers[*request as usize]);
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
        assert_eq!(sleepers.on_changes(&[Change::Outcome(id)]), [1]);
        assert_eq!(sleepers.on_changes(&[Change::Transaction(id)]), [2]);
        assert!(sleepers.on_changes(&[Change::Refund(id)]).is_empty());
        sleepers.add(Blocker::OutcomeOrRefund(id), 3);
        let mut both = sleepers.on_changes(&[Change::Outcome(id)]);
        both.sort_unstable();
        assert_eq!(both, [1, 3]);
        assert_eq!(sleepers.on_changes(&[Change::Refund(id)]), [3]);
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
