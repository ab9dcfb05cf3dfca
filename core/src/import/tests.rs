//! Forks, retention and damaged rows, with messages made here.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::ErrorKind;
use crate::config::{
    BlockReference, ConfigImport, ConfigQuery, ConfigResult, ConfigScope, Finality,
};
use crate::primitives::CryptoHash;
use crate::storage::rows::{BlockRecord, ChainRecord, ConfigRecord};
use crate::storage::{Key, MemoryStorage, Snapshot as _, Storage as _, Table, run};

/// A block of a test, with numbers in place of hashes
#[derive(Clone, Copy, Default)]
struct TestBlock {
    height: u64,
    /// Distinguishes blocks of one height
    fork: u64,
    /// Height and fork of its parent
    prev: (u64, u64),
    epoch: u64,
    last_final: Option<(u64, u64)>,
}

fn hash_of((height, fork): (u64, u64)) -> CryptoHash {
    CryptoHash::digest(format!("{height}/{fork}").as_bytes())
}

fn receipt(id: CryptoHash) -> String {
    format!(
        r#"{{"predecessor_id":"a.near","receiver_id":"b.near","receipt_id":"{id}","receipt":{{"Data":{{"data_id":"{id}"}}}}}}"#
    )
}

impl TestBlock {
    fn hash(&self) -> CryptoHash {
        hash_of((self.height, self.fork))
    }

    /// The message, with one receipt
    fn message(&self) -> Vec<u8> {
        let last_final = self.last_final.map_or(CryptoHash::ZERO, hash_of);
        let epoch = epoch_id(self.epoch);
        let receipt = receipt(CryptoHash::digest(self.hash().as_bytes()));
        format!(
            r#"{{"block":{{"header":{{"height":{},"hash":"{}","prev_hash":"{}","epoch_id":"{epoch}","last_final_block":"{last_final}"}}}},
            "shards":[{{"chunk":{{"transactions":[],"receipts":[{receipt}]}},
            "receipt_execution_outcomes":[]}}]}}"#,
            self.height,
            self.hash(),
            hash_of(self.prev),
        )
        .into_bytes()
    }
}

/// A chain of blocks of one fork, starting after the parent
fn chain(fork: u64, prev: (u64, u64), heights: core::ops::RangeInclusive<u64>) -> Vec<TestBlock> {
    let mut prev = prev;
    let mut blocks = Vec::new();
    for height in heights {
        blocks.push(TestBlock { height, fork, prev, ..TestBlock::default() });
        prev = (height, fork);
    }
    blocks
}

fn import(
    block: &TestBlock,
    retention: Retention,
    storage: &mut MemoryStorage,
) -> Result<ImportSummary, Error> {
    import_message(&block.message(), ImportSettings::default().with_retention(retention), storage)
}

fn import_message(
    message: &[u8],
    settings: ImportSettings,
    storage: &mut MemoryStorage,
) -> Result<ImportSummary, Error> {
    let (batch, summary) = run(&mut BlockImport::new(message, settings)?, storage)?;
    storage.commit(batch)?;
    Ok(summary)
}

/// Number of round trips of an import, whose batch is discarded
fn round_trips(block: &TestBlock, retention: Retention, storage: &MemoryStorage) -> usize {
    let settings = ImportSettings::default().with_retention(retention);
    let mut import = BlockImport::new(&block.message(), settings).unwrap();
    let mut round_trips = 0;
    let mut rows = Vec::new();
    loop {
        rows.clear();
        match import.poll().unwrap() {
            Step::Done(_) => return round_trips,
            Step::NeedRows(keys) => storage.get_many(keys, &mut rows).unwrap(),
        }
        round_trips += 1;
        import.supply_rows(&rows).unwrap();
    }
}

fn chain_record(storage: &MemoryStorage) -> ChainRecord {
    ChainRecord::decode(storage.get(&ChainRecord::key()).unwrap().as_deref()).unwrap()
}

#[test]
fn round_trips_do_not_grow_with_forks_and_retention() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=40).iter().chain(&chain(1, (1, 0), 2..=40)) {
        import(block, Retention::Everything, &mut storage).unwrap();
    }
    let [extend, switch] =
        [(40, 0), (40, 1)].map(|prev| TestBlock { height: 41, prev, ..TestBlock::default() });
    for (what, block, retention) in [
        ("extends", extend, Retention::Everything),
        ("extends and prunes 40", extend, Retention::Blocks(1)),
        ("reverts 39 and reapplies 39", switch, Retention::Everything),
        ("reverts, reapplies and prunes", switch, Retention::Blocks(1)),
    ] {
        let count = round_trips(&block, retention, &storage);
        assert!(count <= 9, "{what}: {count} round trips");
    }
}

