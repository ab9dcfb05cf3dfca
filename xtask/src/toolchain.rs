//! Compilers for targets that this machine cannot run.
//!
//! A target comes from rustup, and so do the sources of the standard library where it is built as
//! well. Where rustup's servers cannot be reached, Debian's compiler for the web has the sources.
//! This file finds what is there; `setup.rs` installs what is not. Without either, the step fails:
//! a proof that did not run is no proof.

use std::path::Path;
use std::process::Command;

use crate::shell::{output, program_at_root};

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
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Wanted {
    /// The library as it comes for the target
    Library(&'static str),
    /// The sources of the library
    Sources,
    /// The newest compiler, with Miri
    Nightly,
    /// Clippy and the formatter
    Lints,
}

impl Toolchain {
    /// The toolchain that has what is wanted
    ///
    /// # Errors
    ///
    /// When neither rustup nor Debian has it, with the command that installs it.
    pub(crate) fn find(wanted: Wanted) -> Result<Self, String> {
        if wanted.is_installed() {
            Ok(Self::Rustup)
        } else if wanted.is_in_debian()
            && has_sources(program_at_root(DEBIAN_COMPILER), "library/alloc")
        {
            Ok(Self::Debian)
        } else {
            let words = wanted.rustup_arguments().join(" ");
            Err(format!("not installed: `rustup {words}` or `cargo xtask setup` installs it"))
        }
    }

    /// Makes a `cargo` use this toolchain; Debian's builds `parts` of the library
    pub(crate) fn prepare(self, command: &mut Command, parts: &str) {
        if self == Self::Debian {
            command.env("RUSTC", DEBIAN_COMPILER).env_remove("RUSTUP_TOOLCHAIN");
            // Clippy's driver has another version.
            command.env_remove("RUSTC_WORKSPACE_WRAPPER");
            Self::build_library(command, parts);
        }
    }

    /// Makes a `cargo` build `parts` of the standard library
    pub(crate) fn build_library(command: &mut Command, parts: &str) {
        // The compilers are stable ones; this lets them build the library from its sources.
        command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", &format!("build-std={parts}")]);
    }
}

impl Wanted {
    /// Whether Debian's compiler serves as well
    pub(crate) fn is_in_debian(self) -> bool {
        match self {
            Self::Library(target) => target.starts_with("wasm32"),
            Self::Sources => true,
            Self::Nightly | Self::Lints => false,
        }
    }

    /// What rustup is called with to install this
    pub(crate) fn rustup_arguments(self) -> Vec<&'static str> {
        match self {
            Self::Library(target) => vec!["target", "add", target],
            Self::Sources => vec!["component", "add", "rust-src"],
            Self::Lints => vec!["component", "add", "clippy", "rustfmt"],
            Self::Nightly => {
                let install =
                    "toolchain install nightly --profile minimal --component miri,rust-src";
                install.split(' ').collect()
            }
        }
    }

    /// Whether rustup's toolchain has it
    pub(crate) fn is_installed(self) -> bool {
        match self {
            Self::Library(target) => {
                let mut compiler = program_at_root("rustc");
                compiler.args(["--print", "target-libdir", "--target", target]);
                // rustc names the directory whether or not it is there.
                output(&mut compiler).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
            }
            Self::Sources => has_sources(program_at_root("rustc"), "library/std"),
            Self::Lints => ["clippy-driver", "rustfmt"]
                .iter()
                .all(|program| output(program_at_root(program).arg("--version")).is_ok()),
            Self::Nightly => {
                output(program_at_root("cargo").args(["+nightly", "miri", "--version"])).is_ok()
            }
        }
    }
}

/// Whether a compiler finds the sources of this part of the library
fn has_sources(mut compiler: Command, part: &str) -> bool {
    compiler.args(["--print", "sysroot"]);
    output(&mut compiler).is_ok_and(|sysroot| {
        Path::new(sysroot.trim()).join("lib/rustlib/src/rust").join(part).is_dir()
    })
}
