//! What each fuzz target does with its bytes; the programs in `fuzz_targets` only call it, but
//! `c_interface`, which calls functions for C and is in `ffi/fuzz`.
//!
//! A target panics if a property does not hold: that is a finding. Inputs are bytes as they would
//! come from outside, so that a file of the corpus is an input which a user could send. Not here:
//! what needs the node's crates: `interop` compares over the corpus of `signed_transaction`.

#![forbid(unsafe_code)]

mod answers;
mod blocks;
mod codecs;
mod http;
mod requests;
mod row_files;
mod row_kinds;
mod rows;
mod world;

pub use answers::answer;
pub use blocks::{block_message, configuration, proof};
pub use codecs::{base58, base64, canonical_json, signed_transaction};
pub use http::http;
pub use requests::{params, request_body};
pub use row_kinds::row_kinds;
pub use rows::rows;
pub use world::{host_texts, seeds};
