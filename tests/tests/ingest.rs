//! Forks, gaps, finality and retention: laws of ingest over generated trees of blocks.
//!
//! The law: after any sequence of messages the storage holds what it would hold had only the
//! canonical blocks come in, in order. A naive chain beside the real one keeps whole blocks and
//! decides by walking parents.

mod ingest {
    pub(crate) mod blocks;
}

use std::collections::HashMap;

use ingest::blocks::{TestBlock, named};
use milepost::ErrorKind;
use milepost::engine::Engine;
use milepost::facts::{MemoryStorage, Rows as _, Table};
use milepost::ingest::{Finality, IngestSettings, Place, Retention};
use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

/// What should become of a message
#[derive(Debug, PartialEq)]
enum Verdict {
    Head,
    Aside,
    Known,
    Refused,
}

/// The chain by the book: every block whole, everything decided by walking parents
#[derive(Default)]
struct NaiveChain {
    blocks: HashMap<CryptoHash, TestBlock>,
    head: Option<CryptoHash>,
    last_final: Option<TestBlock>,
}

impl NaiveChain {
    fn ancestors(&self, hash: CryptoHash) -> Vec<TestBlock> {
        let mut chain = Vec::new();
        let mut at = self.blocks.get(&hash);
        while let Some(block) = at {
            chain.push(block.clone());
            at = self.blocks.get(&block.prev);
        }
        chain.reverse();
        chain
    }

    fn canonical(&self) -> Vec<TestBlock> {
        self.head.map(|head| self.ancestors(head)).unwrap_or_default()
    }

    fn take(&mut self, block: &TestBlock) -> Verdict {
        if self.blocks.contains_key(&block.hash) {
            return Verdict::Known;
        }
        let Some(head) = self.head.map(|head| self.blocks[&head].clone()) else {
            self.blocks.insert(block.hash, block.clone());
            self.head = Some(block.hash);
            return Verdict::Head;
        };
        if !self.blocks.contains_key(&block.prev) {
            // The generator makes no gaps, so an unknown parent is a forgotten fork.
            return Verdict::Refused;
        }
        let branch = self.ancestors(block.prev);
        let final_hash = self.last_final.as_ref().map(|last| last.hash);
        let holds_final =
            final_hash.is_none_or(|last| branch.iter().any(|block| block.hash == last));
        if block.height <= head.height {
            let parent_is_canonical = self.canonical().iter().any(|b| b.hash == block.prev);
            if parent_is_canonical && !holds_final {
                return Verdict::Refused;
            }
            self.blocks.insert(block.hash, block.clone());
            self.forget();
            return Verdict::Aside;
        }
        if !holds_final {
            return Verdict::Refused;
        }
        self.blocks.insert(block.hash, block.clone());
        self.head = Some(block.hash);
        if let Some(last) = self.blocks.get(&block.last_final)
            && self.last_final.as_ref().is_none_or(|old| last.height > old.height)
        {
            self.last_final = Some(last.clone());
        }
        self.forget();
        Verdict::Head
    }

