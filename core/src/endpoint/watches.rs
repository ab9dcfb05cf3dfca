//! The watches of an endpoint, and the events that they report.
//!
//! A transaction is observed once after a block that may have changed it, however many watches it
//! has. A watch holds no event: what it has to report is made when it is polled, from the newest
//! state of its transaction, so states that were not polled in between are left out and memory does
//! not grow. A state is reported once, until another one was. That a fork took away the block that
//! was reported last is noted when the transaction is observed, so no event is left out with a
//! state. Rows, and what is sent to whom, are the host's matter.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::end_reason::STOPPING;
use super::{Completion, Endpoint, WatchEvent, WatchMap, WatchOptions};
use crate::import::ChainUpdate;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::status::{CompactStatus, LastSeen, NextEvent, Observation};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

/// All watches of an endpoint
#[derive(Debug)]
pub(super) struct Watches {
    map: WatchMap,
    transactions: BTreeMap<CryptoHash, Transaction>,
    watches: BTreeMap<RequestHandle, Watch>,
    /// The observations in progress
    observing: BTreeMap<RequestHandle, CryptoHash>,
    /// The observations that ended, which were not handed out yet
    ended: VecDeque<RequestHandle>,
    /// Watches that may have something to report
    ready: VecDeque<RequestHandle>,
}

/// A watched transaction
#[derive(Debug, Default)]
struct Transaction {
    /// The generation of its newest state
    generation: u64,
    /// Its newest state, once it was observed
    state: Option<Arc<CompactStatus>>,
    /// Its result, if it has reached the milestone of a watch that asks for it
    result: Option<Arc<str>>,
    watches: BTreeSet<RequestHandle>,
}

#[derive(Debug)]
struct Watch {
    transaction: CryptoHash,
    options: WatchOptions,
    /// The state that it reported last
    reported: Option<Arc<CompactStatus>>,
    /// Whether a fork took away the block of that state, which is to be reported
    is_un_included: bool,
    /// Whether the storage does not know the transaction any more
    is_forgotten: bool,
    /// Why it ends, if it does
    error: Option<Error>,
    is_ready: bool,
}

impl Watch {
    /// The block that was reported last, unless a fork is known to have taken it away
    fn last(&self) -> Option<LastSeen> {
        self.reported.as_ref().filter(|_| !self.is_un_included)?.block()
    }
}

