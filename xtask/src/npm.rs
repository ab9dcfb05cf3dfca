//! Builds and tests the npm package.
//!
//! The modules of the engine and beside it are built with a standard library that is made for
//! them: small, and without the texts of panics, which a page has no use for. Their glue is made by
//! `xtask/npm`, and everything of JavaScript by the package's own scripts, which need Node.js
//! (`cargo xtask setup npm`).

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root, run};
use crate::toolchain::{Toolchain, Wanted};
use crate::workspace::{SERVER_PROGRAM, build_programs};

/// The folder of the package
pub(crate) const PACKAGE: &str = "bindings/js";
const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the package
pub(crate) fn build() -> Result<(), String> {
    module("milepost-wasm", "", "build")?;
    module("milepost-wasm", "--features archive", "build/archive")?;
    module("milepost-wasm-verifier", "", "build/verifier")?;
    module("milepost-wasm-proof", "", "build/proof")?;
    run(node().arg("build.js"))
}

/// Builds the package and runs its tests
pub(crate) fn test() -> Result<(), String> {
    build()?;
    module("milepost-wasm", "--features test-panic", "build/panic")?;
    run(node()
        .envs(test_programs()?)
        .args(["--expose-gc", "--test", "--test-reporter=tap"])
        .args(tests()?))
}

/// Builds the server, and the feed with faults that tests follow; the variables that name them
pub(crate) fn test_programs() -> Result<[(&'static str, PathBuf); 2], String> {
    let programs = build_programs(&["milepost", "milepost-feed-server"])?;
    let feed_server = programs.join("milepost-feed-server");
    Ok([(SERVER_PROGRAM, programs.join("milepost")), ("FEED_SERVER_PROGRAM", feed_server)])
}

/// A `node` in the package
fn node() -> Command {
    let mut command = program_at_root("node");
    command.current_dir(package());
    command
}

fn package() -> PathBuf {
    root().join(PACKAGE)
}

fn tests() -> Result<Vec<PathBuf>, String> {
    let folder = package().join("test");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut tests: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    tests.sort();
    Ok(tests)
}

/// Builds the module of a crate and its glue into a folder of the package
fn module(name: &str, features: &str, folder: &str) -> Result<(), String> {
    let toolchain = Toolchain::find(Wanted::Sources)?;
    let mut command = cargo(&format!("build -p {name} --profile wasm {features}"));
    command.args(["--target", TARGET]);
    // A directory of its own: with other flags, cargo would build everything in it again in turns.
    let target = shell::target()?.join("npm").join(toolchain.target_name());
    if toolchain == Toolchain::Rustup {
        Toolchain::build_library(&mut command, PARTS);
    }
    toolchain.prepare(&mut command, PARTS);
    command.arg("-Zbuild-std-features=optimize_for_size").arg("--target-dir").arg(&target);
    command.env("RUSTFLAGS", flags()?);
    run(&mut command)?;
    let module = target.join(TARGET).join("wasm").join(name.replace('-', "_") + ".wasm");
    let mut glue = cargo("run --quiet --package xtask-npm --target-dir");
    // Not where the tests are built: this would wait until all of them are.
    run(glue.arg(target).arg("--").arg(module).arg(package().join(folder)))
}

/// What of the standard library the module is built with
const PARTS: &str = "std,panic_abort";

fn flags() -> Result<String, String> {
    let mut flags = vec![
        // A third of the code of the hashes, and no slower where it matters: signatures.
        "--cfg sha2_backend_soft=\"compact\"".to_owned(),
        // A panic is a trap, without its text and its place.
        "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none".to_owned(),
        // Limit of inlining, in place of the 5 of code that is optimised for size. With 20 the
        // module is 1.8 kB larger after gzip and a request 4 % quicker; with 30 they are 5.9 kB
        // and 10 %.
        "-Cllvm-args=-inline-threshold=10".to_owned(),
        // Cargo passes every crate of a standard library that it builds to every crate.
        "-Aunused-crate-dependencies".to_owned(),
    ];
    // The bytes of the module do not depend on where it is built.
    let cargo_home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    let sysroot = output(program_at_root("rustc").args(["--print", "sysroot"]))?;
    let places =
        [cargo_home.ok(), Some(sysroot.trim().to_owned()), Some(root().display().to_string())];
    for place in places.into_iter().flatten() {
        flags.push(format!("--remap-path-prefix={place}=."));
    }
    Ok(flags.join(" "))
}
