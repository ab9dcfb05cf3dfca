//! Requests over a storage that forgets and an archive that keeps what is finalized.
//!
//! They are answered as over a storage that keeps everything, with a bounded number of reads of the
//! archive, and with an error where the archive cannot be read.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use milepost_practice::{Practice, Settings as ChainSettings};

use super::*;
use crate::archive::{
    Archive, ArchiveLookup, ArchivedBlock, ArchivedReceipt, Envelope, MemoryArchive, Origin,
    WithArchive, WriterId,
};
use crate::import::{ImportSettings, Retention};
use crate::primitives::CryptoHash;
use crate::rpc::ResponseKind;
use crate::storage::rows::{BlockRecord, ConfigRecord, FinalizedTransaction};
use crate::storage::{
    Batch, Key, MemoryStorage, Query as _, Row, Snapshot as _, Step, Storage as _, Table,
};
use crate::{Error, ErrorKind};

/// An archive that counts its reads, and can be made to fail
#[derive(Default)]
struct Counted {
    archive: MemoryArchive,
    reads: Cell<usize>,
    keys: RefCell<Vec<Key>>,
    fails: Cell<bool>,
}

impl Archive for Counted {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.reads.set(self.reads.get() + 1);
        self.keys.borrow_mut().extend_from_slice(keys);
        if self.fails.get() {
            return Err(Error::new(ErrorKind::Storage, "the archive is down"));
        }
        self.archive.get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.archive.put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.archive.replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.archive.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.archive.scan(table, after, limit, rows)
    }
}

impl Counted {
    /// The reads since the last call
    fn take_reads(&self) -> usize {
        self.keys.borrow_mut().clear();
        self.reads.take()
    }

    fn put(&self, key: Key, content: &[u8]) {
        let row = Envelope::plain(Origin::of(WriterId(1)), content).encode();
        self.archive.put_many(&[(key, row.into())]).unwrap();
    }

    /// Puts what is finalized in this storage
    fn fill(&self, storage: &MemoryStorage) {
        for (key, row) in storage.iter() {
            if key.table() == Table::Blocks {
                let hash = CryptoHash::new(key.bytes_in_table().try_into().unwrap());
                let block = BlockRecord::decode(row).unwrap();
                let archived = ArchivedBlock {
                    height: block.height,
                    prev_hash: block.prev_hash,
                    epoch_id: block.epoch_id,
                    protocol_version: block.protocol_version,
                };
                self.put(ArchivedBlock::key(hash), &archived.encode());
                self.put(ArchivedBlock::height_key(block.height), hash.as_bytes());
            }
            if key.table() != Table::Transactions {
                continue;
            }
            let Some(finalized) = FinalizedTransaction::decode(row).unwrap() else { continue };
            let hash = CryptoHash::new(key.bytes_in_table().try_into().unwrap());
            self.put(Key::hash(Table::ArchivedTransactions, hash), row);
            for outcome in finalized.outcomes() {
                let (transaction, height) = (hash, finalized.height);
                let receipt = ArchivedReceipt { transaction, height };
                self.put(ArchivedReceipt::key(outcome.unwrap().id), &receipt.encode());
            }
        }
    }
}

const BLOCKS: usize = 70;

/// A storage that keeps everything, one that keeps a few blocks with an archive of the rest, and
/// the hashes of the transactions
struct Stores {
    whole: MemoryStorage,
    hot: MemoryStorage,
    archive: Counted,
    transactions: Vec<CryptoHash>,
}

impl Stores {
    /// Archives a finalized transaction as one of this hash
    fn archive_under(&self, hash: CryptoHash) {
        let row =
            self.whole.get(&Key::hash(Table::Transactions, self.archived())).unwrap().unwrap();
        let finalized = FinalizedTransaction::decode(&row).unwrap().unwrap();
        // The id of its own outcome is the first of the index.
        let mut index = finalized.index.to_vec();
        index[..32].copy_from_slice(hash.as_bytes());
        let row = FinalizedTransaction { index: &index, ..finalized }.encode();
        self.archive.put(Key::hash(Table::ArchivedTransactions, hash), &row);
    }