    /// Forgets forks at or below the last final height
    fn forget(&mut self) {
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

const FACTS: [Table; 5] =
    [Table::Transactions, Table::Outcomes, Table::Receipts, Table::Heights, Table::Ordinals];

/// A block on top of a random recent one, final four generations back
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
        // Few names, so that branches carry the same facts and a chain repeats an old one.
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
fn the_storage_holds_what_the_canonical_blocks_alone_would_make() {
    let engine = Engine::default();
    let settings = IngestSettings::default();
    let (mut reorganisations, mut refusals, mut asides) = (0, 0, 0);
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut storage = MemoryStorage::new();
        let mut naive = NaiveChain::default();
        let mut all = vec![first_block()];
        for name in 1..70 {
            let block = all.last().expect("never empty").clone();
            let expected = naive.take(&block);
            let found = engine.ingest(block.message().as_bytes(), &settings, &mut storage);
            let verdict = match &found {
                Ok(ingested) if ingested.place == Place::Head => Verdict::Head,
                Ok(ingested) if ingested.place == Place::Aside => Verdict::Aside,
                Ok(_) => Verdict::Known,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Chain, "seed {seed}: {error}");
                    Verdict::Refused
                }
            };
            assert_eq!(verdict, expected, "seed {seed}, block {block:?}, {found:?}");
            reorganisations += usize::from(found.as_ref().is_ok_and(|f| !f.undone.is_empty()));
            refusals += usize::from(verdict == Verdict::Refused);
            asides += usize::from(verdict == Verdict::Aside);

            let quiet = found.as_ref().is_ok_and(|taken| taken.undone.is_empty());
            let mut fresh = MemoryStorage::new();
            let canonical = if quiet && name != 69 { Vec::new() } else { naive.canonical() };
            for block in &canonical {
                let taken = engine.ingest(block.message().as_bytes(), &settings, &mut fresh);
                assert_eq!(taken.map(|taken| taken.place), Ok(Place::Head));
            }
            if !canonical.is_empty() {
                assert_eq!(rows_of(&storage, &FACTS), rows_of(&fresh, &FACTS), "seed {seed}");
            }
            let chain = engine.chain(&storage).expect("sound rows");
            assert_eq!(chain.head.map(|head| head.hash), naive.head);
            assert_eq!(
                chain.last_final.map(|last| last.hash),
                naive.last_final.as_ref().map(|last| last.hash),
                "seed {seed}"
            );
            // A fork that was refused cannot be built upon.
            if verdict == Verdict::Refused {
                all.pop();
            }
            let next = next_block(&mut rng, &all, name);
            all.push(next);
        }
    }
    assert!(reorganisations > 100, "{reorganisations} reorganisations");
    assert!(asides > 300, "{asides} blocks aside");
    assert!(refusals > 10, "{refusals} refusals");
}

