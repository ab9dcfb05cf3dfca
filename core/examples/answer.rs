//! Answers a request from five recorded blocks: `cargo run --example answer`

#![expect(unused_crate_dependencies, reason = "the engine is all that it needs")]

use milepost::endpoint::{Engine, RequestState};
use milepost::{import::ImportSettings, storage::MemoryStorage};

fn main() -> Result<(), milepost::Error> {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    for block in include_str!("../blocks.jsonl").lines() {
        engine.import_block(block.as_bytes(), &ImportSettings::default(), &mut storage)?;
    }
    let body = br#"{"jsonrpc": "2.0", "id": 1, "method": "EXPERIMENTAL_tx_status",
        "params": ["SLRXdgh3pFS4jqMjxHCpU71fc1pT5EZgxaaT1Ghumxq", "y.test.near"]}"#;
    if let RequestState::Ready(response) = engine.respond(engine.parse(body, None), &storage) {
        println!("{}", String::from_utf8_lossy(&response.body));
    }
    Ok(())
}
