//! Builds and tests the npm package.
//!
//! The tests have modules of the development build. Those that are published have a standard
//! library that is made for them: small, and without the texts of panics, which a page has no use
//! for. `xtask/generate` makes the glue, and the package's own scripts, which need Node.js, the
//! rest.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::setup;
use crate::shell::{self, cargo, output, program_at_root, root, run};
use crate::toolchain::{Toolchain, Wanted};
use crate::workspace::{SERVER_PROGRAM, build_programs, development};

/// The folder of the package
pub(crate) const PACKAGE: &str = "bindings/js";
const TARGET: &str = "wasm32-unknown-unknown";

/// A module of the package
#[derive(Clone, Copy, Debug)]
struct Module {
    crate_name: &'static str,
    /// Further arguments of cargo
    arguments: &'static str,
    /// The folder of the module and its glue
    folder: &'static str,
}

impl Module {
    const fn new(crate_name: &'static str, arguments: &'static str, folder: &'static str) -> Self {
        Self { crate_name, arguments, folder }
    }
}

/// The engine, what checks blocks and answers, what follows feeds, and the conformance kit for
/// development
const MODULES: [Module; 4] = [
    Module::new("milepost-wasm", "", "build"),
    Module::new("milepost-wasm-verifier", "", "build/verifier"),
    Module::new("milepost-wasm-follow", "", "build/follow"),
    Module::new("milepost-wasm-kit", "", "build/kit"),
];
/// The module of the page, which checks answers alone
const PAGE: Module = Module::new("milepost-wasm-verifier", "--no-default-features", "build/page");
/// The module of a test, which panics on request; built beside the kit, without whose feature the
/// engine would be compiled again
const PANIC: Module = Module::new(
    "milepost-wasm",
    "-p milepost-wasm-kit --features internal-test-panic",
    "build/panic",
);

/// Test files that judge what is published: its size, and what browsers do with it
const OF_PUBLISHED: [&str; 2] = ["size.test.js", "chromium.test.js"];
/// The test file of bundles that are built for servers
const OF_BUNDLES: &str = "servers.test.js";

/// How modules are built
#[derive(Clone, Copy)]
enum Build {
    /// As the tests' other programs are
    Development,
    Published,
}

/// Builds the package as it is published
pub(crate) fn build() -> Result<(), String> {
    setup::require(&["npm", "sources"])?;
    build_programs(&["generate-npm"])?;
    Build::Published.modules(&MODULES)?;
    run(node().arg("build.js"))
}

/// Builds the module of the page, with its glue
pub(crate) fn build_for_page() -> Result<(), String> {
    setup::require(&["npm", "sources"])?;
    build_programs(&["generate-npm"])?;
    Build::Published.modules(&[PAGE])?;
    let files = ["build/page/module.wasm", "build/page/verifier.wasm"];
    run(node().arg("tools/optimize.js").args(files))
}

/// Builds the package from modules of the development build
pub(crate) fn build_for_tests() -> Result<(), String> {
    build_programs(&["generate-npm"])?;
    Build::Development.modules(&MODULES)?;
    run(node().arg("build.js").env("MILEPOST_UNOPTIMIZED", "1"))
}

/// Builds the package from modules of the development build, and runs its tests
pub(crate) fn test() -> Result<(), String> {
    let programs = test_programs()?;
    build_for_tests()?;
    Build::Development.modules(&[PANIC])?;
    run_tests(programs, |name| !OF_PUBLISHED.contains(&name) && name != OF_BUNDLES)
}

/// Builds the package as it is published, and runs its tests and those of its size and in a browser
pub(crate) fn test_published() -> Result<(), String> {
    build()?;
    Build::Published.modules(&[PANIC])?;
    run_tests(test_programs()?, |name| name != OF_BUNDLES)
}

/// Packs the package as it is published, and runs the bundles that are built with it for servers
pub(crate) fn test_bundles() -> Result<(), String> {
    build()?;
    run_tests(test_programs()?, |name| name == OF_BUNDLES)
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

/// Runs the test files of these names
fn run_tests(
    programs: [(&'static str, PathBuf); 2],
    is_run: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let folder = package().join("test");
    let failed = |error| format!("{}: {error}", folder.display());
    let mut tests = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.js") && is_run(&name) {
            tests.push(entry.path());
        }
    }
    tests.sort();
    // The answers of a real node, where the shared data is.
    let answers = shell::target()?.join("node-answers");
    run(program_at_root(build_programs(&["vectors"])?.join("vectors")).arg("node").arg(&answers))?;
    let mut command = node();
    command.env("NODE_VECTORS", answers);
    command.envs(programs).args(["--expose-gc", "--test", "--test-reporter=tap"]);
    run(command.args(tests))
}

impl Build {
    /// Builds modules at once, with each its glue into its folder of the package
    fn modules(self, modules: &[Module]) -> Result<(), String> {
        let mut build = format!("build --target {TARGET}");
        for Module { crate_name, arguments, .. } in modules {
            build += &format!(" -p {crate_name} {arguments}");
        }
        let mut command = match self {
            Self::Development => development(&build),
            Self::Published => cargo(&build),
        };
        let place = match self {
            Self::Development => {
                let toolchain = Toolchain::find(Wanted::Library(TARGET))?;
                toolchain.prepare(&mut command, PARTS);
                let target = match toolchain {
                    Toolchain::Rustup => shell::target()?,
                    // In a shared directory, each compiler would discard what the other has built.
                    Toolchain::Debian => shell::target()?.join("debian"),
                };
                command.env("CARGO_TARGET_DIR", &target);
                target.join(TARGET).join("debug")
            }
            Self::Published => {
                let toolchain = Toolchain::find(Wanted::Sources)?;
                if toolchain == Toolchain::Rustup {
                    Toolchain::build_library(&mut command, PARTS);
                }
                toolchain.prepare(&mut command, PARTS);
                // With other flags, cargo would build everything in one directory again in turns.
                let target = shell::target()?.join("npm");
                command.args(["--profile", "wasm", "-Zbuild-std-features=optimize_for_size"]);
                command.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", flags()?);
                target.join(TARGET).join("wasm")
            }
        };
        run(&mut command)?;
        for Module { crate_name, folder, .. } in modules {
            let module = place.join(crate_name.replace('-', "_") + ".wasm");
            let mut glue = program_at_root(shell::target()?.join("debug/generate-npm"));
            run(glue.arg(module).arg(package().join(folder)))?;
        }
        Ok(())
    }
}

/// What of the standard library the module is built with
const PARTS: &str = "std,panic_abort";

fn flags() -> Result<String, String> {
    let mut flags = vec![
        // A third of the code of the hashes, and no slower where it matters: signatures.
        "--cfg sha2_backend_soft=\"compact\"".to_owned(),
        // A panic is a trap, without its text and its place.
        "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none".to_owned(),
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
