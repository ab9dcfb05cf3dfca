//! `milepost`: a server for transaction status and protocol configuration, in one command.

#![forbid(unsafe_code)]
#![expect(unused_crate_dependencies, reason = "the library has all parts")]

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    milepost_server::main()
}
