//! A program of somebody else: it has the crates as they are published, and nothing of the
//! repository.
//!
//! `cargo xtask packages` builds it outside of the workspace. A practice chain goes into a file,
//! and one transaction is asked for until it is final.

use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::Storage as _;
use milepost_practice::{Practice, Settings};
use milepost_redb::{Options, RedbStorage};

/// A transaction of the practice chain is final after fewer blocks than this
const BLOCKS: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: consumer FILE")?;
    let mut storage = RedbStorage::open(file, &Options::default())?;
    let (engine, mut chain) = (Engine::default(), Practice::new(Settings::demo(1)));
    let mut request = None;
    for _ in 0..BLOCKS {
        let block = chain.next_message();
        engine.import_block(&block.json, &ImportSettings::default(), &mut storage)?;
        if let (None, Some(first)) = (&request, block.transactions.first()) {
            let (hash, signer_id) = (&first.hash, &first.signer_id);
            request = Some(format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_tx_status","params":
                    {{"tx_hash":"{hash}","sender_account_id":"{signer_id}","wait_until":"FINAL"}}}}"#
            ));
        }
        let Some(request) = &request else { continue };
        let snapshot = storage.snapshot()?;
        let state = engine.respond(engine.parse(request.as_bytes(), None), &snapshot);
        if let RequestState::Ready(response) = state {
            let response = String::from_utf8(response.body)?;
            println!("{response}");
            let is_final = response.contains(r#""final_execution_status":"FINAL""#);
            return if is_final { Ok(()) } else { Err("the response is not final".into()) };
        }
    }
    Err(format!("not final after {BLOCKS} blocks").into())
}
