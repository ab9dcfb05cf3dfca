//! Installs what the other commands need, and is the only place that installs anything.
//!
//! Needs are grouped in parts; a part whose needs are met costs some calls of `--version` and
//! nothing else. Debian's packages are installed when this runs as root on a machine with apt;
//! elsewhere the error names them. Leaves out the Rust toolchain itself and the crates, which cargo
//! fetches.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root};
use crate::toolchain::{Toolchain, Wanted};
use crate::{clients, cluster, no_std, npm, page, platforms, text};

/// What some commands need in common
struct Part {
    name: &'static str,
    about: &'static str,
    needs: &'static [Need],
}

/// Something that is there or has to be installed
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Need {
    /// A package of Debian, which is there when this command line succeeds
    Package(&'static str, &'static str),
    /// A browser: `CHROMIUM` names its program, by default Debian's
    Browser,
    /// A toolchain that has this
    Toolchain(Wanted),
    /// The standard library's sources for the compiler in use; what needs them is left out without
    OptionalSources,
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

const NODE: Need = Need::Package("nodejs", "node --version");
const NPM: Need = Need::Package("npm", "npm --version");
const MAKE: Need = Need::Package("make", "make --version");
const VALGRIND: Need = Need::Package("valgrind", "valgrind --version");
const MUSL: Need = Need::Package("musl-tools", "musl-gcc --version");
/// Compiles an empty program under a sanitizer, which needs both packages
const CLANG: &str = "clang-22 -fsanitize=address -xc /dev/null -shared -o /dev/null";

const PARTS: [Part; 17] = [
    Part {
        name: "server",
        about: "make, which builds the allocator of the server",
        needs: &[MAKE],
    },
    Part {
        name: "no_std",
        about: "a target without std, for the crates that need none",
        needs: &[Need::Toolchain(Wanted::Library(no_std::TARGET))],
    },
    Part { name: "gate", about: "valgrind, which counts instructions", needs: &[VALGRIND] },
    Part {
        name: "npm",
        about: "the package for JavaScript: Node.js, its packages, a standard library to build",
        needs: &[NODE, NPM, Need::Toolchain(Wanted::Sources), Need::NodeModules(npm::PACKAGE)],
    },
    Part {
        name: "page",
        about: "the page that the server shows: Node.js and its packages",
        needs: &[NODE, NPM, Need::NodeModules(page::PAGE)],
    },
    Part {
        name: "clients",
        about: "published clients that submit transactions: Node.js, Python and their packages",
        needs: &[
            NODE,
            NPM,
            Need::NodeModules(clients::CLIENTS),
            Need::Package("python3-venv", "python3 -c 'import ensurepip, venv'"),
            Need::PythonPackages(clients::CLIENTS),
        ],
    },
    Part {
        name: "text",
        about: "checkers of spelling, and formatters",
        needs: &[
            NODE,
            NPM,
            Need::NodeModules(text::TOOLS),
            Need::Package("python3-venv", "python3 -c 'import ensurepip, venv'"),
            Need::PythonPackages(text::TOOLS),
        ],
    },
    Part { name: "browser", about: "Chromium, for tests in a browser", needs: &[Need::Browser] },
    Part {
        name: "c",
        about: "compilers, sanitizers, valgrind and abidw, for the tests of C and C++",
        needs: &[
            Need::Package("gcc", "cc --version"),
            Need::Package("g++", "c++ --version"),
            Need::Package("binutils", "objcopy --version"),
            Need::Package("cmake", "cmake --version"),
            MAKE,
            Need::Package("pkg-config", "pkg-config --version"),
            Need::Package("clang-22", CLANG),
            Need::Package("libclang-rt-22-dev", CLANG),
            VALGRIND,
            Need::Package("abigail-tools", "abidw --version"),
            Need::OptionalSources,
        ],
    },
    Part {
        name: "fuzz",
        about: "cargo-fuzz and a compiler for libFuzzer",
        needs: &[
            Need::Package("g++", "c++ --version"),
            Need::Crate("cargo-fuzz", "^0.13", "cargo fuzz --version"),
        ],
    },
    Part {
        name: "cassandra",
        about: "Java 17, Maven and Apache Cassandra, for tests that start nodes",
        needs: &[
            Need::Package("openjdk-17-jre-headless", cluster::JAVA_17),
            Need::Package("maven", "mvn --version"),
            Need::Jars(cluster::NODES),
        ],
    },
    Part {
        name: "api",
        about: "cargo-public-api and the newest compiler, for records of public interfaces",
        needs: &[
            Need::Toolchain(Wanted::Nightly),
            Need::Crate("cargo-public-api", "^0.52", "cargo public-api --version"),
        ],
    },
    Part {
        name: "supply",
        about: "cargo-deny and the newest cargo, for what dependencies may be",
        needs: &[
            Need::Toolchain(Wanted::Nightly),
            Need::Crate("cargo-deny", "^0.20", "cargo deny --version"),
        ],
    },
    Part {
        name: "platforms",
        about: "compilers and emulators of other processors",
        needs: &[
            Need::Package("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc --version"),
            Need::Package("libc6-dev-arm64-cross", "ls /usr/aarch64-linux-gnu/include/stdio.h"),
            Need::Package("gcc-i686-linux-gnu", "i686-linux-gnu-gcc --version"),
            Need::Package("libc6-dev-i386-cross", "ls /usr/i686-linux-gnu/include/stdio.h"),
            Need::Package("libc6-i386", "ls /lib/ld-linux.so.2"),
            Need::Package("gcc-s390x-linux-gnu", "s390x-linux-gnu-gcc --version"),
            Need::Package("libc6-dev-s390x-cross", "ls /usr/s390x-linux-gnu/include/stdio.h"),
            MUSL,
            Need::Package("qemu-user", "qemu-s390x --version"),
            Need::Toolchain(Wanted::Library(platforms::TARGETS[0])),
            Need::Toolchain(Wanted::Library(platforms::TARGETS[1])),
            Need::Toolchain(Wanted::Library(platforms::TARGETS[2])),
            Need::Toolchain(Wanted::Library(platforms::TARGETS[3])),
            Need::Toolchain(Wanted::Library(platforms::TARGETS[4])),
            Need::Toolchain(Wanted::Nightly),
        ],
    },
    Part {
        name: "image",
        about: "buildah, and a compiler for static programs",
        needs: &[
            Need::Package("buildah", "buildah --version"),
            Need::Package("ca-certificates", "ls /etc/ssl/certs/ca-certificates.crt"),
            MUSL,
            Need::Toolchain(Wanted::Library(platforms::STATIC)),
        ],
    },
    Part {
        name: "strace",
        about: "strace, which records and fails the system calls of a store",
        needs: &[Need::Package("strace", "strace -V")],
    },
    Part {
        name: "wrk",
        about: "the client of the bench over HTTP",
        // It prints its version together with its help, and fails.
        needs: &[Need::Package("wrk", "sh -c 'command -v wrk'")],
    },
];

/// Debian's compiler, the library's sources, and the linker of the target
const DEBIAN_TOOLCHAIN: [&str; 4] = ["rustc-web", "rust-web-src", "rust-web-llvm", "lld-22"];

/// The parts, one line each, for the help
pub(crate) fn list() -> String {
    let lines = PARTS.map(|part| format!("      {:<10} {}", part.name, part.about));
    lines.join("\n")
}

/// Installs what is missing of the parts with these names, or of all parts
///
/// # Errors
///
/// When a name is not that of a part, or something is still missing at the end.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    let parts = choose(names)?;
    let missing = missing(&parts);
    if missing.is_empty() {
        let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
        println!("setup: nothing is missing for {}", names.join(", "));
        return Ok(());
    }
    for (part, need) in &missing {
        println!("setup: {} is missing; {} needs it: {}", need.name(), part.name, part.about);
    }
    install(&missing.iter().map(|(_, need)| *need).collect::<Vec<_>>())?;
    let errors: Vec<String> = self::missing(&parts)
        .iter()
        .filter(|(_, need)| *need != Need::OptionalSources)
        .map(|(part, need)| format!("{} (for {}): {}", need.name(), part.name, need.advice()))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(format!("still missing: {}", errors.join("; "))) }
}

