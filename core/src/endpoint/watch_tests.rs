//! Watches of an endpoint: what they report, over local and over remote rows, and how they end.
//!
//! That an observation follows every change is tested with the map of watches. Here chains with
//! forks are watched by readers that poll at once and by readers that poll late.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use milepost_practice::{BlockMessage, Practice, Settings as PracticeSettings};
use milepost_testkit::Rng;

use super::test_host::RemoteHost;
use super::*;
use crate::import::{ImportSettings, Retention};
use crate::primitives::CryptoHash;
use crate::status::{CompactStatus, LastSeen, Milestone};
use crate::storage::rows::decode_block_hash;
use crate::storage::{Key, MemoryStorage, Snapshot, Table};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

const OPTIONS: WatchOptions = WatchOptions { wait_until: Milestone::Final, with_result: false };

fn forked_chain(seed: u64) -> Vec<BlockMessage> {
    let settings =
        PracticeSettings { transactions: 1..=2, forks: 250, ..PracticeSettings::simulation(seed) };
    let mut chain = Practice::new(settings);
    (0..50).map(|_| chain.next_message()).collect()
}

fn hashes(blocks: &[BlockMessage]) -> Vec<CryptoHash> {
    let transactions = blocks.iter().flat_map(|block| &block.transactions);
    let mut hashes: Vec<_> = transactions.map(|transaction| transaction.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// An endpoint over local rows
struct LocalHost {
    endpoint: Endpoint,
    storage: MemoryStorage,
}

impl LocalHost {
    fn new(wait_config: WaitConfig) -> Self {
        let endpoint = Endpoint::new(Engine::default(), wait_config);
        Self { endpoint, storage: MemoryStorage::new() }
    }

    fn import(&mut self, block: &BlockMessage) {
        let engine = self.endpoint.engine();
        let imported =
            engine.import_block(&block.json, &ImportSettings::default(), &mut self.storage);
        self.endpoint.handle_chain_update(&imported.unwrap().chain_update);
    }

    fn poll(&mut self) -> Option<(RequestHandle, Result<WatchEvent, Error>)> {
        match self.endpoint.poll_output_with(&self.storage) {
            Output::Watch { handle, event } => Some((handle, event)),
            Output::Timeout(_) => None,
            output => panic!("{output:?}"),
        }
    }

    fn status(&self, hash: CryptoHash) -> CompactStatus {
        let observation = self.endpoint.engine().observe(hash, &self.storage).unwrap();
        CompactStatus::new(&observation)
    }
}

#[test]
fn each_change_is_reported_once_and_with_its_kind() {
    let (mut un_included, mut moved, mut reached, mut changes) = (0, 0, 0, 0);
    for seed in 0..12 {
        let blocks = forked_chain(seed);
        let mut host = LocalHost::new(WaitConfig::default());
        let mut last: BTreeMap<RequestHandle, (CryptoHash, Option<CompactStatus>)> =
            BTreeMap::new();
        for hash in hashes(&blocks) {
            last.insert(host.endpoint.watch(hash, OPTIONS).unwrap(), (hash, None));
        }
        for block in &blocks {
            host.import(block);
            let mut expected: BTreeMap<_, _> = BTreeMap::new();
            for (handle, (hash, before)) in &last {
                let status = host.status(*hash);
                if before.as_ref() != Some(&status) {
                    expected.insert(*handle, status);
                }
            }
            while let Some((handle, event)) = host.poll() {
                let (event, (hash, before)) = (event.unwrap(), last.get_mut(&handle).unwrap());
                let was_in = before.as_ref().and_then(CompactStatus::block);
                let status = match event.kind {
                    WatchEventKind::UnIncluded => {
                        let none = CompactStatus::in_no_block(*hash);
                        assert!(was_in.is_some(), "it was in a block");
                        match expected.get(&handle) == Some(&none) {
                            true => drop(expected.remove(&handle)),
                            false => moved += 1,
                        }
                        none
                    }
                    _ => {
                        let status = expected.remove(&handle).expect("a change, reported once");
                        let has_left =
                            was_in.is_some_and(|was_in| !is_canonical(&host.storage, was_in));
                        assert!(!has_left, "{before:?}, then {status:?}");
                        status
                    }
                };
                *before = Some(status.clone());
                let (kind, id) = match (event.kind, status.milestone) {
                    (WatchEventKind::UnIncluded, _) => (WatchEventKind::UnIncluded, status.id),
                    (_, Milestone::Final) => {
                        last.remove(&handle);
                        (WatchEventKind::Reached, status.id + "-reached")
                    }
                    _ => (WatchEventKind::Status, status.id),
                };
                assert_eq!((event.kind, event.id, event.json), (kind, id, status.json));
                changes += 1;
                un_included += usize::from(kind == WatchEventKind::UnIncluded);
                reached += usize::from(kind == WatchEventKind::Reached);
            }
            assert_eq!(expected, BTreeMap::new(), "seed {seed}, block {}", block.height);
        }
        assert_eq!(host.endpoint.watch_count(), last.len());
    }
    assert!(un_included > 20 && reached > 100 && changes > 1_000, "{un_included} {reached}");
    assert!(moved > 0, "no commit moved a transaction to another block");
}

/// Whether a block is canonical
fn is_canonical(storage: &MemoryStorage, block: LastSeen) -> bool {
    let row = storage.get(&Key::number(Table::Heights, block.height)).unwrap();
    row.map(|row| decode_block_hash(Table::Heights, &row).unwrap()) == block.hash
}

#[test]
fn what_retention_removes_is_forgotten_and_not_taken_away() {
    let mut chain = Practice::new(PracticeSettings::demo(1));
    let blocks: Vec<_> = (0..16).map(|_| chain.next_message()).collect();
    let index = blocks.iter().position(|block| !block.transactions.is_empty()).unwrap();
    let hash = blocks[index].transactions[0].hash;
    let mut host = LocalHost::new(WaitConfig::default());
    let watch = host.endpoint.watch(hash, OPTIONS).unwrap();
    let settings = ImportSettings::default().with_retention(Retention::Blocks(2));
    let mut events = Vec::new();
    for block in &blocks[..index + 4] {
        let engine = host.endpoint.engine();
        let imported = engine.import_block(&block.json, &settings, &mut host.storage);
        host.endpoint.handle_chain_update(&imported.unwrap().chain_update);
        events.extend(core::iter::from_fn(|| host.poll()).map(|(_, event)| event.unwrap()));
    }
    let (last, before) = events.split_last().unwrap();
    assert!(before.iter().all(|event| event.kind == WatchEventKind::Status), "{before:?}");
    assert_eq!(last.kind, WatchEventKind::Forgotten);
    assert_eq!(last.id, format!("{}-forgotten", before.last().unwrap().id));
    assert_eq!(last.json, format!(r#"{{"transaction_hash":"{hash}"}}"#));
    assert!(!host.endpoint.cancel(watch));
}

#[test]
fn a_late_reader_gets_the_newest_state_and_over_remote_rows_the_last_one_is_equal() {
    for seed in 0..12 {
        let (blocks, rng) = (forked_chain(seed), &mut Rng::new(seed));
        let mut late = LocalHost::new(WaitConfig::default());
        let mut remote = RemoteHost::new(Endpoint::new(Engine::default(), WaitConfig::default()));
        let mut handles = Vec::new();
        for hash in hashes(&blocks) {
            let handle = late.endpoint.watch(hash, OPTIONS).unwrap();
            handles.push((hash, handle, remote.endpoint.watch(hash, OPTIONS).unwrap()));
        }
        for block in &blocks {
            late.import(block);
            remote.endpoint.handle_block(&block.json, &ImportSettings::default()).unwrap();
            for _ in 0..rng.between(0, 200) {
                remote.step(rng);
            }
        }
        remote.run(rng);
        let events: BTreeMap<_, _> = core::iter::from_fn(|| late.poll()).collect();
        assert_eq!(events.len(), handles.len(), "one event for each, which is the newest");
        for (hash, local, remote_handle) in handles {
            let event = events[&local].as_ref().unwrap();
            assert_eq!(event.json, late.status(hash).json, "seed {seed}");
            let mut all = remote.events.iter().filter(|(handle, _)| *handle == remote_handle);
            let (_, last) = all.next_back().expect("it was reported");
            let last = last.as_ref().unwrap();
            if last.kind == WatchEventKind::Reached {
                // It may have been observed before it was removed from the hot rows.
                assert_eq!((last.kind, last.milestone), (event.kind, event.milestone));
            } else {
                assert_eq!((&last.id, &last.json), (&event.id, &event.json), "seed {seed}");
            }
        }
    }
}

#[test]
fn the_last_event_has_the_result_if_it_was_asked_for() {
    let blocks = forked_chain(1);
    let mut host = LocalHost::new(WaitConfig::default());
    blocks.iter().for_each(|block| host.import(block));
    let hash = *hashes(&blocks)
        .iter()
        .find(|hash| host.status(**hash).milestone == Milestone::Final)
        .unwrap();
    let plain = host.endpoint.watch(hash, OPTIONS).unwrap();
    let with_result = host.endpoint.watch(hash, OPTIONS.with_result(true)).unwrap();
    let events: BTreeMap<RequestHandle, String> =
        core::iter::from_fn(|| host.poll()).map(|(it, event)| (it, event.unwrap().json)).collect();
    let observation = host.endpoint.engine().observe(hash, &host.storage).unwrap();
    let result = observation.result().unwrap().unwrap();
    assert_eq!(events[&plain], host.status(hash).json);
    assert_eq!(events[&with_result], host.status(hash).with_result(&result));
    assert_eq!(host.endpoint.watch_count(), 0);
}

#[test]
fn watches_are_limited_and_end_by_cancel_or_shutdown() {
    let mut host = LocalHost::new(WaitConfig::default().with_max_waiting(2));
    let hash = CryptoHash::digest(b"in no block");
    let first = host.endpoint.watch(hash, OPTIONS).unwrap();
    let second = host.endpoint.watch(hash, OPTIONS).unwrap();
    let error = host.endpoint.watch(hash, OPTIONS).unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Limit, "too many watches: 2 of 2"));
    assert!(host.endpoint.cancel(first) && !host.endpoint.cancel(first));
    assert_eq!(host.endpoint.watch_count(), 1);
    let (handle, event) = host.poll().unwrap();
    assert_eq!((handle, event.unwrap().milestone), (second, Milestone::None));
    assert!(host.poll().is_none());
    host.endpoint.shutdown();
    let (handle, event) = host.poll().unwrap();
    let error = event.unwrap_err();
    assert_eq!((handle, error.kind()), (second, ErrorKind::Usage));
    assert_eq!(error.detail(), "the service stops");
    assert!(host.poll().is_none());
    assert_eq!(host.endpoint.watch_count(), 0);
    assert!(host.endpoint.watch(hash, OPTIONS).is_err());
}

/// A snapshot that cannot be read
struct Broken;

impl Snapshot for Broken {
    fn get(&self, _: &Key) -> Result<Option<crate::storage::Row>, Error> {
        Err(Error::new(ErrorKind::Storage, "the disk is gone"))
    }
}

#[test]
fn a_storage_that_fails_ends_the_watches_of_the_transaction() {
    let mut host = LocalHost::new(WaitConfig::default());
    let hash = CryptoHash::digest(b"in no block");
    let watch = host.endpoint.watch(hash, OPTIONS).unwrap();
    let Output::Watch { handle, event } = host.endpoint.poll_output_with(&Broken) else {
        panic!("no event");
    };
    assert_eq!(handle, watch);
    assert_eq!(event.unwrap_err().detail(), "the disk is gone");
    assert_eq!(host.endpoint.watch_count(), 0);
    // The next one is observed again.
    host.endpoint.watch(hash, OPTIONS).unwrap();
    assert!(host.poll().unwrap().1.is_ok());
}

#[test]
fn one_observation_is_a_completion_of_its_own() {
    let mut host = LocalHost::new(WaitConfig::default());
    let hash = CryptoHash::digest(b"in no block");
    let query = host.endpoint.handle_observation_query(hash, Vec::new());
    let Output::Completed { handle, result: Ok(Completion::Observation(observation)) } =
        host.endpoint.poll_output_with(&host.storage)
    else {
        panic!("no observation");
    };
    assert_eq!((handle, observation.hash), (query, hash));
    assert!(observation.summary.is_none());
    let cancelled = host.endpoint.handle_observation_query(hash, Vec::new());
    assert!(host.endpoint.cancel(cancelled));
    assert!(host.poll().is_none());
}