#[test]
fn no_more_blocks_are_reverted_than_can_be_fork_blocks() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=1026) {
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let deep = TestBlock { height: 1027, fork: 1, prev: (1, 0), ..TestBlock::default() };
    let error = import(&deep, Retention::Everything, &mut storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Chain);
    assert!(error.detail().contains("would revert 1025 blocks"), "{error}");
    let fork = TestBlock { prev: (2, 0), ..deep };
    let summary = import(&fork, Retention::Everything, &mut storage).unwrap();
    assert_eq!((summary.reverted.len(), chain_record(&storage).fork_blocks.len()), (1024, 1024));
}

#[test]
fn damaged_rows_are_errors() {
    let mut intact = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=5).iter().chain(&chain(1, (1, 0), 2..=5)) {
        import(block, Retention::Everything, &mut intact).unwrap();
    }
    let damaged = |change: &dyn Fn(&mut BlockRecord), hash| {
        let mut storage = intact.clone();
        let key = Key::hash(Table::Blocks, hash);
        let mut record = BlockRecord::decode(&storage.get(&key).unwrap().unwrap()).unwrap();
        change(&mut record);
        let mut batch = Batch::new();
        batch.put(key, record.encode());
        storage.commit(batch).unwrap();
        storage
    };
    let switch = TestBlock { height: 6, fork: 1, prev: (5, 1), ..TestBlock::default() };
    let own_parent = damaged(&|record| record.prev_hash = hash_of((4, 1)), hash_of((4, 1)));
    let out_of_range = damaged(&|record| record.ordinal = Some(u64::MAX), hash_of((1, 0)));
    for mut storage in [own_parent, out_of_range] {
        let error = import(&switch, Retention::Everything, &mut storage).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    for (first_ordinal, next_ordinal) in [(0, u64::MAX), (6, 5)] {
        let mut storage = intact.clone();
        let mut batch = Batch::new();
        let record = ChainRecord { first_ordinal, next_ordinal, ..chain_record(&storage) };
        batch.put(ChainRecord::key(), record.encode());
        storage.commit(batch).unwrap();
        let error = import(&switch, Retention::Blocks(1), &mut storage).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    let mut storage = intact.clone();
    let mut batch = Batch::new();
    batch.put(
        ChainRecord::key(),
        ChainRecord { generation: u64::MAX, ..chain_record(&storage) }.encode(),
    );
    storage.commit(batch).unwrap();
    import(&switch, Retention::Everything, &mut storage).unwrap();
    assert_eq!(chain_record(&storage).generation, 0);
}

/// Bumps the version of each stored row in turn: an operation that reads the row reports its
/// version, any other has the same result as before
#[test]
fn rows_of_another_version_are_reported_as_such() {
    let mut intact = MemoryStorage::new();
    let config = r#"{"chain_id":"dev","genesis_height":1,"protocol_version":88}"#;
    let batch = run(&mut ConfigImport::new(1.into(), config, false).unwrap(), &intact).unwrap();
    intact.commit(batch).unwrap();
    for block in chain(0, (0, 0), 1..=5).iter().chain(&chain(1, (1, 0), 2..=5)) {
        import(block, Retention::Everything, &mut intact).unwrap();
    }
    let switch = TestBlock { height: 6, fork: 1, prev: (5, 1), ..TestBlock::default() };
    type Operation = fn(&TestBlock, &mut MemoryStorage) -> Result<String, Error>;
    let operations: [Operation; 2] = [
        |block, storage| import(block, Retention::Blocks(1), storage).map(|it| format!("{it:?}")),
        |_, storage| {
            let reference = BlockReference::Height(3);
            run(&mut ConfigQuery::new(reference), storage).map(|it| format!("{it:?}"))
        },
    ];
    let mut reported = Vec::new();
    for (key, row) in intact.iter() {
        let mut row = row.to_vec();
        row[0] += 1;
        let mut newer = intact.clone();
        let mut batch = Batch::new();
        batch.put(*key, row);
        newer.commit(batch).unwrap();
        for operation in operations {
            match operation(&switch, &mut newer.clone()) {
                Ok(result) => assert_eq!(Ok(result), operation(&switch, &mut intact.clone())),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Version, "{key:?}: {error}");
                    assert_eq!(error.path(), key.table().name(), "{key:?}: {error}");
                    reported.push(key.table());
                }
            }
        }
    }
    reported.sort_unstable();
    reported.dedup();
    let read = [Table::Chain, Table::Blocks, Table::Heights, Table::Ordinals, Table::ForkBlocks];
    assert_eq!(reported, read);
}

