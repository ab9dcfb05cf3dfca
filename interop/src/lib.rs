//! The engine beside the crates of the reference node: they are the oracle of its tests, and their
//! path is the peer of its benches.

#![forbid(unsafe_code)]

pub mod oracle;
pub mod peer;
