//! Spelling, and the layout of what is not Rust: JavaScript, TypeScript, CSS, HTML, C and C++.
//!
//! The programs are packages at fixed versions, which `cargo xtask setup text` installs; their
//! settings are at the root, where editors look for them.

use std::process::Command;

use crate::setup::python_environment;
use crate::shell::{cargo, output, program_at_root, root, run};

/// The folder of the lists of packages
const TOOLS: &str = "xtask/text";

/// Each has its members formatted in one call
pub(crate) const WORKSPACES: [&str; 3] = ["Cargo.toml", "interop/Cargo.toml", "fuzz/Cargo.toml"];

/// C and C++ that people write: all but the header that is made from the interface
const C: [&str; 5] = ["*.c", "*.h", "*.cpp", "*.hpp", ":!include/milepost.h"];

/// Checks the layout of Rust code
pub(crate) fn check_rust() -> Result<(), String> {
    WORKSPACES.iter().try_for_each(|workspace| {
        run(cargo("fmt --all --check --manifest-path").arg(root().join(workspace)))
    })
}

/// Checks the spelling of everything and the layout of all files
pub(crate) fn check() -> Result<(), String> {
    check_rust()?;
    run(&mut python_tool("typos")?)?;
    run(prettier().arg("--check"))?;
    run(clang_format()?.args(["--dry-run", "--Werror"]).args(c_files()?))
}

/// Lays out all files, Rust too
pub(crate) fn format() -> Result<(), String> {
    for workspace in WORKSPACES {
        run(cargo("fmt --all --manifest-path").arg(root().join(workspace)))?;
    }
    run(prettier().args(["--write", "--log-level=warn"]))?;
    run(clang_format()?.arg("-i").args(c_files()?))
}

fn prettier() -> Command {
    let mut prettier = program_at_root(root().join(TOOLS).join("node_modules/.bin/prettier"));
    prettier.arg("**/*.{js,mjs,cjs,ts,css,html}");
    prettier
}

fn clang_format() -> Result<Command, String> {
    python_tool("clang-format")
}

fn python_tool(name: &str) -> Result<Command, String> {
    Ok(program_at_root(python_environment(TOOLS)?.join("bin").join(name)))
}

fn c_files() -> Result<Vec<String>, String> {
    let files = output(program_at_root("git").args(["ls-files", "--"]).args(C))?;
    Ok(files.lines().map(str::to_owned).collect())
}