#[test]
fn the_list_of_epochs_is_as_long_as_retention_needs() {
    let mut storage = MemoryStorage::new();
    let blocks = chain(0, (0, 0), 1..=100);
    let with_epoch = |block: &TestBlock| TestBlock { epoch: block.height / 2, ..*block };
    for block in blocks[..80].iter().map(with_epoch) {
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    assert_eq!(
        (chain_record(&storage).epochs.len(), chain_record(&storage).block_count()),
        (16, 80)
    );
    // Sixteen are known; the twentieth begins at height 88, and only then may the first ones go.
    for (block, kept) in blocks[80..].iter().map(with_epoch).zip(81..) {
        import(&block, Retention::Epochs(20), &mut storage).unwrap();
        let blocks = chain_record(&storage).block_count();
        assert_eq!(blocks == kept, block.height < 88, "{} of {kept}", blocks);
    }
    assert_eq!(
        (chain_record(&storage).epochs.len(), chain_record(&storage).block_count()),
        (20, 39)
    );
}

#[test]
fn a_fork_before_all_listed_epochs_prunes_no_block_that_is_kept() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=60) {
        // Forty blocks of one epoch, then an epoch for each block.
        let epoch = block.height.max(40);
        import(&TestBlock { epoch, ..block }, Retention::Everything, &mut storage).unwrap();
    }
    let fork = TestBlock { height: 61, fork: 1, prev: (30, 0), epoch: 40, ..TestBlock::default() };
    import(&fork, Retention::Epochs(1), &mut storage).unwrap();
    let chain = chain_record(&storage);
    assert_eq!((chain.block_count(), chain.epochs.len()), (31, 1));
}

#[test]
fn near_final_is_the_block_that_the_head_names_unless_a_higher_one_is_final() {
    for (near_final, last_final, expected) in [
        (Some(3), Some(2), Some(3)),
        (Some(2), Some(3), Some(3)),
        (Some(3), Some(3), Some(3)),
        (Some(3), None, Some(3)),
        (None, Some(2), Some(2)),
        (None, None, None),
    ] {
        let mut storage = MemoryStorage::new();
        for block in chain(0, (0, 0), 1..=3) {
            import(&block, Retention::Everything, &mut storage).unwrap();
        }
        let head = TestBlock { height: 4, prev: (3, 0), ..TestBlock::default() };
        let head = TestBlock { last_final: last_final.map(|height| (height, 0)), ..head };
        let near = near_final.map_or(CryptoHash::ZERO, |height| hash_of((height, 0)));
        let message = String::from_utf8(head.message()).unwrap();
        let member = format!("\"last_ds_final_block\":\"{near}\",\"height\"");
        let message = message.replacen("\"height\"", &member, 1);
        import_message(message.as_bytes(), ImportSettings::default(), &mut storage).unwrap();
        let reference = BlockReference::Finality(Finality::NearFinal);
        let found = match run(&mut ConfigQuery::new(reference), &storage).unwrap() {
            ConfigResult::NoConfig { height, .. } => Some(height),
            ConfigResult::UnknownBlock { .. } => None,
            found @ ConfigResult::InForce(_) => panic!("{found:?}"),
        };
        assert_eq!(found, expected, "{near_final:?} {last_final:?}");
    }
}

