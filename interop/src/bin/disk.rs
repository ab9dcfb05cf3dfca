//! The size of a finalized transaction in a node's database, as a line of the table of
//! `cargo xtask bench --rocksdb`.
//!
//! The same practice chain, divided by the same number of transactions and bytes of responses, as
//! in the program `disk` of `milepost-benches`, which prints the other lines. Only the rows are
//! counted of which a node makes answers: transactions, receipts and outcomes.

#![forbid(unsafe_code)]

use core::error::Error;

use milepost::endpoint::Engine;
use milepost::import::ImportSettings;
use milepost::storage::MemoryStorage;
use milepost_benches::StoredChain;
use milepost_interop::peer::Node;

fn main() -> Result<(), Box<dyn Error>> {
    let (chain, engine) = (StoredChain::new(), Engine::default());
    let mut storage = MemoryStorage::new();
    for message in &chain.messages {
        engine.import_block(message, &ImportSettings::default(), &mut storage)?;
    }
    let [rows, files] = Node::sizes_on_rocksdb(&chain.signed, &chain.messages);
    let name = "RocksDB with zstd, the rows of a node";
    println!("{}", chain.ask(&engine, &storage).line(name, rows, None, files));
    Ok(())
}
