//! The program of the bench over HTTP, which `cargo xtask verify bench-http` starts.
//!
//! `measure PEER` measures `milepost`, which is in the same folder, beside this program of the
//! node's path; `check PEER` only compares their responses. For itself it starts `feed DIRECTORY`,
//! which writes block messages with transactions of known size, and `constant FILE`, a server on
//! the stack of `milepost-server` that sends the bytes of a file for any request.

#![forbid(unsafe_code)]

mod feed;

use core::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use hyper::body::Bytes;
use milepost_node_benches::{measure, server};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["feed", directory] => feed::write(Path::new(directory)),
        ["constant", file] => constant(Path::new(file)),
        ["measure", peer] => run(Path::new(peer), false),
        ["check", peer] => run(Path::new(peer), true),
        _ => {
            Err("usage: http-bench measure PEER | check PEER | feed DIRECTORY | constant FILE"
                .into())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(peer: &Path, only_check: bool) -> Result<(), Box<dyn Error>> {
    let here = std::env::current_exe()?;
    let folder = here.parent().ok_or("this program is in no folder")?;
    Ok(measure::run(folder, peer, only_check)?)
}

/// The lower bound: sends the bytes of this file until the process ends
fn constant(file: &Path) -> Result<(), Box<dyn Error>> {
    let body = Bytes::from(fs::read(file)?);
    server::serve("the constant body", move |_| body.clone())
}
