//! Programs that measure the node, and the HTTP server of its peers.
//!
//! `http-bench` compares the program with the path of a reference node and with a constant body;
//! `disk` prints the size of a finalized transaction in a store and in an archive; `archive`,
//! `archive_growth` and `catch_up` are run by `cargo xtask verify`.

#![forbid(unsafe_code)]

extern crate alloc;

pub mod measure;
pub mod server;
mod servers;
