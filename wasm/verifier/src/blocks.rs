//! The check of block messages, which keeps what blocks confirm of those before them.

use milepost_protocol::proof::{OutcomeLinks, VerificationResult, check_block};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error_text;

/// Checks the blocks of a chain against their own hashes, each after its parent
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Verifier(OutcomeLinks);

#[wasm_bindgen]
impl Verifier {
    /// A verifier that has seen no block
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a block message
    ///
    /// Returns the result and the hash that the header states, if it can be read, with a space
    /// after each, and what is missing or wrong as `error_text` writes it.
    pub fn check(&mut self, message: &[u8]) -> String {
        let check = check_block(message);
        let (result, error) = match self.0.verify(&check) {
            VerificationResult::Verified => ("verified", String::new()),
            VerificationResult::Unverifiable(error) => ("unverifiable", error_text(&error)),
            VerificationResult::Wrong(error) => ("wrong", error_text(&error)),
        };
        let hash = check.hashes.map_or_else(String::new, |(hash, _)| hash.to_string());
        format!("{result} {hash} {error}")
    }
}
