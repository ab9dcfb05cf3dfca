//! The watches of an endpoint, and the events that they report.
//!
//! An event is made when it is polled, from the change that the table of watches has. The result of
//! a transaction is rendered when it is observed, because the rows are at hand only then.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;

use super::end_reason::STOPPING;
use super::{Completion, Endpoint, WatchChange, WatchEvent, WatchOptions, WatchTable, WatchTarget};
use crate::import::ChainUpdate;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::status::{CompactStatus, Milestone, Observation};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

/// All watches of an endpoint
#[derive(Debug)]
pub(super) struct Watches {
    table: WatchTable<RequestHandle>,
    options: BTreeMap<RequestHandle, WatchOptions>,
    /// The results of transactions that have reached the milestone of a watch that asks for them
    results: BTreeMap<CryptoHash, Arc<str>>,
    /// The watch that had the last event: the next one is that of another, so that none waits long
    last: Option<RequestHandle>,
    /// The observations in progress
    observing: BTreeMap<RequestHandle, CryptoHash>,
    /// The observations that ended, which were not handed out yet
    ended: VecDeque<RequestHandle>,
}

impl Watches {
    pub(super) fn new(hash_seed: u64) -> Self {
        Self {
            table: WatchTable::new(hash_seed),
            options: BTreeMap::new(),
            results: BTreeMap::new(),
            last: None,
            observing: BTreeMap::new(),
            ended: VecDeque::new(),
        }
    }

    pub(super) fn contains(&self, handle: RequestHandle) -> bool {
        self.options.contains_key(&handle)
    }

    fn insert(&mut self, handle: RequestHandle, hash: CryptoHash, options: WatchOptions) {
        self.table.insert(handle, &WatchTarget::new(hash));
        if options.with_result {
            // The result of a state that is known may not have been rendered.
            self.table.observe_again(handle);
        }
        self.options.insert(handle, options);
    }

    /// Ends a watch without an event, if there is one
    pub(super) fn remove(&mut self, handle: RequestHandle) {
        self.options.remove(&handle);
        let Some(hash) = self.table.transaction(handle) else { return };
        self.table.remove(handle);
        if self.table.watches(hash).next().is_none() {
            self.results.remove(&hash);
        }
    }

    pub(super) fn handle_chain_update(&mut self, update: &ChainUpdate) {
        self.table.handle_chain_update(update);
    }

    /// The next transaction to observe, and the heights about which the observation decides
    pub(super) fn poll_observation(&mut self) -> Option<(CryptoHash, Vec<BlockHeight>)> {
        self.table.poll_observation()
    }

    /// Notes by which operation a transaction is observed
    pub(super) fn set_observing(&mut self, handle: RequestHandle, hash: CryptoHash) {
        self.observing.insert(handle, hash);
    }

    /// The next observation that ended, whose snapshot the host can release
    pub(super) fn poll_ended(&mut self) -> Option<RequestHandle> {
        self.ended.pop_front()
    }

    /// Handles the result of an operation; returns it unless it was an observation for a watch
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
            self.results.remove(&hash);
            self.table.fail(hash, &error);
        }
        None
    }

    fn observed(&mut self, observation: &Observation) -> Result<(), Error> {
        if !self.table.handle_observation(observation)? {
            return Ok(());
        }
        let hash = observation.hash;
        let milestone = observation.summary.map_or(Milestone::None, |summary| summary.milestone);
        let options = self.table.watches(hash).filter_map(|handle| self.options.get(&handle));
        let mut with_result = options.filter(|options| options.with_result);
        let result = match with_result.any(|options| milestone.satisfies(options.wait_until)) {
            true => observation.result()?,
            false => None,
        };
        match result {
            Some(result) => drop(self.results.insert(hash, result.into())),
            None => drop(self.results.remove(&hash)),
        }
        Ok(())
    }

    /// Ends all watches with this error
    pub(super) fn fail_all(&mut self, error: &Error) {
        self.results.clear();
        self.table.fail_all(error);
    }

    /// The first watch with a change after the last one
    fn first_ready(&self) -> Option<RequestHandle> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.table.first_ready((after, Bound::Unbounded));
        next.or_else(|| self.table.first_ready(..))
    }

    /// The next event; a watch whose last one it is has ended
    pub(super) fn poll_event(&mut self) -> Option<(RequestHandle, Result<WatchEvent, Error>)> {
        while let Some(handle) = self.first_ready() {
            self.last = Some(handle);
            let Some((hash, options)) =
                self.table.transaction(handle).zip(self.options.get(&handle).copied())
            else {
                self.table.remove(handle);
                continue;
            };
            let last_id = self.table.last_id(handle).unwrap_or_default().to_owned();
            let event = match self.table.take(handle) {
                Some(WatchChange::UnIncluded) => {
                    WatchEvent::un_included(CompactStatus::in_no_block(hash))
                }
                Some(WatchChange::State(state)) => {
                    let is_reached = state.milestone.satisfies(options.wait_until);
                    if !is_reached && state.id == last_id {
                        // The event before said that it is in no block.
                        continue;
                    }
                    let result = self.results.get(&hash).filter(|_| options.with_result);
                    WatchEvent::new(&state, is_reached, result.map(AsRef::as_ref))
                }
                Some(WatchChange::Forgotten) => WatchEvent::forgotten(hash, &last_id),
                Some(WatchChange::Failed(error)) => {
                    self.options.remove(&handle);
                    return Some((handle, Err(error)));
                }
                Some(WatchChange::Behind) | None => continue,
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
    /// newest; while the head is below the block of the last event, it holds none.
    /// [`cancel`](Self::cancel) ends it.
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
        let (open, limit) = (self.watch_count(), self.wait_config.max_waiting);
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
        self.watches.options.len()
    }
}
