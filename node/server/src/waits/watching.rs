//! Watched transactions, shared by the task that observes them and those who watch.
//!
//! The lock is held while changes are handed in, published and taken out, never while a transaction
//! is observed. No change is lost, because a block is committed before its changes are handed in,
//! and who finds no change leaves a waker under the lock under which changes are published. States
//! are published by one task, so a watcher never gets an older one after a newer one.
//! `tests/interleavings` checks the interleavings of this file.

use alloc::sync::Arc;
use core::fmt;
use core::ops::RangeInclusive;
use core::task::{Context, Poll, Waker};
use std::collections::HashMap;

use milepost::endpoint::{WatchChange, WatchTable, WatchTarget};
use milepost::import::ChainUpdate;
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::status::Observation;

use super::sync::{Mutex, MutexGuard, Notify, PoisonError};
use crate::errors::QueryError;

/// Number of transactions that are observed at a time, on one snapshot
const BATCH: usize = 64;

/// The number of a watcher, and the position of the transaction among those that it watches
type Key = (u64, usize);

/// A change of the transaction at a position
pub(crate) type Change = (usize, WatchChange<QueryError>);

/// Why a watcher was refused
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooManyWatches {
    pub(crate) open: usize,
    pub(crate) limit: usize,
}

impl fmt::Display for TooManyWatches {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "too many watches: {} of {}", self.open, self.limit)
    }
}

/// All watched transactions
pub(crate) struct Watching {
    state: Mutex<State>,
    /// Notified when there may be something to observe
    pub(crate) work: Notify,
    limit: usize,
}

struct State {
    table: WatchTable<Key, QueryError>,
    /// By the number of a watcher that found no change
    wakers: HashMap<u64, Waker>,
    last_watcher: u64,
    is_closed: bool,
}

impl Watching {
    /// Watches of at most `limit` transactions in total, counted once for each watcher
    pub(crate) fn new(limit: usize, hash_seed: u64) -> Self {
        let (table, wakers) = (WatchTable::new(hash_seed), HashMap::new());
        let state = State { table, wakers, last_watcher: 0, is_closed: false };
        Self { state: Mutex::new(state), work: Notify::new(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left a complete table: it is changed by calls that do not panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of watches, and of watched transactions
    pub(crate) fn counts(&self) -> (usize, usize) {
        let table = &self.lock().table;
        (table.len(), table.transaction_count())
    }

    /// Handles the changes of a block, after its commit
    pub(crate) fn handle_chain_update(&self, update: &ChainUpdate) {
        self.lock().table.handle_chain_update(update);
        self.work.notify_one();
    }

    /// The next transactions to observe, each with the heights of the blocks that watchers saw
    pub(crate) fn poll_observations(&self) -> Vec<(CryptoHash, Vec<BlockHeight>)> {
        let table = &mut self.lock().table;
        core::iter::from_fn(|| table.poll_observation()).take(BATCH).collect()
    }

    /// Publishes the state of each of these transactions
    pub(crate) fn publish(&self, observed: Vec<(CryptoHash, Result<Observation, QueryError>)>) {
        let mut woken = Vec::new();
        let mut state = self.lock();
        let State { table, wakers, .. } = &mut *state;
        for (hash, observation) in observed {
            let handled = observation.and_then(|observation| {
                table.handle_observation(&observation).map_err(QueryError::from)
            });
            let watches: Vec<Key> = match handled {
                Ok(_) => table.watches(hash).collect(),
                Err(error) => table.fail(hash, &error).into_iter().collect(),
            };
            let ready = watches.into_iter().filter(|key| table.first_ready(*key..=*key).is_some());
            woken.extend(ready.filter_map(|(watcher, _)| wakers.remove(&watcher)));
        }
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Tells all watchers that the service stops
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let woken = core::mem::take(&mut state.wakers);
        drop(state);
        woken.into_values().for_each(Waker::wake);
    }
}

/// One who watches transactions, until this is dropped
pub(crate) struct Watcher {
    watching: Arc<Watching>,
    number: u64,
    /// The watched transactions; `None` for those that are not watched any more
    hashes: Vec<Option<CryptoHash>>,
}

impl Watcher {
    /// Watches these transactions, the state of each of which comes first
    pub(crate) fn new(
        watching: &Arc<Watching>,
        targets: &[WatchTarget],
    ) -> Result<Self, TooManyWatches> {
        let mut state = watching.lock();
        let (open, limit) = (state.table.len(), watching.limit);
        if targets.len() > limit.saturating_sub(open) {
            return Err(TooManyWatches { open, limit });
        }
        state.last_watcher += 1;
        let number = state.last_watcher;
        for (position, target) in targets.iter().enumerate() {
            state.table.insert((number, position), target);
        }
        drop(state);
        watching.work.notify_one();
        let hashes = targets.iter().map(|target| Some(target.hash)).collect();
        Ok(Self { watching: Arc::clone(watching), number, hashes })
    }

    const fn keys(&self) -> RangeInclusive<Key> {
        (self.number, 0)..=(self.number, usize::MAX)
    }

    /// The hash of the transaction at a position, if it is watched
    pub(crate) fn hash(&self, position: usize) -> Option<CryptoHash> {
        self.hashes.get(position).copied().flatten()
    }

    /// Ends the watch of the transaction at a position; returns whether others are watched
    pub(crate) fn end(&mut self, position: usize) -> bool {
        if self.hashes.get_mut(position).and_then(Option::take).is_some() {
            self.watching.lock().table.remove((self.number, position));
        }
        self.hashes.iter().any(Option::is_some)
    }

    /// The id of the state that was taken out last, or that the client had before
    pub(crate) fn last_id(&self, position: usize) -> Option<String> {
        self.watching.lock().table.last_id((self.number, position)).map(str::to_owned)
    }

    /// Number of changes that were not taken out
    #[cfg(test)]
    pub(crate) fn buffered(&self) -> usize {
        let table = &self.watching.lock().table;
        (0..self.hashes.len())
            .filter(|position| table.peek((self.number, *position)).is_some())
            .count()
    }

    /// The next change, which stays until it is taken out or a newer one takes its place; `None`
    /// if there is none and the service stops
    pub(crate) fn peek(&self, context: &Context<'_>) -> Poll<Option<Change>> {
        let mut state = self.watching.lock();
        let ready = state.table.first_ready(self.keys());
        if let Some(change) = ready.and_then(|key| Some((key.1, state.table.peek(key)?))) {
            return Poll::Ready(Some(change));
        }
        if state.is_closed {
            return Poll::Ready(None);
        }
        state.wakers.insert(self.number, context.waker().clone());
        Poll::Pending
    }

    /// Takes out a change; returns whether it still was the next one of its transaction
    pub(crate) fn take(&self, (position, change): &Change) -> bool {
        let (key, table) = ((self.number, *position), &mut self.watching.lock().table);
        let is_next = table.peek(key).as_ref() == Some(change);
        if is_next {
            table.take(key);
        }
        is_next
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut state = self.watching.lock();
        for position in 0..self.hashes.len() {
            state.table.remove((self.number, position));
        }
        state.wakers.remove(&self.number);
        if state.table.is_empty() {
            // An idle service does not keep the memory of its peak.
            state.wakers = HashMap::new();
        }
    }
}