    fn new(seed: u64) -> Self {
        let mut chain = Practice::new(ChainSettings::simulation(seed));
        let [mut whole, mut hot] = [MemoryStorage::new(), MemoryStorage::new()];
        let mut transactions = Vec::new();
        let engine = Engine::default();
        for _ in 0..BLOCKS {
            let message = chain.next_message();
            let keeps = ImportSettings::default();
            let forgets = ImportSettings::default().with_retention(Retention::Blocks(25));
            // Some messages of this chain are on forks that are refused.
            let imported = engine.import_block(&message.json, &keeps, &mut whole).is_ok();
            assert_eq!(engine.import_block(&message.json, &forgets, &mut hot).is_ok(), imported);
            let hashes = message.transactions.iter().map(|one| *one.hash.as_bytes());
            transactions.extend(hashes.map(CryptoHash::new));
        }
        let archive = Counted::default();
        archive.fill(&whole);
        Self { whole, hot, archive, transactions }
    }

    fn both(&self) -> WithArchive<&MemoryStorage, &Counted> {
        WithArchive { snapshot: &self.hot, archive: &self.archive }
    }

    /// A transaction that only the archive has
    fn archived(&self) -> CryptoHash {
        let is_archived = |hash: &&CryptoHash| {
            let key = |table| Key::hash(table, **hash);
            let mut rows = Vec::new();
            self.archive.archive.get_many(&[key(Table::ArchivedTransactions)], &mut rows).unwrap();
            self.hot.get(&key(Table::Transactions)).unwrap().is_none() && rows != [None]
        };
        *self.transactions.iter().find(is_archived).expect("one is archived and forgotten")
    }

    /// A transaction that is not finalized
    fn unfinished(&self) -> CryptoHash {
        let is_unfinished = |hash: &&CryptoHash| {
            let row = self.hot.get(&Key::hash(Table::Transactions, **hash)).unwrap();
            row.is_some_and(|row| FinalizedTransaction::decode(&row).unwrap().is_none())
        };
        *self.transactions.iter().rev().find(is_unfinished).expect("the newest are not finalized")
    }
}

fn engine(lookup: ArchiveLookup) -> Engine {
    Engine::new(Settings::default().with_archive(lookup))
}

fn body(method: &str, hash: CryptoHash, wait_until: &str) -> String {
    format!(
        r#"{{"method":"{method}","params":{{"tx_hash":"{hash}","sender_account_id":"a.near","wait_until":"{wait_until}"}}}}"#
    )
}

fn respond(engine: Engine, body: &str, snapshot: &impl crate::storage::Snapshot) -> RequestState {
    engine.respond(engine.parse(body.as_bytes(), None), snapshot)
}

fn text(state: RequestState) -> String {
    match state {
        RequestState::Ready(response) => String::from_utf8(response.body).unwrap(),
        RequestState::Pending(_) => "pending".into(),
    }
}

#[test]
fn answers_are_those_of_a_storage_that_keeps_everything() {
    let (mut from_archive, mut from_storage, mut pending) = (0, 0, 0);
    for seed in 0..2 {
        let stores = Stores::new(seed);
        let engine = engine(ArchiveLookup::Unknown);
        let unknown = CryptoHash::digest(b"unknown");
        for hash in stores.transactions.iter().copied().chain([unknown]) {
            for method in ["tx", "EXPERIMENTAL_tx_status"] {
                for wait_until in ["NONE", "FINAL"] {
                    let body = body(method, hash, wait_until);
                    let expected = text(respond(Engine::default(), &body, &stores.whole));
                    let found = text(respond(engine, &body, &stores.both()));
                    assert!(found == expected, "seed {seed}: {body}");
                    // The query, the buffers and the chunks answer alike.
                    let request = || engine.parse(body.as_bytes(), None);
                    let query = RequestQuery::new(engine.settings(), request());
                    assert_eq!(text(query.run(&stores.both())), expected);
                    let state = engine.respond_chunks(request(), &stores.both(), 1);
                    if let RequestState::Ready(body) = state {
                        let bytes = match body {
                            ResponseBody::Contiguous(response) => response.body,
                            ResponseBody::Chunks(chunks) => chunks.concat(),
                        };
                        assert_eq!(bytes, expected.as_bytes());
                    }
                    let reads = stores.archive.take_reads();
                    assert!(reads <= 3, "{reads} reads by three requests");
                    match reads {
                        _ if expected == "pending" => pending += 1,
                        0 => from_storage += 1,
                        _ => from_archive += 1,
                    }
                }
            }
        }
    }
    assert!(from_archive > 100 && from_storage > 100, "{from_archive} {from_storage}");
    assert!(pending > 4, "{pending}");
}

