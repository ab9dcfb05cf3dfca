//! The tests of the interface for C and C++, and again under each tool that watches memory or
//! threads.
//!
//! All are tests of `milepost-capi`. `MILEPOST_TOOL` names the tool, and which tests run under it
//! depends on how long they take there. Compilers and tools come from the distribution
//! (`cargo xtask setup c`). Tests are chosen among all packages by names that no other package's
//! tests have: the package alone would have other features of 120 crates, which would be compiled
//! once more.

use std::fs;

use crate::shell::{cargo, root, run};
use crate::toolchain::Wanted;
use crate::workspace::WORKSPACE_WITH_C;

/// The runs under a tool: the tool, and the tests that run under it
///
/// Under valgrind a program is some thirty times slower, so there the vectors are answered over one
/// storage in C and one in C++, and storages that misbehave are left out; sanitizers see all of it.
/// Threads are what one test is about.
const RUNS: [(&str, &str); 5] = [
    (
        "address",
        "--no-fail-fast --test tools --test adversarial --test storage_check --test api \
         --test growth --test example --test shared_vectors",
    ),
    ("address", "--test cpp -- functions_without the_example_waits an_archive"),
    (
        "valgrind",
        "--no-fail-fast --test tools --test api --test cpp --test example \
         --test shared_vectors -- defects_are functions_without the_example a_file with_get_only",
    ),
    ("valgrind", "--test adversarial -- every_invalid_call"),
    (
        "thread",
        "--test tools --test api -- defects_are library_is_instrumented threads_share \
         answers_go_on",
    ),
];

/// Runs all, also when one fails
pub(crate) fn test() -> Result<(), String> {
    let without_tool = format!("--no-fail-fast{}", all_tests()?);
    let mut errors = Vec::new();
    for (tool, tests) in [("", without_tool.as_str())].into_iter().chain(RUNS) {
        if tool == "thread" && !Wanted::Sources.is_installed() {
            println!(
                "threads are not watched: ThreadSanitizer needs the sources of the standard library, \
                 `rustup component add rust-src`"
            );
            continue;
        }
        println!("-- {}", if tool.is_empty() { "without a tool" } else { tool });
        let mut command = cargo(&format!("test {WORKSPACE_WITH_C} {tests}"));
        if !tool.is_empty() {
            command.env("MILEPOST_TOOL", tool);
        }
        if let Err(error) = run(&mut command) {
            errors.push(format!("{tool}: {error}"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}

/// The arguments of `cargo test` for all tests of the C library
fn all_tests() -> Result<String, String> {
    let folder = root().join("ffi/artifact/tests");
    let failed = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort_unstable();
    Ok(names.iter().fold(String::new(), |all, name| all + " --test " + name))
}
