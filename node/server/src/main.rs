//! `milepost`: a server for transaction status and protocol configuration, in one command.

#![forbid(unsafe_code)]
#![expect(unused_crate_dependencies, reason = "the library has all parts")]

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(feature = "jemalloc", target_os = "linux"))]
    allocator::configure();
    milepost_server::main()
}

/// The memory of the program on Linux: jemalloc, which returns what is free to the system.
///
/// Pages of the store live for hours between what clients send and read for milliseconds, and the
/// allocator of glibc returns a range of addresses only when nothing in it is in use: after a burst
/// of connections all of its memory stays resident. docs/OPERATING.md has the figures.
#[cfg(all(feature = "jemalloc", target_os = "linux"))]
mod allocator {
    use std::env;

    use tikv_jemalloc_ctl::{Access as _, AsName as _, Error, background_thread};
    use tikv_jemallocator::Jemalloc;

    #[global_allocator]
    static ALLOCATOR: Jemalloc = Jemalloc;

    /// The variable with which a user chooses otherwise, read by the allocator itself
    const VARIABLE: &str = "_RJEM_MALLOC_CONF";
    /// Milliseconds until free pages are returned
    ///
    /// By default 10,000 ms, in which the store and the clients continue to make others.
    const DECAY: isize = 1000;

    /// Lets threads of the allocator return free pages soon
    ///
    /// Without such threads, which not all systems have, it returns them when it is called.
    pub(crate) fn configure() {
        if env::var_os(VARIABLE).is_none() {
            let _ = background_thread::write(true);
            let _ = set_decay();
        }
    }

    /// For the arena of this thread, which is the only one so far, and for those to come
    fn set_decay() -> Result<(), Error> {
        b"arena.0.dirty_decay_ms\0".name().write(DECAY)?;
        b"arenas.dirty_decay_ms\0".name().write(DECAY)
    }
}
