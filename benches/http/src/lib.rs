//! The server on the node's stack, for the programs of the HTTP bench: the constant body, and a node's path.

#![forbid(unsafe_code)]

extern crate alloc;

pub mod server;
