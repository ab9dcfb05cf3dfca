//! The engine over a SQLite file, from the command line: `sqlite FILE blocks FILE…` imports block
//! messages, `sqlite FILE respond` answers requests, one a line of the standard input.
//!
//! A request does not wait: where its milestone is not reached, the response is that of its
//! timeout.

#![forbid(unsafe_code)]

use std::path::Path;

use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::Storage as _;
use milepost_examples::sqlite_storage::SqliteStorage;
use {
    axum as _, futures_core as _, milepost_practice as _, rusqlite as _, serde as _,
    serde_json as _, tokio as _,
};

#[cfg(test)]
use tempfile as _;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, command, blocks @ ..] = &arguments[..] else {
        return Err("usage: sqlite FILE (blocks FILE… | respond)".into());
    };
    let (engine, mut storage) = (Engine::default(), SqliteStorage::open(Path::new(file))?);
    match command.as_str() {
        "blocks" => {
            for block in blocks {
                let message = std::fs::read(block)?;
                let settings = ImportSettings::default();
                let summary = engine.import_block(&message, &settings, &mut storage)?;
                println!("{block}: block {}", summary.block.height);
            }
        }
        "respond" => {
            for line in std::io::stdin().lines() {
                let request = engine.parse(line?.as_bytes(), None);
                let snapshot = storage.snapshot()?;
                let response = match engine.respond(request, &snapshot) {
                    RequestState::Ready(response) => response,
                    RequestState::Pending(pending) => pending.expire(&snapshot),
                };
                println!("{}", String::from_utf8(response.body)?);
            }
        }
        unknown => return Err(format!("{unknown:?} is neither `blocks` nor `respond`").into()),
    }
    Ok(())
}
