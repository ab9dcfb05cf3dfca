//! The engine in a program without I/O: rows in a map, blocks and requests by function calls.
//!
//! Follows a practice chain until a transaction is final, and prints how far along it is after each
//! block that changed it.

#![forbid(unsafe_code)]

use std::collections::HashMap;

use milepost::Error;
use milepost::codec::json;
use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::{Batch, Key, Row, Snapshot, Storage};
use milepost::views::RpcTransactionResponse;
use milepost_practice::{Practice, Settings};
use {
    axum as _, futures_core as _, milepost_examples as _, rusqlite as _, serde as _,
    serde_json as _, tokio as _,
};

#[cfg(test)]
use tempfile as _;

/// A storage in a map of the program; a borrow of it is a snapshot, because it keeps commits out
#[derive(Default)]
struct MapStorage(HashMap<Key, Row>);

impl Snapshot for &MapStorage {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        Ok(self.0.get(key).cloned())
    }
}

impl Storage for MapStorage {
    type Snapshot<'a> = &'a Self;

    fn snapshot(&self) -> Result<&Self, Error> {
        Ok(self)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        for (key, row) in batch {
            match row {
                Some(row) => self.0.insert(key, row),
                None => self.0.remove(&key),
            };
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let (engine, mut storage) = (Engine::default(), MapStorage::default());
    let mut chain = Practice::new(Settings::demo(1));
    let (mut request, mut last) = (None, String::new());
    loop {
        let block = chain.next_message();
        engine.import_block(&block.json, &ImportSettings::default(), &mut storage)?;
        if let (None, Some(transaction)) = (&request, block.transactions.first()) {
            println!("transaction {} of {}", transaction.hash, transaction.signer_id);
            let (hash, signer_id) = (&transaction.hash, &transaction.signer_id);
            request = Some(format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_tx_status","params":
                    {{"tx_hash":"{hash}","sender_account_id":"{signer_id}","wait_until":"NONE"}}}}"#
            ));
        }
        let Some(request) = &request else { continue };
        let state = engine.respond(engine.parse(request.as_bytes(), None), &&storage);
        let RequestState::Ready(response) = state else { return Err("NONE does not wait".into()) };
        let response: serde_json::Value = serde_json::from_slice(&response.body)?;
        let result: RpcTransactionResponse = json::read(&response["result"].to_string())?;
        let milestone = format!("{:?}", result.final_execution_status);
        if milestone != last {
            println!("block {}: {milestone}", block.height);
            last = milestone;
        }
        if last == "Final" {
            return Ok(());
        }
    }
}