#[test]
fn a_message_that_is_no_object_is_named_by_its_type() {
    for (message, found) in [
        ("[]", "array"),
        (r#"[{"block":{}}]"#, "array"),
        ("5", "integer `5`"),
        ("null", "null"),
        ("true", "boolean `true`"),
        (r#""x""#, r#"string "x""#),
    ] {
        let error = BlockImport::new(message.as_bytes(), ImportSettings::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        let expected = format!("invalid type: {found}, expected a block message");
        assert_eq!(error.detail(), expected);
    }
}

#[test]
fn an_error_has_the_offset_in_the_message() {
    let block = TestBlock { height: 1, ..TestBlock::default() };
    let message = String::from_utf8(block.message()).unwrap();
    // The first breaks the schema, after members that the canonical text has in another order. The
    // second breaks the grammar of canonical texts.
    for (valid, broken, offset_in_broken) in [
        ("\"receiver_id\":\"b.near\"", "\"receiver_id\":5", 15),
        ("\"receiver_id\":\"b.near\"", "\"receiver_id\":\"b.near\",\"receiver_id\":5", 23),
    ] {
        let message = message.replace(valid, broken);
        let offset = message.find(broken).unwrap() + offset_in_broken;
        let settings = ImportSettings::default().with_strict_types(true);
        let error = BlockImport::new(message.as_bytes(), settings).unwrap_err();
        assert_eq!(error.path(), "shards[0].chunk.receipts[0].receiver_id", "{error}");
        assert_eq!(error.offset(), Some(offset), "{error}");
    }
}

#[test]
fn a_message_in_camel_case_is_refused_by_name() {
    let message = String::from_utf8(TestBlock { height: 7, ..TestBlock::default() }.message());
    let message = message.unwrap().replace("prev_hash", "prevHash").replace("epoch_id", "epochId");
    let error = BlockImport::new(message.as_bytes(), ImportSettings::default()).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, "block.header"));
    assert!(error.detail().starts_with("camelCase members, as near-lake-framework-js"), "{error}");
    // An unknown member is no error.
    let both = message.replacen("\"height\"", "\"prev_hash\":\"1\",\"height\"", 1);
    let error = BlockImport::new(both.as_bytes(), ImportSettings::default()).unwrap_err();
    assert!(!error.detail().contains("camelCase"), "{error}");
}

#[test]
fn the_zero_hash_is_never_final() {
    let message = |header: &str| format!(r#"{{"block":{{"header":{{{header}}}}},"shards":[]}}"#);
    let zero = CryptoHash::ZERO;
    let header = format!(
        r#""height":1,"hash":"{zero}","prev_hash":"{}","epoch_id":"{zero}""#,
        hash_of((0, 0))
    );
    let mut storage = MemoryStorage::new();
    let settings = ImportSettings::default();
    import_message(message(&header).as_bytes(), settings, &mut storage).unwrap();
    let child = TestBlock { height: 2, ..TestBlock::default() };
    let header =
        format!(r#""height":2,"hash":"{}","prev_hash":"{zero}","epoch_id":"{zero}""#, child.hash());
    let summary = import_message(message(&header).as_bytes(), settings, &mut storage).unwrap();
    assert_eq!((summary.position, summary.last_final), (BlockPosition::Head, None));
}

#[test]
fn the_depth_of_a_fragment_is_limited() {
    let import_with_depth = |depth: usize| {
        let block = TestBlock { height: 7, ..TestBlock::default() };
        let message = String::from_utf8(block.message()).unwrap();
        // The fragment itself is one level.
        let deep = format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        let deeper = message.replacen(
            r#"{"predecessor_id""#,
            &format!(r#"{{"new":{deep},"predecessor_id""#),
            1,
        );
        assert_ne!(deeper, message);
        import_message(deeper.as_bytes(), ImportSettings::default(), &mut MemoryStorage::new())
    };
    assert!(import_with_depth(crate::codec::json::MAX_INNER_DEPTH).is_ok());
    let error = import_with_depth(crate::codec::json::MAX_INNER_DEPTH + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.path().starts_with("shards[0].chunk.receipts[0].new"), "{error}");
}

/// Orphans that no sound chain has: each generated the next
#[test]
fn an_update_lists_orphans_and_overflows_beyond_the_limit() {
    let outcome = |id: u64, next: u64, block: &TestBlock| {
        let [id, next] =
            [id, next].map(|number| CryptoHash::digest(format!("id {number}").as_bytes()));
        format!(
            r#"{{"execution_outcome":{{"block_hash":"{}","id":"{id}","proof":[],"outcome":{{"executor_id":"a.near",
            "gas_burnt":1,"logs":[],"receipt_ids":["{next}"],"status":{{"SuccessValue":""}},"tokens_burnt":"1"}}}}}}"#,
            block.hash()
        )
    };
    for (length, overflowed) in [(1, false), (3, false), (40, true)] {
        let blocks = chain(0, (0, 0), 1..=2);
        let mut storage = MemoryStorage::new();
        // The first block executes a chain of receipts, the second what generated the first of
        // them.
        let receipts: Vec<String> =
            (1..=length).map(|number| outcome(number, number + 1, &blocks[0])).collect();
        let contents = [receipts.join(","), outcome(0, 1, &blocks[1])];
        for (block, executed) in blocks.iter().zip(contents) {
            let text = String::from_utf8(block.message()).unwrap();
            let text = String::from(text.strip_suffix("]}]}").unwrap()) + &executed + "]}]}";
            import_message(text.as_bytes(), ImportSettings::default(), &mut storage).unwrap();
        }
        let fork = TestBlock { height: 3, fork: 1, prev: (1, 0), ..TestBlock::default() };
        let summary =
            import_message(&fork.message(), ImportSettings::default(), &mut storage).unwrap();
        assert_eq!(
            (summary.reverted.len(), summary.chain_update.overflowed),
            (1, overflowed),
            "{length}"
        );
        let listed = summary.chain_update.changes.len() as u64;
        assert!(overflowed || listed > length, "{listed} of {length}");
    }
}

