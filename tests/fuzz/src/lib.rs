//! What each fuzz target does with its bytes, and the inputs that every test replays.
//!
//! A target panics if a property does not hold: that is a finding. Inputs are bytes as they would
//! come from outside, so that a file of the corpus is an input which a user could send. Tests here,
//! in the server and in `milepost-ffi` replay and change inputs; the programs of `fuzz` run the
//! same targets under sanitizers, guided by coverage.

#![forbid(unsafe_code)]

mod answers;
mod blocks;
mod codecs;
mod exact_json;
mod http;
mod inputs;
mod replay;
mod requests;
mod row_files;
mod row_kinds;
mod rows;
mod world;

pub use answers::answer;
pub use blocks::{block_message, configuration, proof};
pub use codecs::{base58, base64, canonical_json, signed_transaction};
pub use http::{Received, http};
pub use inputs::{MAX_LEN, TARGETS, inputs_of, seeds_of};
pub use replay::replay;
pub use requests::{params, request_body};
pub use row_kinds::row_kinds;
pub use rows::rows;
pub use world::{chain, host_texts};
