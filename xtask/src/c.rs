//! The tests of the interface for C and C++, and again under each tool that watches memory or
//! threads.
//!
//! All are tests of `milepost-capi`. `MILEPOST_TOOL` names the tool, and which tests run under it
//! depends on how long they take there. Compilers and tools come from the distribution
//! (`cargo xtask setup c`).

use crate::shell::{cargo, run};
use crate::toolchain::Wanted;

/// The runs: the tool, and the tests that run under it
///
/// Under valgrind a program is some thirty times slower, so there the vectors are answered over one
/// storage in C and one in C++, and storages that misbehave are left out; sanitizers see all of it.
/// Threads are what one test is about.
const RUNS: [(&str, &str); 6] = [
    ("", "--no-fail-fast"),
    (
        "address",
        "--no-fail-fast --test tools --test adversarial --test storage_check --test api \
         --test growth --test example --test vectors",
    ),
    ("address", "--test cpp -- functions_without the_example_waits an_archive"),
    (
        "valgrind",
        "--no-fail-fast --test tools --test api --test cpp --test example --test vectors \
         -- defects_are functions_without the_example a_file with_get_only",
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
    let mut errors = Vec::new();
    for (tool, tests) in RUNS {
        if tool == "thread" && !Wanted::Sources.is_installed() {
            println!(
                "threads are not watched: ThreadSanitizer needs the sources of the standard library, \
                 `rustup component add rust-src`"
            );
            continue;
        }
        println!("-- {}", if tool.is_empty() { "without a tool" } else { tool });
        let mut command = cargo(&format!("test -p milepost-capi {tests}"));
        if !tool.is_empty() {
            command.env("MILEPOST_TOOL", tool);
        }
        if let Err(error) = run(&mut command) {
            errors.push(format!("{tool}: {error}"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}
