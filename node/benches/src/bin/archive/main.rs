//! How small archived transactions are, and how fast they are read, for `cargo xtask verify
//! archive`.
//!
//! Answers are made of transactions, receipts and outcomes of blocks, with hashes and signatures of
//! their own, as the blocks of a network have. Dictionaries are trained on one half of them; the
//! other half is measured. The first argument is the directory of the files, a second one has files
//! with recorded blocks; without it the answers are of the practice chain.

#![forbid(unsafe_code)]

mod response;

use core::error::Error;
use core::fmt::Write as _;
use std::env;
use std::fs;
use std::path::Path;
use std::time::Instant;

use milepost::archive::{
    Archive, ArchivedBlock, ArchivedProof, ArchivedReceipt, Envelope, MemoryArchive, Origin,
    WriterId,
};
use milepost::primitives::CryptoHash;
use milepost::proof::LightHeader;
use milepost::storage::rows::BlockProof;
use milepost::storage::{Key, Row, Table};
use milepost_archive::{CompressedArchive, DirectoryArchive, Level};
use milepost_benches::Cpu;
use milepost_practice::{Practice, Settings};
use milepost_testkit::Rng;
use redb::{Database, ReadableDatabase as _, TableDefinition};
use serde_json::Value;

const ORIGIN: Origin = Origin::of(WriterId(1));
/// Number of answers, of which half are measured
const ANSWERS: usize = 40_000;
/// Rows that are put at a time: those of a busy block
const BATCH: usize = 200;
const READS: usize = 20_000;
/// Transactions of a block: 553 in the 27 recorded ones
const TRANSACTIONS: usize = 20;
/// Shards of the network since protocol version 75
const SHARDS: usize = 6;
const REDB: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let directory = arguments.next().ok_or("takes the directory of the files")?;
    let (name, parts) = match arguments.next() {
        Some(recorded) => ("recorded blocks", Parts::recorded(Path::new(&recorded))?),
        None => ("practice chain", Parts::practice()?),
    };
    println!(
        "{ANSWERS} answers of the {name}: {} transactions, {} receipts with outcomes",
        parts.transactions.len(),
        parts.receipts.len()
    );
    let mut rng = Rng::new(19);
    let mut answers: Vec<Answer> = (0..ANSWERS).map(|_| parts.answer(&mut rng)).collect();
    let measured = answers.split_off(ANSWERS / 2);
    let folder = tempfile::tempdir_in(Path::new(&directory))?;
    measure(&answers, &measured, folder.path())?;
    response::measure(folder.path())
}

