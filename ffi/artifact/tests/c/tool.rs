//! What watches the programs while they run: a sanitizer that is built into library and program,
//! or valgrind around both.
//!
//! Chosen by `MILEPOST_TOOL`, so that every test of the interface is a test under every tool and
//! none is written twice. Without it nothing watches, and the library is the shared one.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What watches
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tool {
    /// Nothing
    None,
    /// `address`: AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer
    Address,
    /// `thread`: ThreadSanitizer, with a standard library that is built for it
    Thread,
    /// `valgrind`: its memcheck
    Valgrind,
}

impl Tool {
    /// The one that is asked for
    pub(crate) fn chosen() -> Self {
        let name = env::var("MILEPOST_TOOL").unwrap_or_default();
        match name.as_str() {
            "" => Self::None,
            "address" => Self::Address,
            "thread" => Self::Thread,
            "valgrind" => Self::Valgrind,
            unknown => panic!("MILEPOST_TOOL is `{unknown}`: address, thread or valgrind expected"),
        }
    }

    /// Prepares the building of the library; the directory, below that of the target, where it goes
    pub(crate) fn prepare(self, build: &mut Command, target: &Path) -> Option<PathBuf> {
        let sanitizer = match self {
            Self::None | Self::Valgrind => return None,
            Self::Address => "address",
            Self::Thread => "thread",
        };
        let host = host();
        let own = target.join(sanitizer);
        // The sanitizers of the compiler are not stable; what they find is.
        build.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
        build.args(["--target", &host, "--target-dir"]).arg(&own);
        if self == Self::Thread {
            // A lock whose code is not watched orders nothing, and every use of it would be a race.
            build.arg("-Zbuild-std");
        }
        Some(own.join(host))
    }

    /// The compilers that know the sanitizer; those of Debian have its runtime in a package
    pub(crate) fn compilers(self, is_cpp: bool) -> &'static [&'static str] {
        match (self, is_cpp) {
            (Self::None | Self::Valgrind, false) => &["cc"],
            (Self::None | Self::Valgrind, true) => &["c++"],
            (Self::Address | Self::Thread, false) => &["clang-22"],
            (Self::Address | Self::Thread, true) => &["clang++-22"],
        }
    }

    /// Arguments of the compiler: how to watch, and the library in this directory
    pub(crate) fn arguments(self, library: &Path) -> Vec<String> {
        let watch: &[&str] = match self {
            Self::None | Self::Valgrind => {
                let place = library.display();
                let run_path = format!("-Wl,-rpath,{place}");
                return vec![
                    format!("-L{place}"),
                    "-lmilepost".into(),
                    run_path,
                    "-lpthread".into(),
                ];
            }
            Self::Address => &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
            Self::Thread => &["-fsanitize=thread"],
        };
        let library = library.join("libmilepost.a").display().to_string();
        let system = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];
        let all = watch.iter().map(ToString::to_string).chain([library]);
        all.chain(system.iter().map(ToString::to_string)).collect()
    }

    /// What to run: the program, or a script beside it that runs it under the tool
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
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&script, may_run).expect("a script may run");
        script
    }
}

/// The machine that the compiler builds for by itself
fn host() -> String {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("-vV").output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("the compiler says for which machine it builds").to_owned()
}

/// Whether a source is one of C++
pub(crate) fn is_cpp(source: &Path) -> bool {
    source.extension() == Some(OsStr::new("cpp"))
}
