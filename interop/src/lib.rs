//! Beside the crates of the reference node: what they read, write, hash and verify, the engine must
//! too, and their path is the peer of its benches.

#![forbid(unsafe_code)]

pub mod oracle;
pub mod peer;
