//! The HTTP server for the peers of the HTTP bench: the constant body, and the path of a reference
//! node.

#![forbid(unsafe_code)]

extern crate alloc;

pub mod server;
