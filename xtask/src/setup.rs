//! Installs what the other commands need, and is the only place that installs anything.
//!
//! A part whose needs are met costs some calls of `--version`. Debian's packages are installed when
//! this runs as root on a machine with apt; elsewhere the error names them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root};
use crate::toolchain::{Toolchain, Wanted};
use crate::{clients, cluster, npm, page, platforms, test, text};

/// Something that is there or has to be installed
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Need {
    /// A package of Debian, which is there when this command line succeeds
    Package(&'static str, &'static str),
    /// A toolchain that has this
    Toolchain(Wanted),
    /// A program of this package of crates.io, in this version, which is there when this command
    /// line succeeds
    Crate(&'static str, &'static str, &'static str),
    /// The packages of the lock file in this folder
    NodeModules(&'static str),
    /// The packages of `requirements.txt` in this folder
    PythonPackages(&'static str),
    /// What `pom.xml` in this folder depends on
    Jars(&'static str),
}

use Need::{Crate, Jars, NodeModules, Package, PythonPackages};

const NODE: Need = Package("nodejs", "node --version");
const NPM: Need = Package("npm", "npm --version");
const PYTHON: Need = Package("python3-venv", "python3 -c 'import ensurepip, venv'");
const MAKE: Need = Package("make", "make --version");
const VALGRIND: Need = Package("valgrind", "valgrind --version");
const MUSL: Need = Package("musl-tools", "musl-gcc --version");
const NIGHTLY: Need = Need::Toolchain(Wanted::Nightly);
const SOURCES: Need = Need::Toolchain(Wanted::Sources);
/// Compiles an empty program under a sanitizer, which needs both packages
const CLANG: &str = "clang-22 -fsanitize=address -xc /dev/null -shared -o /dev/null";

const fn target(name: &'static str) -> Need {
    Need::Toolchain(Wanted::Library(name))
}

/// What some commands need in common, by the name of the part
#[rustfmt::skip]
const PARTS: [(&str, &[Need]); 18] = [
    ("server", &[MAKE]),
    ("lints", &[Need::Toolchain(Wanted::Lints)]),
    ("no_std", &[target(test::NO_STD)]),
    ("sources", &[SOURCES]),
    ("gate", &[VALGRIND]),
    ("npm", &[NODE, NPM, target(npm::TARGET), NodeModules(npm::PACKAGE)]),
    ("page", &[NODE, NPM, NodeModules(page::PAGE)]),
    ("browser", &[Package("chromium", "${CHROMIUM:-/usr/bin/chromium} --version")]),
    (
        "clients",
        &[NODE, NPM, NodeModules(clients::CLIENTS), PYTHON, PythonPackages(clients::CLIENTS)],
    ),
    ("text", &[NODE, NPM, NodeModules(text::TOOLS), PYTHON, PythonPackages(text::TOOLS)]),
    (
        "c",
        &[
            Package("gcc", "cc --version"),
            Package("g++", "c++ --version"),
            Package("binutils", "objcopy --version"),
            Package("cmake", "cmake --version"),
            MAKE,
            Package("pkg-config", "pkg-config --version"),
            Package("clang-22", CLANG),
            Package("libclang-rt-22-dev", CLANG),
            VALGRIND,
            Package("abigail-tools", "abidw --version"),
        ],
    ),
    (
        "fuzz",
        &[Package("g++", "c++ --version"), Crate("cargo-fuzz", "^0.13", "cargo fuzz --version")],
    ),
    (
        "cassandra",
        &[
            Package("openjdk-17-jre-headless", cluster::JAVA_17),
            Package("maven", "mvn --version"),
            Jars(cluster::NODES),
        ],
    ),
    ("api", &[NIGHTLY, Crate("cargo-public-api", "^0.52", "cargo public-api --version")]),
    ("supply", &[NIGHTLY, Crate("cargo-deny", "^0.20", "cargo deny --version")]),
    (
        "platforms",
        &[
            Package("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc --version"),
            Package("libc6-dev-arm64-cross", "ls /usr/aarch64-linux-gnu/include/stdio.h"),
            Package("gcc-i686-linux-gnu", "i686-linux-gnu-gcc --version"),
            Package("libc6-dev-i386-cross", "ls /usr/i686-linux-gnu/include/stdio.h"),
            Package("libc6-i386", "ls /lib/ld-linux.so.2"),
            Package("gcc-s390x-linux-gnu", "s390x-linux-gnu-gcc --version"),
            Package("libc6-dev-s390x-cross", "ls /usr/s390x-linux-gnu/include/stdio.h"),
            Package("qemu-user", "qemu-s390x --version"),
            MUSL,
            NIGHTLY,
            target(platforms::TARGETS[0]),
            target(platforms::TARGETS[1]),
            target(platforms::TARGETS[2]),
            target(platforms::TARGETS[3]),
            target(platforms::TARGETS[4]),
        ],
    ),
    (
        "image",
        &[
            Package("buildah", "buildah --version"),
            Package("ca-certificates", "ls /etc/ssl/certs/ca-certificates.crt"),
            MUSL,
            target(platforms::STATIC),
        ],
    ),
    (
        "tools",
        &[
            Package("strace", "strace -V"),
            // It prints its version together with its help, and fails.
            Package("wrk", "command -v wrk"),
        ],
    ),
];

/// Debian's compiler, the library's sources, and the linker of the target
const DEBIAN_TOOLCHAIN: [&str; 4] = ["rustc-web", "rust-web-src", "rust-web-llvm", "lld-22"];

/// Installs what is missing of the parts with these names
///
/// # Errors
///
/// When a name is not that of a part, or something is still missing at the end.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    let mut needs: Vec<Need> = Vec::new();
    for name in names {
        let part = PARTS.iter().find(|(part, _)| part == name);
        let (_, part) = part.ok_or_else(|| {
            let names = PARTS.map(|(name, _)| name).join(", ");
            format!("`setup` has no part `{name}`; there are {names}")
        })?;
        needs.extend(part.iter().filter(|need| !needs.contains(need)).collect::<Vec<_>>());
    }
    needs.retain(|need| !need.is_met());
    if needs.is_empty() {
        return Ok(());
    }
    println!("setup: installs {needs:?} for {}", names.join(", "));
    // One call of apt for all, because it reads the list of packages each time.
    let package = |need: &Need| if let Package(name, _) = need { Some(*name) } else { None };
    let packages: BTreeSet<&str> = needs.iter().filter_map(package).collect();
    if !packages.is_empty() && is_root() {
        install_packages(&packages.into_iter().collect::<Vec<_>>())?;
    }
    needs.iter().try_for_each(|need| need.install())?;
    needs.retain(|need| !need.is_met());
    if needs.is_empty() { Ok(()) } else { Err(format!("still missing: {needs:?}")) }
}

/// Whether each of these is the name of a part
#[cfg(test)]
pub(crate) fn are_parts(names: &[&str]) -> bool {
    names.iter().all(|name| PARTS.iter().any(|(part, _)| part == name))
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
    if Toolchain::find(wanted).is_ok() {
        return Ok(());
    }
    println!("setup: rustup cannot install it ({error})");
    if is_root() { install_packages(&DEBIAN_TOOLCHAIN) } else { Ok(()) }
}

pub(crate) fn is_root() -> bool {
    output(program_at_root("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

impl Need {
    fn is_met(&self) -> bool {
        match self {
            Package(_, probe) | Crate(_, _, probe) => {
                output(Command::new("sh").args(["-c", probe])).is_ok()
            }
            Self::Toolchain(wanted) => Toolchain::find(*wanted).is_ok(),
            NodeModules(folder) => has_modules(&root().join(folder)),
            PythonPackages(folder) => {
                is_installed(folder, "requirements.txt", python_environment(folder))
            }
            Jars(folder) => is_installed(folder, "pom.xml", jars()),
        }
    }

    /// Installs it, except a package of Debian
    fn install(&self) -> Result<(), String> {
        match self {
            Package(..) => Ok(()),
            Self::Toolchain(wanted) => install_toolchain(*wanted),
            Crate(package, version, _) => {
                let install = format!("install --locked {package} --version {version}");
                shell::run(cargo(&install).env_remove("CARGO_TARGET_DIR"))
            }
            NodeModules(folder) => {
                let mut npm = program_at_root("npm");
                shell::run(npm.args(["--prefix", folder, "ci", "--no-audit", "--no-fund"]))
            }
            PythonPackages(folder) => {
                let environment = python_environment(folder)?;
                shell::run(program_at_root("python3").args(["-m", "venv"]).arg(&environment))?;
                let mut pip = program_at_root(environment.join("bin/pip"));
                let list = root().join(folder).join("requirements.txt");
                shell::run(pip.args(["install", "--quiet", "--requirement"]).arg(&list))?;
                note(&list, &environment)
            }
            Jars(folder) => {
                let (jars, list) = (jars()?, root().join(folder).join("pom.xml"));
                // Jars of another version would be loaded too.
                let _ = fs::remove_dir_all(&jars);
                let mut maven = program_at_root("mvn");
                maven.args(["--batch-mode", "--quiet", "--file"]).arg(&list);
                maven.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
                shell::run(maven.arg(format!("-DoutputDirectory={}", jars.display())))?;
                note(&list, &jars)
            }
        }
    }
}

/// Whether the modules in a folder are those of its lock file: they were installed after it changed
fn has_modules(folder: &Path) -> bool {
    let time = |name: &str| fs::metadata(folder.join(name)).and_then(|data| data.modified()).ok();
    let lock = time("package-lock.json");
    time("node_modules/.package-lock.json").is_some_and(|done| lock.is_some_and(|it| it <= done))
}

/// The environment of the Python packages that a folder lists; not in that folder, where checks
/// would read its files
pub(crate) fn python_environment(folder: &str) -> Result<PathBuf, String> {
    Ok(shell::target()?.join("python").join(folder))
}

/// The folder of jars; not beside the list of them, where checks would read its files
pub(crate) fn jars() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("jars"))
}

/// The copy of the list of what a folder has, which is written last
const INSTALLED: &str = "installed.txt";

fn note(list: &Path, installed: &Path) -> Result<(), String> {
    let copied = fs::copy(list, installed.join(INSTALLED));
    copied.map(|_| ()).map_err(|error| format!("{}: {error}", list.display()))
}

fn is_installed(folder: &str, list: &str, installed: Result<PathBuf, String>) -> bool {
    let wanted = fs::read(root().join(folder).join(list)).ok();
    let found = installed.ok().and_then(|path| fs::read(path.join(INSTALLED)).ok());
    wanted.is_some() && found == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_there_when_they_are_no_older_than_their_lock_file() {
        let folder = std::env::temp_dir().join(format!("xtask-setup-{}", std::process::id()));
        fs::create_dir_all(folder.join("node_modules")).unwrap();
        fs::write(folder.join("package-lock.json"), "{}").unwrap();
        assert!(!has_modules(&folder));
        let done = folder.join("node_modules/.package-lock.json");
        fs::write(&done, "{}").unwrap();
        assert!(has_modules(&folder));
        let earlier = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(done).unwrap().set_modified(earlier).unwrap();
        assert!(!has_modules(&folder));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn unknown_parts_are_refused() {
        assert!(run(&["c", "rust"]).is_err_and(|error| error.contains("`rust`")));
    }
}
