//! Forks, retention and damaged rows, by messages made here.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::ErrorKind;
use crate::facts::record::{BlockRecord, ChainRecord};
use crate::facts::{Key, MemoryStorage, Rows as _, Storage as _, Table, drive};
use crate::primitives::CryptoHash;

/// A block of a test: numbers stand for hashes
#[derive(Clone, Copy, Default)]
struct Test {
    height: u64,
    /// Which of the blocks of this height
    fork: u64,
    /// Height and fork of its parent
    prev: (u64, u64),
    epoch: u64,
    last_final: Option<(u64, u64)>,
}

fn name((height, fork): (u64, u64)) -> CryptoHash {
    CryptoHash::digest(format!("{height}/{fork}").as_bytes())
}

fn receipt(id: CryptoHash) -> String {
    format!(
        r#"{{"predecessor_id":"a.near","receiver_id":"b.near","receipt_id":"{id}","receipt":{{"Data":{{"data_id":"{id}"}}}}}}"#
    )
}

impl Test {
    fn hash(&self) -> CryptoHash {
        name((self.height, self.fork))
    }

    /// The message, with one receipt of the block's own
    fn message(&self) -> Vec<u8> {
        let last_final = self.last_final.map_or(CryptoHash::ZERO, name);
        let epoch = CryptoHash::digest(format!("epoch {}", self.epoch).as_bytes());
        let receipt = receipt(CryptoHash::digest(self.hash().as_bytes()));
        format!(
            r#"{{"block":{{"header":{{"height":{},"hash":"{}","prev_hash":"{}","epoch_id":"{epoch}","last_final_block":"{last_final}"}}}},
            "shards":[{{"chunk":{{"transactions":[],"receipts":[{receipt}]}}}}]}}"#,
            self.height,
            self.hash(),
            name(self.prev),
        )
        .into_bytes()
    }
}

/// A chain of blocks of one fork, from the parent on
fn chain(fork: u64, prev: (u64, u64), heights: core::ops::RangeInclusive<u64>) -> Vec<Test> {
    let mut prev = prev;
    let mut blocks = Vec::new();
    for height in heights {
        blocks.push(Test { height, fork, prev, ..Test::default() });
        prev = (height, fork);
    }
    blocks
}

fn take(
    block: &Test,
    retention: Retention,
    storage: &mut MemoryStorage,
) -> Result<Ingested, Error> {
    take_text(&block.message(), IngestSettings::default().with_retention(retention), storage)
}

fn take_text(
    message: &[u8],
    settings: IngestSettings,
    storage: &mut MemoryStorage,
) -> Result<Ingested, Error> {
    let (batch, ingested) = drive(&mut IngestQuestion::new(message, settings)?, storage)?;
    storage.commit(batch)?;
    Ok(ingested)
}

/// How many round trips the message costs; its batch is thrown away
fn round_trips(block: &Test, retention: Retention, storage: &MemoryStorage) -> usize {
    let settings = IngestSettings::default().with_retention(retention);
    let mut question = IngestQuestion::new(&block.message(), settings).unwrap();
    let mut trips = 0;
    let mut rows = Vec::new();
    loop {
        rows.clear();
        match question.poll().unwrap() {
            Step::Done(_) => return trips,
            Step::Need(keys) => storage.get_many(keys, &mut rows).unwrap(),
        }
        trips += 1;
        question.supply(&rows).unwrap();
    }
}

fn state(storage: &MemoryStorage) -> ChainRecord {
    ChainRecord::decode(storage.get(&ChainRecord::key()).unwrap().as_deref()).unwrap()
}

#[test]
fn round_trips_do_not_grow_with_forks_and_retention() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=40).iter().chain(&chain(1, (1, 0), 2..=40)) {
        take(block, Retention::Everything, &mut storage).unwrap();
    }
    let [forget, win] = [(40, 0), (40, 1)].map(|prev| Test { height: 41, prev, ..Test::default() });
    for (what, block, retention) in [
        ("extends", forget, Retention::Everything),
        ("extends and forgets 40", forget, Retention::Blocks(1)),
        ("undoes 39 and redoes 39", win, Retention::Everything),
        ("undoes, redoes and forgets", win, Retention::Blocks(1)),
    ] {
        let trips = round_trips(&block, retention, &storage);
        assert!(trips <= 9, "{what}: {trips} round trips");
    }
}

