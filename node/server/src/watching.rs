//! Watched transactions and those who watch them.
//!
//! A transaction is observed once after a block that may have changed it, however many watch it. A
//! watcher has room for one state of each of its transactions: a newer one takes the place of one
//! that was not taken out, so one that does not read takes no more memory and delays no other. That
//! a fork took away the block of the last event is noted when a state is published, by the rows
//! that the state comes from, and stays noted until it is taken out. States are published by one
//! task, so a watcher never gets an older one after a newer one.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::task::{Context, Poll, Waker};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use milepost::endpoint::WatchMap;
use milepost::import::ChainUpdate;
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::status::{CompactStatus, LastSeen, NextEvent, Observation};
use tokio::sync::Notify;

use crate::metrics::{family, sample};
use crate::query_error::QueryError;
use crate::service::Service;

/// Number of transactions that are observed at a time, on one snapshot
const BATCH: usize = 64;

/// What a watcher takes out
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// A fork took away the block of the transaction at this position
    UnIncluded(usize),
    /// The newest state of the transaction at this position
    State(usize, Arc<CompactStatus>),
    /// The head is below what was seen of the transaction at this position
    Behind(usize),
    /// The transaction at this position is not known any more
    Forgotten(usize),
    /// The transaction at this position cannot be observed, and is not watched any more
    Failed(usize, QueryError),
    /// The service stops
    Closed,
}

impl Change {
    /// The position of its transaction; `None` for the end of the service
    pub(crate) const fn position(&self) -> Option<usize> {
        match self {
            Self::UnIncluded(position)
            | Self::State(position, _)
            | Self::Behind(position)
            | Self::Forgotten(position)
            | Self::Failed(position, _) => Some(*position),
            Self::Closed => None,
        }
    }
}

/// A transaction to watch
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) hash: CryptoHash,
    /// The id of the state that the client had last
    pub(crate) last_id: Option<String>,
    /// The height that the head has to have before the first event
    pub(crate) min_height: BlockHeight,
}

impl Target {
    /// A transaction of which the client has seen nothing
    pub(crate) const fn new(hash: CryptoHash) -> Self {
        Self { hash, last_id: None, min_height: 0 }
    }
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
    /// One for each position
    slots: Vec<Slot>,
    is_closed: bool,
    waker: Option<Waker>,
}

/// The last event of one watcher about one transaction, and the next one
#[derive(Default)]
struct Slot {
    /// The id of the state that was taken out last
    last_id: Option<String>,
    /// Its block, if it has one
    last: Option<LastSeen>,
    /// The height that the head has to have before the first state
    min_height: BlockHeight,
    /// Whether a state was put in
    has_state: bool,
    /// Whether a fork took away the block of the last state, which has to be taken out first
    is_un_included: bool,
    next: Option<News>,
}

enum News {
    State(Arc<CompactStatus>),
    Behind,
    Forgotten,
    Failed(QueryError),
}

impl Slot {
    fn new(target: &Target) -> Self {
        let last_id = target.last_id.clone();
        let last = last_id.as_deref().and_then(LastSeen::of_id);
        Self { last_id, last, min_height: target.min_height, ..Self::default() }
    }

    /// The heights of the blocks about which the next observation has to decide
    fn heights(&self) -> impl Iterator<Item = BlockHeight> {
        let next = match &self.next {
            Some(News::State(state)) => state.block(),
            _ => None,
        };
        let seen = self.last.into_iter().chain(next).map(|seen| seen.height);
        seen.chain((self.min_height > 0).then_some(self.min_height))
    }

    /// Puts in an observation; returns whether it decides the next event
    fn put(&mut self, observation: &Observation, state: &Arc<CompactStatus>) -> bool {
        let min_height = LastSeen { height: self.min_height, hash: None, is_final: false };
        let compared = [
            (self.min_height > 0).then_some(min_height),
            self.last.filter(|_| !self.is_un_included),
        ];
        let mut next_event = NextEvent::State;
        for last in compared.into_iter().flatten() {
            let Some(found) = observation.next_event(last) else { return false };
            next_event = found;
            if next_event == NextEvent::Wait {
                break;
            }
        }
        let next = match next_event {
            NextEvent::Wait => Some(News::Behind),
            NextEvent::Forgotten => Some(News::Forgotten),
            NextEvent::State | NextEvent::UnIncluded => {
                self.is_un_included |= next_event == NextEvent::UnIncluded;
                // The first one is put in although the client has it: its milestone may be reached.
                let is_known = self.last_id.as_ref() == Some(&state.id) && self.has_state;
                self.has_state = true;
                self.min_height = 0;
                let is_next = !is_known || self.is_un_included;
                is_next.then(|| News::State(Arc::clone(state)))
            }
        };
        self.next = next;
        true
    }

    fn peek(&self, position: usize) -> Option<Change> {
        if self.is_un_included {
            return Some(Change::UnIncluded(position));
        }
        Some(match self.next.as_ref()? {
            News::State(state) => Change::State(position, Arc::clone(state)),
            News::Behind => Change::Behind(position),
            News::Forgotten => Change::Forgotten(position),
            News::Failed(error) => Change::Failed(position, error.clone()),
        })
    }

    fn take(&mut self, hash: CryptoHash) {
        if core::mem::take(&mut self.is_un_included) {
            self.last_id = Some(CompactStatus::in_no_block(hash).id);
            self.last = None;
        } else if let Some(News::State(state)) = self.next.take() {
            self.last = state.block();
            self.last_id = Some(state.id.clone());
        }
    }
}

