//! Reads of the archive by requests: coalesced, bounded and counted.
//!
//! Requests about one thing at the same time cost one read, also where they are calls of batches.
//! What the archive does not have is remembered for a second, or until this server has exported
//! more, and the number of such reads in a second is limited, in all and for each client: asking
//! for hashes at random costs the archive a constant. A read that is refused is an error, and never
//! an unknown transaction; it is refused to one client and not to those that ask with it.

use alloc::sync::Arc;
use core::fmt::Display;
use core::net::IpAddr;
use core::num::NonZero;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use milepost::archive::WriterProgress;
use milepost::storage::{Key, Row};
use milepost::{Error, ErrorKind};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::{SharedArchive, read_each};
use crate::metrics::{family, sample};

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

/// A read that others wait for
#[derive(Default)]
struct Flight {
    result: Mutex<Option<Result<Option<Row>, Error>>>,
    done: Condvar,
}

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

impl Flight {
    /// Waits until the read has ended; blocks the thread
    fn wait(&self) -> Result<Option<Row>, Error> {
        let result = self.done.wait_while(lock(&self.result), |result| result.is_none());
        let result = result.unwrap_or_else(PoisonError::into_inner);
        result.clone().unwrap_or(Ok(None))
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
    found: AtomicU64,
    missed: AtomicU64,
    remembered: AtomicU64,
    coalesced: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub(super) fn all(&self) -> impl Iterator<Item = &SharedArchive> {
        core::iter::once(&self.archive).chain(&self.older)
    }

    /// What all writers together have put into this archive and the older ones; blocks the thread
    pub(super) fn read_union(&self) -> Result<WriterProgress, Error> {
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

    /// Reads rows for a client, if it is for one; blocks the thread
    ///
    /// What others read now is not read again, and what is read here others can wait for.
    pub(super) fn get_many(
        &self,
        keys: &[Key],
        rows: &mut Vec<Option<Row>>,
        client: Option<IpAddr>,
    ) -> Result<(), Error> {
        let Flights { own, of_others, forgotten } = self.begin(keys, client)?;
        let mut found = HashMap::with_capacity(own.flights.len() + of_others.len());
        // Those of others are waited for when all own ones have ended, so that no two calls wait
        // for each other.
        let mut results = self.read(&own.flights, client, forgotten);
        drop(own);
        results.extend(of_others.into_iter().map(|(key, flight)| (key, flight.wait())));
        for (key, result) in results {
            found.insert(key, result?);
        }
        rows.extend(keys.iter().map(|key| found.get(key).cloned().flatten()));
        Ok(())
    }

    /// Begins the reads of these keys that others do not read now, without what is known to be
    /// missing
    fn begin(&self, keys: &[Key], client: Option<IpAddr>) -> Result<Flights<'_>, Error> {
        let now = Instant::now();
        let mut state = lock(&self.state);
        let is_unknown = |key: &&Key| state.missing.get(*key).is_none_or(|until| *until <= now);
        let mut unknown: Vec<Key> = keys.iter().filter(is_unknown).copied().collect();
        self.counters.remembered.fetch_add((keys.len() - unknown.len()) as u64, Relaxed);
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
        self.counters.coalesced.fetch_add(of_others.len() as u64, Relaxed);
        let forgotten = state.forgotten;
        Ok(Flights { own: EndOnDrop { lookups: self, flights: own }, of_others, forgotten })
    }

    /// Reads rows from the archive, counts them and remembers what is missing, unless what was
    /// missing has been forgotten since; the flights have their results then
    fn read(
        &self,
        flights: &[(Key, Arc<Flight>)],
        client: Option<IpAddr>,
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
                let detail = format!("the archive cannot be read: {}", error.detail());
                Error::new(error.kind(), detail).at(error.path()).with_source(error)
            });
            match &result {
                Ok(Some(_)) => counters.found.fetch_add(1, Relaxed),
                Ok(None) => {
                    state.count_miss(client.filter(|_| self.max_client_misses.is_some()));
                    if state.forgotten == forgotten {
                        state.remember_miss(*key, until);
                    }
                    counters.missed.fetch_add(1, Relaxed)
                }
                Err(_) => counters.failed.fetch_add(1, Relaxed),
            };
            *lock(&flight.result) = Some(result.clone());
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
    fn check_limit(
        &self,
        state: &mut State,
        now: Instant,
        client: Option<IpAddr>,
    ) -> Result<(), Error> {
        let is_over = state.second.is_none_or(|second| now >= second + Duration::from_secs(1));
        if is_over {
            (state.second, state.misses) = (Some(now), 0);
            state.client_misses.clear();
        }
        let of_client = client.and_then(|client| state.client_misses.get(&client)).copied();
        let (whose, limit) = match self.max_client_misses.map(NonZero::get) {
            Some(limit) if of_client.unwrap_or_default() >= limit => (" of one address", limit),
            _ if state.misses >= self.max_misses => ("", self.max_misses),
            _ => return Ok(()),
        };
        self.counters.refused.fetch_add(1, Relaxed);
        let detail = format_args!(
            "more than {limit} reads{whose} of the archive in a second were about what it does not have"
        );
        Err(Error::new(ErrorKind::Limit, detail))
    }