#[test]
fn the_chain_is_complete_from_its_start_its_newest_gap_or_what_is_pruned() {
    let mut storage = MemoryStorage::new();
    let mut complete_from = |height, fork, prev, retention| {
        let block = TestBlock { height, fork, prev, ..TestBlock::default() };
        import(&block, retention, &mut storage).unwrap();
        chain_record(&storage).complete_from
    };
    let all = Retention::Everything;
    assert_eq!(complete_from(10, 0, (9, 0), all), 10);
    assert_eq!(complete_from(11, 0, (10, 0), all), 10);
    // Heights that the chain skipped are no gap.
    assert_eq!(complete_from(15, 0, (11, 0), all), 10);
    // A fork block and a block that is known change nothing.
    assert_eq!(complete_from(13, 1, (11, 0), all), 10);
    assert_eq!(complete_from(15, 0, (11, 0), all), 10);
    // The fork becomes canonical.
    assert_eq!(complete_from(16, 1, (13, 1), all), 10);
    assert_eq!(complete_from(30, 0, (29, 0), all), 30);
    assert_eq!(complete_from(31, 0, (30, 0), all), 30);
    // The gap is reverted; what was below it is not looked up.
    assert_eq!(complete_from(32, 1, (16, 1), all), 16);
    // Pruned are 10 and 11, 13, which are below.
    assert_eq!(complete_from(33, 1, (32, 1), Retention::Blocks(3)), 16);
    assert_eq!(complete_from(34, 1, (33, 1), Retention::Blocks(2)), 33);
    assert_eq!(complete_from(50, 1, (49, 1), Retention::Blocks(2)), 50);
}

#[test]
fn a_chain_that_is_made_final_has_the_rows_of_one_whose_blocks_were() {
    use milepost_practice::{Practice, Settings};

    let mut practice = Practice::new(Settings { forks: 0, repeats: 0, ..Settings::simulation(5) });
    let (mut by_headers, mut by_feed) = (MemoryStorage::new(), MemoryStorage::new());
    let all = ImportSettings::default().with_finality(FinalityRule::All);
    for _ in 0..150 {
        // Without the members that say what is final.
        let text = String::from_utf8(practice.next_message().json).unwrap();
        let text = text.replace("last_final_block", "x").replace("last_ds_final_block", "y");
        import_message(text.as_bytes(), ImportSettings::default(), &mut by_headers).unwrap();
        import_message(text.as_bytes(), all, &mut by_feed).unwrap();
    }
    let head = chain_record(&by_headers).head;
    assert_eq!(chain_record(&by_headers).last_final, None);
    let mut next_finalized = Vec::new();
    while let Some((batch, summary)) = run(&mut FinalityImport::new(), &by_headers).unwrap() {
        by_headers.commit(batch).unwrap();
        assert_eq!((summary.last_final, Some(summary.block)), (head, head));
        assert_eq!(summary.chain_update.last_final, head.map(|head| head.height));
        next_finalized.push(chain_record(&by_headers).next_finalized);
    }
    assert_eq!(next_finalized, [64, 128, 150]);
    let rows = |storage: &MemoryStorage| {
        let rows = storage.iter().filter(|(key, _)| **key != ChainRecord::key());
        let mut rows: Vec<(Key, Row)> = rows.map(|(key, row)| (*key, row.clone())).collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        rows
    };
    assert!(rows(&by_headers) == rows(&by_feed), "the rows differ");
    let chain = |storage| ChainRecord { generation: 0, ..chain_record(storage) };
    assert_eq!(chain(&by_headers), chain(&by_feed));
    assert!(run(&mut FinalityImport::new(), &MemoryStorage::new()).unwrap().is_none());
}

