//! The watches of transactions, and the change that each has to report next.
//!
//! A transaction is observed once after a block that may have changed it, however many watches it
//! has. A watch has room for one change: a newer state takes the place of one that was not taken
//! out, so a slow reader takes no more memory. That a fork took away the block of the last state is
//! noted when the transaction is observed, and stays noted until it is taken out, so no event is
//! lost with a state. The host reads rows and serves clients.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeBounds;

use super::watch_map::WatchMap;
use crate::Error;
use crate::import::ChainUpdate;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::status::{CompactStatus, LastSeen, NextEvent, Observation};

/// A transaction to watch
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a host names what its client has seen")]
pub struct WatchTarget {
    /// The hash of the transaction
    pub hash: CryptoHash,
    /// The id of the state that the client had last; see [`CompactStatus::id`]
    pub last_id: Option<String>,
    /// The height that the head has to have before the first state
    pub min_height: BlockHeight,
}

impl WatchTarget {
    /// A transaction of which the client has seen nothing
    pub const fn new(hash: CryptoHash) -> Self {
        Self { hash, last_id: None, min_height: 0 }
    }
}

/// The next report of a watch; `E` is the error of an observation
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a reader has to handle each")]
pub enum WatchChange<E = Error> {
    /// A fork took away the block of the last state
    UnIncluded,
    /// The newest state
    State(Arc<CompactStatus>),
    /// The head is below the block of the last state
    Behind,
    /// The transaction is not known any more
    Forgotten,
    /// The transaction cannot be observed, and is not watched any more
    Failed(E),
}

/// Watches by keys of the host, each of one transaction, and which transactions have to be observed
///
/// Sans-IO: chain updates and observations are handed in, transactions to be observed are polled,
/// and changes are taken out. An observation is made by
/// [`Engine::observe_at`](super::Engine::observe_at) over a snapshot that is no older than the last
/// chain update; it takes no reference to this table, so it runs on any thread. A host with threads
/// has a table behind a lock.
///
/// ```
/// use milepost::endpoint::{Engine, WatchChange, WatchTable, WatchTarget};
/// use milepost::import::ImportSettings;
/// use milepost::storage::MemoryStorage;
/// use milepost_practice::{Practice, Settings};
///
/// let (mut chain, engine) = (Practice::new(Settings::demo(1)), Engine::default());
/// let (mut storage, mut table) = (MemoryStorage::new(), WatchTable::<u32>::new(0));
/// let mut milestones = Vec::new();
/// for _ in 0..16 {
///     let block = chain.next_message();
///     if let (0, Some(transaction)) = (table.len(), block.transactions.first()) {
///         table.insert(7, &WatchTarget::new(transaction.hash));
///     }
///     let summary = engine.import_block(&block.json, &ImportSettings::default(), &mut storage)?;
///     table.handle_chain_update(&summary.chain_update);
///     while let Some((hash, heights)) = table.poll_observation() {
///         table.handle_observation(&engine.observe_at(hash, heights, &storage)?)?;
///     }
///     while let Some(watch) = table.first_ready(..) {
///         if let Some(WatchChange::State(state)) = table.take(watch) {
///             milestones.push(state.milestone.name());
///         }
///     }
/// }
/// assert_eq!((milestones[0], milestones.last()), ("INCLUDED", Some(&"FINAL")));
/// # Ok::<(), milepost::Error>(())
/// ```
pub struct WatchTable<K, E = Error> {
    map: WatchMap,
    transactions: BTreeMap<CryptoHash, Transaction<K>>,
    watches: BTreeMap<K, Watch<E>>,
    /// The watches that have a change
    ready: BTreeSet<K>,
}

/// A watched transaction
struct Transaction<K> {
    /// The generation of its newest state
    generation: u64,
    /// Its newest state, once it was observed
    state: Option<Arc<CompactStatus>>,
    watches: BTreeSet<K>,
}

struct Watch<E> {
    transaction: CryptoHash,
    /// The id of the state that was taken out last
    last_id: Option<String>,
    /// Its block, if it has one
    last: Option<LastSeen>,
    /// The height that the head has to have before the first state
    min_height: BlockHeight,
    /// Whether it had a state
    has_state: bool,
    /// Whether a fork took away the block of the last state, which has to be taken out first
    is_un_included: bool,
    next: Option<WatchChange<E>>,
}

impl<E: Clone> Watch<E> {
    fn new(target: &WatchTarget) -> Self {
        let last_id = target.last_id.clone();
        Self {
            transaction: target.hash,
            last: last_id.as_deref().and_then(LastSeen::of_id),
            last_id,
            min_height: target.min_height,
            has_state: false,
            is_un_included: false,
            next: None,
        }
    }