#[test]
fn no_more_is_undone_than_can_be_parked() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=1026) {
        take(&block, Retention::Everything, &mut storage).unwrap();
    }
    let deep = Test { height: 1027, fork: 1, prev: (1, 0), ..Test::default() };
    let error = take(&deep, Retention::Everything, &mut storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chain);
    assert!(error.detail().contains("leaves out 1025 blocks"), "{error}");
    let fork = Test { prev: (2, 0), ..deep };
    let ingested = take(&fork, Retention::Everything, &mut storage).unwrap();
    assert_eq!((ingested.undone.len(), state(&storage).parked.len()), (1024, 1024));
}

#[test]
fn damaged_rows_end_in_an_error() {
    let mut sound = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=5).iter().chain(&chain(1, (1, 0), 2..=5)) {
        take(block, Retention::Everything, &mut sound).unwrap();
    }
    let damaged = |change: &dyn Fn(&mut BlockRecord), hash| {
        let mut storage = sound.clone();
        let key = Key::hash(Table::Blocks, hash);
        let mut record = BlockRecord::decode(&storage.get(&key).unwrap().unwrap()).unwrap();
        change(&mut record);
        let mut batch = Batch::new();
        batch.put(key, record.encode());
        storage.commit(batch).unwrap();
        storage
    };
    let win = Test { height: 6, fork: 1, prev: (5, 1), ..Test::default() };
    let own_parent = damaged(&|record| record.prev_hash = name((4, 1)), name((4, 1)));
    let beyond = damaged(&|record| record.ordinal = Some(u64::MAX), name((1, 0)));
    for mut storage in [own_parent, beyond] {
        let error = take(&win, Retention::Everything, &mut storage).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    for (first_ordinal, next_ordinal) in [(0, u64::MAX), (6, 5)] {
        let mut storage = sound.clone();
        let mut batch = Batch::new();
        let record = ChainRecord { first_ordinal, next_ordinal, ..state(&storage) };
        batch.put(ChainRecord::key(), record.encode());
        storage.commit(batch).unwrap();
        let error = take(&win, Retention::Blocks(1), &mut storage).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    let mut storage = sound.clone();
    let mut batch = Batch::new();
    batch.put(ChainRecord::key(), ChainRecord { generation: u64::MAX, ..state(&storage) }.encode());
    storage.commit(batch).unwrap();
    take(&win, Retention::Everything, &mut storage).unwrap();
    assert_eq!(state(&storage).generation, 0);
}

#[test]
fn the_list_of_epochs_is_as_long_as_retention_needs() {
    let mut storage = MemoryStorage::new();
    let blocks = chain(0, (0, 0), 1..=100);
    let with_epoch = |block: &Test| Test { epoch: block.height / 2, ..*block };
    for block in blocks[..80].iter().map(with_epoch) {
        take(&block, Retention::Everything, &mut storage).unwrap();
    }
    assert_eq!((state(&storage).epochs.len(), state(&storage).blocks()), (16, 80));
    // Sixteen are known; the twentieth begins at height 88, and only then may the first ones go.
    for (block, kept) in blocks[80..].iter().map(with_epoch).zip(81..) {
        take(&block, Retention::Epochs(20), &mut storage).unwrap();
        let blocks = state(&storage).blocks();
        assert_eq!(blocks == kept, block.height < 88, "{} of {kept}", blocks);
    }
    assert_eq!((state(&storage).epochs.len(), state(&storage).blocks()), (20, 39));
}

#[test]
fn a_fork_behind_all_listed_epochs_forgets_nothing_that_is_kept() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=60) {
        // Forty blocks of one epoch, then an epoch for each block.
        let epoch = block.height.max(40);
        take(&Test { epoch, ..block }, Retention::Everything, &mut storage).unwrap();
    }
    let fork = Test { height: 61, fork: 1, prev: (30, 0), epoch: 40, ..Test::default() };
    take(&fork, Retention::Epochs(1), &mut storage).unwrap();
    let state = state(&storage);
    assert_eq!((state.blocks(), state.epochs.len()), (31, 1));
}