/// The error of a block whose header has this `prev_height`
fn error_with_prev_height(
    block: &TestBlock,
    prev_height: u64,
    storage: &MemoryStorage,
) -> Option<(ErrorKind, String)> {
    let message = String::from_utf8(block.message()).unwrap();
    let header = format!(r#""header":{{"prev_height":{prev_height},"#);
    let message = message.replace(r#""header":{"#, &header);
    let settings = ImportSettings::default();
    let error = import_message(message.as_bytes(), settings, &mut storage.clone()).err()?;
    Some((error.kind(), format!("{error}")))
}

#[test]
fn a_block_whose_parent_is_on_a_fork_that_is_not_kept_is_refused() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=5) {
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let block = TestBlock { height: 8, prev: (5, 1), ..TestBlock::default() };
    let error = format!(
        "block.header: its parent {} at or below the head at 5 is not known: it is on a fork that \
         is not kept",
        hash_of((5, 1))
    );
    for prev_height in [4, 5] {
        let expected = Some((ErrorKind::Chain, error.clone()));
        assert_eq!(error_with_prev_height(&block, prev_height, &storage), expected);
    }
    // A parent above the head is missing in the feed.
    assert_eq!(error_with_prev_height(&block, 6, &storage), None);
}

#[test]
fn a_block_has_to_fit_its_parent() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=5) {
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let error = |height, prev, prev_height| {
        let block = TestBlock { height, fork: 1, prev, ..TestBlock::default() };
        let error = error_with_prev_height(&block, prev_height, &storage)?;
        assert_eq!(error.0, ErrorKind::Chain);
        Some(error.1)
    };
    let [parent, unknown] = [hash_of((4, 0)), hash_of((4, 9))];
    assert_eq!(error(5, (4, 0), 4), None);
    for height in [3, 4] {
        let expected = format!(
            "block.header: height {height} is not above the height 4 of its parent \
             {parent}"
        );
        assert_eq!(error(height, (4, 0), 4), Some(expected));
    }
    let expected = format!("block.header: prev_height 3, but its parent {parent} has height 4");
    assert_eq!(error(5, (4, 0), 3), Some(expected));
    for height in [4, 5] {
        let expected = format!(
            "block.header: height {height} is not above the head at 5, and its parent \
             {unknown} is not known: blocks must be imported by ascending height"
        );
        assert_eq!(error(height, (4, 9), 4), Some(expected));
    }
}

#[test]
fn a_fork_does_not_leave_the_chain_below_its_last_final_block() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=5) {
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let last_final = Some((4, 0));
    let head = TestBlock { height: 6, prev: (5, 0), last_final, ..TestBlock::default() };
    import(&head, Retention::Everything, &mut storage).unwrap();
    for (parent, expected) in [
        (3, Some("block.header: its parent at 3 is below the last final block at 4")),
        (4, None),
        (5, None),
    ] {
        let fork = TestBlock { height: 6, fork: 1, prev: (parent, 0), ..TestBlock::default() };
        let error = import(&fork, Retention::Everything, &mut storage.clone()).err();
        assert_eq!(error.map(|error| format!("{error}")).as_deref(), expected);
    }
}

