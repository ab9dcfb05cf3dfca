//! Installs what the other commands need, and is the only place that installs anything. A command
//! that builds a product installs no compiler and no program: it names those that are missing.
//!
//! A part whose needs are met costs some calls of `--version`. Debian's packages are installed when
//! this runs as root on a machine with apt; elsewhere the error names them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root};
use crate::toolchain::{Toolchain, Wanted};

/// What commands need, by the name of the part: a package of Debian, or after a colon what another
/// installer has
#[rustfmt::skip]
const PARTS: [(&str, &str); 21] = [
    ("allocator", "make"),
    ("lints", "rust:lints"),
    ("no_std", "target:wasm32v1-none"),
    ("sources", "rust:sources"),
    ("gate", "valgrind"),
    ("npm", "nodejs npm target:wasm32-unknown-unknown modules:bindings/js"),
    ("page", "nodejs npm modules:node/page"),
    ("browser", "chromium"),
    ("bundlers", "nodejs npm modules:bindings/js/servers"),
    ("clients", "nodejs npm modules:node/testing/clients python3-venv python:node/testing/clients \
        openjdk-17-jre-headless maven jars:node/testing/clients"),
    ("text", "nodejs npm modules:xtask/text python3-venv python:xtask/text"),
    ("c", "gcc g++ binutils cmake make pkg-config clang-22 libclang-rt-22-dev valgrind abigail-tools"),
    ("fuzz", "g++ cargo:cargo-fuzz@0.13"),
    ("mutants", "cargo:cargo-mutants@27"),
    ("cassandra", "openjdk-17-jre-headless maven jars:node/testing"),
    ("api", "rust:nightly cargo:cargo-public-api@0.52"),
    ("supply", "rust:nightly cargo:cargo-deny@0.20"),
    ("platforms", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-i686-linux-gnu \
        libc6-dev-i386-cross libc6-i386 gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user \
        musl-tools rust:nightly target:aarch64-unknown-linux-gnu target:i686-unknown-linux-gnu \
        target:s390x-unknown-linux-gnu target:x86_64-unknown-linux-musl target:thumbv7em-none-eabi"),
    ("image", "buildah ca-certificates musl-tools target:x86_64-unknown-linux-musl"),
    ("curl", "curl"),
    ("tools", "strace wrk"),
];

/// Programs of packages that have another name, by which they are found on every system; other
/// packages are there when `NAME --version` succeeds, or dpkg says so
const PROBES: [(&str, &str); 9] = [
    ("abigail-tools", "abidw --version"),
    ("binutils", "objcopy --version"),
    ("chromium", "${CHROMIUM:-/usr/bin/chromium} --version"),
    ("g++", "c++ --version"),
    ("gcc", "cc --version"),
    ("maven", "mvn --version"),
    ("nodejs", "node --version"),
    ("python3-venv", "python3 -c 'import ensurepip, venv'"),
    // It prints its version together with its help, and fails.
    ("wrk", "command -v wrk"),
];

/// Debian's compiler, the library's sources, and the linker of the target
const DEBIAN_TOOLCHAIN: [&str; 4] = ["rustc-web", "rust-web-src", "rust-web-llvm", "lld-22"];

/// Installs what is missing of the parts with these names
///
/// # Errors
///
/// When a name is not that of a part, or something is still missing at the end.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    let mut needs = needs(names)?;
    needs.retain(|need| !need.is_met());
    if needs.is_empty() {
        return Ok(());
    }
    println!("setup: installs {needs:?} for {}", names.join(", "));
    // One call of apt for all, because it reads the list of packages each time.
    let package = |need: &Need| if let Need::Package(name) = need { Some(*name) } else { None };
    let packages: Vec<&str> = needs.iter().filter_map(package).collect();
    if !packages.is_empty() && is_root() {
        install_packages(&packages)?;
    }
    needs.iter().try_for_each(Need::install)?;
    needs.retain(|need| !need.is_met());
    if needs.is_empty() { Ok(()) } else { Err(format!("still missing: {needs:?}")) }
}

/// Fails if a compiler, a program or a library of the parts with these names is missing, and
/// installs what goes into the repository alone: for commands that build a product
///
/// # Errors
///
/// What is missing, with the command that installs it.
pub(crate) fn require(names: &[&str]) -> Result<(), String> {
    let missing = |need: &Need| !matches!(need, Need::Listed(..)) && !need.is_met();
    let missing: Vec<Need> = needs(names)?.into_iter().filter(missing).collect();
    if missing.is_empty() {
        return run(names);
    }
    Err(format!("not installed: {missing:?}; `cargo xtask setup {}` installs it", names.join(" ")))
}

/// What the parts with these names need
fn needs(names: &[&str]) -> Result<BTreeSet<Need>, String> {
    let mut needs = BTreeSet::new();
    for name in names {
        let part = PARTS.iter().find(|(part, _)| part == name);
        let (_, part) = part.ok_or_else(|| {
            let names = PARTS.map(|(name, _)| name).join(", ");
            format!("`setup` has no part `{name}`; there are {names}")
        })?;
        needs.extend(part.split_whitespace().map(Need::read));
    }
    Ok(needs)
}