#[test]
fn an_error_gives_the_byte_of_the_message() {
    let block = Test { height: 1, ..Test::default() };
    let message = String::from_utf8(block.message()).unwrap();
    // One that breaks the shape, behind members that the canonical text puts in another order, and
    // one that breaks the grammar of canonical texts.
    for (whole, broken, at) in [
        ("\"receiver_id\":\"b.near\"", "\"receiver_id\":5", 15),
        ("\"receiver_id\":\"b.near\"", "\"receiver_id\":\"b.near\",\"receiver_id\":5", 23),
    ] {
        let message = message.replace(whole, broken);
        let place = message.find(broken).unwrap() + at;
        let error = IngestQuestion::new(message.as_bytes(), IngestSettings::default()).unwrap_err();
        assert_eq!(error.path(), "shards[0].chunk.receipts[0].receiver_id", "{error}");
        assert_eq!(error.offset(), Some(place), "{error}");
    }
}

#[test]
fn no_block_is_never_final() {
    let message = |header: &str| format!(r#"{{"block":{{"header":{{{header}}}}},"shards":[]}}"#);
    let zero = CryptoHash::ZERO;
    let header =
        format!(r#""height":1,"hash":"{zero}","prev_hash":"{}","epoch_id":"{zero}""#, name((0, 0)));
    let mut storage = MemoryStorage::new();
    let settings = IngestSettings::default();
    take_text(message(&header).as_bytes(), settings, &mut storage).unwrap();
    let child = Test { height: 2, ..Test::default() };
    let header =
        format!(r#""height":2,"hash":"{}","prev_hash":"{zero}","epoch_id":"{zero}""#, child.hash());
    let ingested = take_text(message(&header).as_bytes(), settings, &mut storage).unwrap();
    assert_eq!((ingested.place, ingested.last_final), (Place::Head, None));
}

#[test]
fn a_fragment_leaves_room_for_the_answer_around_it() {
    let levels = |count: usize| {
        let block = Test { height: 7, ..Test::default() };
        let message = String::from_utf8(block.message()).unwrap();
        // The fragment itself is one level.
        let deep = format!("{}{}", "[".repeat(count - 1), "]".repeat(count - 1));
        let deeper = message.replacen(
            r#"{"predecessor_id""#,
            &format!(r#"{{"new":{deep},"predecessor_id""#),
            1,
        );
        assert_ne!(deeper, message);
        take_text(deeper.as_bytes(), IngestSettings::default(), &mut MemoryStorage::new())
    };
    assert!(levels(crate::codec::json::MOST_LEVELS_INSIDE).is_ok());
    let error = levels(crate::codec::json::MOST_LEVELS_INSIDE + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.path().starts_with("shards[0].chunk.receipts[0].new"), "{error}");
}

/// Orphans that lead on and on, as no sound chain has them
#[test]
fn orphans_are_followed_so_far_and_then_everyone_is_told() {
    let outcome = |id: u64, next: u64, block: &Test| {
        let [id, next] =
            [id, next].map(|number| CryptoHash::digest(format!("id {number}").as_bytes()));
        format!(
            r#"{{"execution_outcome":{{"block_hash":"{}","id":"{id}","proof":[],"outcome":{{"executor_id":"a.near",
            "gas_burnt":1,"logs":[],"receipt_ids":["{next}"],"status":{{"SuccessValue":""}},"tokens_burnt":"1"}}}}}}"#,
            block.hash()
        )
    };
    for (length, unlisted) in [(1, false), (3, false), (40, true)] {
        let blocks = chain(0, (0, 0), 1..=2);
        let mut storage = MemoryStorage::new();
        // The first block executes a line of receipts, the second what generated the first of them.
        let line: Vec<String> =
            (1..=length).map(|number| outcome(number, number + 1, &blocks[0])).collect();
        let contents = [line.join(","), outcome(0, 1, &blocks[1])];
        for (block, executed) in blocks.iter().zip(contents) {
            let text = String::from_utf8(block.message()).unwrap();
            let executed = format!(r#"]}},"receipt_execution_outcomes":[{executed}]}}]}}"#);
            let text = String::from(text.strip_suffix("]}}]}").unwrap()) + &executed;
            take_text(text.as_bytes(), IngestSettings::default(), &mut storage).unwrap();
        }
        let fork = Test { height: 3, fork: 1, prev: (1, 0), ..Test::default() };
        let taken = take_text(&fork.message(), IngestSettings::default(), &mut storage).unwrap();
        assert_eq!((taken.undone.len(), taken.changes.unlisted), (1, unlisted), "{length}");
        let named = taken.changes.facts.len() as u64;
        assert!(unlisted || named > length, "{named} of {length}");
    }
}
