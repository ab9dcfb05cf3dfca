//! Installs what C and C++ programs need below a prefix: headers, both libraries, and the files by
//! which pkg-config and CMake find them.
//!
//! Paths in the files are relative to the tree, which may be moved or packed as a whole. The static
//! library is made of one object whose only global symbols are those of the interface, so a program
//! can link another Rust library beside it. For Linux; elsewhere names and tools differ.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::shell::{cargo, output, program_at_root, root, run};

/// Libraries of the system that the static library needs: `rustc --print native-static-libs` for
/// Linux with the GNU library, without the C library, which compilers link anyway
const SYSTEM_LIBRARIES: [&str; 6] = ["gcc_s", "util", "rt", "pthread", "m", "dl"];

/// How the global symbols of the static library begin
const SYMBOLS: &str = "milepost_";

/// The line of the header that says whether the library has `milepost_engine_open`
const HAS_STORE: &str = "#define MILEPOST_HAS_STORE ";

/// The first programs in C and C++, and the blocks that they read
const EXAMPLES: [&str; 3] =
    ["bindings/c/answer.c", "bindings/cpp/examples/answer.cpp", "core/blocks.jsonl"];

const HELP: &str = "\
cargo xtask install --prefix DIR [OPTION ..]

Builds the libraries for C and C++ and installs them with headers, pkg-config files and a CMake package.

  --prefix DIR       below which to install, such as /usr/local
  --libdir DIR       where the libraries go, below the prefix; default lib, on some systems lib64 or
                     lib/x86_64-linux-gnu
  --destdir DIR      write to DIR/PREFIX, for packages; default the environment variable DESTDIR
  --target TRIPLE    build for another machine with Linux and glibc, such as
                     aarch64-unknown-linux-gnu, with the tools of its binutils
  --no-store         leave out milepost_engine_open; MILEPOST_HAS_STORE is 0 then
  --target-dir DIR   where cargo builds
  --debug            build without optimisation
  --help             print this text

The libraries have no debug information; that of the shared one is in the file beside it that ends in
`.debug`, where debuggers find it.";

/// What is asked for
struct Plan {
    /// Where to write: the prefix, below the destination of a package
    prefix: PathBuf,
    /// Directory of the libraries, from the prefix
    libdir: PathBuf,
    /// Where cargo builds
    target: PathBuf,
    profile: &'static str,
    /// The machine to build for, if it is another one
    triple: Option<String>,
    has_store: bool,
}