/// Something that is there or has to be installed
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Need {
    /// A package of Debian
    Package(&'static str),
    /// A toolchain that has this
    Toolchain(Wanted),
    /// A subcommand of cargo, from the package of its name in this version
    Subcommand(&'static str, &'static str),
    /// What a file in this folder lists, for this installer
    Listed(&'static str, &'static str),
}

impl Need {
    /// Reads a word of [`PARTS`]
    fn read(word: &'static str) -> Self {
        match word.split_once(':') {
            None => Self::Package(word),
            Some(("target", name)) => Self::Toolchain(Wanted::Library(name)),
            Some(("rust", "lints")) => Self::Toolchain(Wanted::Lints),
            Some(("rust", "sources")) => Self::Toolchain(Wanted::Sources),
            Some(("rust", _)) => Self::Toolchain(Wanted::Nightly),
            Some(("cargo", program)) => {
                let (name, version) = program.split_once('@').unwrap_or((program, "*"));
                Self::Subcommand(name, version)
            }
            Some((installer, folder)) => Self::Listed(folder, installer),
        }
    }

    fn is_met(&self) -> bool {
        let succeeds = |line: &str| output(Command::new("sh").args(["-c", line])).is_ok();
        match self {
            Self::Package(name) => match PROBES.iter().find(|(package, _)| package == name) {
                Some((_, probe)) => succeeds(probe),
                None => succeeds(&format!("{name} --version || dpkg --status {name}")),
            },
            Self::Subcommand(name, _) => {
                succeeds(&format!("{} --version", name.replacen('-', " ", 1)))
            }
            Self::Toolchain(wanted) => Toolchain::find(*wanted).is_ok(),
            Self::Listed(folder, installer) => place(folder, installer).is_ok_and(|place| {
                let wanted = fs::read(list(folder, installer)).ok();
                wanted.is_some() && fs::read(place.join(INSTALLED)).ok() == wanted
            }),
        }
    }

    /// Installs it, except a package of Debian
    fn install(&self) -> Result<(), String> {
        match self {
            Self::Package(_) => Ok(()),
            Self::Toolchain(wanted) => install_toolchain(*wanted),
            Self::Subcommand(name, version) => {
                let install = format!("install --locked {name} --version ^{version}");
                shell::run(cargo(&install).env_remove("CARGO_TARGET_DIR"))
            }
            Self::Listed(folder, installer) => install_listed(folder, installer),
        }
    }
}

/// The copy of the list of packages that a place has, which is written last
const INSTALLED: &str = "installed.txt";

/// The list of packages in a folder
fn list(folder: &str, installer: &str) -> PathBuf {
    let name = match installer {
        "modules" => "package-lock.json",
        "python" => "requirements.txt",
        _ => "pom.xml",
    };
    root().join(folder).join(name)
}

/// Where the packages of a list are; except modules, not in its folder, which checks read
fn place(folder: &str, installer: &str) -> Result<PathBuf, String> {
    match installer {
        "modules" => Ok(root().join(folder).join("node_modules")),
        _ => Ok(shell::target()?.join(installer).join(folder)),
    }
}

fn install_listed(folder: &str, installer: &str) -> Result<(), String> {
    let (list, place) = (list(folder, installer), place(folder, installer)?);
    // Packages of other versions would be loaded too.
    let _ = fs::remove_dir_all(&place);
    match installer {
        "modules" => {
            let mut npm = program_at_root("npm");
            shell::run(npm.args(["--prefix", folder, "ci", "--no-audit", "--no-fund"]))?;
        }
        "python" => {
            shell::run(program_at_root("python3").args(["-m", "venv"]).arg(&place))?;
            let mut pip = program_at_root(place.join("bin/pip"));
            shell::run(pip.args(["install", "--quiet", "--requirement"]).arg(&list))?;
        }
        _ => {
            let mut maven = program_at_root("mvn");
            maven.args(["--batch-mode", "--quiet", "--file"]).arg(&list);
            maven.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
            shell::run(maven.arg(format!("-DoutputDirectory={}", place.display())))?;
        }
    }
    let copied = fs::copy(&list, place.join(INSTALLED));
    copied.map(drop).map_err(|error| format!("{}: {error}", list.display()))
}

/// The environment of the Python packages that a folder lists
pub(crate) fn python_environment(folder: &str) -> Result<PathBuf, String> {
    place(folder, "python")
}

/// The folder of the jars that a folder lists
pub(crate) fn jars(folder: &str) -> Result<PathBuf, String> {
    place(folder, "jars")
}

fn install_packages(packages: &[&str]) -> Result<(), String> {
    let apt = |words: &[&str]| {
        let mut apt = program_at_root("apt-get");
        shell::run(apt.env("DEBIAN_FRONTEND", "noninteractive").args(words))
    };
    let install = || apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat());
    // A new machine has no list of packages, and an old one names versions that are gone.
    install().or_else(|_| apt(&["update"]).and_then(|()| install()))
}

/// Adds to rustup's toolchain, or where rustup cannot, installs Debian's compiler, which has the
/// sources of the standard library
fn install_toolchain(wanted: Wanted) -> Result<(), String> {
    let Err(error) = shell::run(program_at_root("rustup").args(wanted.rustup_arguments())) else {
        return Ok(());
    };
    println!("setup: rustup cannot install it ({error})");
    if wanted.is_in_debian() && is_root() { install_packages(&DEBIAN_TOOLCHAIN) } else { Ok(()) }
}

pub(crate) fn is_root() -> bool {
    output(program_at_root("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Whether each of these is the name of a part
#[cfg(test)]
pub(crate) fn are_parts(names: &[&str]) -> bool {
    names.iter().all(|name| PARTS.iter().any(|(part, _)| part == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_there() {
        for need in PARTS.iter().flat_map(|(_, part)| part.split_whitespace()).map(Need::read) {
            if let Need::Listed(folder, installer) = need {
                assert!(list(folder, installer).is_file(), "{need:?}");
            }
        }
    }

    #[test]
    fn unknown_parts_are_refused() {
        assert!(run(&["c", "rust"]).is_err_and(|error| error.contains("`rust`")));
    }
}
