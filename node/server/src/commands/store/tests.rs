//! What `check` finds, and that a copy of a store is the store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use milepost::endpoint::Engine;
use milepost::import::{BlockHeader, ImportSettings, MessageBuilder, Retention};
use milepost::primitives::CryptoHash;
use milepost::storage::rows::{BlockRecord, ChainRecord, OutcomeRow, RowId};
use milepost::storage::{Batch, Key, MemoryStorage, Snapshot as _, Storage as _, Table, rows};
use milepost_practice::config::protocol_config;
use milepost_practice::{Practice, Settings};
use milepost_redb::{FileCopy, Options, RedbStorage};
use tempfile::TempDir;

use super::check::check;
use super::{backup, info};
use crate::serve::row_stream;

/// The rows of a practice chain that has forks
fn chain_rows(retention: Retention) -> MemoryStorage {
    let mut storage = MemoryStorage::new();
    let practice = Settings::simulation(3);
    let genesis = practice.genesis_height;
    let config = protocol_config(&practice.chain_id, genesis, 87, &["g0", "n0"]);
    let (engine, mut chain) = (Engine::default(), Practice::new(practice));
    let settings = ImportSettings::default().with_retention(retention);
    engine.put_config(genesis, &config, &settings, &mut storage).unwrap();
    for number in 0..1000 {
        // Some messages of a simulation are refused.
        let _ = engine.import_block(&chain.next_message().json, &settings, &mut storage);
        let has_fork = || storage.iter().any(|(key, _)| key.table() == Table::ForkBlocks);
        if number > 50 && has_fork() {
            return storage;
        }
    }
    panic!("the chain has no forks");
}

/// A file with rows
fn file_of(rows: &MemoryStorage, directory: &Path) -> PathBuf {
    let path = directory.join("chain.milepost");
    let mut copy = FileCopy::create(&path).unwrap();
    rows.iter().try_for_each(|(key, row)| copy.put(*key, row)).unwrap();
    copy.finish().unwrap();
    path
}

/// A store with a practice chain
fn sample(directory: &Path) -> PathBuf {
    static ROWS: OnceLock<MemoryStorage> = OnceLock::new();
    file_of(ROWS.get_or_init(|| chain_rows(Retention::Everything)), directory)
}

fn assert_sound(path: &Path) {
    let (report, problems) = check(path).unwrap();
    assert_eq!(problems, 0, "{report}");
    assert!(report.contains(": sound, ") && report.ends_with(" rows read\n"), "{report}");
}

/// What `check` reports after a change of the rows
#[track_caller]
fn assert_found(change: impl FnOnce(&RedbStorage, &mut Batch), expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = sample(directory.path());
    let mut storage = RedbStorage::open(&path, &Options::default()).unwrap();
    let mut batch = Batch::new();
    change(&storage, &mut batch);
    assert!(!batch.is_empty(), "nothing was changed");
    storage.commit(batch).unwrap();
    drop(storage);
    let (report, problems) = check(&path).unwrap();
    assert!(problems > 0 && report.contains(expected), "{expected}: {report}");
    assert!(report.contains(" problem"), "{report}");
}

fn chain_of(storage: &RedbStorage) -> ChainRecord {
    let row = storage.snapshot().unwrap().get(&ChainRecord::key()).unwrap();
    ChainRecord::decode(row.as_deref()).unwrap()
}

/// The block in the middle of the chain
fn block_of(storage: &RedbStorage) -> (Key, BlockRecord) {
    let (snapshot, chain) = (storage.snapshot().unwrap(), chain_of(storage));
    let middle = (chain.first_ordinal + chain.next_ordinal) / 2;
    let row = snapshot.get(&Key::number(Table::Ordinals, middle)).unwrap().unwrap();
    let hash = rows::decode_block_hash(Table::Ordinals, &row).unwrap();
    let key = Key::hash(Table::Blocks, hash);
    let block = BlockRecord::decode(&snapshot.get(&key).unwrap().unwrap()).unwrap();
    (key, block)
}

/// The first row of a table for which `wanted` holds
fn find(storage: &RedbStorage, table: Table, wanted: impl Fn(&[u8]) -> bool) -> Key {
    let mut found = None;
    let visit = &mut |row: Result<(Key, &[u8]), _>| {
        row.map(|(key, row)| found = found.or(wanted(row).then_some(key)))
    };
    storage.snapshot().unwrap().for_each_row(table, visit).unwrap();
    found.expect("the chain has such a row")
}

