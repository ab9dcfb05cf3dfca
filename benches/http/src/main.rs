//! What the HTTP bench puts beside the node: `cargo xtask bench --http` starts this, and people
//! need not.
//!
//! `feed DIRECTORY` writes block messages with transactions of known size, for the node to answer
//! about. `constant FILE` is a server on the node's stack that sends the bytes of a file whatever
//! it is asked. Measures nothing itself.

#![forbid(unsafe_code)]

mod feed;

use core::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use hyper::body::Bytes;
use milepost_http_benches::server;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["feed", directory] => feed::write(Path::new(directory)),
        ["constant", file] => constant(Path::new(file)),
        _ => Err("usage: http-bench feed DIRECTORY | http-bench constant FILE".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The floor: sends the bytes of this file until it is ended
fn constant(file: &Path) -> Result<(), Box<dyn Error>> {
    let body = Bytes::from(fs::read(file)?);
    server::serve("the constant body", move |_| body.clone())
}
