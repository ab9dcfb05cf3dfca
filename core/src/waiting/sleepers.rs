//! Who sleeps on which fact.
//!
//! Those who sleep on one fact are a list, and a table finds its first by the fact. Lists run both
//! ways through the requests' places, so that one who leaves pays for itself alone. Clients
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

/// What a request sleeps on, and its neighbours on the same fact
#[derive(Clone, Copy, Debug)]
pub(super) struct Bed {
    /// None while it is awake
    blocker: Option<Blocker>,
    previous: u32,
    next: u32,
}

impl Bed {
    pub(super) const fn empty() -> Self {
        Self { blocker: None, previous: NIL, next: NIL }
    }
}

/// Whatever can sleep
pub(super) trait Sleeper {
    fn bed(&self) -> &Bed;
    fn bed_mut(&mut self) -> &mut Bed;
}

/// All sleepers
#[derive(Debug)]
pub(super) struct Sleepers {
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
enum List<'fact> {
    Id(&'fact CryptoHash),
    Height(BlockHeight),
    Anything,
}

const fn list(blocker: &Blocker) -> List<'_> {
    match blocker {
        Blocker::Inclusion(id) | Blocker::Outcome(id) | Blocker::OutcomeOrRefund(id) => {
            List::Id(id)
        }
        Blocker::Finality(height) => List::Height(*height),
        Blocker::Anything => List::Anything,
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
            by_id: HashTable::new(),
            by_height: BTreeMap::new(),
            by_anything: NIL,
            mixer: Mixer::new(seed),
        }
    }

    /// Lets a request sleep on a fact
    pub(super) fn add<E: Sleeper>(&mut self, places: &mut Pages<E>, number: u32, blocker: Blocker) {
        let next = match list(&blocker) {
            List::Height(height) => self.by_height.insert(height, number).unwrap_or(NIL),
            List::Anything => mem::replace(&mut self.by_anything, number),
            List::Id(id) => {
                let hash = self.mixer.hash(id);
                let same = |first: &First| {
                    first.hash == hash
                        && places
                            .at(first.sleeper)
                            .is_some_and(|other| other.bed().blocker == Some(blocker))
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
        if let Some(place) = places.at_mut(number) {
            *place.bed_mut() = Bed { blocker: Some(blocker), previous: NIL, next };
        }
        if let Some(neighbour) = places.at_mut(next) {
            neighbour.bed_mut().previous = number;
        }
    }

    /// Ends the sleep of a request; one that is awake stays so
    pub(super) fn remove<E: Sleeper>(&mut self, places: &mut Pages<E>, number: u32) {
        let Some(place) = places.at_mut(number) else { return };
        let Bed { blocker, previous, next } = *place.bed();
        let Some(blocker) = blocker else { return };
        *place.bed_mut() = Bed::empty();
        if let Some(neighbour) = places.at_mut(next) {
            neighbour.bed_mut().previous = previous;
        }
        match (places.at_mut(previous), list(&blocker)) {
            (Some(neighbour), _) => neighbour.bed_mut().next = next,
            (None, List::Anything) => self.by_anything = next,
            (None, List::Height(height)) if next == NIL => {
                self.by_height.remove(&height);
            }
            (None, List::Height(height)) => {
                self.by_height.insert(height, next);
            }
            (None, List::Id(id)) => {
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
        if self.by_id.is_empty() {
            // What was taken for many need not be kept for none.
            self.by_id.shrink_to(1024, |first| first.hash.wide());
        }
    }

    /// The requests that sleep on what these changes are about; one can be named twice
    ///
    /// With many sleepers nearly every look goes into far memory, and what takes the time is a look
    /// that the next one has to wait for, or a guess about it that was wrong. So there is a short pass
    /// for each thing that is looked at: the marks of the table, its entries, the places; in a short
    /// pass the processor fetches many of them at a time.
    pub(super) fn on_changes<E: Sleeper>(&self, places: &Pages<E>, changes: &[Change]) -> Vec<u32> {
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
            let Some(bed) = places.at(first).map(Sleeper::bed) else { continue };
            // All of a list sleep on one fact.
            if bed.blocker.is_some_and(|blocker| is_about(change, &blocker)) {
                requests.push(first);
                let mut next = bed.next;
                while let Some(bed) = places.at(next).map(Sleeper::bed) {
                    requests.push(next);
                    next = bed.next;
                }
            }
        }
        requests
    }

    /// A request that sleeps on whatever comes
    pub(super) fn on_anything(&self) -> Option<u32> {
        (self.by_anything != NIL).then_some(self.by_anything)
    }

    /// A request that sleeps on a height up to this one
    pub(super) fn on_height_to(&self, height: BlockHeight) -> Option<u32> {
        self.by_height.range(..=height).next().map(|(_, first)| *first)
    }

    /// A request that sleeps on a height above this one
    pub(super) fn on_height_above(&self, height: BlockHeight) -> Option<u32> {
        self.by_height.range(height.checked_add(1)?..).next().map(|(_, first)| *first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> CryptoHash {
        CryptoHash::digest(&number.to_le_bytes())
    }

    impl Sleeper for Bed {
        fn bed(&self) -> &Bed {
            self
        }

        fn bed_mut(&mut self) -> &mut Bed {
            self
        }
    }

    /// Sleepers with `count` places, in each of which nobody sleeps
    fn beds(count: u32) -> (Sleepers, Pages<Bed>) {
        let mut places = Pages::new();
        (0..count).for_each(|number| assert_eq!(places.add(Bed::empty()), number));
        (Sleepers::new(7), places)
    }

    #[test]
    fn a_list_survives_whoever_leaves() {
        let (mut sleepers, mut places) = beds(4);
        let (blocker, change) = (Blocker::Outcome(hash(1)), Change::Outcome(hash(1)));
        for leaving in 0..4 {
            (0..4).for_each(|number| sleepers.add(&mut places, number, blocker));
            sleepers.remove(&mut places, leaving);
            sleepers.remove(&mut places, leaving);
            let mut left = Vec::new();
            while let [number, rest @ ..] = &sleepers.on_changes(&places, &[change])[..] {
                assert_eq!(rest.len(), 2 - left.len());
                left.push(*number);
                sleepers.remove(&mut places, *number);
            }
            left.sort_unstable();
            let expected: Vec<u32> = (0..4).filter(|one| *one != leaving).collect();
            assert_eq!(left, expected);
            assert!(sleepers.by_id.is_empty());
        }
    }

    #[test]
    fn facts_of_one_id_are_told_apart() {
        let (mut sleepers, mut places) = beds(4);
        let id = hash(3);
        sleepers.add(&mut places, 1, Blocker::Outcome(id));
        sleepers.add(&mut places, 2, Blocker::Inclusion(id));
        assert_eq!(sleepers.on_changes(&places, &[Change::Outcome(id)]), [1]);
        assert_eq!(sleepers.on_changes(&places, &[Change::Transaction(id)]), [2]);
        assert!(sleepers.on_changes(&places, &[Change::Refund(id)]).is_empty());
        sleepers.add(&mut places, 3, Blocker::OutcomeOrRefund(id));
        let mut both = sleepers.on_changes(&places, &[Change::Outcome(id)]);
        both.sort_unstable();
        assert_eq!(both, [1, 3]);
        assert_eq!(sleepers.on_changes(&places, &[Change::Refund(id)]), [3]);
    }

    #[test]
    fn an_id_that_looks_like_another_is_none() {
        let (mut sleepers, mut places) = beds(1);
        let [awaited, other] = [hash(1), hash(2)];
        sleepers.add(&mut places, 0, Blocker::Outcome(awaited));
        // As if both had one hash.
        let first = First { hash: sleepers.mixer.hash(&other), sleeper: 0 };
        sleepers.by_id.insert_unique(first.hash.wide(), first, |first| first.hash.wide());
        assert!(sleepers.on_changes(&places, &[Change::Outcome(other)]).is_empty());
        assert_eq!(sleepers.on_changes(&places, &[Change::Outcome(awaited)]), [0]);
    }

    #[test]
    fn heights_are_found_from_both_sides() {
        let (mut sleepers, mut places) = beds(3);
        for (height, number) in [10, 20, u64::MAX].into_iter().zip(0..) {
            sleepers.add(&mut places, number, Blocker::Finality(height));
        }
        assert_eq!(sleepers.on_height_to(9), None);
        assert_eq!(sleepers.on_height_to(25), Some(0));
        assert_eq!(sleepers.on_height_above(10), Some(1));
        assert_eq!(sleepers.on_height_above(20), Some(2));
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