#[test]
fn stores_of_every_retention_are_sound() {
    for retention in [Retention::Everything, Retention::Blocks(20), Retention::Epochs(2)] {
        let directory = tempfile::tempdir().unwrap();
        assert_sound(&file_of(&chain_rows(retention), directory.path()));
    }
}

#[test]
fn a_store_that_keeps_a_refusal_with_its_execution_is_sound() {
    let transaction = CryptoHash::digest(b"a transaction");
    let block = |height: u64| CryptoHash::digest(&height.to_le_bytes());
    let signature = "1".repeat(64);
    let view = format!(
        r#"{{"actions":["CreateAccount"],"hash":"{transaction}","nonce":1,"priority_fee":0,
        "public_key":"ed25519:11111111111111111111111111111111","receiver_id":"b.near",
        "signature":"ed25519:{signature}","signer_id":"a.near"}}"#
    );
    let mut storage = MemoryStorage::new();
    for (height, receipts, status) in [
        (1, String::new(), r#"{"Failure":{"InvalidTxError":"Expired"}}"#.into()),
        (2, format!("\"{}\"", block(7)), format!(r#"{{"SuccessReceiptId":"{}"}}"#, block(7))),
    ] {
        let mut message = MessageBuilder::new(&BlockHeader {
            height,
            hash: block(height),
            prev_hash: block(height - 1),
            ..BlockHeader::default()
        });
        let outcome = format!(
            r#"{{"proof":[],"block_hash":"{}","id":"{transaction}","outcome":{{
            "executor_id":"a.near","gas_burnt":1,"logs":[],"receipt_ids":[{receipts}],
            "status":{status},"tokens_burnt":"0"}}}}"#,
            block(height)
        );
        message.add_transaction(view.as_bytes(), Some(outcome.as_bytes())).unwrap();
        let settings = ImportSettings::default();
        Engine::default().import_block(message.as_text(), &settings, &mut storage).unwrap();
    }
    let kept = storage.iter().filter(|(key, _)| key.table() == Table::ForkBlocks);
    assert_eq!(kept.count(), 1);
    let directory = tempfile::tempdir().unwrap();
    assert_sound(&file_of(&storage, directory.path()));
}

#[test]
fn an_empty_store_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.milepost");
    drop(RedbStorage::open(&path, &Options::default()).unwrap());
    assert_sound(&path);
}

#[test]
fn a_missing_row_of_a_block_is_found() {
    for table in [Table::Transactions, Table::Outcomes] {
        assert_found(
            |storage, batch| batch.remove(find(storage, table, |_| true)),
            "no row, and block ",
        );
    }
    // Those of finalized transactions are gone rightly.
    let is_pending = |storage: &RedbStorage, batch: &mut Batch| {
        let parent = find(storage, Table::ReceiptParents, |_| true);
        let receipt = Key::new(Table::Receipts, parent.bytes_in_table()).unwrap();
        let mut receipts = vec![receipt];
        let visit = &mut |row: Result<(Key, &[u8]), _>| row.map(|(key, _)| receipts.push(key));
        let snapshot = storage.snapshot().unwrap();
        snapshot.for_each_row(Table::Receipts, visit).unwrap();
        let has = |key: &Key| snapshot.get(key).unwrap().is_some();
        let parent_of = |key: &Key| Key::new(Table::ReceiptParents, key.bytes_in_table()).unwrap();
        receipts.retain(|receipt| has(receipt) && has(&parent_of(receipt)));
        batch.remove(*receipts.first().expect("a receipt is pending"));
    };
    assert_found(is_pending, "no row, and block ");
}

#[test]
fn a_missing_block_is_found() {
    assert_found(|storage, batch| batch.remove(block_of(storage).0), " is missing");
    let remove = |table: Table| {
        move |storage: &RedbStorage, batch: &mut Batch| batch.remove(find(storage, table, |_| true))
    };
    assert_found(remove(Table::Heights), " belongs to block none");
    assert_found(remove(Table::Ordinals), "no row, and the chain has it");
    assert_found(remove(Table::Configs), "no row, and the index has it");
}

