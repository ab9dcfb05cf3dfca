//! Watched transactions and those who watch them.
//!
//! A transaction is observed once after a block that may have changed it, however many watch it. A
//! watcher has room for one state of each of its transactions: a newer one takes the place of one
//! that was not taken out, so one that does not read takes no more memory and delays no other.
//! States are published by one task, so a watcher never gets an older one after a newer one.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::task::{Context, Poll, Waker};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use milepost::endpoint::WatchMap;
use milepost::import::ChainUpdate;
use milepost::primitives::CryptoHash;
use milepost::status::{CompactStatus, Observation};
use tokio::sync::Notify;

use crate::metrics::{family, sample};
use crate::query_error::QueryError;
use crate::service::Service;

/// Number of transactions that are observed at a time, on one snapshot
const BATCH: usize = 64;

/// What a watcher takes out
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// The newest state of the transaction at this position
    State(usize, Arc<CompactStatus>),
    /// The transaction at this position cannot be observed, and is not watched any more
    Failed(usize, QueryError),
    /// The service stops
    Closed,
}

/// Why a watcher was refused
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooManyWatches {
    pub(crate) open: usize,
    pub(crate) limit: usize,
}

/// All watched transactions of a service
pub(crate) struct Watching {
    table: Mutex<Table>,
    /// Notified when there may be something to observe
    work: Notify,
    limit: usize,
}

struct Table {
    map: WatchMap,
    entries: HashMap<CryptoHash, Entry>,
    /// Number of watches: of one transaction by one watcher each
    open: usize,
    last_watcher: u64,
    is_closed: bool,
}

/// A watched transaction
#[derive(Default)]
struct Entry {
    /// Its newest state, once it was observed
    state: Option<Arc<CompactStatus>>,
    /// By the number of the watcher and the position of the transaction among those it watches
    watchers: BTreeMap<(u64, usize), Arc<Mailbox>>,
}

/// What a watcher has not taken out yet
#[derive(Default)]
struct Mailbox(Mutex<Mail>);

#[derive(Default)]
struct Mail {
    /// The newest change of each transaction
    changes: BTreeMap<usize, Result<Arc<CompactStatus>, QueryError>>,
    is_closed: bool,
    waker: Option<Waker>,
}