fn measure(
    training: &[Answer],
    measured: &[Answer],
    directory: &Path,
) -> Result<(), Box<dyn Error>> {
    let json: usize = measured.iter().map(|answer| answer.json.len()).sum();
    let receipts: usize = measured.iter().map(|answer| answer.receipts.len()).sum();
    println!(
        "measured: {} answers, {} bytes of JSON each, {:.1} receipts each",
        measured.len(),
        json / measured.len(),
        receipts as f64 / measured.len() as f64
    );
    let share = |bytes: usize| bytes as f64 / json as f64;
    let rows = transactions(measured);

    let trainer = CompressedArchive::new(MemoryArchive::new(), ORIGIN)?;
    put(&trainer, &transactions(training))?;
    trainer.train(32 << 20, 4)?;
    let built_in = CompressedArchive::new(MemoryArchive::new(), ORIGIN)?;
    put(&built_in, &rows)?;
    println!(
        "{:<52} {:.3}",
        "rows / JSON, built-in dictionary, level 3",
        share(total(built_in.inner())?)
    );

    let file = DirectoryArchive::open(directory.join("archive"))?;
    file.put_many(&all(trainer.inner(), Table::ArchiveDictionaries)?)?;
    let archive = CompressedArchive::new(file, ORIGIN)?;
    let start = Instant::now();
    put(&archive, &rows)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{:<52} {:.3}", "rows / JSON, trained, level 3", share(total(archive.inner())?));
    println!("{:<52} {:.0}", "answers put in a second", measured.len() as f64 / seconds);
    archive.recompress(Table::ArchivedTransactions, Level::Thorough)?;
    println!("{:<52} {:.3}", "rows / JSON, trained, level 9", share(total(archive.inner())?));
    put(&archive, &index(measured))?;
    put(&archive, &blocks(measured.len() / TRANSACTIONS, &mut Rng::new(3)))?;
    archive.inner().compact()?;
    let bytes = |table| share(archive.inner().table_bytes(table) as usize);
    println!("{:<52} {:.3}", "files / JSON, transactions", bytes(Table::ArchivedTransactions));
    println!("{:<52} {:.3}", "files / JSON, index of receipts", bytes(Table::ArchivedReceipts));
    let of_blocks = bytes(Table::ArchivedBlocks) + bytes(Table::ArchivedHeights);
    println!("{:<52} {of_blocks:.3}", "files / JSON, blocks and their heights");
    println!("{:<52} {:.3}", "files / JSON, proofs of blocks", bytes(Table::ArchivedProofs));
    println!("{:<52} {:.3}", "files / JSON, all tables", {
        let tables = Table::ARCHIVE.map(|table| archive.inner().table_bytes(table));
        share(tables.iter().sum::<u64>() as usize)
    });

    let compressed = all(archive.inner(), Table::ArchivedTransactions)?;
    let redb = directory.join("redb");
    let mut database = Database::create(&redb)?;
    for rows in compressed.chunks(BATCH) {
        let transaction = database.begin_write()?;
        let mut table = transaction.open_table(REDB)?;
        for (key, row) in rows {
            table.insert(key.as_bytes(), &**row)?;
        }
        drop(table);
        transaction.commit()?;
    }
    database.compact()?;
    println!(
        "{:<52} {:.3}",
        "the same transactions in a file of redb",
        share(fs::metadata(&redb)?.len() as usize)
    );

    let mut rng = Rng::new(7);
    let keys: Vec<Key> = (0..READS).map(|_| rng.pick(&rows).0).collect();
    let mut found = Vec::new();
    let mut read = |name: &str, read: &mut dyn FnMut(&Key, &mut Vec<Option<Row>>)| {
        let ((), time) = Cpu::time(|| {
            for key in &keys {
                found.clear();
                read(key, &mut found);
            }
        });
        let micros = 1e6 * time.as_secs_f64() / keys.len() as f64;
        println!("{name:<52} {micros:.1}");
    };
    read("us of processor time a read, decompressed", &mut |key, found| {
        archive.get_many(&[*key], found).expect("the archive is sound");
    });
    read("us of processor time a read, as it lies in the files", &mut |key, found| {
        archive.inner().get_many(&[*key], found).expect("the archive is sound");
    });
    let transaction = database.begin_read()?;
    let table = transaction.open_table(REDB)?;
    read("us of processor time a read, as it lies in redb", &mut |key, found| {
        let row = table.get(key.as_bytes()).expect("the file is sound");
        found.push(row.map(|row| Row::from(row.value())));
    });
    Ok(())
}

/// An answer to a request, in JSON
struct Answer {
    hash: CryptoHash,
    receipts: Vec<CryptoHash>,
    json: String,
}

/// What answers are made of
#[derive(Default)]
struct Parts {
    /// Transactions, and their outcomes
    transactions: Vec<(String, String)>,
    /// Receipts, and their outcomes
    receipts: Vec<(String, String)>,
}

impl Parts {
    fn recorded(directory: &Path) -> Result<Self, Box<dyn Error>> {
        let mut parts = Self::default();
        for entry in fs::read_dir(directory)? {
            parts.add(&fs::read(entry?.path())?)?;
        }
        Ok(parts)
    }

    fn practice() -> Result<Self, Box<dyn Error>> {
        let (mut parts, mut chain) = (Self::default(), Practice::new(Settings::demo(2)));
        for _ in 0..600 {
            parts.add(&chain.next_message().json)?;
        }
        Ok(parts)
    }

    fn add(&mut self, message: &[u8]) -> Result<(), Box<dyn Error>> {
        let message: Value = serde_json::from_slice(message)?;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for shard in list(&message["shards"]) {
            for included in list(&shard["chunk"]["transactions"]) {
                let outcome = &included["outcome"]["execution_outcome"];
                if outcome.is_object() {
                    self.transactions
                        .push((included["transaction"].to_string(), outcome.to_string()));
                }
            }
            for executed in list(&shard["receipt_execution_outcomes"]) {
                if executed["receipt"].is_object() {
                    let outcome = executed["execution_outcome"].to_string();
                    self.receipts.push((executed["receipt"].to_string(), outcome));
                }
            }
        }
        Ok(())
    }

