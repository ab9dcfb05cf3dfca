//! The wait index: which requests wait for which condition.
//!
//! The requests that wait for one condition form a doubly linked list through their entries in the
//! slab, so a removal costs the same for any length. A hash table, a map of heights and one
//! variable hold the list heads. Clients choose the ids that they ask about, so the hash function
//! is seeded: otherwise ids that were made to collide would turn every lookup into a search.
//! Requests and time are not known here.

use alloc::vec::Vec;
use core::hint::black_box;
use core::mem;

use hashbrown::HashTable;

use super::slab::{NIL, Slab};
use crate::import::Change;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::status::WaitCondition;

/// The condition that an entry waits for, and its neighbours in the list of that condition
#[derive(Clone, Copy, Debug)]
pub(super) struct ListLinks {
    /// `None` while the entry is in no list
    condition: Option<WaitCondition>,
    previous: u32,
    next: u32,
}

impl ListLinks {
    pub(super) const fn empty() -> Self {
        Self { condition: None, previous: NIL, next: NIL }
    }
}

/// An entry of a slab that can be in a list
pub(super) trait Linked {
    fn links(&self) -> &ListLinks;
    fn links_mut(&mut self) -> &mut ListLinks;
}

/// The heads of all lists
#[derive(Debug)]
pub(super) struct WaitIndex {
    /// By the id of a transaction or receipt
    by_id: HashTable<ListHead>,
    /// By the height that is to become final, descending: few, as few blocks are not final, and all
    /// up to the one that becomes final leave at once, at the end
    by_height: Vec<(BlockHeight, u32)>,
    /// Of the requests that any block wakes
    by_anything: u32,
    hasher: IdHasher,
}

/// The first entry of the list of a condition, with the hash of the condition's id
///
/// The hash decides nearly every lookup without an access to the entry, which is elsewhere in
/// memory, and a table that grows accesses no entry at all.
#[derive(Clone, Copy, Debug)]
struct ListHead {
    hash: IdHash,
    first: u32,
}

/// The hash of an id
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct IdHash(u32);

impl IdHash {
    /// The hash for the table, which takes the bucket from the lowest bits and the tag from the
    /// highest
    const fn to_u64(self) -> u64 {
        (self.0 as u64) << 32 | self.0 as u64
    }
}

/// The key by which a list is found
enum ListKey<'condition> {
    Id(&'condition CryptoHash),
    Height(BlockHeight),
    Anything,
}

const fn list_key(condition: &WaitCondition) -> ListKey<'_> {
    match condition {
        WaitCondition::Inclusion(id)
        | WaitCondition::Outcome(id)
        | WaitCondition::OutcomeOrRefund(id) => ListKey::Id(id),
        WaitCondition::Finality(height) => ListKey::Height(*height),
        WaitCondition::Anything => ListKey::Anything,
    }
}

const fn id_of(change: &Change) -> &CryptoHash {
    match change {
        Change::Transaction(id) | Change::Outcome(id) | Change::Refund(id) => id,
    }
}

/// Whether a change meets a condition
fn meets(change: &Change, condition: &WaitCondition) -> bool {
    match (change, condition) {
        (Change::Transaction(changed), WaitCondition::Inclusion(awaited))
        | (
            Change::Outcome(changed),
            WaitCondition::Outcome(awaited) | WaitCondition::OutcomeOrRefund(awaited),
        )
        | (Change::Refund(changed), WaitCondition::OutcomeOrRefund(awaited)) => changed == awaited,
        _ => false,
    }
}

/// A hash function for ids, with keys derived from the seed
///
/// Pairs of words are multiplied to 128 bits, which are folded to 64 and in the end to 32. Every
/// factor is masked by a key of its own: otherwise an id could make one factor zero and so cancel
/// the other. Without the seed, collisions cannot be predicted.
#[derive(Clone, Copy, Debug)]
struct IdHasher([u64; 6]);

