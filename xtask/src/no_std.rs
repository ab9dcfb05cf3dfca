//! The proof that the engine needs no `std`: it is built for a target that has none.
//!
//! The target comes from rustup. Where rustup's servers cannot be reached, Debian's compiler for
//! the web with the sources of the standard library builds `core` and `alloc` itself; it is
//! installed when this runs as root on a machine with apt. Where neither works, the step fails
//! and says what to install: a proof that did not run is no proof.

use std::path::Path;
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, run};

/// A target without an operating system and without `std`
const TARGET: &str = "wasm32v1-none";

/// Debian's packages: a compiler, the library's sources, and the linker of the target
const PACKAGES: [&str; 4] = ["rustc-web", "rust-web-src", "rust-web-llvm", "lld-22"];

/// Builds the engine without `std`, with its default features and without
pub(crate) fn build() -> Result<(), String> {
    let toolchain = find()?;
    for features in ["", "--no-default-features"] {
        let mut command = cargo(&format!("build -p milepost --target {TARGET} {features}"));
        toolchain.prepare(&mut command);
        run(&mut command)?;
    }
    Ok(())
}

/// How the target is built
enum Toolchain {
    /// With the ready-made `core` and `alloc` of rustup
    Rustup,
    /// With `core` and `alloc` from Debian's sources
    Debian,
}

impl Toolchain {
    fn prepare(&self, command: &mut Command) {
        if matches!(self, Self::Debian) {
            // Debian's compiler is a stable one; this lets it build the library from its sources.
            command.env("RUSTC", DEBIAN_COMPILER).env("RUSTC_BOOTSTRAP", "1");
            command.env_remove("RUSTUP_TOOLCHAIN");
            command.args(["-Z", "build-std=core,alloc"]);
            // Two compilers in one target directory would take turns in throwing each other's
            // work away.
            command.args(["--target-dir", "target/debian"]);
        }
    }
}

const DEBIAN_COMPILER: &str = "/usr/bin/rustc";

fn find() -> Result<Toolchain, String> {
    if rustup_has_target() {
        return Ok(Toolchain::Rustup);
    }
    println!("{TARGET} is not installed; asking rustup for it");
    let asked = output(program_at_root("rustup").args(["target", "add", TARGET]));
    if rustup_has_target() {
        return Ok(Toolchain::Rustup);
    }
    let rustup = asked.err().unwrap_or_else(|| "rustup installed it for another toolchain".into());
    if debian_has_sources() {
        return Ok(Toolchain::Debian);
    }
    if shell::is_root() {
        println!("rustup cannot; installing {} with apt-get", PACKAGES.join(" "));
        shell::install(&PACKAGES)?;
    }
    if debian_has_sources() {
        return Ok(Toolchain::Debian);
    }
    Err(format!(
        "{TARGET} cannot be built here: {rustup}. Install it with `rustup target add {TARGET}`, \
         or on Debian with `apt-get install --no-install-recommends {}`",
        PACKAGES.join(" ")
    ))
}

fn rustup_has_target() -> bool {
    let mut compiler = program_at_root("rustc");
    compiler.args(["--print", "target-libdir", "--target", TARGET]);
    // rustc names the directory whether or not it is there.
    output(&mut compiler).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
}

fn debian_has_sources() -> bool {
    let mut compiler = program_at_root(DEBIAN_COMPILER);
    compiler.args(["--print", "sysroot"]);
    output(&mut compiler).is_ok_and(|sysroot| {
        Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/alloc").is_dir()
    })
}
