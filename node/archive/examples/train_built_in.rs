//! Writes the built-in dictionary: `cargo run --release -p milepost-archive --example
//! train_built_in`.
//!
//! It is trained on the finalized transactions of a practice chain, so it has no data of others and
//! can be made again. It changes only with the number of a new built-in dictionary.

#![expect(unused_crate_dependencies, reason = "an example uses some of the dependencies")]

use core::error::Error;
use std::fs;
use std::path::Path;

use milepost::endpoint::Engine;
use milepost::import::ImportSettings;
use milepost::storage::{Key, MemoryStorage, Snapshot as _, Table};
use milepost_practice::{Practice, Settings};

/// Enough for a hundred times the size of the dictionary
const BLOCKS: usize = 800;
/// It is part of every program
const LEN: usize = 64 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let mut chain = Practice::new(Settings::demo(1));
    let mut contents = Vec::new();
    let mut hashes = Vec::new();
    for _ in 0..BLOCKS {
        let message = chain.next_message();
        engine.import_block(&message.json, &ImportSettings::default(), &mut storage)?;
        hashes.extend(message.transactions.iter().map(|transaction| transaction.hash));
    }
    for hash in hashes {
        let row = storage.get(&Key::hash(Table::Transactions, hash))?;
        contents.extend(row.map(|row| row.to_vec()));
    }
    let dictionary = milepost_archive::train(&contents, LEN)?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/practice.dictionary");
    fs::write(&path, &dictionary)?;
    println!("{}: {} bytes of {} rows", path.display(), dictionary.len(), contents.len());
    Ok(())
}