/// Installs; `HELP` lists the options
pub(crate) fn run_with(arguments: &[&str]) -> Result<(), String> {
    if arguments.iter().any(|word| ["--help", "-h", "help"].contains(word)) {
        println!("{HELP}");
        return Ok(());
    }
    if !cfg!(target_os = "linux") {
        return Err("`install` knows only how libraries are named and linked on Linux".into());
    }
    let plan = Plan::read(arguments)?;
    let built = plan.build()?;
    let (version, abi) = (env!("CARGO_PKG_VERSION"), abi_version());
    let (include, lib) = (plan.prefix.join("include"), plan.prefix.join(&plan.libdir));
    let header = root().join("include/milepost.h");
    let header = fs::read_to_string(&header).map_err(|error| failed(&header, &error))?;
    let present = format!("{HAS_STORE}1");
    if !header.contains(&present) {
        return Err(format!("include/milepost.h has no line `{present}`"));
    }
    let own = format!("{HAS_STORE}{}", u8::from(plan.has_store));
    write(&include.join("milepost.h"), header.replace(&present, &own).as_bytes())?;
    copy(&root().join("bindings/cpp/include/milepost.hpp"), &include)?;
    for header in list(&root().join("bindings/cpp/include/milepost"))? {
        copy(&header, &include.join("milepost"))?;
    }

    for example in EXAMPLES {
        copy(&root().join(example), &plan.prefix.join("share/milepost"))?;
    }

    let shared = format!("libmilepost.so.{version}");
    copy_as(&built.join("libmilepost.so"), &lib, &shared)?;
    plan.strip(&lib, &shared)?;
    for name in [format!("libmilepost.so.{abi}"), "libmilepost.so".into()] {
        let link = lib.join(name);
        let _ = fs::remove_file(&link);
        symlink(&shared, &link).map_err(|error| failed(&link, &error))?;
    }
    println!("makes {}", lib.join("libmilepost.a").display());
    plan.localize(&built.join("libmilepost.a"), &lib.join("libmilepost.a"))?;

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
            .replace("@UP@", &"../".repeat(plan.libdir.components().count()))
            .replace("@LIBDIR@", &plan.libdir.to_string_lossy())
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
        let (mut libdir, mut triple, mut has_store) = (PathBuf::from("lib"), None, true);
        let mut destination = std::env::var_os("DESTDIR").map(PathBuf::from);
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let mut target = root().join(target.unwrap_or_else(|| "target".into()));
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().ok_or_else(|| format!("{word} needs a value"));
            let absolute = |value: &str| {
                std::path::absolute(value).map_err(|error| format!("{value}: {error}"))
            };
            match *word {
                "--prefix" => prefix = Some(absolute(value()?)?),
                "--libdir" => libdir = value()?.into(),
                "--destdir" => destination = Some(absolute(value()?)?),
                "--target" => triple = Some(value()?.to_owned()),
                "--target-dir" => target = absolute(value()?)?,
                "--no-store" => has_store = false,
                "--debug" => profile = "debug",
                _ => return Err(format!("`install` has no option `{word}`; see `--help`")),
            }
        }
        let prefix = prefix.ok_or("`install` needs `--prefix DIR`: where to install")?;
        let libdir = libdir.strip_prefix(&prefix).map(Path::to_owned).unwrap_or(libdir);
        if !libdir.components().all(|part| matches!(part, Component::Normal(_)))
            || libdir.as_os_str().is_empty()
        {
            return Err(format!("--libdir {} is not below the prefix", libdir.display()));
        }
        if let Some(other) = triple.as_ref().filter(|triple| !triple.ends_with("-linux-gnu")) {
            return Err(format!("--target {other} is not Linux with glibc"));
        }
        let destination = destination.filter(|path| !path.as_os_str().is_empty());
        let below_root = prefix.strip_prefix("/").map(Path::to_owned);
        let prefix = match (destination, below_root) {
            (Some(destination), Ok(below_root)) => destination.join(below_root),
            _ => prefix,
        };
        Ok(Self { prefix, libdir, target, profile, triple, has_store })
    }

    /// Builds both libraries and returns their directory
    fn build(&self) -> Result<PathBuf, String> {
        let mut build = cargo("build -p milepost-capi --target-dir");
        build.arg(&self.target);
        let mut built = self.target.clone();
        if let Some(triple) = &self.triple {
            build.arg("--target").arg(triple);
            built = built.join(triple);
        }
        if !self.has_store {
            build.arg("--no-default-features");
        }
        if self.profile == "release" {
            build.arg("--release").env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
        }
        run(&mut build)?;
        Ok(built.join(self.profile))
    }

    /// A program of the binutils, for the machine that is built for
    fn tool(&self, name: &str) -> Command {
        let machine = self.triple.as_deref().and_then(|triple| triple.split('-').next());
        match machine {
            Some(machine) if machine != std::env::consts::ARCH => {
                program_at_root(format!("{machine}-linux-gnu-{name}"))
            }
            _ => program_at_root(name),
        }
    }

    /// Moves the debug information of a library to a file beside it
    fn strip(&self, lib: &Path, library: &str) -> Result<(), String> {
        let (path, debug) = (lib.join(library), lib.join(format!("{library}.debug")));
        println!("strips {}", path.display());
        output(self.tool("objcopy").arg("--only-keep-debug").arg(&path).arg(&debug))?;
        let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
        link.push(&debug);
        output(self.tool("objcopy").arg("--strip-unneeded").arg(link).arg(&path)).map(drop)
    }

    /// Writes a library of one object without debug information, whose global symbols are those of
    /// the interface alone
    fn localize(&self, library: &Path, made: &Path) -> Result<(), String> {
        let object = made.with_extension("o");
        let symbols = output(self.tool("nm").args(["-g", "--defined-only"]).arg(library))?;
        let symbols = symbols.lines().filter_map(|line| line.split(' ').nth(2));
        let mut link = self.tool("ld");
        // A linker keeps one of several groups of the same name, but after this the symbols in them
        // differ, so groups are resolved here. Unused sections are left to the program's linker:
        // if this one removed them, their weak references would stay behind as strong ones.
        link.args(["-r", "--force-group-allocation", "-o"]).arg(&object);
        for symbol in symbols.filter(|symbol| symbol.starts_with(SYMBOLS)) {
            link.arg(format!("--undefined={symbol}"));
        }
        output(link.arg(library))?;
        let keep = format!("--keep-global-symbol={SYMBOLS}*");
        let mut narrow = self.tool("objcopy");
        // Rust's own library has its parts as bitcode too, for compilers. Joined, they are not
        // valid bitcode, and linkers with LLVM's plugin fail on them.
        narrow.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd", "--strip-debug"]);
        narrow.args(["--wildcard", &keep]);
        output(narrow.arg(&object))?;
        let _ = fs::remove_file(made);
        output(self.tool("ar").arg("crs").arg(made).arg(&object))?;
        fs::remove_file(&object).map_err(|error| failed(&object, &error))
    }
}

/// The part of the version in the name of the shared library: versions that share it are compatible
fn abi_version() -> String {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    if major == "0" { format!("0.{minor}") } else { major.to_owned() }
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
