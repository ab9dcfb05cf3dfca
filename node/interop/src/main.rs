//! The node's path over HTTP, which `cargo xtask verify bench-http` compares with `milepost`.
//!
//! `http-peer DIRECTORY` imports the block messages of a folder, in the order of their heights, and
//! answers requests for their transactions: body to generic JSON value, typed request, Borsh rows,
//! views, generic JSON value, bytes. The HTTP stack is that of the constant body, and the allocator
//! that of a node. Has no routes; a request that it cannot answer ends its connection.

#![forbid(unsafe_code)]

extern crate alloc;

use alloc::sync::Arc;
use core::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hyper::body::Bytes;
use milepost_interop::peer::{Node, respond};
use milepost_node_benches::server;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: http-peer DIRECTORY");
        return ExitCode::FAILURE;
    };
    match serve(Path::new(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Arc::new(import(directory)?);
    server::serve("the node's path", move |body: Bytes| Bytes::from(respond(&body, &node)))
}

fn import(directory: &Path) -> Result<Node, Box<dyn Error>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<PathBuf>, Box<dyn Error>>>()?;
    // File names are heights with the same number of digits.
    paths.sort();
    let mut node = Node::new();
    for path in paths {
        node.import(&fs::read(path)?);
    }
    Ok(node)
}
