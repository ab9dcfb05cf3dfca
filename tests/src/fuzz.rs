//! The fuzz targets of the engine, and the inputs that every test replays.
//!
//! A target panics if a property does not hold: that is a finding. Inputs are bytes as they would
//! come from outside, so that a file of the corpus is an input which a user could send. Tests of
//! each surface replay and change inputs; programs run the same targets under sanitizers, guided by
//! coverage.

mod answers;
mod blocks;
mod codecs;
mod exact_json;
mod replay;
mod requests;
mod rows;
mod target;
mod targets;
mod world;

pub use answers::answer;
pub use blocks::{block_message, configuration, proof};
pub use codecs::{base58, base64, canonical_json, signed_transaction};
pub use requests::{params, request_body};
pub use rows::rows;
pub use target::{MAX_LEN, Target, assert_listed};
pub use targets::{TARGETS, target};
pub use world::{BLOCKS, WORLD, World, host_texts};
