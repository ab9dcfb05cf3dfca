//! The server `milepost`: transaction status and protocol configuration over HTTP, in one command.
//!
//! The program feeds block messages to the engine and serves the engine's responses over HTTP; the
//! engine alone decides what a response says. It is a library only so that fuzz targets can link it:
//! hosts embed the crate `milepost`.
//!
//! Each module uses only those before it:
//!
//! | module | content |
//! |---|---|
//! | `locks` | locks after a panic |
//! | `log` | lines for people: the log and the output |
//! | `errors` | errors, and the kinds that were logged |
//! | `metrics` | counters and gauges |
//! | `store` | rows in memory or in a file |
//! | `archive` | finalized transactions beyond the store |
//! | `request` | who asks, and the body with its memory |
//! | `waits` | pending requests and watched transactions |
//! | `chain` | blocks and configurations that come in, the export of final ones, the stop |
//! | `queries` | on which thread a query runs, and how it waits |
//! | `upstream` | nodes that answer what this server cannot |
//! | `feed` | sources of blocks, and the feed that is served |
//! | `http` | connections, routes and responses |
//! | `cli` | options and their values |
//! | `follow` | the import of a live feed |
//! | `serve` | the start of the server, and its stop |
//! | `commands` | the command line |

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
mod locks;
mod log;
mod metrics;
mod queries;
mod request;
mod serve;
#[cfg(test)]
mod simulation;
mod store;
mod upstream;
mod waits;

use std::process::ExitCode;

#[cfg(test)]
use {loom as _, milepost_testing as _, milepost_tests as _, tempfile as _};
#[cfg(all(feature = "jemalloc", target_os = "linux"))]
use {tikv_jemalloc_ctl as _, tikv_jemallocator as _};

/// Runs the program with the arguments and the environment of this process
///
/// Exit codes: 0 success or found; 1 not found, or the server failed, or a store or an archive is
/// not sound; 2 the command line is invalid or does not fit the store, or the query or another
/// command failed; 3 the server or an import failed because its store or archive is lost or
/// damaged.
pub fn main() -> ExitCode {
    commands::run()
}
