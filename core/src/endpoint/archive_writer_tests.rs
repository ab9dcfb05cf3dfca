//! Storages that forget what writers have archived, over chains made from seeds.
//!
//! Whatever happens between put and forget, a storage of a few blocks with the archive answers as a
//! storage that keeps everything.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;

use milepost_practice::{Practice, Settings as ChainSettings};
use milepost_testkit::Rng;

use super::*;
use crate::archive::{
    Archive, ArchiveLookup, MemoryArchive, Removal, WithArchive, WriterId, WriterProgress, copy,
};
use crate::import::{ImportSettings, Retention};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::FinalizedTransaction;
use crate::storage::{Key, MemoryStorage, Row, Snapshot as _, Table};
use crate::{Error, ErrorKind};

/// An archive whose calls fail once a number of them is used up
struct Unreliable<'archive> {
    archive: &'archive MemoryArchive,
    calls: Cell<u64>,
}

impl Unreliable<'_> {
    fn call(&self) -> Result<(), Error> {
        let left = self.calls.get().checked_sub(1);
        self.calls.set(left.ok_or_else(|| Error::new(ErrorKind::Storage, "unreachable"))?);
        Ok(())
    }
}

impl Archive for Unreliable<'_> {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.call()?;
        self.archive.get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        // Any part of the rows may be there after an error.
        for row in rows {
            self.call()?;
            self.archive.put_many(core::slice::from_ref(row))?;
        }
        Ok(())
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.call()?;
        self.archive.replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.call()?;
        self.archive.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.call()?;
        self.archive.scan(table, after, limit, rows)
    }
}

/// A server: a storage of a few blocks, and an exporter that may have a writer
struct Server {
    storage: MemoryStorage,
    exporter: ArchiveExporter,
}

impl Server {
    const RETENTION: Retention = Retention::Blocks(6);

    fn new(writer: Option<u64>, max_blocks: u64) -> Self {
        let exporter = Self::exporter(writer, max_blocks);
        Self { storage: MemoryStorage::new(), exporter }
    }

    fn exporter(writer: Option<u64>, max_blocks: u64) -> ArchiveExporter {
        ArchiveExporter::new(max_blocks, writer.map(WriterId)).with_retention(Self::RETENTION)
    }

    /// Imports a block; whether it was taken
    fn import(&mut self, message: &[u8]) -> bool {
        let settings = ImportSettings::default().with_retention(Self::RETENTION);
        let settings = self.exporter.import_settings(settings);
        let summary = Engine::default().import_block(message, &settings, &mut self.storage);
        summary.map(|summary| self.exporter.handle_import(&summary)).is_ok()
    }

    fn export(&mut self, archive: &impl Archive) -> Result<bool, Error> {
        self.exporter.run(&mut self.storage, archive, false)
    }

    fn evicted(&self) -> u64 {
        self.exporter.status().evicted_blocks
    }

    fn blocks(&self) -> u64 {
        Engine::default().chain_status(&self.storage).unwrap().blocks
    }
}

fn answer(engine: Engine, hash: CryptoHash, snapshot: &impl crate::storage::Snapshot) -> String {
    let body = format!(
        r#"{{"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"a.near","wait_until":"NONE"}}}}"#
    );
    match engine.respond(engine.parse(body.as_bytes(), None), snapshot) {
        RequestState::Ready(response) => String::from_utf8(response.body).unwrap(),
        RequestState::Pending(_) => panic!("it does not wait"),
    }
}

/// Checks that a server answers about these transactions as the storage that keeps everything
#[track_caller]
fn check(
    server: &Server,
    archive: &MemoryArchive,
    whole: &MemoryStorage,
    transactions: &[CryptoHash],
) -> usize {
    let engine = Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown));
    let both = WithArchive { snapshot: &server.storage, archive };
    let mut forgotten = 0;
    for hash in transactions {
        let expected = answer(Engine::default(), *hash, whole);
        assert!(answer(engine, *hash, &both) == expected, "{hash}");
        let hot = answer(Engine::default(), *hash, &server.storage);
        forgotten += usize::from(hot != expected);
    }
    forgotten
}

/// The messages of a chain, and the transactions that blocks on it include
fn chain(seed: u64, blocks: usize) -> (Vec<Vec<u8>>, Vec<CryptoHash>) {
    let mut chain = Practice::new(ChainSettings::simulation(seed));
    let (mut messages, mut transactions) = (Vec::new(), Vec::new());
    for _ in 0..blocks {
        let message = chain.next_message();
        let hashes = message.transactions.iter().map(|one| *one.hash.as_bytes());
        transactions.extend(hashes.map(CryptoHash::new));
        messages.push(message.json);
    }
    (messages, transactions)
}

