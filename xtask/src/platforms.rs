//! Platforms beside that of this machine: what is built for each, and run under QEMU.
//!
//! The engine's own tests, the shared vectors and the conformance of the file run where pointers
//! have 32 bits, where the most significant byte comes first, and on the other usual processor of
//! servers. The server is built for that one too, and as one static program, with which its own
//! tests run. The code that relies on what C promises runs in Miri. Leaves out other operating
//! systems, which need a machine that runs them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::packages::Packages;
use crate::shell::{cargo, output, program_at_root, run, show, target};
use crate::tally::{Format, Tally};

/// A target whose programs run here
struct Platform {
    target: &'static str,
    about: &'static str,
    /// Of the names of Debian's compiler, and that of its directory below `/usr`
    prefix: &'static str,
    /// The program that runs them; without one this processor does
    emulator: Option<&'static str>,
}

/// A usual processor of servers, for which the server is built
const AARCH64: Platform = Platform {
    target: "aarch64-unknown-linux-gnu",
    about: "64 bits",
    prefix: "aarch64-linux-gnu",
    emulator: Some("qemu-aarch64"),
};
const I686: Platform = Platform {
    target: "i686-unknown-linux-gnu",
    about: "32 bits",
    prefix: "i686-linux-gnu",
    // Version 7.2 of `qemu-i386` stops in the first test with threads.
    emulator: None,
};
const S390X: Platform = Platform {
    target: "s390x-unknown-linux-gnu",
    about: "64 bits, the most significant byte first",
    prefix: "s390x-linux-gnu",
    emulator: Some("qemu-s390x"),
};

/// For one static program, with the C library inside
pub(crate) const STATIC: &str = "x86_64-unknown-linux-musl";
/// Microcontrollers with compare-and-swap, which `alloc::sync` needs
const BARE: &str = "thumbv7em-none-eabi";

/// The targets that rustup installs for this
pub(crate) const TARGETS: [&str; 5] = [AARCH64.target, I686.target, S390X.target, STATIC, BARE];

/// What runs on each of them
const TESTS: [&str; 3] = [
    "test -p milepost-protocol -p milepost --lib",
    "test -p milepost-tests --test vectors -- the_engine the_check_of_every_proof",
    "test -p milepost-redb --test durability -- conformance",
];

/// What runs with the static server
const STATIC_TESTS: &str = "test -p milepost-server --test program -- http lookups shutdown";

/// Builds and runs everything; returns the lines of the result
///
/// # Errors
///
/// When something does not build, does not run or fails a test.
pub(crate) fn run_all() -> Result<String, String> {
    let mut lines = Vec::new();
    for platform in [AARCH64, I686, S390X] {
        let mut tests = 0;
        for arguments in TESTS {
            tests += count(&mut platform.cargo(arguments))?;
        }
        lines.push(format!("{:<27} {tests} tests passed; {}", platform.target, platform.about));
    }
    let version = AARCH64.server()?;
    lines.push(format!("{:<27} {version}, {}", AARCH64.target, size(AARCH64.target)?));
    let mut tests = static_cargo(STATIC_TESTS);
    lines.push(format!("{STATIC:<27} {} tests of the server passed", count(&mut tests)?));
    static_server()?;
    lines.push(format!("{STATIC:<27} one static program, {}", size(STATIC)?));
    let packages = Packages::read()?.no_std_arguments()?;
    run(&mut cargo(&format!("build {packages} --target {BARE}")))?;
    lines.push(format!("{BARE:<27} the crates without std are built"));
    lines.push(format!("{:<27} {} tests of the C boundary passed", "Miri", miri()?));
    Ok(format!("{}\n", lines.join("\n")))
}

/// Runs the tests of the boundary with C in Miri, with and without handles that are checked, and by
/// both models of aliasing; the number of tests that passed
fn miri() -> Result<u64, String> {
    let mut tests = 0;
    for (assertions, model) in [("true", ""), ("false", ""), ("false", "-Zmiri-tree-borrows")] {
        // From rustup, so that it finds the newest compiler. The payload of a panic is leaked on
        // purpose: dropping it could panic again.
        let mut miri = program_at_root("cargo");
        miri.args(["+nightly", "miri", "test", "-p", "milepost-ffi", "--lib", "--target-dir"]);
        miri.arg(target()?.join("miri")).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        miri.env("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", assertions);
        miri.env("MIRIFLAGS", format!("-Zmiri-ignore-leaks {model}"));
        tests += count(&mut miri)?;
    }
    Ok(tests)
}

impl Platform {
    /// A `cargo` that builds for the target, and runs what it builds under QEMU
    fn cargo(&self, arguments: &str) -> Command {
        let variable = format!("CARGO_TARGET_{}", self.target.to_uppercase().replace('-', "_"));
        let compiler = format!("{}-gcc", self.prefix);
        let mut command = cross_cargo(self.target, arguments);
        command
            .env(format!("{variable}_LINKER"), &compiler)
            .env(format!("CC_{}", self.target.replace('-', "_")), &compiler);
        let emulation = self.emulation();
        if !emulation.is_empty() {
            command.env(format!("{variable}_RUNNER"), emulation.join(" "));
        }
        command
    }

    /// What a command line starts with that runs a program
    fn emulation(&self) -> Vec<String> {
        let Some(emulator) = self.emulator else { return Vec::new() };
        vec![emulator.to_owned(), "-L".to_owned(), format!("/usr/{}", self.prefix)]
    }

    /// The version that the server prints on this target
    fn server(&self) -> Result<String, String> {
        run(&mut self.cargo("build --release -p milepost-server"))?;
        let program = program(self.target)?;
        let words = [self.emulation(), vec![program.display().to_string()]].concat();
        let mut command = Command::new(words.first().ok_or("no program")?);
        let command = command.args(words.get(1..).unwrap_or_default()).arg("--version");
        Ok(output(command)?.trim().to_owned())
    }
}

/// Builds the server as one static program; its path
///
/// # Errors
///
/// When it does not build.
pub(crate) fn static_server() -> Result<PathBuf, String> {
    run(&mut static_cargo("build --release --locked -p milepost-server"))?;
    program(STATIC)
}

fn static_cargo(arguments: &str) -> Command {
    let mut command = cross_cargo(STATIC, arguments);
    command.env("CC_x86_64_unknown_linux_musl", "musl-gcc");
    command
}

/// A `cargo` that builds for a target
fn cross_cargo(target: &str, arguments: &str) -> Command {
    let mut command = cargo(arguments);
    command.env("CARGO_BUILD_TARGET", target);
    // Emulation is slow enough without what debuggers need.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "2").env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// Runs tests; the number of those that passed
fn count(tests: &mut Command) -> Result<u64, String> {
    let text = show(tests)?;
    let mut tally = Tally::default();
    text.lines().for_each(|line| tally.add(Format::Cargo, line));
    if tally.passed == 0 { Err("no test ran".to_owned()) } else { Ok(tally.passed) }
}

/// The path of the server for a target
fn program(platform: &str) -> Result<PathBuf, String> {
    Ok(target()?.join(platform).join("release/milepost"))
}

/// The size of the server for a target, in words
fn size(platform: &str) -> Result<String, String> {
    let program = program(platform)?;
    let metadata = fs::metadata(&program);
    let bytes = metadata.map_err(|error| format!("{}: {error}", program.display()))?.len();
    Ok(format!("{:.1} MB", bytes as f64 / 1e6))
}
