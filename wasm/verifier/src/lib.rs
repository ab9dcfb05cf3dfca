//! The WebAssembly module of the entry `verifier` of the npm package `milepost`: checks block
//! messages against their own hashes, and answers by their proofs.
//!
//! A module of its own, because most pages do not need it, and those that ask a server do not need
//! the engine. A result is one text, which needs the least code on both sides. What it is for,
//! report or refusal, is decided in `bindings/js`.

#![forbid(unsafe_code)]

#[cfg(feature = "blocks")]
mod blocks;

#[cfg(feature = "blocks")]
pub use blocks::Verifier;
use milepost_protocol::primitives::CryptoHash;
use milepost_protocol::proof::{KnownHashes, verify_answer as verify};
use milepost_protocol::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// The version of the module
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Checks an answer by its proof and the texts of the hashes that are known
///
/// Returns the JSON of what is proven, or an error as `error_text` writes it.
#[wasm_bindgen]
pub fn verify_answer(answer: &[u8], proof: &[u8], transaction: &[u8], block: &[u8]) -> String {
    let known = known_hashes(transaction, block);
    let proven = known.and_then(|known| verify(answer, proof, known));
    proven.map_or_else(|error| error_text(&error), |proven| proven.to_json())
}

fn known_hashes(transaction: &[u8], block: &[u8]) -> Result<KnownHashes, Error> {
    let hash = |text: &[u8], name: &str| {
        let text = str::from_utf8(text).unwrap_or_default();
        text.parse::<CryptoHash>().map_err(|error| Error::new(ErrorKind::Value, error).at(name))
    };
    Ok(KnownHashes {
        transaction: hash(transaction, "known.transactionHash")?,
        block: hash(block, "known.blockHash")?,
    })
}

/// The code of an error and the lengths of its path and detail in UTF-16, with a space after each;
/// then the path, the detail and the message that has both
fn error_text(error: &Error) -> String {
    let (path, detail) = (error.path(), error.detail());
    let length = |text: &str| text.encode_utf16().count();
    let code = error.kind().code();
    format!("{code} {} {} {path}{detail}{error}", length(path), length(detail))
}