#[test]
fn the_limit_of_fork_blocks_prunes_the_lowest() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=1_027) {
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let fork =
        |height, fork| TestBlock { height, fork, prev: (height - 1, 0), ..TestBlock::default() };
    // In the middle, above, below, and a second one of a height.
    let middle = [(500, 1), (500, 2)];
    let above = (501..=1_025).rev().map(|height| (height, 1));
    let below = (3..=499).map(|height| (height, 1));
    let all: Vec<(u64, u64)> = middle.into_iter().chain(above).chain(below).collect();
    for (height, number) in all.iter().chain(&[(2, 1)]) {
        import(&fork(*height, *number), Retention::Everything, &mut storage).unwrap();
    }
    let mut expected = all;
    expected.sort_unstable();
    assert_eq!(expected.len(), 1_024);
    let hashes = |storage: &MemoryStorage| {
        let kept = chain_record(storage).fork_blocks;
        kept.iter().map(|point| point.hash).collect::<Vec<_>>()
    };
    let expected_hashes =
        |expected: &[(u64, u64)]| expected.iter().map(|block| hash_of(*block)).collect::<Vec<_>>();
    // The lowest goes, though it is the newest.
    assert!(hashes(&storage) == expected_hashes(&expected));
    let row = |storage: &MemoryStorage, table, block| {
        storage.get(&Key::hash(table, hash_of(block))).unwrap()
    };
    for table in [Table::Blocks, Table::ForkBlocks] {
        assert_eq!(row(&storage, table, (2, 1)), None);
        assert!(row(&storage, table, (3, 1)).is_some());
    }
    // Of two blocks of one height, the one that came first.
    import(&fork(1_026, 1), Retention::Everything, &mut storage).unwrap();
    expected.remove(0);
    expected.push((1_026, 1));
    assert!(hashes(&storage) == expected_hashes(&expected));
    assert_eq!(row(&storage, Table::ForkBlocks, (3, 1)), None);
    assert!(row(&storage, Table::ForkBlocks, (4, 1)).is_some());
}

#[test]
fn the_debug_form_of_a_summary_has_counts_in_place_of_lists() {
    let mut storage = MemoryStorage::new();
    let block = TestBlock { height: 7, prev: (6, 0), ..TestBlock::default() };
    let summary = import(&block, Retention::Everything, &mut storage).unwrap();
    let point = BlockPoint { height: 7, hash: block.hash() };
    let expected = format!(
        "ImportSummary {{ block: {point:?}, position: Head, reverted: 0, reapplied: 0, \
         last_final: None, transactions: 0, outcomes: 0, receipts: 1, \
         type_mismatches: TypeMismatches {{ count: 0, first: None }}, evicted_blocks: 0, \
         verification: None, chain_update: ChainUpdate {{ generation: 1, previous_generation: 0, \
         changes: 0, overflowed: false, reverted_above: None, last_final: None, joined: 1 }}, .. }}"
    );
    assert_eq!(format!("{summary:?}"), expected);
    let joined = format!("JoinedBlock {{ point: {point:?}, transactions: 0 }}");
    assert_eq!(format!("{:?}", summary.chain_update.joined), format!("[{joined}]"));

    let mut practice = milepost_practice::Practice::new(milepost_practice::Settings::demo(5));
    let mut storage = MemoryStorage::new();
    for _ in 0..20 {
        let message = practice.next_message().json;
        let summary = import_message(&message, ImportSettings::default(), &mut storage).unwrap();
        assert!(format!("{summary:?}").len() < 1_000, "{summary:?}");
    }
}

fn epoch_id(epoch: u64) -> CryptoHash {
    CryptoHash::digest(format!("epoch {epoch}").as_bytes())
}

/// Puts a configuration of this version in force in an epoch
fn put_config(epoch: u64, version: u64, storage: &mut MemoryStorage) {
    put_config_in(epoch_id(epoch).into(), version, storage);
}

