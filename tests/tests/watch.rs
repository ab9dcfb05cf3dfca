//! Watches: after every block, what each watch saw last is what a fresh walk sees.
//!
//! Chains of the practice crate with forks, skipped heights and repeated messages, from seeds, with
//! and without retention. Transactions are watched before they are included and removed at any
//! time. A watch that misses a change, of whatever kind, fails here.

use std::collections::BTreeMap;

use milepost::endpoint::{Engine, WatchTable, WatchTarget};
use milepost::import::{ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost::status::{StatusSummary, WaitCondition};
use milepost::storage::{
    Batch, Key, MemoryStorage, OutcomeRecord, OutcomeStatus, Storage as _, Table, TransactionRecord,
};
use milepost_practice::{Practice, Settings};
use milepost_testkit::Rng;

/// What happened in all seeds
#[derive(Default)]
struct Coverage {
    observations: usize,
    blocks_by_watches: usize,
    changes: usize,
    reverted: usize,
    finalized: usize,
}

/// Observes what the map asks for, and returns the last summaries
fn observe(
    engine: &Engine,
    storage: &MemoryStorage,
    watches: &mut WatchTable<CryptoHash>,
    last: &mut BTreeMap<CryptoHash, Option<StatusSummary>>,
    coverage: &mut Coverage,
) {
    while let Some((hash, heights)) = watches.poll_observation() {
        let observation = engine.observe_at(hash, heights, storage).expect("rows are sound");
        watches.handle_observation(&observation).expect("rows are sound");
        coverage.observations += 1;
        let before = last.insert(hash, observation.summary);
        coverage.changes += usize::from(before != Some(observation.summary));
        let was_included = before.flatten().is_some();
        coverage.reverted += usize::from(was_included && observation.summary.is_none());
        coverage.finalized += usize::from(observation.summary.is_some_and(|it| it.is_finalized));
    }
}

fn run(seed: u64, coverage: &mut Coverage) {
    let mut rng = Rng::new(seed);
    let settings = Settings { transactions: 0..=3, forks: 150, ..Settings::simulation(seed) };
    let mut chain = Practice::new(settings);
    let messages: Vec<_> = (0..70).map(|_| chain.next_message()).collect();
    let hashes: Vec<CryptoHash> = messages
        .iter()
        .flat_map(|message| message.transactions.iter().map(|transaction| transaction.hash))
        .collect();
    let retention =
        if rng.one_in(3) { Retention::Blocks(rng.between(5, 30)) } else { Retention::Everything };
    let import_settings = ImportSettings::default().with_retention(retention);
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let (mut watches, mut last) = (WatchTable::new(seed), BTreeMap::new());
    for hash in &hashes {
        if !rng.one_in(3) {
            watches.insert(*hash, &WatchTarget::new(*hash));
        }
    }
    for message in &messages {
        let imported = engine.import_block(&message.json, &import_settings, &mut storage);
        let Ok(imported) = imported else { continue };
        watches.handle_chain_update(&imported.chain_update);
        observe(&engine, &storage, &mut watches, &mut last, coverage);
        coverage.blocks_by_watches += watches.len();
        let earliest = engine.chain_status(&storage).expect("rows are sound").earliest;
        let earliest = earliest.map_or(0, |block| block.height);
        for (hash, seen) in &last {
            let expected = engine.observe(*hash, &storage).expect("rows are sound").summary;
            // What retention removes is no change.
            if expected.is_none() && seen.is_some_and(|seen| seen.height < earliest) {
                continue;
            }
            assert_eq!(*seen, expected, "seed {seed}, {hash} after block {}", message.height);
        }
        let hash = *rng.pick(&hashes);
        if rng.one_in(2) {
            watches.remove(hash);
            last.remove(&hash);
        } else if watches.transaction(hash).is_none() {
            watches.insert(hash, &WatchTarget::new(hash));
            observe(&engine, &storage, &mut watches, &mut last, coverage);
        }
    }
    for hash in &hashes {
        watches.remove(*hash);
    }
    assert!(watches.is_empty() && watches.poll_observation().is_none());
}

#[test]
fn a_watch_sees_every_change() {
    let mut coverage = Coverage::default();
    for seed in 0..25 {
        run(seed, &mut coverage);
    }
    let Coverage { observations, blocks_by_watches, changes, reverted, finalized } = coverage;
    assert!(
        changes > 5_000 && reverted > 100 && finalized > 400,
        "{changes} {reverted} {finalized}"
    );
    // Most observations are of a change, and far from every watch is observed after every block.
    assert!(observations < changes * 2, "{observations} of {changes} changes");
    assert!(observations * 4 < blocks_by_watches, "{observations} of {blocks_by_watches}");
}

#[test]
fn an_observation_of_older_rows_is_repeated_once_for_each_block() {
    let mut chain = Practice::new(Settings::demo(1));
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let old = MemoryStorage::new();
    let mut watches = WatchTable::<CryptoHash>::new(0);
    let first = chain.next_message();
    let hash = CryptoHash::digest(b"in no block");
    let other = CryptoHash::digest(b"in no block either");
    for one in [hash, other] {
        watches.insert(one, &WatchTarget::new(one));
    }
    while let Some((one, heights)) = watches.poll_observation() {
        watches.handle_observation(&engine.observe_at(one, heights, &storage).unwrap()).unwrap();
    }
    for message in [first, chain.next_message()] {
        let summary =
            engine.import_block(&message.json, &ImportSettings::default(), &mut storage).unwrap();
        watches.handle_chain_update(&summary.chain_update);
        watches.insert(hash, &WatchTarget::new(hash));
        let mut observed = 0;
        while let Some((one, heights)) = watches.poll_observation() {
            // The rows of a replica that does not have the block yet.
            watches.handle_observation(&engine.observe_at(one, heights, &old).unwrap()).unwrap();
            observed += usize::from(one == hash);
        }
        assert_eq!(observed, 2);
    }
}

#[test]
fn a_transaction_with_many_pending_receipts_is_observed_after_each_block() {
    let hash = CryptoHash::digest(b"a transaction");
    let id = |number: u64| *CryptoHash::digest(&number.to_le_bytes()).as_bytes();
    for (count, is_any) in [(61, false), (62, true), (5_000, true)] {
        let receipt_ids: Vec<[u8; 32]> = (0..count).map(id).collect();
        let outcome = OutcomeRecord {
            height: 7,
            status: OutcomeStatus::SuccessReceiptId(CryptoHash::digest(&0_u64.to_le_bytes())),
            status_text: (0, 2),
            receipt_ids: &receipt_ids,
            fragment: b"{}",
        };
        let transaction =
            TransactionRecord { height: 7, signer_is_receiver: false, fragment: b"{}" };
        let mut batch = Batch::new();
        batch.put(Key::hash(Table::Transactions, hash), transaction.encode());
        batch.put(Key::hash(Table::Outcomes, hash), outcome.encode());
        let mut storage = MemoryStorage::new();
        storage.commit(batch).unwrap();
        let observation = Engine::default().observe(hash, &storage).unwrap();
        let summary = observation.summary.unwrap();
        assert_eq!((summary.receipts, summary.executed_receipts), (count as usize, 0));
        assert_eq!((summary.height, summary.block_hash), (7, None));
        let conditions = observation.conditions().unwrap();
        assert_eq!(conditions == [WaitCondition::Anything], is_any, "{count}");
        assert!(conditions.len() <= 64);
    }
}
