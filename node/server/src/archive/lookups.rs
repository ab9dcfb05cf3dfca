//! Reads of the archive by requests: coalesced, bounded and counted.
//!
//! Requests about one thing at the same time cost one read, also where they are calls of batches.
//! What the archive does not have is remembered for a second, or until this server has exported
//! more, and the number of such reads in a second is limited, in all and for each client: asking
//! for hashes at random costs the archive a constant. A read that is refused is an error, and never
//! an unknown transaction; it is refused to one client and not to those that ask with it.

use alloc::sync::Arc;
use core::net::IpAddr;
use core::num::NonZero;
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, OnceLock};

use milepost::archive::{ArchiveWrite, WriterProgress};
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tracing::debug;

use super::conflicts::Conflicts;
use super::{SharedArchive, read_each};
use crate::errors::ARCHIVE_FAILED;
use crate::locks::lock;
use crate::metrics::family;

/// Maximum number of threads that wait for the archive; further reads wait without a thread
const MAX_CONCURRENT: usize = 64;
/// How long it is remembered that the archive does not have something, if another server may put it
const MISS_TTL: Duration = Duration::from_secs(1);
/// Maximum number of things that the archive does not have and that are remembered, some 10 MB
const MAX_REMEMBERED: usize = 100_000;

/// The archive as requests read it
pub(crate) struct Lookups {
    archive: SharedArchive,
    /// Those of earlier heights, the newest first
    older: Vec<SharedArchive>,
    turns: Semaphore,
    max_misses: u32,
    /// Those of one client; `None` for no limit
    max_client_misses: Option<NonZero<u32>>,
    state: Mutex<State>,
    counters: Counters,
    pub(super) conflicts: Conflicts,
}

#[derive(Default)]
struct State {
    /// The reads in progress
    running: HashMap<Key, Arc<Flight>>,
    /// What the archive does not have, and until when that is believed
    missing: HashMap<Key, Instant>,
    /// How often it was forgotten; a read that began before does not add to it
    forgotten: u64,
    /// The second that is counted, and the misses in it
    second: Option<Instant>,
    misses: u32,
    /// Those of each client, unless they have no limit; no more than there are misses
    client_misses: HashMap<IpAddr, u32>,
}

/// A read that others wait for, and its result once it has ended
type Flight = OnceLock<Result<Option<Row>, Error>>;

impl State {
    /// Counts a read that missed, for this client if it has a limit
    fn count_miss(&mut self, client: Option<IpAddr>) {
        self.misses = self.misses.saturating_add(1);
        if let Some(client) = client {
            let misses = self.client_misses.entry(client).or_default();
            *misses = misses.saturating_add(1);
        }
    }

    fn remember_miss(&mut self, key: Key, until: Instant) {
        if self.missing.len() >= MAX_REMEMBERED {
            self.missing.clear();
        }
        self.missing.insert(key, until);
    }
}

/// The reads that a call needs
struct Flights<'lookups> {
    own: EndOnDrop<'lookups>,
    of_others: Vec<(Key, Arc<Flight>)>,
    /// How often misses had been forgotten
    forgotten: u64,
}

#[derive(Default)]
struct Counters {
    found: Counter,
    missed: Counter,
    remembered: Counter,
    coalesced: Counter,
    refused: Counter,
    failed: Counter,
}

impl Lookups {
    pub(crate) fn new(archive: SharedArchive, max_misses: NonZero<u32>) -> Self {
        Self {
            archive,
            older: Vec::new(),
            turns: Semaphore::new(MAX_CONCURRENT),
            max_misses: max_misses.get(),
            max_client_misses: None,
            state: Mutex::default(),
            counters: Counters::default(),
            conflicts: Conflicts::default(),
        }
    }

    /// With archives of earlier heights, the newest first, which are only read
    pub(crate) fn with_older(mut self, older: Vec<SharedArchive>) -> Self {
        self.older = older;
        self
    }

    /// With a limit for each client
    pub(crate) fn with_address_limit(mut self, max_misses: Option<NonZero<u32>>) -> Self {
        self.max_client_misses = max_misses;
        self
    }

    /// The archive itself
    pub(crate) const fn archive(&self) -> &SharedArchive {
        &self.archive
    }