impl IdHasher {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        // SplitMix64 (Steele, Lea, Flood 2014): adjacent seeds give unrelated keys.
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
        let folded = fold(left ^ key_e, right ^ key_f);
        IdHash(folded as u32 ^ (folded >> 32) as u32)
    }
}

impl WaitIndex {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            by_id: HashTable::new(),
            by_height: Vec::new(),
            by_anything: NIL,
            hasher: IdHasher::new(seed),
        }
    }

    /// Adds an entry to the list of a condition
    pub(super) fn insert<E: Linked>(
        &mut self,
        entries: &mut Slab<E>,
        index: u32,
        condition: WaitCondition,
    ) {
        let next = match list_key(&condition) {
            ListKey::Height(height) => match self.position_of(height) {
                Ok(at) => mem::replace(&mut self.by_height[at].1, index),
                Err(at) => {
                    self.by_height.insert(at, (height, index));
                    NIL
                }
            },
            ListKey::Anything => mem::replace(&mut self.by_anything, index),
            ListKey::Id(id) => {
                let hash = self.hasher.hash(id);
                let is_same = |head: &ListHead| {
                    head.hash == hash
                        && entries
                            .get(head.first)
                            .is_some_and(|first| first.links().condition == Some(condition))
                };
                match self.by_id.find_mut(hash.to_u64(), is_same) {
                    Some(head) => mem::replace(&mut head.first, index),
                    None => {
                        let head = ListHead { hash, first: index };
                        self.by_id.insert_unique(hash.to_u64(), head, |head| head.hash.to_u64());
                        NIL
                    }
                }
            }
        };
        if let Some(entry) = entries.get_mut(index) {
            *entry.links_mut() = ListLinks { condition: Some(condition), previous: NIL, next };
        }
        if let Some(neighbour) = entries.get_mut(next) {
            neighbour.links_mut().previous = index;
        }
    }

    /// Removes an entry from its list, if it is in one
    pub(super) fn remove<E: Linked>(&mut self, entries: &mut Slab<E>, index: u32) {
        let Some(entry) = entries.get_mut(index) else { return };
        let ListLinks { condition, previous, next } = *entry.links();
        let Some(condition) = condition else { return };
        *entry.links_mut() = ListLinks::empty();
        if let Some(neighbour) = entries.get_mut(next) {
            neighbour.links_mut().previous = previous;
        }
        match (entries.get_mut(previous), list_key(&condition)) {
            (Some(neighbour), _) => neighbour.links_mut().next = next,
            (None, ListKey::Anything) => self.by_anything = next,
            (None, ListKey::Height(height)) => {
                // An entry without a neighbour before it is the first of its list.
                if let Ok(at) = self.position_of(height) {
                    if next == NIL {
                        self.by_height.remove(at);
                    } else {
                        self.by_height[at].1 = next;
                    }
                }
            }
            (None, ListKey::Id(id)) => {
                let hash = self.hasher.hash(id).to_u64();
                let is_own = |head: &ListHead| head.first == index;
                if let Ok(mut head) = self.by_id.find_entry(hash, is_own) {
                    if next == NIL {
                        head.remove();
                    } else {
                        head.get_mut().first = next;
                    }
                }
            }
        }
        if self.by_id.is_empty() {
            // An idle service does not keep the memory of its peak.
            self.by_id.shrink_to(1024, |head| head.hash.to_u64());
        }
    }

    /// The indices of the entries whose condition is met by one of these changes; one can occur
    /// twice
    ///
    /// With many entries nearly every access misses the cache, and the time goes into accesses that
    /// depend on each other and into mispredicted branches. So each structure is read in a short
    /// loop of its own (the tags of the table, its list heads, the entries), in which the processor
    /// overlaps many accesses.
    pub(super) fn affected_by<E: Linked>(&self, entries: &Slab<E>, changes: &[Change]) -> Vec<u32> {
        let hashes: Vec<IdHash> =
            changes.iter().map(|change| self.hasher.hash(id_of(change))).collect();
        // A prefetch of the buckets at which the table starts to search.
        let mask = self.by_id.num_buckets().wrapping_sub(1);
        let is_occupied = |hash: &&IdHash| self.by_id.get_bucket(hash.0 as usize & mask).is_some();
        black_box(hashes.iter().filter(is_occupied).count());
        // Few changes are waited for, so a small capacity suffices.
        let mut candidates = Vec::with_capacity(changes.len() / 8);
        for (change, hash) in changes.iter().zip(hashes) {
            // Compares tags only; the list head is not read.
            if let Some(head) = self.by_id.find(hash.to_u64(), |_| true) {
                candidates.push((change, hash, head));
            }
        }
        // The first access to the list heads.
        let likely = candidates.iter().filter(|(_, hash, head)| head.hash == *hash).count();
        let mut found = Vec::with_capacity(likely);
        for (change, hash, _) in candidates {
            // Visits all matches, because several conditions can have one id.
            let _ = self.by_id.find(hash.to_u64(), |head| {
                if head.hash == hash {
                    found.push((change, head.first));
                }
                false
            });
        }
        let mut affected = Vec::with_capacity(found.len());
        for (change, first) in found {
            let Some(links) = entries.get(first).map(Linked::links) else { continue };
            // All entries of a list have one condition.
            if links.condition.is_some_and(|condition| meets(change, &condition)) {
                affected.push(first);
                let mut next = links.next;
                while let Some(links) = entries.get(next).map(Linked::links) {
                    affected.push(next);
                    next = links.next;
                }
            }
        }
        affected
    }

    /// An entry that any block wakes
    pub(super) fn first_for_anything(&self) -> Option<u32> {
        (self.by_anything != NIL).then_some(self.by_anything)
    }

    /// An entry that waits for the finality of this height or one below it
    pub(super) fn first_up_to(&self, height: BlockHeight) -> Option<u32> {
        let (lowest, first) = self.by_height.last()?;
        (*lowest <= height).then_some(*first)
    }

    /// An entry that waits for the finality of a height above this one
    pub(super) fn first_above(&self, height: BlockHeight) -> Option<u32> {
        let above = self.by_height.partition_point(|(other, _)| *other > height);
        self.by_height[..above].last().map(|(_, first)| *first)
    }

    /// The position of a height, or where it is to be inserted
    fn position_of(&self, height: BlockHeight) -> Result<usize, usize> {
        self.by_height.binary_search_by(|(other, _)| height.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> CryptoHash {
        CryptoHash::digest(&number.to_le_bytes())
    }

    impl Linked for ListLinks {
        fn links(&self) -> &ListLinks {
            self
        }

        fn links_mut(&mut self) -> &mut ListLinks {
            self
        }
    }

    /// An index over a slab of `count` entries that are in no list
    fn index(count: u32) -> (WaitIndex, Slab<ListLinks>) {
        let mut entries = Slab::new();
        (0..count).for_each(|index| assert_eq!(entries.insert(ListLinks::empty()), index));
        (WaitIndex::new(7), entries)
    }

    #[test]
    fn a_list_stays_linked_when_any_entry_is_removed() {
        let (mut index, mut entries) = index(4);
        let (condition, change) = (WaitCondition::Outcome(hash(1)), Change::Outcome(hash(1)));
        for removed in 0..4 {
            (0..4).for_each(|number| index.insert(&mut entries, number, condition));
            index.remove(&mut entries, removed);
            index.remove(&mut entries, removed);
            let mut left = Vec::new();
            while let [number, rest @ ..] = &index.affected_by(&entries, &[change])[..] {
                assert_eq!(rest.len(), 2 - left.len());
                left.push(*number);
                index.remove(&mut entries, *number);
            }
            left.sort_unstable();
            let expected: Vec<u32> = (0..4).filter(|entry| *entry != removed).collect();
            assert_eq!(left, expected);
            assert!(index.by_id.is_empty());
        }
    }

    #[test]
    fn conditions_of_one_id_are_distinguished() {
        let (mut index, mut entries) = index(4);
        let id = hash(3);
        index.insert(&mut entries, 1, WaitCondition::Outcome(id));
        index.insert(&mut entries, 2, WaitCondition::Inclusion(id));
        assert_eq!(index.affected_by(&entries, &[Change::Outcome(id)]), [1]);
        assert_eq!(index.affected_by(&entries, &[Change::Transaction(id)]), [2]);
        assert!(index.affected_by(&entries, &[Change::Refund(id)]).is_empty());
        index.insert(&mut entries, 3, WaitCondition::OutcomeOrRefund(id));
        let mut both = index.affected_by(&entries, &[Change::Outcome(id)]);
        both.sort_unstable();
        assert_eq!(both, [1, 3]);
        assert_eq!(index.affected_by(&entries, &[Change::Refund(id)]), [3]);
    }

    #[test]
    fn an_id_with_the_hash_of_another_is_not_found() {
        let (mut index, mut entries) = index(1);
        let [awaited, other] = [hash(1), hash(2)];
        index.insert(&mut entries, 0, WaitCondition::Outcome(awaited));
        // As if both had the same hash.
        let head = ListHead { hash: index.hasher.hash(&other), first: 0 };
        index.by_id.insert_unique(head.hash.to_u64(), head, |head| head.hash.to_u64());
        assert!(index.affected_by(&entries, &[Change::Outcome(other)]).is_empty());
        assert_eq!(index.affected_by(&entries, &[Change::Outcome(awaited)]), [0]);
    }

    #[test]
    fn heights_are_found_up_to_and_above_a_bound() {
        let (mut index, mut entries) = index(3);
        for (height, number) in [10, 20, u64::MAX].into_iter().zip(0..) {
            index.insert(&mut entries, number, WaitCondition::Finality(height));
        }
        assert_eq!(index.first_up_to(9), None);
        assert_eq!(index.first_up_to(25), Some(0));
        assert_eq!(index.first_above(10), Some(1));
        assert_eq!(index.first_above(20), Some(2));
        assert_eq!(index.first_above(u64::MAX), None);
    }

    #[test]
    fn ids_that_differ_in_one_byte_do_not_collide() {
        let mut seen = Vec::new();
        for seed in [0, 1, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            let hasher = IdHasher::new(seed);
            for byte in 0..32 {
                for value in 0..=255 {
                    let mut id = [0x5a; 32];
                    id[byte] = value;
                    if value != 0x5a {
                        seen.push(hasher.hash(&CryptoHash::new(id)));
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

    #[test]
    fn a_hash_is_folded_from_all_words_of_an_id() {
        let hasher = IdHasher([1, 2, 3, 4, 5, 6]);
        let id = core::array::from_fn(|index| index as u8);
        // (a ^ 1)(b ^ 2) and (c ^ 3)(d ^ 4), each folded, then both with 5 and 6
        let hash = hasher.hash(&CryptoHash::new(id));
        assert_eq!(hash, IdHash(0x04fc_38c9));
        assert_eq!(IdHash(0x8000_0001).to_u64(), 0x8000_0001_8000_0001);
    }

    #[test]
    fn entries_of_one_condition_are_in_one_list() {
        let (mut index, mut entries) = index(4);
        let id = hash(3);
        for (number, condition, lists) in [
            (0, WaitCondition::Outcome(id), 1),
            (1, WaitCondition::Outcome(id), 1),
            (2, WaitCondition::Inclusion(id), 2),
            (3, WaitCondition::Outcome(hash(4)), 3),
        ] {
            index.insert(&mut entries, number, condition);
            assert_eq!(index.by_id.len(), lists, "{number}");
        }
    }
}
