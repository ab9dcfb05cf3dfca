//! `milepost`: a server for transaction status and protocol configuration, in one command.

#![forbid(unsafe_code)]
#![expect(unused_crate_dependencies, reason = "the library has all parts")]

#[cfg(all(feature = "jemalloc", target_os = "linux"))]
mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(feature = "jemalloc", target_os = "linux"))]
    allocator::configure();
    milepost_server::main()
}