#[test]
fn blocks_that_do_not_follow_each_other_are_found() {
    let other = CryptoHash::new([7; 32]);
    let change = |change: fn(&mut BlockRecord)| {
        move |storage: &RedbStorage, batch: &mut Batch| {
            let (key, mut block) = block_of(storage);
            change(&mut block);
            batch.put(key, block.encode());
        }
    };
    assert_found(
        change(|block| block.prev_hash = CryptoHash::new([7; 32])),
        &format!("its parent is {other}, before it is "),
    );
    assert_found(change(|block| block.ordinal = None), "has ordinal none, its row of ordinals");
    assert_found(
        |storage, batch| {
            let mut chain = chain_of(storage);
            chain.head = chain.last_final;
            batch.put(ChainRecord::key(), chain.encode());
        },
        "the head is not the newest block",
    );
}

#[test]
fn rows_of_no_block_are_counted() {
    assert_found(
        |storage, batch| {
            let (key, mut block) = block_of(storage);
            let is_outcome = |row_id: &RowId| row_id.table == Table::Outcomes;
            let outcome = block.rows.iter().position(is_outcome).expect("an outcome");
            block.rows.remove(outcome);
            batch.put(key, block.encode());
        },
        "outcomes: ",
    );
}

#[test]
fn an_outcome_of_a_transaction_that_is_not_there_is_found() {
    assert_found(
        |storage, batch| {
            let is_final =
                |row: &[u8]| matches!(OutcomeRow::decode(row), Ok(OutcomeRow::Finalized(_)));
            let key = find(storage, Table::Outcomes, is_final);
            let other = CryptoHash::new([7; 32]);
            batch.put(key, OutcomeRow::encode_finalized(other));
        },
        &format!("transaction {} is missing", CryptoHash::new([7; 32])),
    );
}

#[test]
fn a_malformed_row_is_found_in_every_table() {
    for table in Table::ALL {
        assert_found(
            |storage, batch| {
                let key = find(storage, table, |row| row.len() > 1);
                let row = storage.snapshot().unwrap().get(&key).unwrap().unwrap();
                batch.put(key, &row[..1]);
            },
            table.name(),
        );
    }
}

#[test]
fn every_problem_is_counted_and_a_hundred_are_printed() {
    let all_outcomes = |storage: &RedbStorage, batch: &mut Batch| {
        let visit =
            &mut |row: Result<(Key, &[u8]), _>| row.map(|(key, _)| batch.put(key, &[2][..]));
        storage.snapshot().unwrap().for_each_row(Table::Outcomes, visit).unwrap();
        assert!(batch.changes().len() > 100);
    };
    assert_found(all_outcomes, " more\n");
}

#[test]
fn damaged_bytes_are_found_where_they_change_what_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = sample(directory.path());
    let file = fs::read(&path).unwrap();
    let expected = rows_of(&path);
    // Of the first page its header, then the newest and the previous state.
    let header = [0, 9, 12, 64, 72, 170, 192, 200, 300];
    let pages = (4096..file.len()).step_by(file.len() / 17);
    let (mut found, mut sound) = (0, 0);
    for at in header.into_iter().chain(pages) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        // Of another version or another program, which is an error.
        match check(&path) {
            Ok((_, 0)) => {
                assert!(rows_of(&path) == expected, "byte {at}: sound, and the rows differ");
                sound += 1;
            }
            Ok(_) | Err(_) => found += 1,
        }
    }
    // Some bytes are in pages that no state uses, or in the previous state.
    assert!(found >= 5 && sound > 0, "{found} found, {sound} sound");
}

#[test]
fn a_file_that_is_no_store_or_is_not_there_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other");
    assert!(check(&path).unwrap_err().contains("No such file"));
    assert!(!path.exists());
    fs::write(&path, "text").unwrap();
    assert!(check(&path).unwrap_err().contains("not a milepost storage"));
}

fn rows_of(path: &Path) -> Vec<(Key, Vec<u8>)> {
    let storage = RedbStorage::open(path, &Options::default()).unwrap();
    let mut rows = Vec::new();
    row_stream::for_each_row(&storage.snapshot().unwrap(), &mut |key, row| {
        rows.push((key, row.to_vec()));
        Ok(())
    })
    .unwrap();
    rows
}