/// Whether each of these is the name of a part
#[cfg(test)]
pub(crate) fn are_parts(names: &[&str]) -> bool {
    choose(names).is_ok()
}

fn choose(names: &[&str]) -> Result<Vec<&'static Part>, String> {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        return Err(format!("`setup` has no part `{unknown}`; its parts are\n{}", list()));
    }
    let is_chosen = |part: &&Part| names.is_empty() || names.contains(&part.name);
    Ok(PARTS.iter().filter(is_chosen).collect())
}

/// What is not there, each once, with the first part that needs it
fn missing(parts: &[&'static Part]) -> Vec<(&'static Part, Need)> {
    let mut missing: Vec<(&Part, Need)> = Vec::new();
    for part in parts {
        for need in part.needs {
            if missing.iter().all(|(_, other)| other != need) && !need.is_met() {
                missing.push((part, *need));
            }
        }
    }
    missing
}

fn install(needs: &[Need]) -> Result<(), String> {
    // One call of apt for all, because it reads the list of packages each time.
    let packages: BTreeSet<&str> = needs.iter().filter_map(|need| need.package()).collect();
    if !packages.is_empty() && is_root() {
        install_packages(&packages.into_iter().collect::<Vec<_>>())?;
    }
    for need in needs {
        match need {
            Need::Package(..) | Need::Browser => {}
            Need::Toolchain(wanted) => install_toolchain(*wanted)?,
            Need::OptionalSources => {
                if let Err(error) = rustup(Wanted::Sources) {
                    println!("setup: without the sources threads are not watched: {error}");
                }
            }
            Need::Crate(package, version, _) => {
                let install = format!("install --locked {package} --version {version}");
                shell::run(&mut cargo(&install))?;
            }
            Need::NodeModules(folder) => {
                let mut npm = program_at_root("npm");
                shell::run(npm.args(["--prefix", folder, "ci", "--no-audit", "--no-fund"]))?;
            }
            Need::PythonPackages(folder) => install_python_packages(folder)?,
            Need::Jars(folder) => install_jars(&root().join(folder))?,
        }
    }
    Ok(())
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

/// Installs it by rustup, or where rustup cannot, the compiler of Debian that has the sources
fn install_toolchain(wanted: Wanted) -> Result<(), String> {
    let Err(error) = rustup(wanted) else { return Ok(()) };
    if Toolchain::find(wanted).is_ok() {
        return Ok(());
    }
    println!("setup: rustup cannot install it ({error})");
    if is_root() { install_packages(&DEBIAN_TOOLCHAIN) } else { Ok(()) }
}

/// Adds to rustup's toolchain, which other projects use as well, so it says what it adds
fn rustup(wanted: Wanted) -> Result<(), String> {
    let toolchain = output(program_at_root("rustup").args(["show", "active-toolchain"]))?;
    let toolchain = toolchain.split_whitespace().next().unwrap_or("in use").to_owned();
    println!("setup: adds {} to the toolchain {toolchain} of rustup", wanted.name());
    shell::run(program_at_root("rustup").args(wanted.rustup_arguments()))?;
    if wanted.is_installed() {
        Ok(())
    } else {
        Err("rustup installed it for another toolchain".to_owned())
    }
}

pub(crate) fn is_root() -> bool {
    output(program_at_root("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

impl Need {
    fn is_met(self) -> bool {
        match self {
            Self::Package(_, probe) | Self::Crate(_, _, probe) => {
                let mut shell = Command::new("sh");
                output(shell.args(["-c", probe])).is_ok()
            }
            Self::Browser => {
                let program = std::env::var("CHROMIUM");
                let program = program.unwrap_or_else(|_| "/usr/bin/chromium".into());
                output(program_at_root(program).arg("--version")).is_ok()
            }
            Self::Toolchain(wanted) => Toolchain::find(wanted).is_ok(),
            Self::OptionalSources => Wanted::Sources.is_installed(),
            Self::NodeModules(folder) => has_modules(&root().join(folder)),
            Self::PythonPackages(folder) => has_python_packages(folder),
            Self::Jars(folder) => has_jars(&root().join(folder)),
        }
    }

    fn package(self) -> Option<&'static str> {
        match self {
            Self::Package(package, _) => Some(package),
            Self::Browser => Some("chromium"),
            _ => None,
        }
    }

    /// What it is called in messages
    fn name(self) -> String {
        match self {
            Self::Package(package, _) | Self::Crate(package, ..) => package.to_owned(),
            Self::Browser => "a browser".to_owned(),
            Self::Toolchain(wanted) => wanted.name(),
            Self::OptionalSources => Wanted::Sources.name(),
            Self::NodeModules(folder) => format!("{folder}/node_modules"),
            Self::PythonPackages(folder) => format!("the packages of {folder}/requirements.txt"),
            Self::Jars(folder) => format!("the jars of {folder}/pom.xml"),
        }
    }

    /// How a person installs it
    fn advice(self) -> String {
        match self {
            Self::Package(package, _) => format!("on Debian `apt-get install {package}`"),
            Self::Browser => {
                "on Debian `apt-get install chromium`; CHROMIUM can name another program".to_owned()
            }
            Self::Toolchain(wanted) => format!(
                "`rustup {}`, or on Debian `apt-get install --no-install-recommends {}`",
                wanted.rustup_arguments().join(" "),
                DEBIAN_TOOLCHAIN.join(" ")
            ),
            Self::Crate(package, version, _) => {
                format!("`cargo install --locked {package} --version {version}`")
            }
            Self::OptionalSources => "`rustup component add rust-src`".to_owned(),
            Self::NodeModules(folder) => format!("`npm --prefix {folder} ci`"),
            Self::PythonPackages(folder) => {
                format!("`pip install --requirement {folder}/requirements.txt` below target/python")
            }
            Self::Jars(folder) => {
                format!("`mvn dependency:copy-dependencies` in {folder}, into target/jars")
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

/// The list of what a folder has, which is written last
const INSTALLED: &str = "installed.txt";

fn has_python_packages(folder: &str) -> bool {
    let wanted = fs::read(root().join(folder).join("requirements.txt")).ok();
    let environment = python_environment(folder).ok();
    let installed = environment.and_then(|path| fs::read(path.join(INSTALLED)).ok());
    wanted.is_some() && installed == wanted
}

fn install_python_packages(folder: &str) -> Result<(), String> {
    let environment = python_environment(folder)?;
    shell::run(program_at_root("python3").args(["-m", "venv"]).arg(&environment))?;
    let list = root().join(folder).join("requirements.txt");
    let mut pip = program_at_root(environment.join("bin/pip"));
    shell::run(pip.args(["install", "--quiet", "--requirement"]).arg(&list))?;
    let copied = fs::copy(&list, environment.join(INSTALLED));
    copied.map(|_| ()).map_err(|error| format!("{}: {error}", list.display()))
}

/// The folder of jars; not beside the list of them, where checks would read its files
pub(crate) fn jars() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("jars"))
}

fn has_jars(folder: &Path) -> bool {
    let wanted = fs::read(folder.join("pom.xml")).ok();
    let installed = jars().ok().and_then(|path| fs::read(path.join(INSTALLED)).ok());
    wanted.is_some() && installed == wanted
}

fn install_jars(folder: &Path) -> Result<(), String> {
    let jars = jars()?;
    let failed = |error: std::io::Error| format!("{}: {error}", jars.display());
    // Jars of another version would be loaded too.
    match fs::remove_dir_all(&jars) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => fs::create_dir_all(&jars).map_err(failed)?,
    }
    let list = folder.join("pom.xml");
    let mut maven = program_at_root("mvn");
    maven.args(["--batch-mode", "--quiet", "--file"]).arg(&list);
    maven.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
    shell::run(maven.arg(format!("-DoutputDirectory={}", jars.display())))?;
    fs::copy(&list, jars.join(INSTALLED)).map(|_| ()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<&'static str> {
        choose(words).unwrap().iter().map(|part| part.name).collect()
    }

    #[test]
    fn parts_are_chosen_by_name_and_all_without_one() {
        assert_eq!(names(&[]).len(), PARTS.len());
        assert_eq!(names(&["c", "gate"]), ["gate", "c"]);
        assert!(choose(&["c", "rust"]).is_err_and(|error| error.contains("`rust`")));
    }

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
    fn a_need_that_two_parts_have_is_reported_once() {
        const ABSENT: Need = Need::Package("absent", "a-program-that-is-not-there");
        static ONE: Part = Part { name: "one", about: "", needs: &[ABSENT] };
        static TWO: Part =
            Part { name: "two", about: "", needs: &[ABSENT, Need::Package("sh", "true")] };
        let missing = missing(&[&ONE, &TWO]);
        assert_eq!(missing.iter().map(|(part, _)| part.name).collect::<Vec<_>>(), ["one"]);
    }
}
