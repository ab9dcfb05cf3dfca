//! `milepost`: a node service for transaction status and protocol configuration, in one command.
//!
//! The program feeds block messages to the engine and serves the engine's answers over HTTP; what
//! an answer says is decided in the engine alone. Each file here is one duty: the command line,
//! the feeds, the store, waiting, HTTP, metrics, and the tree that a person reads.

#![forbid(unsafe_code)]

extern crate alloc;

mod ask;
mod board;
mod cli;
mod client;
mod disk;
mod feed;
mod files;
mod http;
mod log;
mod metrics;
mod node;
mod scan;
mod serve;
mod store;
mod tree;
mod units;
mod waiting;

use std::process::ExitCode;

use clap::Parser as _;
#[cfg(test)]
use {loom as _, tempfile as _};

fn main() -> ExitCode {
    log::start();
    cli::Cli::parse().run()
}