    fn answer(&self, rng: &mut Rng) -> Answer {
        let (transaction, outcome) = rng.pick(&self.transactions);
        let parts: Vec<_> = (0..rng.between(1, 7)).map(|_| rng.pick(&self.receipts)).collect();
        let receipts: Vec<_> = parts.iter().map(|(receipt, _)| receipt.as_str()).collect();
        let outcomes: Vec<_> = parts.iter().map(|(_, outcome)| outcome.as_str()).collect();
        let json = format!(
            r#"{{"final_execution_status":"FINAL","receipts":[{}],"receipts_outcome":[{}],"status":{{"SuccessValue":""}},"transaction":{transaction},"transaction_outcome":{outcome}}}"#,
            receipts.join(","),
            outcomes.join(","),
        );
        let salt = rng.next_u64();
        let digest = |text: &str| CryptoHash::digest(format!("{salt}{text}").as_bytes());
        Answer {
            hash: digest("transaction"),
            receipts: (0..parts.len()).map(|number| digest(&format!("receipt {number}"))).collect(),
            json: with_own_hashes(&json, digest),
        }
    }
}

/// The text with other hashes and signatures, each replaced by the same one everywhere
fn with_own_hashes(text: &str, digest: impl Fn(&str) -> CryptoHash) -> String {
    let mut own = String::with_capacity(text.len());
    for (index, part) in text.split('"').enumerate() {
        if index > 0 {
            own.push('"');
        }
        let is_hash = (43..=44).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match part.strip_prefix("ed25519:") {
            _ if is_hash => {
                // Writing to a string cannot fail.
                let _ = write!(own, "{}", digest(part));
            }
            // A signature has 64 bytes, a public key, which many transactions share, 32.
            Some(signature) if signature.len() > 80 => {
                let halves = format!("{}{}", digest(signature), digest(part));
                let _ = write!(own, "ed25519:{halves}");
            }
            _ => own.push_str(part),
        }
    }
    own
}

fn transactions(answers: &[Answer]) -> Vec<(Key, Row)> {
    let row = |answer: &Answer| {
        let row = Envelope::plain(ORIGIN, answer.json.as_bytes()).encode();
        (Key::hash(Table::ArchivedTransactions, answer.hash), Row::from(row))
    };
    answers.iter().map(row).collect()
}

/// The rows that lead from receipts to transactions
fn index(answers: &[Answer]) -> Vec<(Key, Row)> {
    let rows = answers.iter().enumerate().flat_map(|(number, answer)| {
        // Some ten transactions to a shard of a block.
        let height = 100_000_000 + number as u64 / 10;
        answer.receipts.iter().map(move |receipt| {
            let content = ArchivedReceipt { transaction: answer.hash, height }.encode();
            (ArchivedReceipt::key(*receipt), Row::from(Envelope::plain(ORIGIN, &content).encode()))
        })
    });
    rows.collect()
}

/// The rows of this many blocks, whose hashes are random
fn blocks(count: usize, rng: &mut Rng) -> Vec<(Key, Row)> {
    let row = |content: &[u8]| Row::from(Envelope::plain(ORIGIN, content).encode());
    let mut rows = Vec::new();
    for height in (100_000_000..).take(count) {
        let hash = CryptoHash::new(rng.bytes());
        let block = ArchivedBlock {
            height,
            prev_hash: CryptoHash::new(rng.bytes()),
            epoch_id: CryptoHash::digest(b"epoch"),
            protocol_version: 83,
        };
        let header = LightHeader::from_bytes(&rng.bytes());
        let roots: Vec<CryptoHash> = (0..SHARDS).map(|_| CryptoHash::new(rng.bytes())).collect();
        rows.extend([
            (ArchivedBlock::key(hash), row(&block.encode())),
            (ArchivedBlock::height_key(height), row(hash.as_bytes())),
            (ArchivedProof::key(hash), row(BlockProof::new(&header, &roots).as_bytes())),
        ]);
    }
    rows
}

fn put(archive: &impl Archive, rows: &[(Key, Row)]) -> Result<(), milepost::Error> {
    rows.chunks(BATCH).try_for_each(|rows| archive.put_many(rows))
}

fn all(archive: &impl Archive, table: Table) -> Result<Vec<(Key, Row)>, milepost::Error> {
    let mut all: Vec<(Key, Row)> = Vec::new();
    loop {
        let (after, before) = (all.last().map(|(key, _)| *key), all.len());
        archive.scan(table, after.as_ref(), 1_000, &mut all)?;
        if all.len() == before {
            return Ok(all);
        }
    }
}

/// Bytes of the rows of all transactions
fn total(archive: &impl Archive) -> Result<usize, milepost::Error> {
    let rows = all(archive, Table::ArchivedTransactions)?;
    Ok(rows.iter().map(|(key, row)| key.as_bytes().len() + row.len()).sum())
}