#[test]
fn a_configuration_is_found_by_a_block_that_only_the_archive_has() {
    let mut stores = Stores::new(2);
    let config = r#"{"chain_id":"dev","genesis_height":0,"protocol_version":88}"#;
    for storage in [&mut stores.whole, &mut stores.hot] {
        Engine::default().put_config(0, config, &ImportSettings::default(), storage).unwrap();
    }
    let earliest = Engine::default().chain_status(&stores.whole).unwrap().earliest.unwrap();
    let unknown = CryptoHash::digest(b"unknown");
    for (block, reads) in [
        (format!("{}", earliest.height), 3),
        (format!("\"{}\"", earliest.hash), 2),
        ("1".into(), 1),
        (format!("\"{unknown}\""), 1),
    ] {
        let body = format!(
            r#"{{"method":"EXPERIMENTAL_protocol_config","params":{{"block_id":{block}}}}}"#
        );
        let expected = text(respond(Engine::default(), &body, &stores.whole));
        let found = text(respond(engine(ArchiveLookup::Unknown), &body, &stores.both()));
        assert_eq!(found, expected, "{block}");
        assert_eq!(stores.archive.take_reads(), reads, "{block}");
        let known = text(respond(Engine::default(), &body, &stores.hot));
        assert!(known.contains("UNKNOWN_BLOCK"), "{known}");
    }
}