#[test]
fn a_storage_that_forgets_what_is_archived_answers_as_one_that_keeps_everything() {
    let (mut forgotten, mut failures) = (0, 0);
    for seed in 0..3 {
        let mut rng = Rng::new(seed);
        let (messages, transactions) = chain(seed, 70);
        let archive = MemoryArchive::new();
        let mut whole = MemoryStorage::new();
        // Two writers, of which one dies in the middle, and a server that only reads.
        let mut servers = [Some(1), Some(2), None].map(|writer| Server::new(writer, 1_000));
        for (number, message) in messages.iter().enumerate() {
            let settings = ImportSettings::default();
            let taken = Engine::default().import_block(message, &settings, &mut whole).is_ok();
            for (index, server) in servers.iter_mut().enumerate() {
                if index == 1 && number > 30 {
                    continue;
                }
                assert_eq!(server.import(message), taken, "seed {seed}");
                // Some calls fail, after which the process may start again with what is durable.
                let calls = if rng.one_in(3) { rng.below(30) } else { u64::MAX };
                let unreliable = Unreliable { archive: &archive, calls: Cell::new(calls) };
                if server.export(&unreliable).is_err() {
                    failures += 1;
                    if rng.one_in(2) {
                        // The id of a new writer is the one that is stored.
                        let writer = server.exporter.status().is_written.then_some(9);
                        server.exporter = Server::exporter(writer, 1_000);
                    }
                }
            }
            if number % 10 == 9 {
                forgotten += check(&servers[0], &archive, &whole, &transactions);
                forgotten += check(&servers[2], &archive, &whole, &transactions);
            }
        }
        for server in [&servers[0], &servers[2]] {
            assert_eq!(server.evicted(), 0);
            assert!(server.blocks() < 40, "{} blocks are kept", server.blocks());
        }
        let writers = servers.each_ref().map(|server| server.exporter.writer());
        assert_eq!(writers, [Some(WriterId(1)), Some(WriterId(2)), None]);
        // No two writers have put different rows, and a copy answers as well.
        let duplicate = MemoryArchive::new();
        let copied = copy(&archive, &duplicate, |_| {}).unwrap();
        assert_eq!(copied, archive.len() as u64);
        forgotten += check(&servers[0], &duplicate, &whole, &transactions);
        let union = WriterProgress::read_union(&archive).unwrap();
        let earliest = Engine::default().chain_status(&whole).unwrap().earliest.unwrap().height;
        let last = union.heights.range_of(earliest).expect("it starts at the first block");
        assert!(union.gaps(earliest..=*last.end()).is_empty());
        assert_eq!(union.heights.iter().len(), 1, "{}", union.heights);
    }
    assert!(forgotten > 500 && failures > 15, "{forgotten} {failures}");
}