    /// The archive and those of earlier heights, the newest first
    pub(crate) fn all(&self) -> impl Iterator<Item = &SharedArchive> {
        core::iter::once(&self.archive).chain(&self.older)
    }

    /// What all writers together have put into this archive and the older ones; blocks the thread
    pub(crate) fn read_union(&self) -> Result<WriterProgress, Error> {
        let unions = self.all().map(WriterProgress::read_union).collect::<Result<Vec<_>, _>>()?;
        Ok(WriterProgress::union(&unions))
    }

    /// Waits for one of the threads that may read; `None` never happens, as it is never closed
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// Forgets what the archive did not have, because rows were put
    ///
    /// Reads in progress may not see these rows, so no request joins them from now on.
    pub(crate) fn forget_misses(&self) {
        let mut state = lock(&self.state);
        state.missing.clear();
        state.running.clear();
        state.forgotten += 1;
    }

    /// Writes rows, and reads the transactions back, so that two contents of a key are noticed
    /// without a request for it; blocks the thread
    pub(crate) fn write(&self, write: &ArchiveWrite) -> Result<(), Error> {
        write.run(&self.archive).inspect_err(|error| self.conflicts.note(error))?;
        self.forget_misses();
        let keys = write.rows.iter().map(|(key, _)| *key);
        let keys: Vec<_> = keys.filter(|key| key.table() == Table::ArchivedTransactions).collect();
        if keys.is_empty() {
            return Ok(());
        }
        match read_each(&keys, |keys, rows| self.archive.get_many(keys, rows)) {
            Ok(rows) => {
                let errors = rows.iter().filter_map(|row| row.as_ref().err());
                errors.for_each(|error| self.conflicts.note(error));
            }
            // The rows are durable: whether they can be read concerns the requests for them.
            Err(error) => debug!("what was archived cannot be read back: {error}"),
        }
        Ok(())
    }

    /// Reads rows for a client; blocks the thread
    ///
    /// What others read now is not read again, and what is read here others can wait for.
    pub(super) fn get_many(
        &self,
        keys: &[Key],
        rows: &mut Vec<Option<Row>>,
        client: IpAddr,
    ) -> Result<(), Error> {
        let Flights { own, of_others, forgotten } = self.begin(keys, client)?;
        let mut found = HashMap::with_capacity(own.flights.len() + of_others.len());
        // Those of others are waited for when all own ones have ended, so that no two calls wait
        // for each other.
        let mut results = self.read(&own.flights, client, forgotten);
        drop(own);
        results.extend(of_others.into_iter().map(|(key, flight)| (key, flight.wait().clone())));
        for (key, result) in results {
            found.insert(key, result?);
        }
        rows.extend(keys.iter().map(|key| found.get(key).cloned().flatten()));
        Ok(())
    }