impl Mailbox {
    fn change(&self, with: impl FnOnce(&mut Mail)) {
        let waker = {
            let mut mail = lock(&self.0);
            with(&mut mail);
            mail.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked left complete entries: each is changed by calls that do not panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watching {
    /// Watches of at most `limit` transactions in total, counted once for each watcher
    pub(crate) fn new(limit: usize, hash_seed: u64) -> Self {
        let map = WatchMap::new(hash_seed);
        let entries = HashMap::new();
        let table = Table { map, entries, open: 0, last_watcher: 0, is_closed: false };
        Self { table: Mutex::new(table), work: Notify::new(), limit }
    }

    /// Number of watches, and of watched transactions
    pub(crate) fn counts(&self) -> (usize, usize) {
        let table = lock(&self.table);
        (table.open, table.entries.len())
    }

    /// Appends the metrics, in the text format of Prometheus
    pub(crate) fn text(&self, out: &mut String) {
        let (open, transactions) = self.counts();
        family(out, "watches_open", "gauge", "Transactions watched, counted for each watcher");
        sample(out, "watches_open", "", open);
        family(out, "transactions_watched", "gauge", "Transactions that have a watcher");
        sample(out, "transactions_watched", "", transactions);
    }

    /// Takes in what a block changed, after its commit
    pub(crate) fn handle_chain_update(&self, update: &ChainUpdate) {
        lock(&self.table).map.handle_chain_update(update);
        self.work.notify_one();
    }

    /// The next transactions to observe
    fn poll_observations(&self) -> Vec<CryptoHash> {
        let mut table = lock(&self.table);
        core::iter::from_fn(|| table.map.poll_observation()).take(BATCH).collect()
    }

    /// Publishes the state of each of these transactions
    fn publish(&self, observed: Vec<(CryptoHash, Result<Observation, QueryError>)>) {
        let mut changes = Vec::new();
        {
            let mut table = lock(&self.table);
            for (hash, observation) in observed {
                let state = observation.and_then(|observation| {
                    table.map.handle_observation(&observation).map_err(QueryError::Failed)?;
                    Ok(Arc::new(CompactStatus::new(&observation)))
                });
                match state {
                    Ok(state) => {
                        let Some(entry) = table.entries.get_mut(&hash) else { continue };
                        if entry.state.as_ref().is_some_and(|before| before.id == state.id) {
                            continue;
                        }
                        entry.state = Some(Arc::clone(&state));
                        let watchers = entry.watchers.iter();
                        changes.extend(watchers.map(|((_, position), mailbox)| {
                            (*position, Arc::clone(mailbox), Ok(Arc::clone(&state)))
                        }));
                    }
                    Err(error) => {
                        // The next who watches it has it observed again.
                        table.map.remove(&hash);
                        let Some(entry) = table.entries.remove(&hash) else { continue };
                        table.open -= entry.watchers.len();
                        changes.extend(entry.watchers.into_iter().map(
                            |((_, position), mailbox)| (position, mailbox, Err(error.clone())),
                        ));
                    }
                }
            }
        }
        for (position, mailbox, change) in changes {
            mailbox.change(|mail| {
                mail.changes.insert(position, change);
            });
        }
    }

    fn close(&self) {
        let mut table = lock(&self.table);
        table.is_closed = true;
        for mailbox in table.entries.values().flat_map(|entry| entry.watchers.values()) {
            mailbox.change(|mail| mail.is_closed = true);
        }
    }
}

/// Observes transactions that may have changed, and publishes their states, until the service shuts
/// down
pub(crate) async fn run(service: Arc<Service>) {
    while !service.is_shut_down() {
        let hashes = service.watching.poll_observations();
        if hashes.is_empty() {
            tokio::select! {
                biased;
                // A notification since the poll is stored, so it is not missed.
                () = service.watching.work.notified() => {}
                () = service.shutdown_signal() => break,
            }
            continue;
        }
        let observed = service.observe(hashes).await;
        service.watching.publish(observed);
    }
    service.watching.close();
}

/// One who watches transactions, until this is dropped
pub(crate) struct Watcher {
    service: Arc<Service>,
    number: u64,
    /// The watched transactions; `None` for those that are not watched any more
    hashes: Vec<Option<CryptoHash>>,
    mailbox: Arc<Mailbox>,
}

impl Watcher {
    /// Watches these transactions, the state of each of which comes first
    pub(crate) fn new(
        service: &Arc<Service>,
        hashes: Vec<CryptoHash>,
    ) -> Result<Self, TooManyWatches> {
        let watching = &service.watching;
        let mailbox = Arc::new(Mailbox::default());
        let mut guard = lock(&watching.table);
        let table = &mut *guard;
        let (open, limit) = (table.open, watching.limit);
        if hashes.len() > limit.saturating_sub(open) {
            return Err(TooManyWatches { open, limit });
        }
        table.last_watcher += 1;
        table.open += hashes.len();
        let number = table.last_watcher;
        let is_closed = table.is_closed;
        for (position, hash) in hashes.iter().enumerate() {
            table.map.insert(*hash);
            let entry = table.entries.entry(*hash).or_default();
            entry.watchers.insert((number, position), Arc::clone(&mailbox));
            if let Some(state) = &entry.state {
                let state = Ok(Arc::clone(state));
                mailbox.change(|mail| {
                    mail.changes.insert(position, state);
                });
            }
        }
        mailbox.change(|mail| mail.is_closed = is_closed);
        drop(guard);
        watching.work.notify_one();
        let hashes = hashes.into_iter().map(Some).collect();
        Ok(Self { service: Arc::clone(service), number, hashes, mailbox })
    }

    /// The hash of the transaction at a position, if it is watched
    pub(crate) fn hash(&self, position: usize) -> Option<CryptoHash> {
        self.hashes.get(position).copied().flatten()
    }

    /// Ends the watch of the transaction at a position; returns whether others are watched
    pub(crate) fn end(&mut self, position: usize) -> bool {
        if let Some(hash) = self.hashes.get_mut(position).and_then(Option::take) {
            self.remove(position, hash);
            lock(&self.mailbox.0).changes.remove(&position);
        }
        self.hashes.iter().any(Option::is_some)
    }

    /// Puts back a state that was taken out, unless there is a newer one
    pub(crate) fn put_back(&self, position: usize, state: Arc<CompactStatus>) {
        self.mailbox.change(|mail| {
            mail.changes.entry(position).or_insert(Ok(state));
        });
    }

    /// Number of changes that were not taken out
    #[cfg(test)]
    pub(crate) fn buffered(&self) -> usize {
        lock(&self.mailbox.0).changes.len()
    }

    /// The next change
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Change> {
        let mut mail = lock(&self.mailbox.0);
        if let Some((position, change)) = mail.changes.pop_first() {
            return Poll::Ready(match change {
                Ok(state) => Change::State(position, state),
                Err(error) => Change::Failed(position, error),
            });
        }
        if mail.is_closed {
            return Poll::Ready(Change::Closed);
        }
        mail.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn remove(&self, position: usize, hash: CryptoHash) {
        let mut guard = lock(&self.service.watching.table);
        let table = &mut *guard;
        let Some(entry) = table.entries.get_mut(&hash) else { return };
        if entry.watchers.remove(&(self.number, position)).is_none() {
            return;
        }
        table.open -= 1;
        if entry.watchers.is_empty() {
            table.entries.remove(&hash);
            table.map.remove(&hash);
            if table.entries.is_empty() {
                // An idle service does not keep the memory of its peak.
                table.entries = HashMap::new();
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        for (position, hash) in self.hashes.iter().enumerate() {
            if let Some(hash) = hash {
                self.remove(position, *hash);
            }
        }
    }
}
