//! The memory or thread checker that test programs run under: a sanitizer that library and program
//! are built with, or valgrind.
//!
//! Chosen by `MILEPOST_TOOL`, so that every test of the interface can run under every tool. Without
//! it there is no checker, and programs link the shared library.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A checker
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tool {
    /// None
    None,
    /// `address`: AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer
    Address,
    /// `thread`: ThreadSanitizer, with a standard library built for it
    Thread,
    /// `valgrind`: memcheck
    Valgrind,
}

impl Tool {
    /// Returns the tool that `MILEPOST_TOOL` names
    pub(crate) fn from_env() -> Self {
        let name = env::var("MILEPOST_TOOL").unwrap_or_default();
        match name.as_str() {
            "" => Self::None,
            "address" => Self::Address,
            "thread" => Self::Thread,
            "valgrind" => Self::Valgrind,
            unknown => panic!("MILEPOST_TOOL is `{unknown}`: address, thread or valgrind expected"),
        }
    }

    /// Returns whether the library has to be built for it
    pub(crate) fn instruments(self) -> bool {
        matches!(self, Self::Address | Self::Thread)
    }

    /// Adds to the command that builds the library; returns its target directory if it has its own
    pub(crate) fn prepare(self, build: &mut Command, target: &Path) -> Option<PathBuf> {
        let sanitizer = match self {
            Self::None | Self::Valgrind => return None,
            Self::Address => "address",
            Self::Thread => "thread",
        };
        let host = host();
        let separate = target.join(sanitizer);
        // No lints: the driver that has them optimises less.
        build.env_remove("RUSTC_WORKSPACE_WRAPPER");
        // Instrumented code is slow: this saves the programs more time than it costs the compiler.
        for package in ["milepost-protocol", "milepost", "milepost-ffi"] {
            build.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=2"));
        }
        // Sanitizers are an unstable option of the compiler.
        build.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
        build.args(["--target", &host, "--target-dir"]).arg(&separate);
        if self == Self::Thread {
            // With an uninstrumented standard library every use of a lock looks like a race.
            build.arg("-Zbuild-std");
        }
        Some(separate.join(host))
    }

    /// Compilers that support the sanitizer; Debian packages its runtime separately
    pub(crate) fn compilers(self, is_cpp: bool) -> &'static [&'static str] {
        match (self, is_cpp) {
            (Self::None | Self::Valgrind, false) => &["cc"],
            (Self::None | Self::Valgrind, true) => &["c++"],
            (Self::Address | Self::Thread, false) => &["clang-22"],
            (Self::Address | Self::Thread, true) => &["clang++-22"],
        }
    }

    /// Compiler arguments for the checker, and for the library in this directory
    pub(crate) fn arguments(self, library: &Path) -> Vec<String> {
        let sanitizer: &[&str] = match self {
            Self::None | Self::Valgrind => {
                let (library, run_path) = (
                    format!("-L{}", library.display()),
                    format!("-Wl,-rpath,{}", library.display()),
                );
                return vec![library, "-lmilepost".into(), run_path, "-lpthread".into()];
            }
            Self::Address => &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
            Self::Thread => &["-fsanitize=thread"],
        };
        let library = library.join("libmilepost.a").display().to_string();
        let system = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];
        let all = sanitizer.iter().map(ToString::to_string).chain([library]);
        all.chain(system.iter().map(ToString::to_string)).collect()
    }

    /// Returns what to run: the program, or a script that runs it under valgrind
    pub(crate) fn wrap(self, program: PathBuf) -> PathBuf {
        if self != Self::Valgrind {
            return program;
        }
        let script = program.with_extension("under-valgrind");
        let text = format!(
            "#!/bin/sh\nexec valgrind --quiet --error-exitcode=99 --leak-check=full \
             --errors-for-leak-kinds=definite,indirect \"{}\" \"$@\"\n",
            program.display()
        );
        std::fs::write(&script, text).expect("a script is written");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&script, executable).expect("a script is executable");
        script
    }
}

/// Target triple of this machine
fn host() -> String {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("-vV").output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("the compiler prints its host").to_owned()
}

/// Whether a source is C++
pub(crate) fn is_cpp(source: &Path) -> bool {
    source.extension() == Some(OsStr::new("cpp"))
}
