//! Building programs of C and C++ against the headers and the library, and running them.

// Each test file is a program of its own, and uses some of this.
#![allow(dead_code, reason = "no test file uses all of it")]

mod tool;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub(crate) use tool::{Tool, is_cpp};

/// The root of the repository
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate stands below the root").to_owned()
}

/// Builds the libraries beside the running test, once, and says in which directory they are
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = env::current_exe().expect("the test has a path");
        // A test runs in `<target>/<profile>/deps`.
        let profile = test.parent().and_then(Path::parent).expect("the test is in a profile");
        let target = profile.parent().expect("the test is in a target directory");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "milepost-capi"]).current_dir(root());
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let own = Tool::chosen().prepare(&mut build, target);
        if own.is_none() {
            build.arg("--target-dir").arg(target);
        }
        run(&mut build);
        let name = profile.file_name().expect("a profile has a name");
        let place = own.map_or_else(|| profile.to_owned(), |own| own.join(name));
        name_the_library(&place);
        place
    })
}

/// Puts the name by which programs ask for the shared library beside it, as an installed tree has it
fn name_the_library(place: &Path) {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    let name = place.join(format!("libmilepost.so.{version}"));
    // Another test may be as far as this one.
    let made = std::os::unix::fs::symlink("libmilepost.so", &name);
    assert!(made.is_ok() || name.exists(), "{}: {made:?}", name.display());
}

/// Runs a program to its end and gives its output; it must succeed
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// The compilers that are here, of these
pub(crate) fn compilers(names: &[&'static str]) -> Vec<&'static str> {
    let works = |name: &&&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let found: Vec<_> = names.iter().filter(works).copied().collect();
    for name in names.iter().filter(|name| !found.contains(name)) {
        println!("{name} is not here: nothing is compiled with it");
    }
    assert!(!found.is_empty(), "none of {names:?} is here");
    found
}

/// The warnings under which all C of the repository compiles
pub(crate) const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A compiler with the strict warnings, the headers, and what the tests share
pub(crate) fn compiler(name: &str, standard: &str) -> Command {
    let mut command = Command::new(name);
    command.arg(format!("-std={standard}")).args(STRICT);
    for headers in ["include", "bindings/cpp/include", "tests/c"] {
        command.arg("-I").arg(root().join(headers));
    }
    command
}

/// Compiles a program, by the ending of its source, and links it with the library
pub(crate) fn program(source: &Path, directory: &Path) -> PathBuf {
    let standard = if is_cpp(source) { "c++17" } else { "c99" };
    let compiler = compilers(Tool::chosen().compilers(is_cpp(source)))[0];
    program_by(compiler, standard, &[], source, directory)
}

/// Compiles a program by this compiler and standard, and links it with the library
pub(crate) fn program_by(
    compiler: &str,
    standard: &str,
    arguments: &[&str],
    source: &Path,
    directory: &Path,
) -> PathBuf {
    let name = source.file_stem().expect("a source has a name");
    let program = directory.join(name);
    let mut command = self::compiler(compiler, standard);
    command.args(["-g", "-O1"]).args(arguments);
    command.arg(source).arg("-I").arg(directory).arg("-o").arg(&program);
    let tool = Tool::chosen();
    run(command.args(tool.arguments(library())));
    tool.wrap(program)
}
