//! The crates of the reference node as an oracle: what they read, write, hash and verify, ours must too.
//!
//! The tests of this crate compare views, transactions, signatures, requests, configurations and the
//! practice chain with the node's own types, and let its published client talk to a running server.
//! Here is what several of them need. Tests that need no crate of the node are in `tests/`.

#![forbid(unsafe_code)]

mod network;

pub use network::{NETWORKS, NEWEST, Network, OLDEST, rewritten, sorted};
