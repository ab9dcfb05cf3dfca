//! Platforms beside that of this machine: what is built for each, and run under QEMU.
//!
//! The engine's own tests, the shared vectors and the conformance of the file run where pointers
//! have 32 bits, where the most significant byte comes first, and on the other usual processor of
//! servers. The server is built for that one too, and as one static program, with which its own
//! tests run. The code that relies on what C promises runs in Miri. `.cargo/config.toml` has the
//! linkers and emulators.

use std::path::PathBuf;
use std::process::Command;

use crate::packages::Packages;
use crate::shell::{cargo, program_at_root, run as run_command, target};
use crate::verify::count;

/// A usual processor of servers, for which the server is built
const AARCH64: &str = "aarch64-unknown-linux-gnu";
/// Pointers of 32 bits, which this processor runs by itself
const I686: &str = "i686-unknown-linux-gnu";
/// The most significant byte first
const S390X: &str = "s390x-unknown-linux-gnu";
/// For one static program, with the C library inside
pub(crate) const STATIC: &str = "x86_64-unknown-linux-musl";
/// Microcontrollers with compare-and-swap, which `alloc::sync` needs
const BARE: &str = "thumbv7em-none-eabi";

/// What runs on each of them
const TESTS: [&str; 3] = [
    "test -p milepost-protocol -p milepost --lib",
    "test -p milepost-tests --test engine -- vectors::the_engine vectors::the_check_of_every_proof",
    "test -p milepost-redb --test durability -- conformance",
];

/// What runs with the static server
const STATIC_TESTS: &str = "test -p milepost-server --test program -- http lookups shutdown";

/// Builds and runs everything
///
/// # Errors
///
/// When something does not build, does not run or fails a test.
pub(crate) fn run() -> Result<(), String> {
    for platform in [AARCH64, I686, S390X] {
        TESTS.iter().try_for_each(|tests| count(&mut cross_cargo(platform, tests)))?;
    }
    run_command(&mut cross_cargo(AARCH64, "run --release -p milepost-server -- --version"))?;
    count(&mut cross_cargo(STATIC, STATIC_TESTS))?;
    static_server()?;
    for (package, _) in Packages::read()?.no_std()? {
        run_command(&mut cross_cargo(BARE, &format!("build -p {package}")))?;
    }
    miri()
}

/// Runs the tests of the boundary with C in Miri, with and without handles that are checked, and by
/// both models of aliasing
fn miri() -> Result<(), String> {
    for (assertions, model) in [("true", ""), ("false", ""), ("false", "-Zmiri-tree-borrows")] {
        // From rustup, so that it finds the newest compiler. The payload of a panic is leaked on
        // purpose: dropping it could panic again.
        let mut miri = program_at_root("cargo");
        miri.args(["+nightly", "miri", "test", "-p", "milepost-ffi", "--lib", "--target-dir"]);
        miri.arg(target()?.join("miri")).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        miri.env("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", assertions);
        count(miri.env("MIRIFLAGS", format!("-Zmiri-ignore-leaks {model}")))?;
    }
    Ok(())
}

/// Builds the server as one static program; its path
///
/// # Errors
///
/// When it does not build.
pub(crate) fn static_server() -> Result<PathBuf, String> {
    let build = "build --release --locked -p milepost-server -F jemalloc";
    run_command(&mut cross_cargo(STATIC, build))?;
    Ok(target()?.join(STATIC).join("release/milepost"))
}

/// A `cargo` that builds for a target, and runs what it builds under QEMU where that is needed
fn cross_cargo(target: &str, arguments: &str) -> Command {
    let mut command = cargo(arguments);
    command.env("CARGO_BUILD_TARGET", target);
    // Emulation is slow, so emulated code is optimised.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "2");
    command
}
