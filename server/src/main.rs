//! `milepost`: a server for transaction status and protocol configuration, in one command.
//!
//! The program feeds block messages to the engine and serves the engine's responses over HTTP; the
//! engine alone decides what a response says. Each file here has one task: the command line, the
//! feeds, the store, pending requests, HTTP, metrics, and the text output for people.

#![forbid(unsafe_code)]

extern crate alloc;

mod cli;
mod client;
mod demo_index;
mod feed;
mod file_limit;
mod http;
mod io_budget;
mod json_scan;
mod log;
mod metrics;
mod query_commands;
mod receipt_tree;
mod serve;
mod service;
mod store;
mod value_parsers;
mod waiting;

use std::process::ExitCode;

use clap::Parser as _;
#[cfg(test)]
use {loom as _, tempfile as _};

fn main() -> ExitCode {
    log::init();
    cli::Cli::parse().run()
}
