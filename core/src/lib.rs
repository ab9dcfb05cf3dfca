//! How far along the road a NEAR transaction is: an engine that answers two JSON-RPC operations
//! of a node, `EXPERIMENTAL_tx_status` and `EXPERIMENTAL_protocol_config`, over any storage.
//!
//! The crate is pure: facts, requests and time go in, answers come out. It does no I/O, reads no
//! clock, starts no thread and keeps no global; it needs `alloc` and nothing of `std`. Hosts
//! (a server, a C library, a web page) live in crates of their own and wrap this one.
//!
//! Each room of the crate uses only the rooms above it in this list.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod error;

pub mod codec;
pub mod config;
pub mod engine;
pub mod facts;
pub mod ingest;
pub mod primitives;
pub mod rpc;
pub mod status;
pub mod transaction;
pub mod views;

pub use error::{Error, ErrorKind};
