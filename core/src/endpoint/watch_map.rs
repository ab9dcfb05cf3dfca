//! Transactions whose every change is of interest.
//!
//! A pending request waits for one unmet condition, because any other change would not answer it. A
//! watch waits for all conditions of its [`Observation`], each as an entry of a [`WaiterMap`]; the
//! first that is met ends them all, and the transaction is to be observed again, once however many
//! were met. A transaction is here once, however many watches `watch_table` has of it.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

use crate::Error;
use crate::import::ChainUpdate;
use crate::primitives::CryptoHash;
use crate::status::{Observation, WaitCondition};
use crate::waiting::{InsertErrorKind, RequestHandle, WaitKey, WaiterMap};

/// The watched transactions, and which of them have to be observed
///
/// Sans-IO: chain updates and observations are handed in, and the hashes of the transactions to be
/// observed are polled.
pub(super) struct WatchMap {
    /// All conditions of all watches, each with the hash of the watched transaction
    waiters: WaiterMap<CryptoHash>,
    watches: BTreeMap<CryptoHash, Watch>,
    queue: VecDeque<CryptoHash>,
}

#[derive(Default)]
struct Watch {
    /// The entries of its conditions; none while it has to be observed
    entries: Vec<RequestHandle>,
    /// Whether it is in the queue
    is_queued: bool,
    /// The generations of the last observation and of the waiters, if the observation was older
    stale: Option<(u64, u64)>,
}

impl WatchMap {
    /// An empty map; `hash_seed` is that of [`WaiterMap::new`]
    pub(super) fn new(hash_seed: u64) -> Self {
        let waiters = WaiterMap::new(usize::MAX, hash_seed);
        Self { waiters, watches: BTreeMap::new(), queue: VecDeque::new() }
    }

    /// Watches a transaction, which is to be observed first, also if it was watched before
    pub(super) fn insert(&mut self, hash: CryptoHash) {
        self.remove(&hash);
        self.watches.insert(hash, Watch::default());
        self.enqueue(hash);
    }

    /// Ends the watch of a transaction, if there is one
    pub(super) fn remove(&mut self, hash: &CryptoHash) {
        let Some(watch) = self.watches.remove(hash) else { return };
        self.remove_entries(watch.entries);
        if self.watches.is_empty() {
            // An idle service does not keep the memory of its peak.
            self.queue = VecDeque::new();
        }
    }

    /// Handles the changes of a block, after its commit
    ///
    /// Costs O(changes + conditions that are met), and nothing without a watch.
    pub(super) fn handle_chain_update(&mut self, update: &ChainUpdate) {
        // A later watch is observed first, and what was missed then wakes all.
        if !self.watches.is_empty() {
            self.waiters.handle_chain_update(update);
        }
    }

    /// Handles an observation: the transaction is to be observed again when a condition is met, or
    /// at once if a block was handed in since
    ///
    /// Nothing happens if the transaction is not watched any more.
    ///
    /// # Errors
    ///
    /// A corrupt row; the watch is not observed again then, and should be removed.
    pub(super) fn handle_observation(&mut self, observation: &Observation) -> Result<(), Error> {
        let (hash, generation) = (observation.hash, observation.generation);
        let Some(watch) = self.watches.get_mut(&hash) else { return Ok(()) };
        let mut conditions = observation.conditions()?;
        let newest = self.waiters.generation();
        let stale = (generation < newest).then_some((generation, newest));
        if let Some(stale) = stale {
            if watch.stale.replace(stale) != Some(stale) {
                self.enqueue(hash);
                return Ok(());
            }
            // The rows do not become newer, so what they lack is unknown until the next block.
            conditions = [WaitCondition::Anything].into();
        }
        let generation = generation.max(newest);
        watch.stale = stale;
        let mut entries = core::mem::take(&mut watch.entries);
        for condition in conditions {
            let handle = self.waiters.reserve(None);
            let key = WaitKey { generation, condition };
            match self.waiters.insert(handle, hash, 1, key) {
                Ok(()) => entries.push(handle),
                // Beyond 2^32 conditions there is no room for more.
                Err(error) => {
                    self.waiters.remove(handle);
                    debug_assert_eq!(error.kind, InsertErrorKind::Full);
                }
            }
        }
        if let Some(watch) = self.watches.get_mut(&hash) {
            watch.entries = entries;
        }
        Ok(())
    }

    /// Returns a transaction that is to be observed;
    /// [`handle_observation`](Self::handle_observation) or [`remove`](Self::remove) has to follow
    ///
    /// Call until it returns `None`, after every other call that takes `&mut self`.
    pub(super) fn poll_observation(&mut self) -> Option<CryptoHash> {
        while let Some(wakeup) = self.waiters.poll_wakeup() {
            let hash = wakeup.request;
            let watch = self.watches.get_mut(&hash);
            let entries = watch.map(|watch| core::mem::take(&mut watch.entries));
            self.remove_entries(entries.unwrap_or_default());
            self.enqueue(hash);
        }
        while let Some(hash) = self.queue.pop_front() {
            if let Some(watch) = self.watches.get_mut(&hash)
                && core::mem::replace(&mut watch.is_queued, false)
            {
                return Some(hash);
            }
        }
        None
    }

    fn enqueue(&mut self, hash: CryptoHash) {
        if let Some(watch) = self.watches.get_mut(&hash)
            && !core::mem::replace(&mut watch.is_queued, true)
        {
            self.queue.push_back(hash);
        }
    }

    fn remove_entries(&mut self, entries: Vec<RequestHandle>) {
        for handle in entries {
            self.waiters.remove(handle);
        }
    }
}

impl fmt::Debug for WatchMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WatchMap")
            .field("len", &self.watches.len())
            .field("waiters", &self.waiters)
            .finish_non_exhaustive()
    }
}
