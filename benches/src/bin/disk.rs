//! The size of a finalized transaction on disk, as a table for `cargo xtask evidence bench`.
//!
//! Imports a practice chain without pruning, once with a commit per block and then with one per
//! several blocks. Compares the size of the file with the bytes in its rows and pages, and with the
//! bytes of the responses about all final transactions. Measures no time.

#![forbid(unsafe_code)]

use core::error::Error;
use core::mem::take;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::primitives::HashBuilder;
use milepost::storage::{Batch, Key, Row, Snapshot, Storage};
use milepost_practice::{Practice, Settings};
use milepost_redb::{Options, RedbSnapshot, RedbStorage};
use redb::Builder;

/// Blocks of the chain: about twelve minutes of a network
const BLOCKS: usize = 1_200;
/// Numbers of blocks per commit
const COMMIT_SIZES: [usize; 3] = [1, 20, 100];

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| blocks per commit | transactions | responses | rows | used pages | file | file / responses |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    for blocks in COMMIT_SIZES {
        println!("{}", Figures::measure(blocks)?.line(blocks));
    }
    Ok(())
}

/// Sizes after the import, in bytes
struct Figures {
    /// A number of transactions, not bytes
    transactions: u64,
    responses: u64,
    /// Keys and rows
    rows: u64,
    pages: u64,
    file: u64,
}

impl Figures {
    fn measure(blocks: usize) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("chain.milepost");
        let (engine, settings) = (Engine::default(), ImportSettings::default());
        let mut storage = BatchingStorage::new(RedbStorage::open(&path, &Options::default())?);
        let mut chain = Practice::new(Settings::demo(1));
        let mut bodies = Vec::new();
        for number in 1..=BLOCKS {
            let message = chain.next_message();
            engine.import_block(&message.json, &settings, &mut storage)?;
            if number % blocks == 0 {
                storage.flush()?;
            }
            bodies.extend(message.transactions.iter().map(|transaction| {
                let (hash, signer) = (transaction.hash, &transaction.signer_id);
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"{signer}","wait_until":"FINAL"}}}}"#
                )
            }));
        }
        storage.flush()?;
        let (mut transactions, mut responses) = (0, 0);
        for body in bodies {
            // The newest are not final yet, so their requests wait.
            let request = engine.parse(body.as_bytes(), None);
            if let RequestState::Ready(response) = engine.respond(request, &storage.snapshot()?) {
                transactions += 1;
                responses += response.body.len() as u64;
            }
        }
        drop(storage);
        let (rows, pages) = row_and_page_bytes(&path)?;
        Ok(Self { transactions, responses, rows, pages, file: fs::metadata(&path)?.len() })
    }

    fn line(&self, blocks: usize) -> String {
        let Self { transactions, responses, rows, pages, file } = *self;
        let each = |bytes: u64| format!("{:.0} B", bytes as f64 / transactions as f64);
        let [responses_each, rows, pages, file_each] = [responses, rows, pages, file].map(each);
        let ratio = file as f64 / responses as f64;
        format!(
            "| {blocks} | {transactions} | {responses_each} | {rows} | {pages} | {file_each} | **{ratio:.2}** |"
        )
    }
}

/// The bytes of all keys and rows in the file, and of the pages that it uses
fn row_and_page_bytes(path: &Path) -> Result<(u64, u64), Box<dyn Error>> {
    let database = Builder::new().create(path)?;
    let statistics = database.begin_write()?.stats()?;
    Ok((statistics.stored_bytes(), statistics.allocated_pages() * statistics.page_size() as u64))
}

/// A storage that collects batches and commits several as one
///
/// A row that a later block removes is not written.
struct BatchingStorage {
    file: RedbStorage,
    changes: HashMap<Key, Option<Row>, HashBuilder>,
}

impl BatchingStorage {
    fn new(file: RedbStorage) -> Self {
        Self { file, changes: HashMap::default() }
    }

    fn flush(&mut self) -> Result<(), milepost::Error> {
        let mut batch = Batch::new();
        for (key, row) in take(&mut self.changes) {
            match row {
                Some(row) => batch.put(key, row),
                None => batch.remove(key),
            }
        }
        self.file.commit(batch)
    }
}

/// A snapshot of the file and the changes on top of it
struct BatchingSnapshot<'storage> {
    file: RedbSnapshot,
    changes: &'storage HashMap<Key, Option<Row>, HashBuilder>,
}

impl Snapshot for BatchingSnapshot<'_> {
    fn get(&self, key: &Key) -> Result<Option<Row>, milepost::Error> {
        match self.changes.get(key) {
            Some(row) => Ok(row.clone()),
            None => self.file.get(key),
        }
    }
}

impl Storage for BatchingStorage {
    type Snapshot<'a> = BatchingSnapshot<'a>;

    fn snapshot(&self) -> Result<BatchingSnapshot<'_>, milepost::Error> {
        Ok(BatchingSnapshot { file: self.file.snapshot()?, changes: &self.changes })
    }

    fn commit(&mut self, batch: Batch) -> Result<(), milepost::Error> {
        self.changes.extend(batch);
        Ok(())
    }
}
