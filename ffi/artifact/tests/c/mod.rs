//! Compiles C and C++ programs against the headers and the library, and runs them.

mod tool;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use milepost_practice::{Practice, Settings};
use milepost_tests::vectors::{self, Fixture, Vector};

pub(crate) use tool::{Tool, is_cpp};

/// The root of the repository
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate is below the root").to_owned()
}

/// Builds the libraries once, next to the running test, and returns their directory
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let tool = Tool::from_env();
        // The test command has built them, unless the tool needs another library.
        if let (Some(built), false) = (env::var_os("C_LIBRARY_FOLDER"), tool.instruments()) {
            let built = PathBuf::from(built);
            link_soname(&built);
            return built;
        }
        let test = env::current_exe().expect("the test has a path");
        // A test runs in `<target>/<profile>/deps`.
        let profile = test.parent().and_then(Path::parent).expect("the test is in a profile");
        let target = profile.parent().expect("the test is in a target directory");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "milepost-capi"]).current_dir(root());
        if profile.ends_with("release") {
            // With the types of the interface, as in a development build: they are compared with
            // those on record.
            let types = "profile.release.package.milepost-ffi.debug=2";
            build.args(["--release", "--config", types]);
        }
        let separate = tool.prepare(&mut build, target);
        if separate.is_none() {
            build.arg("--target-dir").arg(target);
        }
        run(&mut build);
        let name = profile.file_name().expect("a profile has a name");
        let directory = separate.map_or_else(|| profile.to_owned(), |target| target.join(name));
        link_soname(&directory);
        directory
    })
}

/// Creates a link with the soname of the shared library, as in an installed tree
fn link_soname(directory: &Path) {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    let name = directory.join(format!("libmilepost.so.{version}"));
    // Another test may create it at the same time.
    let created = std::os::unix::fs::symlink("libmilepost.so", &name);
    assert!(created.is_ok() || name.exists(), "{}: {created:?}", name.display());
}

/// Returns a vector and its fixture, by the name of the vector
pub(crate) fn vector(name: &str) -> (Vector, Fixture) {
    let manifest = vectors::load().expect("the manifest and its files");
    let vector = manifest.vectors.into_iter().find(|vector| vector.name == name);
    let vector = vector.unwrap_or_else(|| panic!("no vector {name}"));
    let fixture = manifest.fixtures.into_iter().find(|fixture| fixture.name == vector.fixture);
    (vector, fixture.expect("its fixture"))
}

/// Runs a program, which must succeed, and returns its output
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// Returns those of the compilers that are installed
pub(crate) fn compilers(names: &[&'static str]) -> Vec<&'static str> {
    let works = |name: &&&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let found: Vec<_> = names.iter().filter(works).copied().collect();
    for name in names.iter().filter(|name| !found.contains(name)) {
        println!("{name} is not installed: nothing is compiled with it");
    }
    assert!(!found.is_empty(), "none of {names:?} is installed");
    found
}

/// Warnings for all C and C++ of the repository
pub(crate) const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Returns a command of this compiler with strict warnings and the paths of all headers
pub(crate) fn compiler(name: &str, standard: &str) -> Command {
    let mut command = Command::new(name);
    command.arg(format!("-std={standard}")).args(STRICT);
    for headers in ["include", "bindings/cpp/include", "tests/c"] {
        command.arg("-I").arg(root().join(headers));
    }
    command
}

/// Compiles a C or C++ program, by the extension of its source, and links it with the library
pub(crate) fn program(source: &Path, directory: &Path) -> PathBuf {
    let standard = if is_cpp(source) { "c++17" } else { "c99" };
    let compiler = compilers(Tool::from_env().compilers(is_cpp(source)))[0];
    program_by(compiler, standard, &[], source, directory)
}

/// Compiles a program with this compiler and standard, and links it with the library
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
    let tool = Tool::from_env();
    run(command.args(tool.arguments(library())));
    tool.wrap(program)
}

/// Writes a chain into a directory, and returns the arguments of a program that compares archives:
/// a file with the hashes of its transactions, and its blocks
pub(crate) fn archive_arguments(directory: &Path) -> Vec<PathBuf> {
    let mut practice = Practice::new(Settings::demo(3));
    let messages: Vec<_> = (0..60).map(|_| practice.next_message()).collect();
    let transactions = messages.iter().flat_map(|message| &message.transactions);
    let hashes: Vec<String> = transactions.map(|one| one.hash.to_string()).collect();
    let list = directory.join("hashes");
    fs::write(&list, hashes.join("\n")).expect("the hashes are written");
    let blocks = messages.iter().enumerate().map(|(index, message)| {
        let path = directory.join(format!("{index}.json"));
        fs::write(&path, &message.json).expect("the block is written");
        path
    });
    [list].into_iter().chain(blocks).collect()
}

/// Runs a program that watches the transaction of a vector, with its blocks
pub(crate) fn check_watch(program: &Path) {
    let (vector, fixture) = vector("wait-for-final");
    let vectors::Wait::Blocks(later) = &vector.wait else { panic!("the vector waits") };
    let request = String::from_utf8_lossy(&vector.request).into_owned();
    let hash = request.split("\"tx_hash\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let hash = hash.expect("the hash of the transaction");
    let output = run(Command::new(program).arg(hash).args(fixture.blocks.iter().chain(later)));
    let states: Vec<&str> = output.lines().collect();
    assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "a state is printed twice: {output}");
    let start = format!("{{\"transaction_hash\":\"{hash}\",\"final_execution_status\":\"");
    let milestones = states.iter().map(|state| {
        let rest = state.strip_prefix(&start).and_then(|rest| rest.split('"').next());
        rest.unwrap_or_else(|| panic!("{state} is no state"))
    });
    let mut milestones: Vec<&str> = milestones.collect();
    milestones.dedup();
    assert_eq!((milestones.first(), milestones.last()), (Some(&"NONE"), Some(&"FINAL")));
    assert!(milestones.len() > 3, "{milestones:?}");

    for arguments in [&["no-hash"][..], &[hash, "no-file"], &[hash, file!()]] {
        let failed = Command::new(program).args(arguments).current_dir(root()).output();
        let failed = failed.expect("the program runs");
        let is_reported = !failed.stderr.is_empty();
        assert!(failed.status.code() > Some(0) && is_reported, "{arguments:?}: {failed:?}");
    }
}
