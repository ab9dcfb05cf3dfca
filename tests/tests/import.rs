//! Forks, gaps, finality and retention: properties of import over generated trees of blocks.
//!
//! After any sequence of blocks the storage has the rows that it would have if only the canonical
//! blocks had been imported, in order. A naive model keeps whole blocks and decides by walking
//! parents.

mod blocks;

use std::collections::HashMap;

use blocks::{TestBlock, named};
use milepost::ErrorKind;
use milepost::endpoint::Engine;
use milepost::import::{BlockPosition, FinalityRule, ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost::storage::{MemoryStorage, Snapshot as _, Table};
use milepost_testkit::Rng;

/// The expected result of an import
#[derive(Debug, PartialEq)]
enum ImportOutcome {
    Head,
    Fork,
    Known,
    Rejected,
}

/// The model: whole blocks, and every decision by walking parents
#[derive(Default)]
struct NaiveChain {
    blocks: HashMap<CryptoHash, TestBlock>,
    head: Option<CryptoHash>,
    last_final: Option<TestBlock>,
}

impl NaiveChain {
    fn ancestors(&self, hash: CryptoHash) -> Vec<TestBlock> {
        let mut chain = Vec::new();
        let mut next = self.blocks.get(&hash);
        while let Some(block) = next {
            chain.push(block.clone());
            next = self.blocks.get(&block.prev);
        }
        chain.reverse();
        chain
    }

    fn canonical(&self) -> Vec<TestBlock> {
        self.head.map(|head| self.ancestors(head)).unwrap_or_default()
    }

    fn import(&mut self, block: &TestBlock) -> ImportOutcome {
        if self.blocks.contains_key(&block.hash) {
            return ImportOutcome::Known;
        }
        let Some(head) = self.head.map(|head| self.blocks[&head].clone()) else {
            self.blocks.insert(block.hash, block.clone());
            self.head = Some(block.hash);
            return ImportOutcome::Head;
        };
        if !self.blocks.contains_key(&block.prev) {
            // The generator makes no gaps, so an unknown parent is on a pruned fork.
            return ImportOutcome::Rejected;
        }
        let branch = self.ancestors(block.prev);
        let final_hash = self.last_final.as_ref().map(|last| last.hash);
        let includes_final =
            final_hash.is_none_or(|last| branch.iter().any(|block| block.hash == last));
        if block.height <= head.height {
            let parent_is_canonical = self.canonical().iter().any(|b| b.hash == block.prev);
            if parent_is_canonical && !includes_final {
                return ImportOutcome::Rejected;
            }
            self.blocks.insert(block.hash, block.clone());
            self.prune_forks();
            return ImportOutcome::Fork;
        }
        if !includes_final {
            return ImportOutcome::Rejected;
        }
        self.blocks.insert(block.hash, block.clone());
        self.head = Some(block.hash);
        if let Some(last) = self.blocks.get(&block.last_final)
            && self.last_final.as_ref().is_none_or(|old| last.height > old.height)
        {
            self.last_final = Some(last.clone());
        }
        self.prune_forks();
        ImportOutcome::Head
    }

    /// Removes forks at or below the last final height
    fn prune_forks(&mut self) {
        let canonical: Vec<CryptoHash> = self.canonical().iter().map(|b| b.hash).collect();
        let floor = self.last_final.as_ref().map(|last| last.height);
        self.blocks.retain(|hash, block| {
            canonical.contains(hash) || floor.is_none_or(|floor| block.height > floor)
        });
    }
}

fn rows_of(storage: &MemoryStorage, tables: &[Table]) -> Vec<String> {
    let mut rows: Vec<String> = storage
        .iter()
        .filter(|(key, _)| tables.contains(&key.table()))
        .map(|(key, row)| format!("{key:?} {:?}", &**row))
        .collect();
    rows.sort();
    rows
}

const BLOCK_TABLES: [Table; 5] =
    [Table::Transactions, Table::Outcomes, Table::Receipts, Table::Heights, Table::Ordinals];

/// A child of a random recent block; its header names an ancestor four blocks below as final
fn next_block(rng: &mut Rng, all: &[TestBlock], name: u64) -> TestBlock {
    let newest = all.len() as u64;
    let back = if rng.below(3) == 0 { rng.below(6.min(newest)) } else { 0 };
    let parent = &all[(newest - 1 - back) as usize];
    let mut ancestor = parent.clone();
    for _ in 0..4 {
        match all.iter().find(|block| block.hash == ancestor.prev) {
            Some(older) => ancestor = older.clone(),
            None => break,
        }
    }
    TestBlock {
        height: parent.height + 1 + rng.below(4) / 3,
        hash: named("block", name),
        prev: parent.hash,
        prev_height: parent.height,
        epoch: (parent.height + 1) / 10,
        last_final: ancestor.hash,
        // Few names, so that branches share transactions and a chain repeats an old one.
        transaction: rng.below(40) + name / 40 * 40,
        receipt: rng.below(40) + name / 40 * 40 + 1_000_000,
    }
}

fn first_block() -> TestBlock {
    TestBlock {
        height: 100,
        hash: named("block", 0),
        prev: CryptoHash::ZERO,
        prev_height: 99,
        epoch: 10,
        last_final: CryptoHash::ZERO,
        transaction: 0,
        receipt: 1,
    }
}

#[test]
fn the_storage_has_the_rows_of_the_canonical_blocks() {
    let engine = Engine::default();
    let settings = ImportSettings::default();
    let (mut reorganisations, mut rejected, mut forks) = (0, 0, 0);
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut storage = MemoryStorage::new();
        let mut model = NaiveChain::default();
        let mut all = vec![first_block()];
        for name in 1..70 {
            let block = all.last().expect("never empty").clone();
            let expected = model.import(&block);
            let found = engine.import_block(block.message().as_bytes(), &settings, &mut storage);
            let outcome = match &found {
                Ok(summary) if summary.position == BlockPosition::Head => ImportOutcome::Head,
                Ok(summary) if summary.position == BlockPosition::Fork => ImportOutcome::Fork,
                Ok(_) => ImportOutcome::Known,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Chain, "seed {seed}: {error}");
                    ImportOutcome::Rejected
                }
            };
            assert_eq!(outcome, expected, "seed {seed}, block {block:?}, {found:?}");
            reorganisations += usize::from(found.as_ref().is_ok_and(|f| !f.reverted.is_empty()));
            rejected += usize::from(outcome == ImportOutcome::Rejected);
            forks += usize::from(outcome == ImportOutcome::Fork);

            let no_reorganisation = found.as_ref().is_ok_and(|s| s.reverted.is_empty());
            let mut rebuilt = MemoryStorage::new();
            let canonical =
                if no_reorganisation && name != 69 { Vec::new() } else { model.canonical() };
            for block in &canonical {
                let summary =
                    engine.import_block(block.message().as_bytes(), &settings, &mut rebuilt);
                assert_eq!(summary.map(|summary| summary.position), Ok(BlockPosition::Head));
            }
            if !canonical.is_empty() {
                assert_eq!(
                    rows_of(&storage, &BLOCK_TABLES),
                    rows_of(&rebuilt, &BLOCK_TABLES),
                    "seed {seed}"
                );
            }
            let chain = engine.chain_status(&storage).expect("valid rows");
            assert_eq!(chain.head.map(|head| head.hash), model.head);
            assert_eq!(
                chain.last_final.map(|last| last.hash),
                model.last_final.as_ref().map(|last| last.hash),
                "seed {seed}"
            );
            // A rejected block cannot have children.
            if outcome == ImportOutcome::Rejected {
                all.pop();
            }
            let next = next_block(&mut rng, &all, name);
            all.push(next);
        }
    }
    assert!(reorganisations > 100, "{reorganisations} reorganisations");
    assert!(forks > 300, "{forks} fork blocks");
    assert!(rejected > 10, "{rejected} rejected blocks");
}

