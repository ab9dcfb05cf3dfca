//! Compilers for targets that this machine cannot run.
//!
//! The target comes from rustup, and so do the sources of the standard library where it is built as well.
//! Where rustup's servers cannot be reached, Debian's compiler for the web brings the sources; it is
//! installed when this runs as root on a machine with apt. Where neither works, the step fails
//! and says what to install: a proof that did not run is no proof.

use std::path::Path;
use std::process::Command;

use crate::shell::{self, output, program_at_root};

/// Debian's packages: a compiler, the library's sources, and the linker of the target
const PACKAGES: [&str; 4] = ["rustc-web", "rust-web-src", "rust-web-llvm", "lld-22"];

const DEBIAN_COMPILER: &str = "/usr/bin/rustc";

/// How a target is built
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Toolchain {
    /// With what rustup installs
    Rustup,
    /// With Debian's compiler, and its sources of the standard library
    Debian,
}

/// What rustup has to have for a target
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// The library as it comes for the target
    Library(&'static str),
    /// The sources of the library
    Sources,
}

impl Toolchain {
    /// The toolchain for what is wanted, installed if it has to be
    pub(crate) fn find(wanted: Wanted) -> Result<Self, String> {
        if wanted.is_installed() {
            return Ok(Self::Rustup);
        }
        let (name, words) = match wanted {
            Wanted::Library(target) => (target, ["target", "add", target]),
            Wanted::Sources => ("rust-src", ["component", "add", "rust-src"]),
        };
        println!("{name} is not installed; asking rustup for it");
        let asked = output(program_at_root("rustup").args(words));
        if wanted.is_installed() {
            return Ok(Self::Rustup);
        }
        let installed = || "rustup installed it for another toolchain".into();
        let rustup = asked.err().unwrap_or_else(installed);
        if debian_has_sources() {
            return Ok(Self::Debian);
        }
        if shell::is_root() {
            println!("rustup cannot; installing {} with apt-get", PACKAGES.join(" "));
            shell::install(&PACKAGES)?;
        }
        if debian_has_sources() {
            return Ok(Self::Debian);
        }
        Err(format!(
            "{name} is not to be had here: {rustup}. Install it with `rustup {}`, \
             or on Debian with `apt-get install --no-install-recommends {}`",
            words.join(" "),
            PACKAGES.join(" ")
        ))
    }

    /// Makes a `cargo` use this toolchain; Debian's builds `parts` of the library
    pub(crate) fn prepare(self, command: &mut Command, parts: &str) {
        if self == Self::Debian {
            command.env("RUSTC", DEBIAN_COMPILER).env_remove("RUSTUP_TOOLCHAIN");
            Self::build_library(command, parts);
        }
    }

    /// A directory for what this compiler builds: two in one would take turns in throwing each other's
    /// work away
    pub(crate) const fn target_name(self) -> &'static str {
        match self {
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }

    /// Makes a `cargo` build `parts` of the standard library
    pub(crate) fn build_library(command: &mut Command, parts: &str) {
        // The compilers are stable ones; this lets them build the library from its sources.
        command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", &format!("build-std={parts}")]);
    }
}

impl Wanted {
    fn is_installed(self) -> bool {
        match self {
            Self::Library(target) => {
                let mut compiler = program_at_root("rustc");
                compiler.args(["--print", "target-libdir", "--target", target]);
                // rustc names the directory whether or not it is there.
                output(&mut compiler).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
            }
            Self::Sources => has_sources(program_at_root("rustc"), "library/std"),
        }
    }
}

fn debian_has_sources() -> bool {
    has_sources(program_at_root(DEBIAN_COMPILER), "library/alloc")
}

/// Whether a compiler finds the sources of this part of the library
fn has_sources(mut compiler: Command, part: &str) -> bool {
    compiler.args(["--print", "sysroot"]);
    output(&mut compiler).is_ok_and(|sysroot| {
        Path::new(sysroot.trim()).join("lib/rustlib/src/rust").join(part).is_dir()
    })
}
