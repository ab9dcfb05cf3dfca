//! Installs what C and C++ programs need below a prefix: headers, both libraries, and the files by
//! which pkg-config and CMake find them.
//!
//! Paths in the files are relative to the tree, which may be moved or packed as a whole. The static
//! library is made of one object whose only global symbols are those of the interface, so a program
//! can link another Rust library beside it. For Linux; elsewhere names and tools differ.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::shell::{cargo, output, program_at_root, root, run};

/// Libraries of the system that the static library needs: `rustc --print native-static-libs` for
/// Linux with the GNU library, without the C library, which compilers link anyway
const SYSTEM_LIBRARIES: [&str; 6] = ["gcc_s", "util", "rt", "pthread", "m", "dl"];

/// How the global symbols of the static library begin
const SYMBOLS: &str = "milepost_";

/// What is asked for
struct Plan {
    prefix: PathBuf,
    /// Where cargo builds
    target: PathBuf,
    profile: &'static str,
}

/// Installs: `--prefix DIR`, and for tests `--debug` and `--target-dir DIR`
pub(crate) fn run_with(arguments: &[&str]) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("`install` knows only how libraries are named and linked on Linux".into());
    }
    let plan = Plan::read(arguments)?;
    let built = plan.build()?;
    let (version, abi) = (env!("CARGO_PKG_VERSION"), abi_version());
    let (include, lib) = (plan.prefix.join("include"), plan.prefix.join("lib"));
    copy(&root().join("include/milepost.h"), &include)?;
    copy(&root().join("bindings/cpp/include/milepost.hpp"), &include)?;
    for header in list(&root().join("bindings/cpp/include/milepost"))? {
        copy(&header, &include.join("milepost"))?;
    }

    let shared = format!("libmilepost.so.{version}");
    copy_as(&built.join("libmilepost.so"), &lib, &shared)?;
    for name in [format!("libmilepost.so.{abi}"), "libmilepost.so".into()] {
        let link = lib.join(name);
        let _ = fs::remove_file(&link);
        symlink(&shared, &link).map_err(|error| failed(&link, &error))?;
    }
    localize(&built.join("libmilepost.a"), &lib.join("libmilepost.a"), &plan.target)?;

    let flags = SYSTEM_LIBRARIES.map(|name| format!("-l{name}")).join(" ");
    for (place, file, libraries) in [
        ("pkgconfig", "bindings/pkg-config/milepost.pc.in", flags.clone()),
        ("pkgconfig", "bindings/pkg-config/milepost-static.pc.in", flags),
        ("cmake/Milepost", "bindings/cmake/MilepostConfig.cmake.in", SYSTEM_LIBRARIES.join(";")),
        ("cmake/Milepost", "bindings/cmake/MilepostConfigVersion.cmake.in", String::new()),
    ] {
        let template = root().join(file);
        let text = fs::read_to_string(&template).map_err(|error| failed(&template, &error))?;
        let text = text
            .replace("@VERSION@", version)
            .replace("@ABI_VERSION@", &abi)
            .replace("@ABI_PATTERN@", &abi.replace('.', "\\\\."))
            .replace("@SYSTEM_LIBRARIES@", &libraries);
        let name = template.file_stem().ok_or("a template has a name")?;
        write(&lib.join(place).join(name), text.as_bytes())?;
    }
    println!("installed below {}", plan.prefix.display());
    Ok(())
}

impl Plan {
    fn read(arguments: &[&str]) -> Result<Self, String> {
        let (mut prefix, mut profile) = (None, "release");
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let mut target = root().join(target.unwrap_or_else(|| "target".into()));
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut path = || {
                let value = words.next().ok_or_else(|| format!("{word} needs a directory"))?;
                std::path::absolute(value).map_err(|error| format!("{value}: {error}"))
            };
            match *word {
                "--prefix" => prefix = Some(path()?),
                "--target-dir" => target = path()?,
                "--debug" => profile = "debug",
                _ => return Err(format!("`install` takes `--prefix DIR`, not `{word}`")),
            }
        }
        let prefix = prefix.ok_or("`install` needs `--prefix DIR`: where to install")?;
        Ok(Self { prefix, target, profile })
    }

    /// Builds both libraries and returns their directory
    fn build(&self) -> Result<PathBuf, String> {
        let mut build = cargo("build --quiet -p milepost-capi --target-dir");
        build.arg(&self.target);
        if self.profile == "release" {
            build.arg("--release");
        }
        run(&mut build)?;
        Ok(self.target.join(self.profile))
    }
}

/// The part of the version in the name of the shared library: versions that share it are compatible
fn abi_version() -> String {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    if major == "0" { format!("0.{minor}") } else { major.to_owned() }
}

/// Writes a library of one object whose global symbols are those of the interface alone
fn localize(library: &Path, made: &Path, target: &Path) -> Result<(), String> {
    let object = target.join("milepost.o");
    let symbols = output(program_at_root("nm").args(["-g", "--defined-only"]).arg(library))?;
    let symbols = symbols.lines().filter_map(|line| line.split(' ').nth(2));
    let mut link = program_at_root("ld");
    // A linker keeps one of several groups of the same name, but after this the symbols in them
    // differ, so groups are resolved here. Unused sections are left to the program's linker: if
    // this one removed them, their weak references would stay behind as strong ones.
    link.args(["-r", "--force-group-allocation", "-o"]).arg(&object);
    for symbol in symbols.filter(|symbol| symbol.starts_with(SYMBOLS)) {
        link.arg(format!("--undefined={symbol}"));
    }
    output(link.arg(library))?;
    let keep = format!("--keep-global-symbol={SYMBOLS}*");
    let mut narrow = program_at_root("objcopy");
    // Rust's own library has its parts as bitcode too, for compilers. Joined, they are not valid
    // bitcode, and linkers with LLVM's plugin fail on them.
    narrow.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd", "--wildcard", &keep]);
    output(narrow.arg(&object))?;
    let _ = fs::remove_file(made);
    output(program_at_root("ar").arg("crs").arg(made).arg(&object))?;
    fs::remove_file(&object).map_err(|error| failed(&object, &error))
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    entries.map(|entry| Ok(entry.map_err(|error| failed(directory, &error))?.path())).collect()
}

fn copy(file: &Path, directory: &Path) -> Result<(), String> {
    let name = file.file_name().ok_or("a file has a name")?.to_string_lossy();
    copy_as(file, directory, &name)
}

fn copy_as(file: &Path, directory: &Path, name: &str) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    fs::copy(file, directory.join(name)).map(drop).map_err(|error| failed(file, &error))
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let directory = file.parent().ok_or("a file is in a directory")?;
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    fs::write(file, bytes).map_err(|error| failed(file, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