    /// Appends the metrics
    pub(crate) fn text(&self, out: &mut String) {
        family(out, "archive_reads_total", "counter", "Rows that requests asked the archive for");
        let counters = &self.counters;
        let results: [(&str, &dyn Display); 6] = [
            ("found", &counters.found.load(Relaxed)),
            ("missed", &counters.missed.load(Relaxed)),
            ("remembered", &counters.remembered.load(Relaxed)),
            ("coalesced", &counters.coalesced.load(Relaxed)),
            ("refused", &counters.refused.load(Relaxed)),
            ("failed", &counters.failed.load(Relaxed)),
        ];
        for (result, count) in results {
            sample(out, "archive_reads_total", &format!("{{result=\"{result}\"}}"), count);
        }
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
            lock(&flight.result).get_or_insert_with(panicked);
            flight.done.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::SeqCst;
    use std::thread;

    use milepost::archive::{Archive as _, Envelope, Origin, WriterId};
    use milepost::storage::Table;
    use tokio::time;

    use super::*;
    use crate::archive::test_archive::TestArchive;
    use crate::archive::{ArchiveLocation, open};

    fn key(number: u64) -> Key {
        Key::number(Table::ArchivedHeights, number)
    }

    fn lookups() -> Lookups {
        let archive = open(&ArchiveLocation::Memory, true).unwrap();
        let row = Envelope::plain(Origin::of(WriterId(1)), b"content").encode();
        archive.put_many(&[(key(0), row.into())]).unwrap();
        Lookups::new(archive, NonZero::new(5).unwrap())
    }

    /// Whether each of these is found
    fn found(lookups: &Lookups, keys: &[Key]) -> Result<Vec<bool>, ErrorKind> {
        let mut rows = Vec::new();
        lookups.get_many(keys, &mut rows, None).map_err(|error| error.kind())?;
        Ok(rows.iter().map(Option::is_some).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn reads_that_miss_are_limited_in_each_second() {
        let lookups = lookups();
        for _ in 0..3 {
            for number in 1..=5 {
                assert_eq!(found(&lookups, &[key(number)]), Ok(vec![false]));
            }
            assert_eq!(found(&lookups, &[key(6)]), Err(ErrorKind::Limit));
            assert_eq!(found(&lookups, &[key(0)]), Err(ErrorKind::Limit));
            assert_eq!(found(&lookups, &[key(7), key(0)]), Err(ErrorKind::Limit));
            // What is remembered costs no read.
            assert_eq!(found(&lookups, &[key(3)]), Ok(vec![false]));
            assert_eq!(found(&lookups, &[key(3), key(4)]), Ok(vec![false; 2]));
            time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(found(&lookups, &[key(0), key(1), key(0)]), Ok(vec![true, false, true]));
        for _ in 0..20 {
            assert_eq!(found(&lookups, &[key(0)]), Ok(vec![true]));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_missing_is_remembered_for_a_second_or_until_rows_are_put() {
        let lookups = lookups();
        let row = Envelope::plain(Origin::of(WriterId(1)), b"content").encode();
        assert_eq!(found(&lookups, &[key(1)]), Ok(vec![false]));
        lookups.archive().put_many(&[(key(1), row.clone().into())]).unwrap();
        assert_eq!(found(&lookups, &[key(1)]), Ok(vec![false]));
        lookups.forget_misses();
        assert_eq!(found(&lookups, &[key(1)]), Ok(vec![true]));
        assert_eq!(found(&lookups, &[key(2)]), Ok(vec![false]));
        lookups.archive().put_many(&[(key(2), row.into())]).unwrap();
        time::advance(MISS_TTL).await;
        assert_eq!(found(&lookups, &[key(2)]), Ok(vec![true]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_has_a_limit_of_its_own() {
        let lookups = lookups().with_address_limit(NonZero::new(2));
        let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|it| Some(IpAddr::from(it)));
        let get = |number: u64, client| {
            let mut rows = Vec::new();
            let read = lookups.get_many(&[key(number)], &mut rows, client);
            read.map_err(|error| error.detail().to_owned())
        };
        assert_eq!((get(2, one), get(3, one)), (Ok(()), Ok(())));
        let refused = get(4, one).unwrap_err();
        assert!(refused.starts_with("more than 2 reads of one address"), "{refused}");
        // What is there is refused as well: that is not known before it is read.
        assert!(get(0, one).is_err());
        assert_eq!((get(4, other), get(5, None), get(0, other)), (Ok(()), Ok(()), Ok(())));
        time::advance(Duration::from_secs(2)).await;
        assert_eq!(get(6, one), Ok(()));
    }

    #[test]
    fn a_read_that_began_before_rows_were_put_is_neither_remembered_nor_joined() {
        let archive = TestArchive::new();
        let shared: SharedArchive = Arc::<TestArchive>::clone(&archive);
        let lookups = Lookups::new(shared, NonZero::new(5).unwrap());
        let row = Envelope::plain(Origin::of(WriterId(1)), b"content").encode();
        for (number, keys) in (0..).zip([&[key(1)][..], &[key(2), key(3)]]) {
            archive.hold(true);
            thread::scope(|scope| {
                let reads = 2 * number;
                let before = scope.spawn(|| found(&lookups, keys));
                archive.until_reads(reads + 1);
                let rows: Vec<_> = keys.iter().map(|key| (*key, row.clone().into())).collect();
                archive.put_many(&rows).unwrap();
                lookups.forget_misses();
                let after = scope.spawn(|| found(&lookups, &keys[..1]));
                archive.until_reads(reads + 2);
                archive.hold(false);
                assert_eq!(before.join().unwrap(), Ok(vec![false; keys.len()]));
                assert_eq!(after.join().unwrap(), Ok(vec![true]));
            });
            assert!(lock(&lookups.state).missing.is_empty());
        }
        assert!(lock(&lookups.state).running.is_empty());
    }

    /// Reads of an archive in which the keys 0 and 3 have a row, and 9 has two contents
    fn held_lookups() -> (Arc<TestArchive>, Lookups) {
        let archive = TestArchive::new();
        let put = |number, content: &[u8]| {
            let row = Envelope::plain(Origin::of(WriterId(1)), content).encode();
            archive.put_many(&[(key(number), row.into())]).unwrap();
        };
        [0, 3, 9].iter().for_each(|number| put(*number, b"content"));
        put(9, b"other");
        let shared: SharedArchive = Arc::<TestArchive>::clone(&archive);
        (archive, Lookups::new(shared, NonZero::new(100).unwrap()))
    }

    fn until_coalesced(lookups: &Lookups, count: u64) {
        while lookups.counters.coalesced.load(Relaxed) < count {
            thread::yield_now();
        }
    }

    #[test]
    fn a_client_over_its_limit_is_refused_also_what_another_reads_and_the_other_is_not() {
        let (archive, lookups) = held_lookups();
        let lookups = lookups.with_address_limit(NonZero::new(2));
        let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|it| Some(IpAddr::from(it)));
        let get = |keys: &[Key], client| {
            let mut rows = Vec::new();
            let read = lookups.get_many(keys, &mut rows, client).map_err(|error| error.kind());
            read.map(|()| rows.iter().map(Option::is_some).collect())
        };
        assert_eq!(get(&[key(1), key(2)], one), Ok(vec![false; 2]));
        for keys in [&[key(3)][..], &[key(4), key(0)]] {
            archive.hold(true);
            let reads = archive.reads.load(SeqCst);
            let coalesced = lookups.counters.coalesced.load(Relaxed);
            thread::scope(|scope| {
                let readers = [(); 2].map(|()| scope.spawn(|| get(keys, other)));
                until_coalesced(&lookups, coalesced + keys.len() as u64);
                archive.until_reads(reads + 1);
                assert_eq!(get(keys, one), Err(ErrorKind::Limit));
                assert_eq!(get(&keys[..1], one), Err(ErrorKind::Limit));
                archive.hold(false);
                let expected: Vec<bool> = keys.iter().map(|it| *it != key(4)).collect();
                for reader in readers {
                    assert_eq!(reader.join().unwrap(), Ok(expected.clone()));
                }
            });
            assert_eq!(archive.reads.load(SeqCst), reads + 1);
        }
    }

    #[test]
    fn batches_read_what_others_do_not_read_and_wait_for_the_rest() {
        let (archive, lookups) = held_lookups();
        archive.hold(true);
        thread::scope(|scope| {
            let first = scope.spawn(|| found(&lookups, &[key(0), key(1)]));
            archive.until_reads(1);
            let second = scope.spawn(|| found(&lookups, &[key(2), key(1), key(3), key(2)]));
            archive.until_reads(2);
            let third = scope.spawn(|| found(&lookups, &[key(3), key(0), key(4)]));
            archive.until_reads(3);
            let fourth = scope.spawn(|| found(&lookups, &[key(2)]));
            until_coalesced(&lookups, 4);
            archive.hold(false);
            assert_eq!(first.join().unwrap(), Ok(vec![true, false]));
            assert_eq!(second.join().unwrap(), Ok(vec![false, false, true, false]));
            assert_eq!(third.join().unwrap(), Ok(vec![true, true, false]));
            assert_eq!(fourth.join().unwrap(), Ok(vec![false]));
        });
        assert_eq!(archive.reads.load(SeqCst), 3);
        assert!(lock(&lookups.state).running.is_empty());
    }

    #[test]
    fn batches_with_keys_in_common_end_whatever_their_order() {
        let (_, lookups) = held_lookups();
        thread::scope(|scope| {
            for offset in 0..4 {
                let lookups = &lookups;
                scope.spawn(move || {
                    for round in 0..500 {
                        let keys: Vec<Key> =
                            (0..4).map(|it| key((it * 3 + offset + round) % 5)).collect();
                        let expected = keys.iter().map(|it| [key(0), key(3)].contains(it));
                        let expected: Vec<bool> = expected.collect();
                        if round % 7 == offset {
                            lookups.forget_misses();
                        }
                        match found(lookups, &keys) {
                            Ok(found) => assert_eq!(found, expected),
                            Err(kind) => assert_eq!(kind, ErrorKind::Limit),
                        }
                    }
                });
            }
        });
        assert!(lock(&lookups.state).running.is_empty());
    }

    #[test]
    fn a_row_that_cannot_be_served_fails_those_that_need_it_and_no_others() {
        let (archive, lookups) = held_lookups();
        archive.hold(true);
        thread::scope(|scope| {
            let batch = scope.spawn(|| found(&lookups, &[key(9), key(0), key(1)]));
            archive.until_reads(1);
            let others = [0, 1, 9].map(|number| {
                let lookups = &lookups;
                scope.spawn(move || found(lookups, &[key(number)]))
            });
            until_coalesced(&lookups, 3);
            archive.hold(false);
            assert_eq!(batch.join().unwrap(), Err(ErrorKind::Conflict));
            let [first, second, conflicting] = others.map(|it| it.join().unwrap());
            assert_eq!((first, second), (Ok(vec![true]), Ok(vec![false])));
            assert_eq!(conflicting, Err(ErrorKind::Conflict));
        });
        // The batch, and each of its keys.
        assert_eq!(archive.reads.load(SeqCst), 4);
        let counters = &lookups.counters;
        assert_eq!((counters.failed.load(Relaxed), counters.found.load(Relaxed)), (1, 1));
    }
}
