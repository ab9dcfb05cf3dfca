//! The WebAssembly module of the entry `proof` of the npm package `milepost`: checks answers by
//! their proofs.
//!
//! A module of its own, because who asks a server needs neither the engine nor the check of blocks.
//! A result is one text, which needs the least code on both sides: JSON, or an error whose parts
//! JavaScript takes apart. What is proven and what is wrong is decided in `milepost_protocol`.

#![forbid(unsafe_code)]

use milepost_protocol::primitives::CryptoHash;
use milepost_protocol::proof::{KnownHashes, verify_answer as verify};
use milepost_protocol::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

/// The version of the module
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Checks an answer by its proof and the texts of the hashes that are known
///
/// Returns the JSON of what is proven. For an error: its code and the lengths of its path and
/// detail in UTF-16, a space after each; then the path, the detail and the message that has both.
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

fn error_text(error: &Error) -> String {
    let (path, detail) = (error.path(), error.detail());
    let length = |text: &str| text.encode_utf16().count();
    let code = error.kind().code();
    format!("{code} {} {} {path}{detail}{error}", length(path), length(detail))
}