    /// Begins the reads of these keys that others do not read now, without what is known to be
    /// missing
    fn begin(&self, keys: &[Key], client: IpAddr) -> Result<Flights<'_>, Error> {
        let now = Instant::now();
        let mut state = lock(&self.state);
        let is_unknown = |key: &&Key| state.missing.get(*key).is_none_or(|until| *until <= now);
        let mut unknown: Vec<Key> = keys.iter().filter(is_unknown).copied().collect();
        self.counters.remembered.inc_by((keys.len() - unknown.len()) as u64);
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            // Before it waits for others too, so that each client has its own limit and no other's.
            self.check_limit(&mut state, now, client)?;
        }
        let (mut own, mut of_others) = (Vec::new(), Vec::new());
        for key in unknown {
            match state.running.entry(key) {
                Entry::Occupied(flight) => of_others.push((key, Arc::clone(flight.get()))),
                Entry::Vacant(entry) => {
                    own.push((key, Arc::clone(entry.insert(Arc::default()))));
                }
            }
        }
        self.counters.coalesced.inc_by(of_others.len() as u64);
        let forgotten = state.forgotten;
        Ok(Flights { own: EndOnDrop { lookups: self, flights: own }, of_others, forgotten })
    }

    /// Reads rows from the archive, counts them and remembers what is missing, unless what was
    /// missing has been forgotten since; the flights have their results then
    fn read(
        &self,
        flights: &[(Key, Arc<Flight>)],
        client: IpAddr,
        forgotten: u64,
    ) -> Vec<(Key, Result<Option<Row>, Error>)> {
        if flights.is_empty() {
            return Vec::new();
        }
        let counters = &self.counters;
        let keys: Vec<Key> = flights.iter().map(|(key, _)| *key).collect();
        // A row that cannot be served fails those that need it, and no others.
        let read = read_each(&keys, |keys, rows| self.fetch(keys, rows));
        let read = read.unwrap_or_else(|error| keys.iter().map(|_| Err(error.clone())).collect());
        let until = Instant::now() + MISS_TTL;
        let mut results = Vec::with_capacity(keys.len());
        let mut state = lock(&self.state);
        for ((key, flight), result) in flights.iter().zip(read) {
            let result = result.map_err(|error| {
                self.conflicts.note(&error);
                let detail = format!("{ARCHIVE_FAILED}: {}", error.detail());
                Error::new(error.kind(), detail).at(error.path()).with_source(error)
            });
            match &result {
                Ok(Some(_)) => counters.found.inc(),
                Ok(None) => {
                    state.count_miss(self.max_client_misses.map(|_| client));
                    if state.forgotten == forgotten {
                        state.remember_miss(*key, until);
                    }
                    counters.missed.inc()
                }
                Err(_) => counters.failed.inc(),
            };
            let _ = flight.set(result.clone());
            results.push((*key, result));
        }
        results
    }

    /// Reads rows from the archive, and those that it does not have from the older ones in turn
    fn fetch(&self, keys: &[Key], found: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.archive.get_many(keys, found)?;
        for older in &self.older {
            let rows = keys.iter().zip(found.iter_mut()).filter(|(_, row)| row.is_none());
            let (keys, missing): (Vec<Key>, Vec<_>) = rows.unzip();
            if keys.is_empty() {
                break;
            }
            let mut read = Vec::with_capacity(keys.len());
            older.get_many(&keys, &mut read)?;
            missing.into_iter().zip(read).for_each(|(row, read)| *row = read);
        }
        Ok(())
    }

    /// Checks that fewer reads than the limit have missed in this second
    fn check_limit(&self, state: &mut State, now: Instant, client: IpAddr) -> Result<(), Error> {
        let is_over = state.second.is_none_or(|second| now >= second + Duration::from_secs(1));
        if is_over {
            (state.second, state.misses) = (Some(now), 0);
            state.client_misses.clear();
        }
        let of_client = state.client_misses.get(&client).copied();
        let (whose, limit) = match self.max_client_misses.map(NonZero::get) {
            Some(limit) if of_client.unwrap_or_default() >= limit => (" of one address", limit),
            _ if state.misses >= self.max_misses => ("", self.max_misses),
            _ => return Ok(()),
        };
        self.counters.refused.inc();
        let detail = format_args!(
            "more than {limit} reads{whose} of the archive in a second were about what it does not have"
        );
        Err(Error::new(ErrorKind::Limit, detail))
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let Counters { found, missed, remembered, coalesced, refused, failed } = &self.counters;
        let results = [
            ("found", found),
            ("missed", missed),
            ("remembered", remembered),
            ("coalesced", coalesced),
            ("refused", refused),
            ("failed", failed),
        ];
        let results = results.map(|(result, count)| ([("result", result)], count.clone()));
        family(registry, "archive_reads", "Rows that requests asked the archive for", results);
        self.conflicts.register(registry);
    }
}

/// Ends reads, also by a panic, which those who wait see as an error
struct EndOnDrop<'lookups> {
    lookups: &'lookups Lookups,
    flights: Vec<(Key, Arc<Flight>)>,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.lookups.state);
        for (key, flight) in &self.flights {
            // Another read of it may have begun after rows were put.
            if state.running.get(key).is_some_and(|running| Arc::ptr_eq(running, flight)) {
                state.running.remove(key);
            }
        }
        drop(state);
        let panicked = || Err(Error::new(ErrorKind::Storage, "the read of the archive panicked"));
        for (_, flight) in &self.flights {
            let _ = flight.set(panicked());
        }
    }
}

#[cfg(test)]
mod tests;