#[test]
fn the_configuration_of_an_archived_epoch_is_read_from_the_archive() {
    let mut stores = Stores::new(2);
    let config = |version: u32| {
        format!(r#"{{"chain_id":"dev","genesis_height":0,"protocol_version":{version}}}"#)
    };
    let earliest = Engine::default().chain_status(&stores.whole).unwrap().earliest.unwrap();
    let row = stores.whole.get(&Key::hash(Table::Blocks, earliest.hash)).unwrap().unwrap();
    let epoch_id = BlockRecord::decode(&row).unwrap().epoch_id;
    let settings = ImportSettings::default();
    Engine::default().put_config(0, &config(88), &settings, &mut stores.hot).unwrap();
    Engine::default().put_config(epoch_id, &config(90), &settings, &mut stores.whole).unwrap();
    let key = ConfigRecord::epoch_key(epoch_id);
    let row = stores.whole.get(&key).unwrap().unwrap();
    stores.archive.put(Key::hash(Table::ArchivedConfigs, epoch_id), &row);
    let body = format!(
        r#"{{"method":"EXPERIMENTAL_protocol_config","params":{{"block_id":{}}}}}"#,
        earliest.height
    );
    let version = |stores: &Stores| {
        let found = text(respond(engine(ArchiveLookup::Unknown), &body, &stores.both()));
        [89, 90]
            .into_iter()
            .find(|version| found.contains(&format!("\"protocol_version\":{version}")))
    };
    assert_eq!(version(&stores), Some(90));
    // What the storage has for the epoch comes first.
    Engine::default().put_config(epoch_id, &config(89), &settings, &mut stores.hot).unwrap();
    assert_eq!(version(&stores), Some(89));
}

#[test]
fn the_row_of_another_transaction_is_not_served() {
    let stores = Stores::new(1);
    let hash = CryptoHash::digest(b"unknown");
    let row = stores.whole.get(&Key::hash(Table::Transactions, stores.archived())).unwrap();
    stores.archive.put(Key::hash(Table::ArchivedTransactions, hash), &row.unwrap());
    let found =
        text(respond(engine(ArchiveLookup::Unknown), &body("tx", hash, "NONE"), &stores.both()));
    let expected = format!(
        "archived_transactions/{}: the archive has the row of another transaction there",
        hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    );
    assert!(found.contains("INTERNAL_ERROR") && found.contains(&expected), "{found}");
}

#[test]
fn a_wait_asks_the_archive_first_and_last_and_never_in_between() {
    let stores = Stores::new(1);
    let hash = CryptoHash::digest(b"unknown");
    let body = body("tx", hash, "FINAL");
    let state = respond(engine(ArchiveLookup::Unknown), &body, &stores.both());
    let RequestState::Pending(mut pending) = state else { panic!("it is unknown") };
    assert_eq!(stores.archive.take_reads(), 1);
    for _ in 0..5 {
        assert!(pending.again(&stores.both()).is_none());
    }
    assert_eq!(stores.archive.take_reads(), 0);
    // A writer that is ahead has put it meanwhile.
    stores.archive_under(hash);
    stores.archive.take_reads();
    let response = pending.expire(&stores.both());
    assert_eq!((response.kind(), stores.archive.take_reads()), (ResponseKind::Result, 1));
    // Without the archive nothing is asked.
    let _ = respond(Engine::default(), &body, &stores.both());
    assert_eq!(stores.archive.take_reads(), 0);
}

#[test]
fn an_unfinished_transaction_is_looked_up_while_the_head_lags() {
    let stores = Stores::new(3);
    let hash = stores.unfinished();
    let body = body("tx", hash, "FINAL");
    let unknown = respond(engine(ArchiveLookup::Unknown), &body, &stores.both());
    assert!(matches!(unknown, RequestState::Pending(_)));
    assert_eq!(stores.archive.take_reads(), 0);
    let lagging = engine(ArchiveLookup::Unfinished);
    let RequestState::Pending(pending) = respond(lagging, &body, &stores.both()) else {
        panic!("the archive does not know it either")
    };
    assert_eq!(stores.archive.take_reads(), 1);
    assert_eq!(pending.expire(&stores.both()).kind(), ResponseKind::Timeout);
    assert_eq!(stores.archive.take_reads(), 1);
    // Another writer was ahead: its row wins.
    stores.archive_under(hash);
    stores.archive.take_reads();
    let RequestState::Ready(response) = respond(lagging, &body, &stores.both()) else {
        panic!("the archive has it")
    };
    assert_eq!((response.kind(), stores.archive.take_reads()), (ResponseKind::Result, 1));
    let observed = |engine: Engine| {
        let summary = engine.observe(hash, &stores.both()).unwrap().summary.unwrap();
        (summary.is_finalized, stores.archive.take_reads() > 0)
    };
    assert_eq!(observed(lagging), (true, true));
    assert_eq!(observed(engine(ArchiveLookup::Unknown)), (false, false));
}

#[test]
fn an_archive_that_fails_is_an_internal_error_and_hot_answers_go_on() {
    let stores = Stores::new(1);
    stores.archive.fails.set(true);
    let engine = engine(ArchiveLookup::Unknown);
    for wait_until in ["NONE", "FINAL"] {
        let failed =
            text(respond(engine, &body("tx", stores.archived(), wait_until), &stores.both()));
        assert!(failed.contains("INTERNAL_ERROR"), "{failed}");
        // A prefix of the key: the rest is the hash.
        assert!(failed.contains("archive.get_many(archived_transactions/"), "{failed}");
        assert!(failed.contains("): the archive is down"), "{failed}");
    }
    let finalized = Stores::finalized_hot(&stores);
    let known = body("tx", finalized, "FINAL");
    let expected = text(respond(Engine::default(), &known, &stores.hot));
    assert_eq!(text(respond(engine, &known, &stores.both())), expected);
    // In a batch, only the call that needs the archive fails.
    let batch = format!("[{},{known}]", body("tx", stores.archived(), "FINAL"));
    let batch = text(respond(engine, &batch, &stores.both()));
    assert!(batch.ends_with(&format!(",{expected}]")) && batch.contains("INTERNAL_ERROR"));
    assert!(!batch.contains("UNKNOWN_TRANSACTION"), "{batch}");
    // A row that is corrupt, or of two contents, is an error too.
    stores.archive.fails.set(false);
    let hash = CryptoHash::digest(b"two contents");
    let key = Key::hash(Table::ArchivedTransactions, hash);
    stores.archive.put(key, b"\x02not finalized");
    let corrupt = text(respond(engine, &body("tx", hash, "NONE"), &stores.both()));
    assert!(corrupt.contains("INTERNAL_ERROR"), "{corrupt}");
    stores.archive.put(key, b"another");
    let conflict = text(respond(engine, &body("tx", hash, "NONE"), &stores.both()));
    assert!(conflict.contains("INTERNAL_ERROR") && conflict.contains("content"), "{conflict}");
}

impl Stores {
    /// A finalized transaction that the storage still has
    fn finalized_hot(&self) -> CryptoHash {
        let is_finalized = |hash: &&CryptoHash| {
            let row = self.hot.get(&Key::hash(Table::Transactions, **hash)).unwrap();
            row.is_some_and(|row| FinalizedTransaction::decode(&row).unwrap().is_some())
        };
        *self.transactions.iter().find(is_finalized).expect("one is finalized")
    }
}

#[test]
fn the_calls_of_a_batch_ask_the_archive_together_and_after_the_storage() {
    let stores = Stores::new(1);
    let hashes = [stores.archived(), stores.unfinished(), CryptoHash::digest(b"unknown")];
    let calls = hashes.map(|hash| body("tx", hash, "NONE"));
    let batch = format!("[{},{},{}]", calls[0], calls[1], calls[2]);
    let engine = engine(ArchiveLookup::Unknown);
    let mut query = RequestQuery::new(engine.settings(), engine.parse(batch.as_bytes(), None));
    let mut archived = Vec::new();
    let state = loop {
        let mut rows = Vec::new();
        match query.poll().unwrap() {
            Step::Done(state) => break state,
            Step::NeedRows(keys) => {
                let of_archive = keys.iter().filter(|key| key.table().is_archive()).count();
                assert!(of_archive == 0 || of_archive == keys.len(), "rows of both in one step");
                archived.extend((of_archive > 0).then_some(of_archive));
                stores.both().get_many(keys, &mut rows).unwrap();
            }
        }
        query.supply_rows(&rows).unwrap();
    };
    assert_eq!(archived, [2]);
    let expected = text(respond(Engine::default(), &batch, &stores.whole));
    assert_eq!(text(state), expected);
}

#[test]
fn an_archived_answer_of_a_batch_that_waits_is_read_twice_and_not_kept() {
    let stores = Stores::new(1);
    let archived = body("tx", stores.archived(), "FINAL");
    let batch = format!("[{archived},{}]", body("tx", CryptoHash::digest(b"unknown"), "FINAL"));
    let state = respond(engine(ArchiveLookup::Unknown), &batch, &stores.both());
    let RequestState::Pending(mut pending) = state else { panic!("one call waits") };
    assert_eq!((stores.archive.take_reads(), pending.pending_calls()), (1, 1));
    for _ in 0..3 {
        assert!(pending.again(&stores.both()).is_none());
    }
    assert_eq!(stores.archive.take_reads(), 0);
    let response = pending.expire(&stores.both());
    let expected = text(respond(Engine::default(), &archived, &stores.whole));
    assert!(String::from_utf8(response.body).unwrap().starts_with(&format!("[{expected},")));
    assert_eq!(stores.archive.take_reads(), 2);
}

#[test]
fn a_signed_transaction_is_looked_up_once() {
    let stores = Stores::new(1);
    let mut chain = Practice::new(ChainSettings::simulation(1));
    let mut signed = None;
    for _ in 0..BLOCKS {
        for one in chain.next_message().transactions {
            if CryptoHash::new(*one.hash.as_bytes()) == stores.archived() {
                signed = Some(one.signed);
            }
        }
    }
    let mut text_of_signed = String::new();
    crate::codec::base64::encode(&signed.expect("it is of this chain"), &mut text_of_signed);
    let body = format!(
        r#"{{"method":"tx","params":{{"signed_tx_base64":"{text_of_signed}","wait_until":"FINAL"}}}}"#
    );
    let expected = text(respond(Engine::default(), &body, &stores.whole));
    assert_eq!(text(respond(engine(ArchiveLookup::Unknown), &body, &stores.both())), expected);
    assert_eq!(stores.archive.take_reads(), 1);
}

#[test]
fn a_transaction_beyond_the_limit_of_receipts_is_refused_as_everywhere() {
    let stores = Stores::new(1);
    let hash = stores.archived();
    let settings = Settings::default().with_max_receipts(1);
    let key = Key::hash(Table::Transactions, hash);
    let row = stores.whole.get(&key).unwrap().unwrap();
    let mut many = FinalizedTransaction::decode(&row).unwrap().unwrap();
    many.receipt_count = 2;
    let many = many.encode();
    let mut batch = Batch::new();
    batch.put(key, &many[..]);
    let mut whole = MemoryStorage::new();
    whole.commit(batch).unwrap();
    let archive = Counted::default();
    archive.put(Key::hash(Table::ArchivedTransactions, hash), &many);
    let body = body("tx", hash, "FINAL");
    let expected = text(respond(Engine::new(settings), &body, &whole));
    assert!(expected.contains("more than 1 receipts"), "{expected}");
    let engine = Engine::new(settings.with_archive(ArchiveLookup::Unknown));
    let (hot, archive) = (MemoryStorage::new(), &archive);
    let found = respond(engine, &body, &WithArchive { snapshot: &hot, archive });
    assert_eq!(text(found), expected);
}