/// Puts a configuration of this version in force
fn put_config_in(scope: ConfigScope, version: u64, storage: &mut MemoryStorage) {
    let text = format!(r#"{{"chain_id":"dev","genesis_height":1,"protocol_version":{version}}}"#);
    let batch = run(&mut ConfigImport::new(scope, &text, false).unwrap(), storage);
    storage.commit(batch.unwrap()).unwrap();
}

/// The version of the configuration in force at a block
fn version_at(block: BlockReference, storage: &MemoryStorage) -> Option<u64> {
    match run(&mut ConfigQuery::new(block), storage).unwrap() {
        ConfigResult::InForce(row) => {
            let text = str::from_utf8(ConfigRecord::decode(&row).unwrap().fragment).unwrap();
            let (_, version) = text.trim_end_matches('}').rsplit_once(':').unwrap();
            version.parse().ok()
        }
        _ => None,
    }
}

#[test]
fn a_configuration_that_arrives_late_changes_no_other_epoch() {
    let mut storage = MemoryStorage::new();
    put_config(0, 80, &mut storage);
    for block in chain(0, (0, 0), 1..=9) {
        let block = TestBlock { epoch: (block.height - 1) / 3, ..block };
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let versions = |storage: &MemoryStorage| {
        [3, 4, 6, 7, 9].map(|height| version_at(BlockReference::Height(height), storage).unwrap())
    };
    assert_eq!(versions(&storage), [80; 5]);
    put_config(1, 81, &mut storage);
    assert_eq!(versions(&storage), [80, 81, 81, 80, 80]);
    put_config(2, 82, &mut storage);
    put_config(7, 87, &mut storage);
    assert_eq!(versions(&storage), [80, 81, 81, 82, 82]);
    put_config(0, 79, &mut storage);
    assert_eq!(versions(&storage), [79, 81, 81, 82, 82]);
}

#[test]
fn a_configuration_from_a_height_on_is_in_force_over_that_of_the_epoch_before_if_it_is_newer() {
    // The block at 4 is the first of an epoch without a configuration.
    for (from, expected) in [(1, 81), (3, 81), (4, 90), (5, 81), (6, 81)] {
        let mut storage = MemoryStorage::new();
        put_config(1, 81, &mut storage);
        for block in chain(0, (0, 0), 1..=5) {
            let block = TestBlock { epoch: if block.height < 4 { 1 } else { 2 }, ..block };
            import(&block, Retention::Everything, &mut storage).unwrap();
        }
        put_config_in(ConfigScope::From(from), 90, &mut storage);
        assert_eq!(version_at(BlockReference::Height(4), &storage), Some(expected), "{from}");
    }
}

#[test]
fn the_configuration_of_the_head_stays_in_force_above_a_gap() {
    let mut storage = MemoryStorage::new();
    for block in chain(0, (0, 0), 1..=3) {
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let above = TestBlock { height: 9, prev: (8, 0), epoch: 2, ..TestBlock::default() };
    let mut without = storage.clone();
    import(&above, Retention::Everything, &mut without).unwrap();
    put_config(0, 80, &mut without);
    assert_eq!(version_at(BlockReference::Hash(above.hash()), &without), None);
    put_config(0, 80, &mut storage);
    import(&above, Retention::Everything, &mut storage).unwrap();
    assert_eq!(version_at(BlockReference::Hash(above.hash()), &storage), Some(80));
}

#[test]
fn the_epoch_of_a_height_is_right_below_a_fork_that_reverts_all_listed_epochs() {
    let mut storage = MemoryStorage::new();
    // More epochs than are listed, the first two of several blocks.
    for block in chain(0, (0, 0), 1..=40) {
        let block = TestBlock { epoch: block.height / 2, ..block };
        put_config(block.epoch, 80 + block.epoch, &mut storage);
        import(&block, Retention::Everything, &mut storage).unwrap();
    }
    let fork = TestBlock { height: 41, fork: 1, prev: (3, 0), epoch: 1, ..TestBlock::default() };
    import(&fork, Retention::Everything, &mut storage).unwrap();
    for (height, version) in [(1, 80), (2, 81), (3, 81), (41, 81)] {
        let found = version_at(BlockReference::Height(height), &storage);
        assert_eq!(found, Some(version), "{height}");
    }
    let reverted = BlockReference::Hash(hash_of((40, 0)));
    assert_eq!(version_at(reverted, &storage), Some(100));
}

#[test]
fn a_block_replaces_no_configuration_that_is_put_while_it_is_imported() {
    let mut storage = MemoryStorage::new();
    put_config(0, 80, &mut storage);
    import(&chain(0, (0, 0), 1..=1)[0], Retention::Everything, &mut storage).unwrap();
    let first = TestBlock { height: 2, prev: (1, 0), epoch: 1, ..TestBlock::default() };
    let settings = ImportSettings::default();
    let mut block = BlockImport::new(&first.message(), settings).unwrap();
    let (batch, _) = run(&mut block, &storage).unwrap();
    put_config(1, 81, &mut storage);
    storage.commit(batch).unwrap();
    assert_eq!(version_at(BlockReference::Height(2), &storage), Some(81));
}
