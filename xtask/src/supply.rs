//! What a release may be built from: licences and sources of dependencies, and lowest versions.
//!
//! `cargo deny` has its rules in `deny.toml`. The lowest versions that the manifests allow are put
//! into a lock file of its own, so the committed one stays as it is, and everything has to build
//! with them. The advisories, which have to be downloaded, are compared when they are asked for.

use std::fs;
use std::path::Path;

use crate::setup;
use crate::shell::{cargo, output, program_at_root, run as run_command, target};

/// Checks everything, or the advisories
///
/// # Errors
///
/// When a dependency is not as the rules say, does not build in its lowest version, or an interface
/// is not as recorded.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        [] => {}
        ["advisories"] => return setup::run(&["supply"]).and_then(|()| deny("advisories")),
        _ => return Err("`supply` takes `advisories` or nothing".into()),
    }
    deny("licenses bans sources")?;
    lowest_versions()?;
    println!("advisories were not compared: `cargo xtask supply advisories` downloads them");
    Ok(())
}

fn deny(checks: &str) -> Result<(), String> {
    run_command(&mut cargo(&format!("deny --locked check {checks}")))
}

/// Builds the workspace with the lowest versions of its direct dependencies
fn lowest_versions() -> Result<(), String> {
    let directory = target()?.join("supply");
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let lock = format!("resolver.lockfile-path='{}'", directory.join("Cargo.lock").display());
    // The newest cargo chooses versions so, and takes another path of the lock file; the compiler
    // is the one in use, because old dependencies are not made for the newest.
    let sysroot = output(program_at_root("rustc").args(["--print", "sysroot"]))?;
    let compiler = Path::new(sysroot.trim()).join("bin").join("rustc");
    for arguments in ["-Z direct-minimal-versions generate-lockfile", "check --workspace --locked"]
    {
        let mut command = program_at_root("cargo");
        command.arg("+nightly").args(arguments.split(' ')).args(["--config", &lock]);
        command.env("CARGO_TARGET_DIR", &directory).env("RUSTC", &compiler);
        run_command(command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO"))?;
    }
    Ok(())
}
