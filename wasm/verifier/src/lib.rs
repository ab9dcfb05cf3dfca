//! The WebAssembly module of the entry `verifier` of the npm package `milepost`: checks block
//! messages against their own hashes.
//!
//! A module of its own, because most pages do not need it, and those that do may not need the
//! engine. Keeps what blocks confirm of those before them, and the result of the last check, whose
//! parts JavaScript reads one by one. What a result is for, report or refusal, is decided in
//! `bindings/js`.

#![forbid(unsafe_code)]

use milepost_protocol::Error;
use milepost_protocol::proof::{OutcomeLinks, VerificationResult, check_block};
use wasm_bindgen::prelude::wasm_bindgen;

/// Checks the blocks of a chain against their own hashes, each after its parent
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Verifier {
    links: OutcomeLinks,
    hash: Option<String>,
    /// What is missing or wrong
    error: Option<Error>,
}

/// What a check found
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "there is no fourth result")]
pub enum ResultKind {
    /// The members agree with the hash
    Verified,
    /// A member that is needed is missing, or is of a form that is not known
    Unverifiable,
    /// They do not agree
    Wrong,
}

/// The version of the module
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

#[wasm_bindgen]
impl Verifier {
    /// A verifier that has seen no block
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a block message
    pub fn check(&mut self, message: &[u8]) -> ResultKind {
        let check = check_block(message);
        self.hash = check.hashes.map(|(hash, _)| hash.to_string());
        let (kind, error) = match self.links.verify(&check) {
            VerificationResult::Verified => (ResultKind::Verified, None),
            VerificationResult::Unverifiable(error) => (ResultKind::Unverifiable, Some(error)),
            VerificationResult::Wrong(error) => (ResultKind::Wrong, Some(error)),
        };
        self.error = error;
        kind
    }

    /// The hash that the header of the last message states
    pub fn hash(&self) -> Option<String> {
        self.hash.clone()
    }

    /// Number of the kind of error, if the last message did not verify
    pub fn code(&self) -> Option<u8> {
        self.error.as_ref().map(|error| error.kind().code())
    }

    /// Path of the member that is missing or wrong; empty if it is the whole message
    pub fn path(&self) -> String {
        self.error.as_ref().map_or_else(String::new, |error| error.path().to_owned())
    }

    /// The message without the path
    pub fn detail(&self) -> String {
        self.error.as_ref().map_or_else(String::new, |error| error.detail().to_owned())
    }

    /// The message with the path
    pub fn message(&self) -> String {
        self.error.as_ref().map_or_else(String::new, Error::to_string)
    }
}
