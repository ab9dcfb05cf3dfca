//! The server `milepost`: transaction status and protocol configuration over HTTP, in one command.
//!
//! The program feeds block messages to the engine and serves the engine's responses over HTTP; the
//! engine alone decides what a response says. Each file here has one task: the command line, the
//! feeds, the store, pending requests, HTTP, metrics, and the text output for people. It is a
//! library only so that fuzz targets can link it: hosts embed the crate `milepost`.

#![forbid(unsafe_code)]

extern crate alloc;

mod archive;
mod chain;
mod cli;
mod commands;
mod errors;
mod feed;
mod follow;
#[cfg(any(test, feature = "internal-fuzz"))]
#[doc(hidden)]
pub mod fuzz;
mod http;
mod json_scan;
mod large_buffers;
mod log;
mod metrics;
mod queries;
mod request_context;
mod serve;
mod settings;
#[cfg(test)]
mod simulation;
mod store;
mod upstream;
mod waits;

use std::env;
use std::process::ExitCode;

#[cfg(test)]
use {loom as _, milepost_testing as _, milepost_tests as _, tempfile as _};
#[cfg(all(feature = "jemalloc", target_os = "linux"))]
use {tikv_jemalloc_ctl as _, tikv_jemallocator as _};

use tracing::warn;

use cli::{Command, ConfigArgs, ConfigCommand};
use commands::{conformance, generated, query};
use errors::Failure;
use settings::CommandLine;

/// Runs the program with the arguments and the environment of this process
///
/// Exit codes: 0 success or found; 1 not found, or the server failed, or a store or an archive is
/// not sound; 2 the command line is invalid or does not fit the store, or the query or another
/// command failed; 3 the server or an import failed because its store or archive is lost or
/// damaged.
pub fn main() -> ExitCode {
    metrics::process::note_start();
    let line = CommandLine::read(env::args_os().collect()).and_then(|line| line.parse());
    let cli = line.unwrap_or_else(|error| error.exit());
    log::init(&cli.common.log, cli.common.log_format);
    let result = match cli.command {
        Command::Serve(args) => {
            for name in settings::unknown_variables(env::vars_os().map(|(name, _)| name)) {
                // Not an error, so that an old variable stops no server.
                warn!("{name}: no setting has such a variable, and it is ignored");
            }
            serve::serve(*args).map_err(Failure::into_text_and_code)
        }
        Command::Import(args) => serve::import(&args).map_err(Failure::into_text_and_code),
        Command::Status(args) => query::status(&args).map_err(|text| (text, 2)),
        Command::Config(ConfigArgs { command: Some(ConfigCommand::Check { file }), .. }) => {
            let names = env::vars_os().map(|(name, _)| name);
            settings::check(file.or(cli.common.settings), names).map_err(|text| (text, 2))
        }
        Command::Config(args) => query::config(&args).map_err(|text| (text, 2)),
        Command::Man => generated::manual_page(),
        Command::Completions { shell } => generated::completions(shell),
        Command::Store(command) => commands::store::run(&command).map_err(|text| (text, 2)),
        Command::Archive(command) => commands::archive::run(&command).map_err(|text| (text, 2)),
        Command::Conformance(args) => conformance::run(&args).map_err(|text| (text, 2)),
    };
    match result {
        Ok(code) => code,
        Err((text, code)) => {
            log::print_error(&text);
            ExitCode::from(code)
        }
    }
}
