//! What the program says about itself, on standard error.
//!
//! Quiet per request and per block; `MILEPOST_LOG` takes the directives of `tracing` (`debug`,
//! `milepost::http=trace`, ...). Standard output is left to what commands print.

use std::io::{self, IsTerminal as _, Write as _};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error
pub(crate) fn start() {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .with_env_var("MILEPOST_LOG")
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .init();
}

/// Prints a line on standard output at once; a reader that went away is no failure of the service
pub(crate) fn say(line: impl core::fmt::Display) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