/// A chain of `count` blocks without forks
fn linear_chain(count: u64) -> Vec<TestBlock> {
    let mut blocks = vec![first_block()];
    for name in 1..count {
        let parent = &blocks[name as usize - 1];
        blocks.push(TestBlock {
            height: parent.height + 1,
            hash: named("block", name),
            prev: parent.hash,
            prev_height: parent.height,
            epoch: (parent.height + 1) / 10,
            last_final: blocks[(name as usize).saturating_sub(3)].hash,
            transaction: name,
            receipt: name + 1_000_000,
        });
    }
    blocks
}

#[test]
fn retention_keeps_exactly_the_configured_blocks() {
    let engine = Engine::default();
    let run = |retention: Retention| {
        let settings = ImportSettings::default().with_retention(retention);
        let mut storage = MemoryStorage::new();
        let mut kept = Vec::new();
        for block in linear_chain(60) {
            engine.import_block(block.message().as_bytes(), &settings, &mut storage).unwrap();
            let chain = engine.chain_status(&storage).unwrap();
            kept.push((chain.blocks, chain.earliest.unwrap().height));
        }
        let blocks = storage.iter().filter(|(key, _)| key.table() == Table::Blocks).count();
        let outcomes = storage.iter().filter(|(key, _)| key.table() == Table::Outcomes).count();
        assert_eq!(blocks as u64, kept[59].0);
        assert_eq!(outcomes, 2 * blocks);
        kept
    };
    let everything = run(Retention::Everything);
    assert_eq!(everything[59], (60, 100));
    let blocks = run(Retention::Blocks(7));
    assert_eq!(blocks[5], (6, 100));
    assert_eq!(blocks[59], (7, 153));
    // Heights 100 to 159 are six epochs of ten blocks: the last two begin at 140.
    let epochs = run(Retention::Epochs(2));
    assert_eq!(epochs[19], (20, 100));
    assert_eq!(epochs[20], (11, 110));
    assert_eq!(epochs[59], (20, 140));
}

