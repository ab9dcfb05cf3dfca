//! The npm package: built from a fresh clone, and tested.
//!
//! The engine's module is built with a standard library that is made for it: small, and without the
//! texts of panics, for which a page has no use. Its glue is made by `xtask/npm`, and everything of
//! JavaScript by the package's own scripts, which need Node.js and what `npm ci` installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root, run, watch};
use crate::toolchain::{Toolchain, Wanted};

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the package in `bindings/js`
pub(crate) fn build() -> Result<(), String> {
    provide("node", "nodejs npm", &["node", "npm"])?;
    install()?;
    module("", "build")?;
    run(node().arg("build.js"))
}

/// Builds the package and runs its tests; hands every line of their output to `each`
pub(crate) fn test(each: impl FnMut(&str)) -> Result<(), String> {
    build()?;
    browser()?;
    module("--features test-panic", "build/panic")?;
    watch(node().args(["--expose-gc", "--test", "--test-reporter=tap"]).args(tests()?), each)
}

/// Makes sure that there is a browser; `CHROMIUM` says where, by default where Debian has it
pub(crate) fn browser() -> Result<(), String> {
    let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".into());
    provide("chromium", "chromium", &[&program])
}

/// Makes sure that these programs are there, by Debian's packages where this may install them
fn provide(what: &str, packages: &str, programs: &[&str]) -> Result<(), String> {
    let is_there =
        || programs.iter().all(|program| output(program_at_root(program).arg("--version")).is_ok());
    if !is_there() && shell::is_root() {
        println!("{what} is not here; installing {packages} with apt-get");
        shell::install(&packages.split(' ').collect::<Vec<_>>())?;
    }
    if is_there() {
        return Ok(());
    }
    Err(format!("{what} is not here; on Debian `apt-get install {packages}` brings it"))
}

/// A `node` in the package
fn node() -> Command {
    let mut command = program_at_root("node");
    command.current_dir(package());
    command
}

fn package() -> PathBuf {
    root().join("bindings/js")
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

/// Installs what the package's scripts need, unless it is there as the lock says
fn install() -> Result<(), String> {
    let lock = package().join("package-lock.json");
    let done = package().join("node_modules/.package-lock.json");
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    if time(&done).is_some_and(|done| time(&lock).is_some_and(|lock| lock <= done)) {
        return Ok(());
    }
    let mut install = program_at_root("npm");
    install.current_dir(package()).args(["ci", "--no-audit", "--no-fund"]);
    run(&mut install)
}

/// Builds the engine's module and its glue into a folder of the package
fn module(features: &str, folder: &str) -> Result<(), String> {
    let toolchain = Toolchain::find(Wanted::Sources)?;
    let mut command = cargo(&format!("build -p milepost-wasm --profile wasm {features}"));
    command.args(["--target", TARGET]);
    // A directory of its own: the flags below would have everything else built anew in turns.
    let target = shell::target()?.join("npm").join(toolchain.target_name());
    if toolchain == Toolchain::Rustup {
        Toolchain::build_library(&mut command, PARTS);
    }
    toolchain.prepare(&mut command, PARTS);
    command.arg("-Zbuild-std-features=optimize_for_size").arg("--target-dir").arg(&target);
    command.env("RUSTFLAGS", flags()?);
    run(&mut command)?;
    let module = target.join(TARGET).join("wasm/milepost_wasm.wasm");
    let made = package().join(folder);
    run(cargo("run --quiet --package xtask-npm --").arg(module).arg(&made))
}

/// What of the standard library the module is built with
const PARTS: &str = "std,panic_abort";

fn flags() -> Result<String, String> {
    let mut flags = vec![
        // A third of the code of the hashes, and no slower where it matters: signatures.
        "--cfg sha2_backend_soft=\"compact\"".to_owned(),
        // A panic is a trap, without its text and its place.
        "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none".to_owned(),
        // How much code a call may be replaced by, in place of the 5 of code that is to be small: a quarter
        // quicker from request to answer, for 5 % of the size behind gzip. With 40 it is a fifth, for 1.5 %.
        "-Cllvm-args=-inline-threshold=70".to_owned(),
    ];
    // Bytes that do not depend on where they were made.
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