    /// What the next observation has to be compared with
    fn compared(&self) -> impl Iterator<Item = LastSeen> {
        let min_height = LastSeen { height: self.min_height, hash: None, is_final: false };
        let min_height = (self.min_height > 0).then_some(min_height);
        min_height.into_iter().chain(self.last.filter(|_| !self.is_un_included))
    }

    /// The heights of the blocks about which an observation has to decide: those of the last state,
    /// and of the next one, which may be taken out meanwhile
    fn heights(&self) -> impl Iterator<Item = BlockHeight> {
        let next = match &self.next {
            Some(WatchChange::State(state)) => state.block(),
            _ => None,
        };
        self.compared().chain(next).map(|seen| seen.height)
    }

    /// Handles an observation; returns whether it decides the next change
    fn handle_observation(
        &mut self,
        observation: &Observation,
        state: &Arc<CompactStatus>,
    ) -> bool {
        let mut next_event = NextEvent::State;
        for last in self.compared() {
            let Some(found) = observation.next_event(last) else { return false };
            next_event = found;
            if next_event == NextEvent::Wait {
                break;
            }
        }
        self.next = match next_event {
            NextEvent::Wait => Some(WatchChange::Behind),
            NextEvent::Forgotten => Some(WatchChange::Forgotten),
            NextEvent::State | NextEvent::UnIncluded => {
                self.is_un_included |= next_event == NextEvent::UnIncluded;
                // The first one is reported although the client has it: its milestone may be
                // reached.
                let is_known = self.has_state && self.last_id.as_ref() == Some(&state.id);
                self.has_state = true;
                self.min_height = 0;
                let is_next = !is_known || self.is_un_included;
                is_next.then(|| WatchChange::State(Arc::clone(state)))
            }
        };
        true
    }

    fn peek(&self) -> Option<WatchChange<E>> {
        if self.is_un_included { Some(WatchChange::UnIncluded) } else { self.next.clone() }
    }

    fn take(&mut self) -> Option<WatchChange<E>> {
        if core::mem::take(&mut self.is_un_included) {
            self.last_id = Some(CompactStatus::in_no_block(self.transaction).id);
            self.last = None;
            return Some(WatchChange::UnIncluded);
        }
        let change = self.next.take()?;
        if let WatchChange::State(state) = &change {
            self.last = state.block();
            self.last_id = Some(state.id.clone());
        }
        Some(change)
    }
}

impl<K: Copy + Ord, E: Clone> WatchTable<K, E> {
    /// An empty table; `hash_seed` is that of [`WaiterMap::new`](crate::waiting::WaiterMap::new)
    pub fn new(hash_seed: u64) -> Self {
        Self {
            map: WatchMap::new(hash_seed),
            transactions: BTreeMap::new(),
            watches: BTreeMap::new(),
            ready: BTreeSet::new(),
        }
    }

    /// Number of watches, with those whose error was not taken out yet
    pub fn len(&self) -> usize {
        self.watches.len()
    }

    /// Whether nothing is watched
    pub fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Number of watched transactions
    pub fn transaction_count(&self) -> usize {
        self.transactions.len()
    }

    /// Watches a transaction under a key, in place of a watch that has it
    ///
    /// Its first change is the newest state, at once if that is known and the client has seen
    /// nothing.
    pub fn insert(&mut self, key: K, target: &WatchTarget) {
        self.remove(key);
        let mut watch = Watch::new(target);
        let transaction = self.transactions.entry(target.hash).or_insert_with(|| Transaction {
            generation: 0,
            state: None,
            watches: BTreeSet::new(),
        });
        transaction.watches.insert(key);
        match &transaction.state {
            Some(state) if watch.heights().next().is_none() => {
                watch.has_state = true;
                watch.next = Some(WatchChange::State(Arc::clone(state)));
                self.ready.insert(key);
            }
            // The rows decide the next change.
            _ => self.map.insert(target.hash),
        }
        self.watches.insert(key, watch);
    }

    /// Ends a watch; returns whether there was one
    pub fn remove(&mut self, key: K) -> bool {
        let Some(watch) = self.watches.remove(&key) else { return false };
        self.ready.remove(&key);
        let hash = watch.transaction;
        if let Some(transaction) = self.transactions.get_mut(&hash) {
            transaction.watches.remove(&key);
            if transaction.watches.is_empty() {
                self.transactions.remove(&hash);
                self.map.remove(&hash);
            }
        }
        true
    }

    /// The transaction of a watch
    pub fn transaction(&self, key: K) -> Option<CryptoHash> {
        self.watches.get(&key).map(|watch| watch.transaction)
    }

    /// The id of the state that was taken out last, or that the client had before
    pub fn last_id(&self, key: K) -> Option<&str> {
        self.watches.get(&key)?.last_id.as_deref()
    }