impl Watches {
    pub(super) fn new(hash_seed: u64) -> Self {
        Self {
            map: WatchMap::new(hash_seed),
            transactions: BTreeMap::new(),
            watches: BTreeMap::new(),
            observing: BTreeMap::new(),
            ended: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    pub(super) fn contains(&self, handle: RequestHandle) -> bool {
        self.watches.contains_key(&handle)
    }

    fn insert(&mut self, handle: RequestHandle, hash: CryptoHash, options: WatchOptions) {
        let watch = Watch {
            transaction: hash,
            options,
            reported: None,
            is_un_included: false,
            is_forgotten: false,
            error: None,
            is_ready: false,
        };
        self.watches.insert(handle, watch);
        self.transactions.entry(hash).or_default().watches.insert(handle);
        // Observed again although others watch it: the result may not have been rendered.
        self.map.remove(&hash);
        self.map.insert(hash);
    }

    /// Ends a watch without an event, if there is one
    pub(super) fn remove(&mut self, handle: RequestHandle) {
        let Some(watch) = self.watches.remove(&handle) else { return };
        if self.watches.is_empty() {
            // An idle service does not keep the memory of its peak.
            self.ready = VecDeque::new();
        }
        let hash = watch.transaction;
        let Some(transaction) = self.transactions.get_mut(&hash) else { return };
        transaction.watches.remove(&handle);
        if transaction.watches.is_empty() {
            self.transactions.remove(&hash);
            self.map.remove(&hash);
        }
    }

    pub(super) fn handle_chain_update(&mut self, update: &ChainUpdate) {
        self.map.handle_chain_update(update);
    }

    /// The next transaction to observe
    pub(super) fn poll_observation(&mut self) -> Option<CryptoHash> {
        self.map.poll_observation()
    }

    /// The heights of the blocks about which the next observation of a transaction decides: of the
    /// states that were reported, and of the one that may be reported meanwhile
    pub(super) fn heights(&self, hash: CryptoHash) -> Vec<BlockHeight> {
        let Some(transaction) = self.transactions.get(&hash) else { return Vec::new() };
        let watches = transaction.watches.iter().filter_map(|handle| self.watches.get(handle));
        let states = watches.filter_map(|watch| watch.reported.as_deref());
        let blocks = states.chain(transaction.state.as_deref()).filter_map(CompactStatus::block);
        let mut heights: Vec<_> = blocks.map(|block| block.height).collect();
        heights.sort_unstable();
        heights.dedup();
        heights
    }

    /// Takes in by which operation a transaction is observed
    pub(super) fn set_observing(&mut self, handle: RequestHandle, hash: CryptoHash) {
        self.observing.insert(handle, hash);
    }

    /// The next observation that ended, whose snapshot the host can release
    pub(super) fn poll_ended(&mut self) -> Option<RequestHandle> {
        self.ended.pop_front()
    }

    /// Takes in the result of an operation; returns it unless it was an observation for a watch
    pub(super) fn handle_observation(
        &mut self,
        handle: RequestHandle,
        result: Result<Completion, Error>,
    ) -> Option<Result<Completion, Error>> {
        let Some(hash) = self.observing.remove(&handle) else { return Some(result) };
        self.ended.push_back(handle);
        let observed = match result {
            Ok(Completion::Observation(observation)) => self.observed(&observation),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = observed {
            self.map.remove(&hash);
            let watches = self.transactions.remove(&hash).map(|transaction| transaction.watches);
            for watch in watches.unwrap_or_default() {
                self.fail(watch, &error);
            }
        }
        None
    }

    fn observed(&mut self, observation: &Observation) -> Result<(), Error> {
        self.map.handle_observation(observation)?;
        let Some(transaction) = self.transactions.get_mut(&observation.hash) else { return Ok(()) };
        if observation.generation < transaction.generation {
            // Observations over remote rows may end in another order; the map repeats this one.
            return Ok(());
        }
        let watches = transaction.watches.iter().filter_map(|handle| self.watches.get(handle));
        if watches.filter_map(Watch::last).any(|last| observation.next_event(last).is_none()) {
            // A state was reported meanwhile, by an observation that ended before.
            self.map.remove(&observation.hash);
            self.map.insert(observation.hash);
            return Ok(());
        }
        transaction.generation = observation.generation;
        let state = Arc::new(CompactStatus::new(observation));
        let wants_result = transaction.watches.iter().any(|handle| {
            self.watches.get(handle).is_some_and(|watch| {
                watch.options.with_result && state.milestone.satisfies(watch.options.wait_until)
            })
        });
        transaction.result =
            if wants_result { observation.result()?.map(Into::into) } else { None };
        transaction.state = Some(state);
        for handle in &transaction.watches {
            let Some(watch) = self.watches.get_mut(handle) else { continue };
            match watch.last().and_then(|last| observation.next_event(last)) {
                Some(NextEvent::UnIncluded) => watch.is_un_included = true,
                Some(NextEvent::Forgotten) => watch.is_forgotten = true,
                Some(NextEvent::Wait | NextEvent::State) | None => {}
            }
            if !core::mem::replace(&mut watch.is_ready, true) {
                self.ready.push_back(*handle);
            }
        }
        Ok(())
    }

    /// Ends all watches with this error
    pub(super) fn fail_all(&mut self, error: &Error) {
        for hash in core::mem::take(&mut self.transactions).into_keys() {
            self.map.remove(&hash);
        }
        let handles: Vec<_> = self.watches.keys().copied().collect();
        for handle in handles {
            self.fail(handle, error);
        }
    }

    fn fail(&mut self, handle: RequestHandle, error: &Error) {
        let Some(watch) = self.watches.get_mut(&handle) else { return };
        watch.error = Some(error.clone());
        if !core::mem::replace(&mut watch.is_ready, true) {
            self.ready.push_back(handle);
        }
    }

    /// The next event; a watch whose last one it is has ended
    pub(super) fn poll_event(&mut self) -> Option<(RequestHandle, Result<WatchEvent, Error>)> {
        while let Some(handle) = self.ready.pop_front() {
            // It may have ended.
            let Some(watch) = self.watches.get_mut(&handle) else { continue };
            watch.is_ready = false;
            if let Some(error) = watch.error.take() {
                self.remove(handle);
                return Some((handle, Err(error)));
            }
            if core::mem::take(&mut watch.is_un_included) {
                let none = CompactStatus::in_no_block(watch.transaction);
                watch.reported = Some(Arc::new(none.clone()));
                // The newest state is next.
                watch.is_ready = true;
                self.ready.push_front(handle);
                return Some((handle, Ok(WatchEvent::un_included(none))));
            }
            let event = match &watch.reported {
                Some(last) if watch.is_forgotten => WatchEvent::forgotten(watch.transaction, last),
                _ => {
                    let Some(transaction) = self.transactions.get(&watch.transaction) else {
                        continue;
                    };
                    let Some(state) = &transaction.state else { continue };
                    let is_reached = state.milestone.satisfies(watch.options.wait_until);
                    if !is_reached && watch.reported.as_ref() == Some(state) {
                        continue;
                    }
                    let result = transaction.result.as_deref();
                    let result = result.filter(|_| watch.options.with_result);
                    watch.reported = Some(Arc::clone(state));
                    WatchEvent::new(state, is_reached, result)
                }
            };
            if event.is_last() {
                self.remove(handle);
            }
            return Some((handle, Ok(event)));
        }
        None
    }
}

impl<T> Endpoint<T> {
    /// Watches a transaction: its state comes as an [`Output::Watch`](super::Output::Watch) at
    /// once, and whenever it changes, until the milestone of the options is reached
    ///
    /// The transaction is observed by the endpoint, with rows as a request: also where the host
    /// evaluates its requests, it supplies the rows of
    /// [`Output::NeedRows`](super::Output::NeedRows), or polls by
    /// [`poll_output_with`](Self::poll_output_with). However many watches a transaction has, it is
    /// observed once after a block that may have changed it. A watch holds at most one event, the
    /// newest. [`cancel`](Self::cancel) ends it.
    ///
    /// ```
    /// use milepost::endpoint::{Endpoint, Engine, Output, WaitConfig, WatchOptions};
    /// use milepost::import::ImportSettings;
    /// use milepost::storage::MemoryStorage;
    /// use milepost_practice::{Practice, Settings};
    ///
    /// let (mut chain, mut storage) = (Practice::new(Settings::demo(1)), MemoryStorage::new());
    /// let mut endpoint: Endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    /// let blocks: Vec<_> = (0..16).map(|_| chain.next_message()).collect();
    /// let transaction = blocks.iter().find_map(|block| block.transactions.first()).unwrap();
    /// let watch = endpoint.watch(transaction.hash, WatchOptions::default())?;
    /// let mut milestones = Vec::new();
    /// for block in &blocks {
    ///     let (engine, settings) = (endpoint.engine(), ImportSettings::default());
    ///     let imported = engine.import_block(&block.json, &settings, &mut storage)?;
    ///     endpoint.handle_chain_update(&imported.chain_update);
    ///     while let Output::Watch { handle, event } = endpoint.poll_output_with(&storage) {
    ///         assert_eq!(handle, watch);
    ///         milestones.push(event?.milestone.name());
    ///     }
    /// }
    /// assert_eq!((milestones[0], milestones.last()), ("NONE", Some(&"FINAL")));
    /// assert_eq!(endpoint.watch_count(), 0);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are
    /// [`WaitConfig::max_waiting`](super::WaitConfig::max_waiting) watches,
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) after [`shutdown`](Self::shutdown).
    pub fn watch(
        &mut self,
        transaction: CryptoHash,
        options: WatchOptions,
    ) -> Result<RequestHandle, Error> {
        if self.stopping {
            return Err(Error::new(ErrorKind::Usage, STOPPING));
        }
        let (open, limit) = (self.watches.watches.len(), self.wait_config.max_waiting);
        if open >= limit {
            let text = format!("too many watches: {open} of {limit}");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let handle = self.waiters.reserve(None);
        self.watches.insert(handle, transaction, options);
        Ok(handle)
    }

    /// Number of watches
    pub fn watch_count(&self) -> usize {
        self.watches.watches.len()
    }
}
