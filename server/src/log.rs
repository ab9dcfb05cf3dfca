//! Logging to standard error, and the output of commands on standard output.
//!
//! Requests and blocks are not logged one by one at the default level; `MILEPOST_LOG` takes the
//! directives of `tracing` (`debug`, `milepost::http=trace`, ...).

use std::io::{self, IsTerminal as _, Write as _};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error
pub(crate) fn init() {
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

/// Prints a line on standard output and flushes it; ignores a closed pipe
pub(crate) fn print_line(line: impl core::fmt::Display) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
