//! The bench over HTTP, and the server of its peers: the constant body, and the path of a reference
//! node.

#![forbid(unsafe_code)]

extern crate alloc;

pub mod measure;
pub mod server;
mod servers;
