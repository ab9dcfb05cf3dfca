//! The interface for C and C++: its tests, and again under each tool that watches memory or threads.
//!
//! All are the tests of `milepost-capi`; what watches is said by `MILEPOST_TOOL`, and which tests run under
//! it by how long they take there. Compilers and tools come from the distribution: they are installed when this
//! runs as root on a machine with apt, else the step fails and says what to install.

use std::path::Path;
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, watch};

/// What is needed, by the command that shows whether it is there, and Debian's package of it
const TOOLS: [(&str, &str); 10] = [
    ("cc --version", "gcc"),
    ("c++ --version", "g++"),
    ("objcopy --version", "binutils"),
    ("cmake --version", "cmake"),
    ("make --version", "make"),
    ("pkg-config --version", "pkg-config"),
    ("clang-22 -fsanitize=address -xc /dev/null -shared -o /dev/null", "clang-22"),
    ("clang-22 -fsanitize=address -xc /dev/null -shared -o /dev/null", "libclang-rt-22-dev"),
    ("valgrind --version", "valgrind"),
    ("abidw --version", "abigail-tools"),
];

/// The runs: what watches, and which tests it sees
///
/// Under valgrind a program is some thirty times slower, so there the vectors are asked over one storage in C and
/// one in C++, and storages that misbehave are left out; sanitizers see all of it. Threads are the matter of one test.
const RUNS: [(&str, &str); 6] = [
    ("", "--no-fail-fast"),
    (
        "address",
        "--no-fail-fast --test tools --test hostile --test storage --test tour --test example --test vectors",
    ),
    ("address", "--test cpp -- what_the_vectors_do_not_show the_example_waits"),
    (
        "valgrind",
        "--no-fail-fast --test tools --test tour --test cpp --test example --test vectors -- what_ the_example it_answers a_file \
         one_row_at_a_time",
    ),
    ("valgrind", "--test hostile -- every_wrong_call"),
    ("thread", "--test tools --test tour -- what_is_wrong library_is_watched threads_share"),
];

/// Runs all; each line of the tests is handed to `each`
pub(crate) fn test(mut each: impl FnMut(&str)) -> Result<(), String> {
    install()?;
    let mut refusals = Vec::new();
    for (tool, tests) in RUNS {
        if tool == "thread" && !has_library_sources() {
            println!(
                "threads are not watched: ThreadSanitizer needs the sources of the standard library, \
                 `rustup component add rust-src`"
            );
            continue;
        }
        println!("-- {}", if tool.is_empty() { "unwatched" } else { tool });
        let mut command = cargo(&format!("test -p milepost-capi {tests}"));
        if !tool.is_empty() {
            command.env("MILEPOST_TOOL", tool);
        }
        if let Err(refusal) = watch(&mut command, &mut each) {
            refusals.push(format!("{tool}: {refusal}"));
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals.join("; ")) }
}

/// Installs what is not here
fn install() -> Result<(), String> {
    let missing = || -> Vec<&str> {
        let there = |line: &str| {
            let mut words = line.split(' ');
            words.next().is_some_and(|program| output(Command::new(program).args(words)).is_ok())
        };
        TOOLS.iter().filter(|(line, _)| !there(line)).map(|(_, package)| *package).collect()
    };
    let packages = missing();
    if packages.is_empty() {
        return Ok(());
    }
    if shell::is_root() {
        println!("installing {} with apt-get", packages.join(" "));
        shell::install(&packages)?;
    }
    let packages = missing();
    if packages.is_empty() {
        return Ok(());
    }
    let packages = packages.join(" ");
    Err(format!("not everything is here; on Debian `apt-get install {packages}` brings it"))
}

/// Whether the standard library can be built; rustup is asked for its sources
fn has_library_sources() -> bool {
    let there = || {
        let mut compiler = program_at_root("rustc");
        let sysroot = output(compiler.args(["--print", "sysroot"]));
        sysroot.is_ok_and(|sysroot| {
            Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir()
        })
    };
    there() || {
        let _ = output(program_at_root("rustup").args(["component", "add", "rust-src"]));
        there()
    }
}
