//! `milepost`: a server for transaction status and protocol configuration, in one command.
//!
//! The program feeds block messages to the engine and serves the engine's responses over HTTP; the
//! engine alone decides what a response says. Each file here has one task: the command line, the
//! feeds, the store, pending requests, HTTP, metrics, and the text output for people. Exit codes: 0
//! success or found; 1 not found, or the server failed; 2 invalid command line, or the query
//! failed.

#![forbid(unsafe_code)]

extern crate alloc;

mod archive;
mod block_importer;
mod block_verifier;
mod cli;
mod client;
mod compact_status;
mod conformance;
mod demo_index;
mod feed;
mod feed_log;
mod feed_status;
mod file_limit;
mod finality;
mod follow;
mod http;
mod io_budget;
mod json_scan;
mod log;
mod logged_kinds;
mod metrics;
mod query_commands;
mod query_error;
mod receipt_tree;
mod serve;
mod served_feed;
mod service;
mod shared_endpoint;
mod store;
mod sync;
mod upstream;
mod value_parsers;
mod waiting;
mod watching;

use std::process::ExitCode;

use clap::Parser as _;
#[cfg(test)]
use {loom as _, milepost_feed_server as _, tempfile as _};

use cli::{Cli, Command};

fn main() -> ExitCode {
    log::init();
    let cli = Cli::parse();
    let result = match cli.command.unwrap_or(Command::Serve(Box::new(cli.serve))) {
        Command::Serve(args) => serve::serve(*args).map_err(|text| (text, 1)),
        Command::Import(args) => serve::import(&args).map_err(|text| (text, 1)),
        Command::Status(args) => query_commands::status(&args).map_err(|text| (text, 2)),
        Command::Config(args) => query_commands::config(&args).map_err(|text| (text, 2)),
        Command::Conformance(args) => conformance::run(&args).map_err(|text| (text, 2)),
    };
    match result {
        Ok(code) => code,
        Err((text, code)) => {
            eprintln!("milepost: {text}");
            ExitCode::from(code)
        }
    }
}