impl Mailbox {
    /// Changes a slot, and wakes the watcher if there is something to take out
    fn change_slot(&self, position: usize, with: impl FnOnce(&mut Slot)) {
        let mut mail = lock(&self.0);
        let Some(slot) = mail.slots.get_mut(position) else { return };
        with(slot);
        let waker = if slot.peek(position).is_some() { mail.waker.take() } else { None };
        drop(mail);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

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

    /// The next transactions to observe, each with the heights of the blocks that watchers saw
    fn poll_observations(&self) -> Vec<(CryptoHash, Vec<BlockHeight>)> {
        let mut table = lock(&self.table);
        let hashes = core::iter::from_fn(|| table.map.poll_observation()).take(BATCH);
        let hashes: Vec<_> = hashes.collect();
        let with_heights = |hash| {
            let mut heights = Vec::new();
            for ((_, position), mailbox) in
                table.entries.get(&hash).iter().flat_map(|it| &it.watchers)
            {
                let mail = lock(&mailbox.0);
                heights.extend(mail.slots.get(*position).iter().flat_map(|slot| slot.heights()));
            }
            heights.sort_unstable();
            heights.dedup();
            (hash, heights)
        };
        hashes.into_iter().map(with_heights).collect()
    }

    /// Publishes the state of each of these transactions
    fn publish(&self, observed: Vec<(CryptoHash, Result<Observation, QueryError>)>) {
        let mut guard = lock(&self.table);
        let table = &mut *guard;
        for (hash, observation) in observed {
            let observation = observation.and_then(|observation| {
                table.map.handle_observation(&observation).map_err(QueryError::Failed)?;
                Ok(observation)
            });
            let observation = match observation {
                Ok(observation) => observation,
                Err(error) => {
                    // The next who watches it has it observed again.
                    table.map.remove(&hash);
                    let Some(entry) = table.entries.remove(&hash) else { continue };
                    table.open -= entry.watchers.len();
                    for ((_, position), mailbox) in entry.watchers {
                        let news = News::Failed(error.clone());
                        mailbox.change_slot(position, |slot| slot.next = Some(news));
                    }
                    continue;
                }
            };
            let Some(entry) = table.entries.get_mut(&hash) else { continue };
            let state = Arc::new(CompactStatus::new(&observation));
            let mut is_decided = true;
            for ((_, position), mailbox) in &entry.watchers {
                mailbox.change_slot(*position, |slot| is_decided &= slot.put(&observation, &state));
            }
            entry.state = Some(state);
            if !is_decided {
                // One who came meanwhile saw a block that was not asked for.
                table.map.remove(&hash);
                table.map.insert(hash);
            }
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
        let observed = service.observe_at(hashes).await;
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
        targets: Vec<Target>,
    ) -> Result<Self, TooManyWatches> {
        let watching = &service.watching;
        let mut guard = lock(&watching.table);
        let table = &mut *guard;
        let (open, limit) = (table.open, watching.limit);
        if targets.len() > limit.saturating_sub(open) {
            return Err(TooManyWatches { open, limit });
        }
        table.last_watcher += 1;
        table.open += targets.len();
        let number = table.last_watcher;
        let slots = targets.iter().map(Slot::new).collect();
        let mail = Mail { slots, is_closed: table.is_closed, waker: None };
        let mailbox = Arc::new(Mailbox(Mutex::new(mail)));
        for (position, target) in targets.iter().enumerate() {
            table.map.insert(target.hash);
            let entry = table.entries.entry(target.hash).or_default();
            entry.watchers.insert((number, position), Arc::clone(&mailbox));
            let Some(state) = &entry.state else { continue };
            let mut has_seen = false;
            mailbox.change_slot(position, |slot| {
                has_seen = slot.heights().next().is_some();
                if !has_seen {
                    slot.has_state = true;
                    slot.next = Some(News::State(Arc::clone(state)));
                }
            });
            if has_seen {
                // The rows decide the next event.
                table.map.remove(&target.hash);
                table.map.insert(target.hash);
            }
        }
        drop(guard);
        watching.work.notify_one();
        let hashes = targets.into_iter().map(|target| Some(target.hash)).collect();
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
            if let Some(slot) = lock(&self.mailbox.0).slots.get_mut(position) {
                *slot = Slot::default();
            }
        }
        self.hashes.iter().any(Option::is_some)
    }

    /// The id of the state that was taken out last, or that the client had before
    pub(crate) fn last_id(&self, position: usize) -> Option<String> {
        lock(&self.mailbox.0).slots.get(position)?.last_id.clone()
    }

    /// Number of changes that were not taken out
    #[cfg(test)]
    pub(crate) fn buffered(&self) -> usize {
        lock(&self.mailbox.0).slots.iter().filter(|slot| slot.next.is_some()).count()
    }

    /// The next change, which stays until it is taken out or a newer one takes its place
    pub(crate) fn peek(&self, context: &Context<'_>) -> Poll<Change> {
        let mut mail = lock(&self.mailbox.0);
        let mut slots = mail.slots.iter().enumerate();
        if let Some(change) = slots.find_map(|(position, slot)| slot.peek(position)) {
            return Poll::Ready(change);
        }
        if mail.is_closed {
            return Poll::Ready(Change::Closed);
        }
        mail.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Takes out a change; returns whether it still was the next one of its transaction
    pub(crate) fn take(&self, change: &Change) -> bool {
        let Some(position) = change.position() else { return true };
        let mut mail = lock(&self.mailbox.0);
        let slot = mail.slots.get_mut(position);
        let Some((slot, hash)) = slot.zip(self.hash(position)) else { return false };
        let is_next = slot.peek(position).as_ref() == Some(change);
        if is_next {
            slot.take(hash);
        }
        is_next
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