#[test]
fn two_halves_filled_by_two_writers_are_the_whole() {
    let settings = ChainSettings { forks: 0, ..ChainSettings::simulation(3) };
    let mut chain = Practice::new(settings);
    let messages: Vec<_> = (0..60).map(|_| chain.next_message()).collect();
    let middle = messages[30].height;
    let fill = |exporter: ArchiveExporter, first: BlockHeight, archive: &MemoryArchive| {
        let (mut storage, mut exporter) = (MemoryStorage::new(), exporter);
        for message in messages.iter().filter(|message| message.height >= first) {
            let settings = ImportSettings::default();
            Engine::default().import_block(&message.json, &settings, &mut storage).unwrap();
            exporter.run(&mut storage, archive, false).unwrap();
        }
        (storage, exporter.progress().unwrap().clone())
    };
    let [whole_archive, halves] = [MemoryArchive::new(), MemoryArchive::new()];
    let exporter = |id| Server::exporter(Some(id), 1_000);
    let (whole, all) = fill(exporter(1), 0, &whole_archive);
    // The first half reads on past its end until nothing is open.
    let (_, first) = fill(exporter(2).until(middle - 1), 0, &halves);
    assert!(first.open.is_empty());
    assert_eq!(first.heights.iter().last().map(|range| *range.end() < middle), Some(true));
    let (_, second) = fill(exporter(3), middle, &halves);
    assert_eq!(second.open, all.open);
    for table in Table::ARCHIVE.into_iter().filter(|table| *table != Table::ArchiveProgress) {
        let [mut one, mut other] = [Vec::new(), Vec::new()];
        whole_archive.scan(table, None, usize::MAX, &mut one).unwrap();
        halves.scan(table, None, usize::MAX, &mut other).unwrap();
        let hashes = |rows: &[(Key, Row)]| {
            let hash = |(key, row): &(Key, Row)| (*key, crate::archive::content_hash(row).unwrap());
            rows.iter().map(hash).collect::<Vec<_>>()
        };
        assert!(hashes(&one) == hashes(&other), "{}", table.name());
    }
    let empty = Server::new(None, 1_000);
    let transactions = messages.iter().flat_map(|message| &message.transactions);
    let is_final =
        |hash: &CryptoHash| answer(Engine::default(), *hash, &whole).contains(r#"s":"FINAL""#);
    let settled: Vec<CryptoHash> =
        transactions.map(|one| CryptoHash::new(*one.hash.as_bytes())).filter(is_final).collect();
    assert_eq!(check(&empty, &halves, &whole, &settled), settled.len());
    assert!(settled.len() > 50, "{}", settled.len());
}

#[test]
fn beyond_its_bound_a_storage_sheds_what_is_not_archived_and_counts_it() {
    let archive = MemoryArchive::new();
    let (messages, _) = chain(1, 60);
    let mut server = Server::new(Some(1), 20);
    for message in &messages {
        server.import(message);
        assert!(server.blocks() <= 20, "{}", server.blocks());
    }
    let evicted = server.evicted();
    assert!(evicted > 10, "{evicted}");
    // What is left is archived, and the gap below it is known.
    server.export(&archive).unwrap();
    let earliest = Engine::default().chain_status(&server.storage).unwrap().earliest.unwrap();
    let progress = WriterProgress::read(WriterId(1), &archive).unwrap();
    assert!(!progress.gaps(0..=earliest.height - 1).is_empty());
    assert!(progress.heights.contains(earliest.height));
    for message in &messages {
        server.import(message);
    }
    assert_eq!(server.evicted(), evicted);
}

#[test]
fn open_transactions_hold_back_what_is_forgotten() {
    let open = |height| crate::archive::OpenTransaction { height, hash: CryptoHash::ZERO };
    let progress = WriterProgress {
        heights: [10..=20, 30..=40].into_iter().collect(),
        open: [open(8), open(14)].into(),
    };
    let floors = [(5, 5), (10, 14), (14, 14), (15, 20), (20, 20), (25, 25), (30, 40)];
    for (earliest, floor) in floors {
        assert_eq!(progress.floor(earliest, earliest + 1), floor, "{earliest}");
    }
    // What is between two ranges may be stored here, and nowhere else.
    let floors = [(14, 14), (15, 20), (20, 40)];
    for (earliest, floor) in floors {
        assert_eq!(progress.floor(earliest, 30), floor, "{earliest}");
    }
    // Transactions that were open before a gap are given up after a while.
    for (newest, floor) in [(1_019, 14), (1_020, 20)] {
        let mut progress = progress.clone();
        progress.heights.insert(100..=newest);
        assert_eq!(progress.floor(10, 0), floor, "{newest}");
    }
    for second in [0, 12, 25] {
        assert_eq!(progress.floor(20, second), 20, "{second}");
    }
}

#[test]
fn heights_that_are_not_kept_are_removed_as_a_whole() {
    let (messages, transactions) = chain(6, 60);
    let (archive, mut whole) = (MemoryArchive::new(), MemoryStorage::new());
    let mut servers = [1, 2].map(|writer| Server::new(Some(writer), 1_000));
    for message in &messages {
        let _ = Engine::default().import_block(message, &ImportSettings::default(), &mut whole);
        for server in &mut servers {
            server.import(message);
            server.export(&archive).unwrap();
        }
    }
    let heights = WriterProgress::read_union(&archive).unwrap().heights;
    let range = heights.iter().next().unwrap();
    let first = (range.start() + range.end()) / 2;
    let all = archive.len();
    let exporter = &mut servers[0].exporter;
    exporter.forget_below(first, &archive).unwrap();
    // Of all writers, and durable before a row is removed.
    let kept = WriterProgress::read_union(&archive).unwrap();
    assert_eq!(kept.heights.iter().collect::<Vec<_>>(), [first..=*range.end()]);
    assert_eq!(exporter.progress().unwrap().heights, kept.heights);
    assert_eq!(archive.len(), all);

    let mut removal = Removal::new();
    while removal.page(&archive, &mut |row| row.height < first).unwrap() {}
    assert_eq!(all - archive.len(), usize::try_from(removal.removed()).unwrap());
    let engine = Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown));
    let empty = MemoryStorage::new();
    let both = WithArchive { snapshot: &empty, archive: &archive };
    let (mut known, mut removed) = (0, 0);
    for hash in transactions {
        let row = whole.get(&Key::hash(Table::Transactions, hash)).unwrap();
        let finalized = row.as_deref().map(|row| FinalizedTransaction::decode(row).unwrap());
        let Some(finalized) = finalized.flatten().filter(|it| it.height <= *range.end()) else {
            continue;
        };
        if finalized.height >= first {
            known += 1;
            assert!(answer(engine, hash, &both) == answer(Engine::default(), hash, &whole));
        } else {
            removed += 1;
            assert!(answer(engine, hash, &both).contains("UNKNOWN_TRANSACTION"));
        }
    }
    assert!(known > 5 && removed > 5, "{known} known, {removed} removed");
    let mut again = Removal::new();
    while again.page(&archive, &mut |row| row.height < first).unwrap() {}
    assert_eq!(again.removed(), 0);
}
