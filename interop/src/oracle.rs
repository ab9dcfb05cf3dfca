//! The crates of the reference node as a test oracle: what they read, write, hash and verify, the
//! engine must too.
//!
//! The tests of this crate compare views, transactions, signatures, requests, configurations and
//! the practice chain with the node's own types. This module has their shared helpers. Tests
//! without a crate of the node are in `tests/` of the repository.

mod network;
mod record;
pub mod transactions;

pub use network::{NETWORKS, NEWEST, Network, OLDEST, rewritten, sorted};
pub use record::Record;
