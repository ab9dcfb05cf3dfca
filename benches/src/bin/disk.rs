//! What a settled transaction takes on disk: `cargo xtask bench` shows the table that this prints.
//!
//! A practice chain is taken in with everything kept, once with a commit for each block and then with
//! one for several. Beside the file stands what its pages hold, and the bytes of the answers that it
//! can give: those of final transactions, byte for byte what a client is sent. Measures no time.

#![forbid(unsafe_code)]

use core::error::Error;
use core::mem::take;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use milepost::engine::{Engine, Reply};
use milepost::facts::{Batch, Key, Row, Rows, Storage};
use milepost::ingest::IngestSettings;
use milepost::primitives::HashBuilder;
use milepost_practice::{Practice, Settings};
use milepost_redb::{Options, RedbStorage};
use redb::Builder;

/// Blocks of the chain: some twelve minutes of a network
const BLOCKS: usize = 1_200;
/// Blocks to a commit
const COMMITS: [usize; 3] = [1, 20, 100];

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| blocks to a commit | transactions | answers | rows | pages in use | file | file / answers |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    for blocks in COMMITS {
        println!("{}", Figures::of(blocks)?.line(blocks));
    }
    Ok(())
}

/// What became of the chain in a file; all but the first in bytes
struct Figures {
    transactions: u64,
    answers: u64,
    /// Keys and rows
    rows: u64,
    pages: u64,
    file: u64,
}

impl Figures {
    fn of(blocks: usize) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("chain.milepost");
        let (engine, settings) = (Engine::default(), IngestSettings::default());
        let mut storage = Several::new(RedbStorage::open(&path, &Options::default())?);
        let mut chain = Practice::new(Settings::demo(1));
        let mut bodies = Vec::new();
        for number in 1..=BLOCKS {
            let message = chain.next_message();
            engine.ingest(&message.json, &settings, &mut storage)?;
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
        let (mut transactions, mut answers) = (0, 0);
        for body in bodies {
            // The newest are not final yet, and wait.
            if let Reply::Answer(answer) = engine.ask(body.as_bytes(), None, &storage) {
                transactions += 1;
                answers += answer.body.len() as u64;
            }
        }
        drop(storage);
        let (rows, pages) = inside(&path)?;
        Ok(Self { transactions, answers, rows, pages, file: fs::metadata(&path)?.len() })
    }

    fn line(&self, blocks: usize) -> String {
        let Self { transactions, answers, rows, pages, file } = *self;
        let each = |bytes: u64| format!("{:.0} B", bytes as f64 / transactions as f64);
        let [answers_each, rows, pages, file_each] = [answers, rows, pages, file].map(each);
        let ratio = file as f64 / answers as f64;
        format!(
            "| {blocks} | {transactions} | {answers_each} | {rows} | {pages} | {file_each} | **{ratio:.2}** |"
        )
    }
}

/// What is in the file: the bytes of its keys and rows, and those of the pages that it uses
fn inside(path: &Path) -> Result<(u64, u64), Box<dyn Error>> {
    let database = Builder::new().create(path)?;
    let statistics = database.begin_write()?.stats()?;
    Ok((statistics.stored_bytes(), statistics.allocated_pages() * statistics.page_size() as u64))
}

/// A file whose batches are kept until several can be committed as one
///
/// What a later block removes again does not reach the disk.
struct Several {
    file: RedbStorage,
    changes: HashMap<Key, Option<Row>, HashBuilder>,
}

impl Several {
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

impl Rows for Several {
    fn get(&self, key: &Key) -> Result<Option<Row>, milepost::Error> {
        match self.changes.get(key) {
            Some(row) => Ok(row.clone()),
            None => self.file.get(key),
        }
    }
}

impl Storage for Several {
    fn commit(&mut self, batch: Batch) -> Result<(), milepost::Error> {
        self.changes.extend(batch);
        Ok(())
    }
}