/// A straight chain of `count` blocks
fn straight(count: u64) -> Vec<TestBlock> {
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
fn retention_keeps_what_it_says_and_nothing_else() {
    let engine = Engine::default();
    let kept = |retention: Retention| {
        let settings = IngestSettings::default().with_retention(retention);
        let mut storage = MemoryStorage::new();
        let mut kept = Vec::new();
        for block in straight(60) {
            engine.ingest(block.message().as_bytes(), &settings, &mut storage).unwrap();
            let chain = engine.chain(&storage).unwrap();
            kept.push((chain.blocks, chain.earliest.unwrap().height));
        }
        let blocks = storage.iter().filter(|(key, _)| key.table() == Table::Blocks).count();
        let outcomes = storage.iter().filter(|(key, _)| key.table() == Table::Outcomes).count();
        assert_eq!(blocks as u64, kept[59].0);
        assert_eq!(outcomes, 2 * blocks);
        kept
    };
    let everything = kept(Retention::Everything);
    assert_eq!(everything[59], (60, 100));
    let blocks = kept(Retention::Blocks(7));
    assert_eq!(blocks[5], (6, 100));
    assert_eq!(blocks[59], (7, 153));
    // Heights 100 to 159 are six epochs of ten blocks: the last two begin at 140.
    let epochs = kept(Retention::Epochs(2));
    assert_eq!(epochs[19], (20, 100));
    assert_eq!(epochs[20], (11, 110));
    assert_eq!(epochs[59], (20, 140));
}

#[test]
fn a_store_that_starts_to_forget_does_so_step_by_step() {
    let engine = Engine::default();
    let mut storage = MemoryStorage::new();
    let blocks = straight(203);
    for (index, block) in blocks.iter().enumerate() {
        let retention = if index < 200 { Retention::Everything } else { Retention::Blocks(10) };
        let settings = IngestSettings::default().with_retention(retention);
        engine.ingest(block.message().as_bytes(), &settings, &mut storage).unwrap();
    }
    // Three steps of 64.
    assert_eq!(engine.chain(&storage).unwrap().blocks, 203 - 3 * 64);
}

#[test]
fn gaps_between_segments_are_taken_and_going_back_is_refused() {
    let engine = Engine::default();
    let settings = IngestSettings::default();
    let mut storage = MemoryStorage::new();
    let blocks = straight(40);
    for block in blocks[..5].iter().chain(&blocks[20..25]) {
        let taken = engine.ingest(block.message().as_bytes(), &settings, &mut storage).unwrap();
        assert_eq!(taken.place, Place::Head);
    }
    assert_eq!(engine.chain(&storage).unwrap().blocks, 10);
    let error =
        engine.ingest(blocks[10].message().as_bytes(), &settings, &mut storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chain);
    assert!(error.to_string().contains("height 110 is not above the head at 124"), "{error}");
    // The same height on top of a known block is a fork, and refused below finality.
    let again = engine.ingest(blocks[4].message().as_bytes(), &settings, &mut storage).unwrap();
    assert_eq!(again.place, Place::Known);
}

#[test]
fn a_feed_of_final_blocks_has_no_forks() {
    let engine = Engine::default();
    let settings = IngestSettings::default().with_finality(Finality::All);
    let mut storage = MemoryStorage::new();
    let blocks = straight(4);
    for block in &blocks {
        let taken = engine.ingest(block.message().as_bytes(), &settings, &mut storage).unwrap();
        assert_eq!(taken.last_final, Some(taken.block));
    }
    let mut fork = blocks[3].clone();
    fork.hash = named("block", 77);
    fork.height += 5;
    let error = engine.ingest(fork.message().as_bytes(), &settings, &mut storage).unwrap_err();
    assert!(error.to_string().contains("which is final"), "{error}");
}

#[test]
fn a_malformed_message_changes_nothing_and_says_where() {
    let engine = Engine::default();
    let settings = IngestSettings::default();
    let mut storage = MemoryStorage::new();
    let blocks = straight(2);
    engine.ingest(blocks[0].message().as_bytes(), &settings, &mut storage).unwrap();
    let before = rows_of(&storage, &Table::ALL);
    let good = blocks[1].message();
    let other = named("receipt", 4_000_000).to_string();
    let executed = named("receipt", blocks[1].receipt).to_string();
    let cases = [
        (good.replace("\"height\":101", "\"height\":\"101\""), "block.header.height"),
        (
            good.replacen("\"gas_burnt\":1", "\"gas_burnt\":-1", 1),
            "shards[0].chunk.transactions[0].outcome.execution_outcome.outcome.gas_burnt",
        ),
        (
            good.replacen("\"deposit\":\"1\"", "\"deposit\":1", 1),
            "shards[0].chunk.receipts[0].receipt.Action.actions[0].Transfer.deposit",
        ),
        (
            good.replacen("\"nonce\":1,", "\"nonce\":1.5,", 1),
            "shards[0].chunk.transactions[0].transaction.nonce",
        ),
        (
            good.replacen(&format!("\"id\":\"{executed}\""), &format!("\"id\":\"{other}\""), 1),
            "shards[0].receipt_execution_outcomes[0].execution_outcome.id",
        ),
        (good.replace("\"shards\":[", "\"shards\":[7,"), "shards[0]"),
        (good[..good.len() - 2].to_string(), "shards"),
        (good.replacen("\"prev_height\":100", "\"prev_height\":98", 1), "block.header"),
    ];
    for (bad, path) in cases {
        assert_ne!(bad, good, "{path}");
        let error = engine.ingest(bad.as_bytes(), &settings, &mut storage).unwrap_err();
        assert!(error.path().starts_with(path), "{path}: {error} at {}", error.path());
        assert_eq!(rows_of(&storage, &Table::ALL), before, "{path}");
    }
    engine.ingest(good.as_bytes(), &settings, &mut storage).unwrap();
    assert!(storage.get(&milepost::facts::record::ChainRecord::key()).unwrap().is_some());
}
