//! The size of a finalized transaction on disk, as a table for `cargo xtask evidence bench`.
//!
//! Imports a practice chain without pruning, once with a commit per block and then with one per
//! several blocks. Compares the size of the file with the bytes in its rows and pages, and with the
//! bytes of the responses about all final transactions. The blocks are checked, so that they prove
//! answers; without the check the rows lack what this needs. Measures no time.

#![forbid(unsafe_code)]

use core::error::Error;
use std::fs;
use std::path::Path;

use milepost::endpoint::{Engine, RequestState};
use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::storage::{Storage as _, WriteBuffer};
use milepost_practice::{Practice, Settings};
use milepost_redb::{Options, RedbStorage};
use redb::Builder;

/// Blocks of the chain: about twelve minutes of a network
const BLOCKS: usize = 1_200;
/// Numbers of blocks per commit
const COMMIT_SIZES: [usize; 3] = [1, 20, 100];

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| blocks per commit | transactions | responses | rows | for proofs | used pages | file | file / responses |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    let unchecked = Figures::measure(BLOCKS, VerifyMode::Off)?.rows;
    for blocks in COMMIT_SIZES {
        println!("{}", Figures::measure(blocks, VerifyMode::Strict)?.line(blocks, unchecked));
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
    fn measure(blocks: usize, verify: VerifyMode) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("chain.milepost");
        let (engine, settings) = (Engine::default(), ImportSettings::default());
        let mut storage = RedbStorage::open(&path, &Options::default())?;
        let mut buffer = WriteBuffer::new();
        let mut verifier = BlockVerifier::new(verify);
        let mut chain = Practice::new(Settings::demo(1));
        let mut bodies = Vec::new();
        for number in 1..=BLOCKS {
            let message = chain.next_message();
            let (_, import) = verifier.read(&message.json, settings);
            let (batch, _) = import?.run(&buffer.snapshot(storage.snapshot()?))?;
            buffer.push(batch);
            if number % blocks == 0 {
                storage.commit(buffer.take())?;
            }
            bodies.extend(message.transactions.iter().map(|transaction| {
                let (hash, signer) = (transaction.hash, &transaction.signer_id);
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"{signer}","wait_until":"FINAL"}}}}"#
                )
            }));
        }
        storage.commit(buffer.take())?;
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

    /// The line of the table; `unchecked` are the bytes of rows without what proofs need
    fn line(&self, blocks: usize, unchecked: u64) -> String {
        let Self { transactions, responses, rows, pages, file } = *self;
        let each = |bytes: u64| format!("{:.0} B", bytes as f64 / transactions as f64);
        let [responses_each, rows_each, pages, file_each] =
            [responses, rows, pages, file].map(each);
        let proofs = (rows - unchecked) / BLOCKS as u64;
        let ratio = file as f64 / responses as f64;
        format!(
            "| {blocks} | {transactions} | {responses_each} | {rows_each} | {proofs} B a block | {pages} | {file_each} | **{ratio:.2}** |"
        )
    }
}

/// The bytes of all keys and rows in the file, and of the pages that it uses
fn row_and_page_bytes(path: &Path) -> Result<(u64, u64), Box<dyn Error>> {
    let database = Builder::new().create(path)?;
    let statistics = database.begin_write()?.stats()?;
    Ok((statistics.stored_bytes(), statistics.allocated_pages() * statistics.page_size() as u64))
}