    /// The watches of a transaction
    pub fn watches(&self, transaction: CryptoHash) -> impl Iterator<Item = K> {
        self.transactions.get(&transaction).into_iter().flat_map(|it| it.watches.iter().copied())
    }

    /// Handles the changes of a block, after its commit
    ///
    /// Costs O(changes + transactions that may have changed).
    pub fn handle_chain_update(&mut self, update: &ChainUpdate) {
        self.map.handle_chain_update(update);
    }

    /// The next transaction to observe, and the heights of the blocks about which the observation
    /// has to decide; [`handle_observation`](Self::handle_observation) or [`fail`](Self::fail) has
    /// to follow
    ///
    /// Call until it returns `None`, after every other call that takes `&mut self`.
    pub fn poll_observation(&mut self) -> Option<(CryptoHash, Vec<BlockHeight>)> {
        let hash = self.map.poll_observation()?;
        let watches = self.watches(hash).filter_map(|key| self.watches.get(&key));
        let mut heights: Vec<_> = watches.flat_map(Watch::heights).collect();
        heights.sort_unstable();
        heights.dedup();
        Some((hash, heights))
    }

    /// Handles an observation, which decides the next change of each watch of its transaction
    ///
    /// Returns whether it is used: the transaction is still watched, and no newer observation of it
    /// was handed in.
    ///
    /// # Errors
    ///
    /// A corrupt row; [`fail`](Self::fail) has to follow.
    pub fn handle_observation(&mut self, observation: &Observation) -> Result<bool, Error> {
        self.map.handle_observation(observation)?;
        let hash = observation.hash;
        let Some(transaction) = self.transactions.get_mut(&hash) else { return Ok(false) };
        if observation.generation < transaction.generation {
            // Observations over remote rows may end in another order; the map repeats this one.
            return Ok(false);
        }
        transaction.generation = observation.generation;
        let state = Arc::new(CompactStatus::new(observation));
        let mut is_decided = true;
        for key in &transaction.watches {
            let Some(watch) = self.watches.get_mut(key) else { continue };
            is_decided &= watch.handle_observation(observation, &state);
            if watch.peek().is_some() {
                self.ready.insert(*key);
            } else {
                self.ready.remove(key);
            }
        }
        transaction.state = Some(state);
        if !is_decided {
            // A watch that was inserted meanwhile, or a state that was taken out, has a block about
            // which this observation does not decide.
            self.map.insert(hash);
        }
        Ok(true)
    }

    /// Ends the watches of a transaction that cannot be observed, each with this error as its last
    /// change; returns their keys
    ///
    /// A later watch of the transaction has it observed again.
    pub fn fail(&mut self, transaction: CryptoHash, error: &E) -> BTreeSet<K> {
        self.map.remove(&transaction);
        let watches = self.transactions.remove(&transaction).map(|it| it.watches);
        let watches = watches.unwrap_or_default();
        for key in &watches {
            if let Some(watch) = self.watches.get_mut(key) {
                watch.next = Some(WatchChange::Failed(error.clone()));
                self.ready.insert(*key);
            }
        }
        watches
    }

    /// Ends all watches, each with this error as its last change
    pub fn fail_all(&mut self, error: &E) {
        while let Some((hash, _)) = self.transactions.first_key_value() {
            self.fail(*hash, error);
        }
    }

    /// Has the transaction of a watch observed again; until then the watch has no change
    pub(super) fn observe_again(&mut self, key: K) {
        self.ready.remove(&key);
        if let Some(hash) = self.transaction(key) {
            self.map.insert(hash);
        }
    }

    /// The first watch of these keys that has a change
    pub fn first_ready(&self, keys: impl RangeBounds<K>) -> Option<K> {
        self.ready.range(keys).next().copied()
    }

    /// The next change of a watch, which stays until it is taken out or a newer one takes its place
    pub fn peek(&self, key: K) -> Option<WatchChange<E>> {
        self.ready.get(&key).and_then(|key| self.watches.get(key)?.peek())
    }

    /// Takes out the next change of a watch; one that failed ends by it
    pub fn take(&mut self, key: K) -> Option<WatchChange<E>> {
        if !self.ready.remove(&key) {
            return None;
        }
        let watch = self.watches.get_mut(&key)?;
        let change = watch.take();
        if watch.peek().is_some() {
            self.ready.insert(key);
        }
        if matches!(change, Some(WatchChange::Failed(_))) {
            self.remove(key);
        }
        change
    }
}

impl<K, E> fmt::Debug for WatchTable<K, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WatchTable")
            .field("len", &self.watches.len())
            .field("map", &self.map)
            .finish_non_exhaustive()
    }
}