#[test]
fn info_has_the_row_versions_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = sample(directory.path());
    let mut storage = RedbStorage::open(&path, &Options::default()).unwrap();
    let mut batch = Batch::new();
    let of_release = rows::version(Table::Receipts);
    let visit = &mut |row: Result<(Key, &[u8]), _>| {
        row.map(|(key, row)| batch.put(key, [&[of_release + 1], &row[1..]].concat()))
    };
    let snapshot = storage.snapshot().unwrap();
    snapshot.for_each_row(Table::Receipts, visit).unwrap();
    let visit = &mut |row: Result<(Key, &[u8]), _>| row.map(|(key, _)| batch.remove(key));
    snapshot.for_each_row(Table::Configs, visit).unwrap();
    storage.commit(batch).unwrap();
    drop((snapshot, storage));

    let info = info(&path).unwrap();
    let tables = &info["tables"];
    let blocks = rows::version(Table::Blocks);
    assert_eq!(tables["blocks"]["version"], blocks);
    assert_eq!(tables["receipts"]["version"], of_release + 1);
    assert_eq!(tables["receipts"]["version_of_release"], of_release);
    assert_eq!(tables["configs"]["version"], serde_json::Value::Null);
}

/// Closed, and as a crash leaves it
#[test]
fn a_file_that_is_looked_at_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = sample(directory.path());
    let mut storage = RedbStorage::open(&path, &Options::default()).unwrap();
    let mut batch = Batch::new();
    batch.put(ChainRecord::key(), chain_of(&storage).encode());
    storage.commit(batch).unwrap();
    let crashed = fs::read(&path).unwrap();
    drop(storage);
    let closed = fs::read(&path).unwrap();
    assert_ne!(crashed, closed);
    for (number, file) in [crashed, closed].into_iter().enumerate() {
        fs::write(&path, &file).unwrap();
        let files = fs::read_dir(directory.path()).unwrap().count();
        assert_sound(&path);
        info(&path).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), files);
        let to = directory.path().join(format!("copy-{number}.milepost"));
        backup::backup(&path, &to).unwrap();
        assert!(fs::read(&path).unwrap() == file, "the file has changed");
        assert_sound(&to);
    }
}

#[test]
fn a_backup_has_every_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = sample(directory.path());
    let to = directory.path().join("copy.milepost");
    let count = backup::backup(&path, &to).unwrap();
    assert_eq!(rows_of(&path), rows_of(&to));
    assert_eq!(count, rows_of(&to).len() as u64);
    assert_sound(&to);
    assert!(backup::backup(&path, &to).unwrap_err().contains("there is a file already"));
}

#[test]
fn a_stream_of_rows_that_is_cut_or_changed_is_refused() {
    let directory: TempDir = tempfile::tempdir().unwrap();
    let path = sample(directory.path());
    let storage = RedbStorage::open(&path, &Options::default()).unwrap();
    let (snapshot, mut bytes) = (storage.snapshot().unwrap(), Vec::new());
    let sent = row_stream::write(&snapshot, &mut bytes, &|| false).unwrap();
    let read = |bytes: &[u8]| row_stream::read(&mut &bytes[..], &mut |_, _| Ok(()));
    assert_eq!(read(&bytes).unwrap(), sent);
    for end in (0..bytes.len()).step_by(1009) {
        assert!(read(&bytes[..end]).is_err(), "{end}");
    }
    for (at, expected) in [
        (0, "not rows of a server"),
        (16, "a key that is none"),
        (bytes.len() - 1, "rows arrived, the server sent"),
    ] {
        let mut changed = bytes.clone();
        changed[at] ^= 0x80;
        let error = read(&changed).unwrap_err().to_string();
        assert!(error.contains(expected), "{at}: {error}");
    }
    let stopped = row_stream::write(&snapshot, &mut Vec::new(), &|| true);
    assert!(stopped.unwrap_err().to_string().contains("the server stops"));

    let to = directory.path().join("copy.milepost");
    let mut copy = FileCopy::create(&to).unwrap();
    let copied = row_stream::read(&mut &bytes[..], &mut |key, row| copy.put(key, row)).unwrap();
    copy.finish().unwrap();
    assert_eq!((copied, rows_of(&to).len() as u64), (sent, sent));
}
