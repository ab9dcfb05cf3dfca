//! The node's path behind HTTP: `cargo xtask bench --http` starts this beside the node.
//!
//! `http-peer DIRECTORY` takes in the block messages of a folder, in the order of their heights, and
//! answers about their transactions: body to generic JSON value, typed request, borsh rows, views,
//! generic JSON value, bytes. The stack is that of the constant body, and the allocator that of a node.
//! Left out is what this package leaves out; nothing is routed, and a request that it does
//! not know ends its connection.

#![forbid(unsafe_code)]

extern crate alloc;

use alloc::sync::Arc;
use core::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hyper::body::Bytes;
use milepost_http_benches::server;
use milepost_peer_benches::{Rows, answer};

/// What a node allocates with
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
    let rows = Arc::new(rows(directory)?);
    server::serve("the node's path", move |body: Bytes| Bytes::from(answer(&body, &rows)))
}

fn rows(directory: &Path) -> Result<Rows, Box<dyn Error>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<PathBuf>, Box<dyn Error>>>()?;
    // Heights of the same length.
    paths.sort();
    let mut rows = Rows::new();
    for path in paths {
        rows.take_in(&fs::read(path)?);
    }
    Ok(rows)
}
