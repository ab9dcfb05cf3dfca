//! Building C programs against the header and the library, and running them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

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
        build.args(["build", "--quiet", "--package", "milepost-capi", "--target-dir"]).arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        run(build.current_dir(root()));
        profile.to_owned()
    })
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

/// A compiler with the strict warnings, the header, and what the tests share
pub(crate) fn compiler(name: &str, standard: &str) -> Command {
    let mut command = Command::new(name);
    command.arg(format!("-std={standard}")).args(STRICT);
    command.arg("-I").arg(root().join("include")).arg("-I").arg(root().join("tests/c"));
    command
}

/// Compiles a program and links it with the shared library
pub(crate) fn program(source: &Path, directory: &Path) -> PathBuf {
    let name = source.file_stem().expect("a source has a name");
    let program = directory.join(name);
    let mut command = compiler(compilers(&["cc"])[0], "c99");
    command.args(["-g", "-O1"]).arg(source).arg("-I").arg(directory).arg("-o").arg(&program);
    command.arg("-L").arg(library()).args(["-lmilepost", "-lpthread"]);
    command.arg(format!("-Wl,-rpath,{}", library().display()));
    run(&mut command);
    program
}
