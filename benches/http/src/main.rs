//! The helper program of the HTTP bench, which `cargo xtask verify bench-http` starts.
//!
//! `feed DIRECTORY` writes block messages with transactions of known size, which the servers
//! import. `constant FILE` is a server on the stack of `milepost-server` that sends the bytes of a
//! file for any request. Measures nothing itself.

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
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["feed", directory] => feed::write(Path::new(directory)),
        ["constant", file] => constant(Path::new(file)),
        _ => Err("usage: http-bench feed DIRECTORY | http-bench constant FILE".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The lower bound: sends the bytes of this file until the process ends
fn constant(file: &Path) -> Result<(), Box<dyn Error>> {
    let body = Bytes::from(fs::read(file)?);
    server::serve("the constant body", move |_| body.clone())
}