#[test]
fn blocks_are_removed_in_steps_when_retention_starts() {
    let engine = Engine::default();
    let mut storage = MemoryStorage::new();
    let blocks = linear_chain(203);
    for (index, block) in blocks.iter().enumerate() {
        let retention = if index < 200 { Retention::Everything } else { Retention::Blocks(10) };
        let settings = ImportSettings::default().with_retention(retention);
        engine.import_block(block.message().as_bytes(), &settings, &mut storage).unwrap();
    }
    // Three steps of 64.
    assert_eq!(engine.chain_status(&storage).unwrap().blocks, 203 - 3 * 64);
}

#[test]
fn gaps_between_segments_are_allowed_and_going_back_is_an_error() {
    let engine = Engine::default();
    let settings = ImportSettings::default();
    let mut storage = MemoryStorage::new();
    let blocks = linear_chain(40);
    for block in blocks[..5].iter().chain(&blocks[20..25]) {
        let summary =
            engine.import_block(block.message().as_bytes(), &settings, &mut storage).unwrap();
        assert_eq!(summary.position, BlockPosition::Head);
    }
    assert_eq!(engine.chain_status(&storage).unwrap().blocks, 10);
    let error =
        engine.import_block(blocks[10].message().as_bytes(), &settings, &mut storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chain);
    assert!(error.to_string().contains("height 110 is not above the head at 124"), "{error}");
    let again =
        engine.import_block(blocks[4].message().as_bytes(), &settings, &mut storage).unwrap();
    assert_eq!(again.position, BlockPosition::Known);
}

#[test]
fn a_feed_of_final_blocks_has_no_forks() {
    let engine = Engine::default();
    let settings = ImportSettings::default().with_finality(FinalityRule::All);
    let mut storage = MemoryStorage::new();
    let blocks = linear_chain(4);
    for block in &blocks {
        let summary =
            engine.import_block(block.message().as_bytes(), &settings, &mut storage).unwrap();
        assert_eq!(summary.last_final, Some(summary.block));
    }
    let mut fork = blocks[3].clone();
    fork.hash = named("block", 77);
    fork.height += 5;
    let error =
        engine.import_block(fork.message().as_bytes(), &settings, &mut storage).unwrap_err();
    assert!(error.to_string().contains("which is final"), "{error}");
}

#[test]
fn a_malformed_message_changes_nothing_and_the_error_has_its_path() {
    let engine = Engine::default();
    let settings = ImportSettings::default().with_strict_types(true);
    let mut storage = MemoryStorage::new();
    let blocks = linear_chain(2);
    engine.import_block(blocks[0].message().as_bytes(), &settings, &mut storage).unwrap();
    let before = rows_of(&storage, &Table::ALL);
    let valid = blocks[1].message();
    let other = named("receipt", 4_000_000).to_string();
    let executed = named("receipt", blocks[1].receipt).to_string();
    let cases = [
        (valid.replace("\"height\":101", "\"height\":\"101\""), "block.header.height"),
        (
            valid.replacen("\"gas_burnt\":1", "\"gas_burnt\":-1", 1),
            "shards[0].chunk.transactions[0].outcome.execution_outcome.outcome.gas_burnt",
        ),
        (
            valid.replacen("\"deposit\":\"1\"", "\"deposit\":1.5", 1),
            "shards[0].chunk.receipts[0].receipt.Action.actions[0].Transfer.deposit",
        ),
        (
            valid.replacen("\"nonce\":1,", "\"nonce\":1.5,", 1),
            "shards[0].chunk.transactions[0].transaction.nonce",
        ),
        (
            valid.replacen(&format!("\"id\":\"{executed}\""), &format!("\"id\":\"{other}\""), 1),
            "shards[0].receipt_execution_outcomes[0].execution_outcome.id",
        ),
        (valid.replace("\"shards\":[", "\"shards\":[7,"), "shards[0]"),
        (valid[..valid.len() - 2].to_string(), "shards"),
        (valid.replacen("\"prev_height\":100", "\"prev_height\":98", 1), "block.header"),
    ];
    for (invalid, path) in cases {
        assert_ne!(invalid, valid, "{path}");
        let error = engine.import_block(invalid.as_bytes(), &settings, &mut storage).unwrap_err();
        assert!(error.path().starts_with(path), "{path}: {error} at {}", error.path());
        assert_eq!(rows_of(&storage, &Table::ALL), before, "{path}");
    }
    engine.import_block(valid.as_bytes(), &settings, &mut storage).unwrap();
    assert!(storage.get(&milepost::storage::rows::ChainRecord::key()).unwrap().is_some());
}
