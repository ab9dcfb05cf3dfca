//! Checks by name: what takes too long for every change, and proves much.
//!
//! `test` runs on every change. A check of the class `change` runs before a piece of work is handed
//! in, if one of its folders differs from the main branch; a check of the class `release` before a
//! release. Nothing is remembered between runs. A check for which something is missing did not run,
//! and counts as failed.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

use crate::runner::{self, Job};
use crate::shell::{cargo, run as run_command, show};
use crate::tally::{Format, Tally};
use crate::workspace::{WORKSPACE, development};
use crate::{
    bench, changes, clients, cluster, fuzz, gate, generate, interop, mutants, npm, packing, page,
    platforms, setup, supply,
};

/// When a check runs
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    /// Before a piece of work is handed in, if one of its folders changed
    Change,
    /// Before a release
    Release,
}

/// How a check runs
enum Run {
    /// Tests by the arguments of `cargo test`; none is a failure
    Tests(&'static str),
    /// Tests with a variable of the environment, unless it is set already
    TestsWith(&'static str, &'static str, &'static str),
    /// A program by the arguments of `cargo run --release`
    Program(&'static str),
    Function(fn() -> Result<(), String>),
}

/// A check by name
struct Check {
    name: &'static str,
    class: Class,
    /// On two cores, with what it builds, after `test`
    minutes: u32,
    /// What of `setup` it needs, in words
    parts: &'static str,
    /// Beginnings of paths that it depends on, in words
    folders: &'static str,
    about: &'static str,
    run: Run,
}

use Class::{Change, Release};
use Run::{Function, Program, Tests, TestsWith};

/// All checks; a row has the members of [`Check`] in their order
#[rustfmt::skip]
const CHECKS: &[Check] = &[
    check("generated", Change, 1, "", "protocol/ ffi/ tests/src/declare wasm/verifier/ xtask/generate/",
        "the header, types and vectors, written again and compared, and the sources of the page's module",
        Function(generate::compare_all)),
    check("interop", Change, 14, "", "protocol/ core/ practice/ interop/ node/interop/ tests/src/ tests/vectors/",
        "all tests beside the node's crates, and what these say of recorded inputs",
        Function(interop::check)),
    check("gate", Change, 2, "gate", "protocol/ core/ benches/",
        "instructions of ten hot paths, within 3 %",
        Function(gate::check)),
    check("npm", Change, 7, "npm sources browser", "protocol/ core/ follow/ wasm/ bindings/js/ xtask/generate/",
        "the npm package as it is published: sizes, and all tests in Node.js and a browser",
        Function(npm::test_published)),
    check("page", Change, 5, "page browser", "node/page/ node/server/page/ node/server/src/http/ wasm/verifier/",
        "the page, in a browser with a running server",
        Function(page::test)),
    check("clients", Change, 2, "clients", "node/server/src/ node/testing/clients/",
        "published clients submit transactions to a server that forwards; tools read its documents",
        Function(clients::test)),
    check("valgrind", Change, 4, "c", "ffi/ include/ tests/c/ tests/cpp/ bindings/cpp/",
        "programs in C and C++ under valgrind",
        TestsWith("MILEPOST_TOOL", "valgrind",
            "--test capi -- tools:: api::functions cpp::functions example::the_example \
             example::a_file cpp::the_example with_get_only adversarial::every_invalid_call")),
    check("thread", Change, 5, "c sources", "ffi/ include/ tests/c/",
        "programs in C with threads under ThreadSanitizer",
        TestsWith("MILEPOST_TOOL", "thread", "--test capi -- tools:: api::threads_share api::answers_go_on")),
    check("install", Change, 2, "c", "ffi/ include/ bindings/ tests/package/ xtask/src/install.rs",
        "the libraries for C and C++, installed and found by pkg-config and CMake",
        Tests("--test capi -- --ignored package::")),
    check("cluster", Change, 3, "cassandra", "node/cassandra/ node/testing/src/cluster core/src/archive/",
        "an archive in a node of Cassandra that is started for it",
        Function(cluster::test)),
    check("bundles", Release, 6, "npm sources browser bundlers", "",
        "the npm package in bundles for servers: Next.js, ncc, wrangler",
        Function(npm::test_bundles)),
    check("full-disk", Release, 2, "", "",
        "a store and an archive on a file system of 64 MB that is full for a while; as root",
        Tests("--test program -- --ignored full_disk:: --nocapture")),
    check("simulation", Release, 10, "", "",
        "1,000,000 seeds of waiting, compared with an oracle",
        Program("-p milepost-simulation -- --seeds 1000000")),
    check("server-simulation", Release, 4, "", "",
        "10,000 seeds of the whole server",
        TestsWith("MILEPOST_SIMULATION_SEEDS", "10000",
            "--release -p milepost-server --lib simulation::what_clients_get -- --nocapture")),
    check("open-requests", Release, 5, "allocator", "",
        "10,000 open HTTP requests",
        TestsWith("MILEPOST_OPEN_REQUESTS", "10000",
            "--release -p milepost-server -F jemalloc --test load open_requests:: -- --nocapture")),
    check("watchers", Release, 6, "allocator", "",
        "100,000 watchers of 20,000 transactions, beside clients that poll",
        TestsWith("MILEPOST_WATCHERS", "100000",
            "--release -p milepost-server -F jemalloc --test load watchers:: -- --nocapture")),
    check("hostile-http", Release, 5, "allocator", "",
        "attacks with 10,000 connections, on an idle machine",
        TestsWith("MILEPOST_HOSTILE", "10000",
            "--release -p milepost-server -F jemalloc --test load hostile:: -- --nocapture")),
    check("soak", Release, 62, "allocator", "",
        "an hour of load and restarts",
        TestsWith("MILEPOST_SOAK", "60",
            "--release -p milepost-server -F jemalloc --test load soak:: -- --nocapture")),
    check("fuzz", Release, 170, "fuzz", "",
        "every fuzz target for ten minutes",
        Function(|| fuzz::run(&["--minutes", "10"]))),
    check("follow-simulation", Release, 12, "", "",
        "10,000 seeds of feeds with faults",
        TestsWith("MILEPOST_FOLLOW_SEEDS", "10000",
            "--release -p milepost-follow --test follow -- --nocapture")),
    check("follow", Release, 4, "", "",
        "144,000 blocks, a day of them, of a chain with faults",
        Tests("--release -p milepost-feeds --test follow a_day -- --ignored --nocapture")),
    check("follow-kills", Release, 4, "", "",
        "200 kills of a server that follows",
        TestsWith("MILEPOST_FOLLOW_KILLS", "200",
            "--release -p milepost-server --test program killed -- --nocapture --test-threads 1")),
    check("head", Release, 14, "", "",
        "the head by the clock: a feed of 1.8 blocks of 1.5 MB a second, 300 ms away",
        TestsWith("MILEPOST_HEAD", "10",
            "--release -p milepost-server --test load head:: -- --nocapture")),
    check("catch-up", Release, 3, "", "",
        "imports 10,000 blocks",
        Program("-p milepost-node-benches --bin catch_up -- target")),
    check("archive", Release, 2, "", "",
        "sizes and reads of archived rows",
        Program("-p milepost-node-benches --bin archive -- target")),
    check("archive-growth", Release, 8, "", "",
        "reads of archives up to 5,000,000 transactions",
        Program("-p milepost-node-benches --bin archive_growth -- target")),
    check("mutants", Release, 120, "mutants", "",
        "150 changes of the engine at random, of which the tests notice at least 96 %",
        Function(|| mutants::run(&[]))),
    check("conformance", Release, 100, "npm c", "",
        "a hundred runs of the conformance kit on each broken storage, a thousand on correct ones",
        Function(conformance)),
    check("power-loss", Release, 10, "tools", "",
        "cuts the power under a store and its archive, and fails calls",
        Program("-p milepost-testing --bin milepost-power-loss")),
    check("cluster-faults", Release, 15, "cassandra tools", "",
        "kills and pauses nodes of a cluster under load",
        Function(cluster::faults)),
    check("cluster-growth", Release, 10, "cassandra", "",
        "reads of an archive of 1,000,000 transactions in a cluster",
        Function(cluster::growth)),
    check("platforms", Release, 60, "platforms allocator", "",
        "builds and tests for other processors, under QEMU, and the C boundary in Miri",
        Function(platforms::run)),
    check("bench", Release, 30, "allocator", "",
        "all benches beside the node's path, on an idle machine",
        Function(|| bench::run(&[]))),
    check("bench-http", Release, 5, "tools allocator", "",
        "what a response costs over HTTP, on an idle machine",
        Function(bench::run_http)),
    check("supply", Release, 12, "supply", "",
        "licences and sources of dependencies, and their lowest versions",
        Function(|| supply::run(&[]))),
    check("packages", Release, 25, "curl allocator", "",
        "what is published: crates, the Debian package and the image, each built and asked",
        Function(|| packing::run(&[]))),
];

const fn check(
    name: &'static str,
    class: Class,
    minutes: u32,
    parts: &'static str,
    folders: &'static str,
    about: &'static str,
    run: Run,
) -> Check {
    Check { name, class, minutes, parts, folders, about, run }
}

/// Runs the command: `--list`, `NAME ..`, `--since REV` or `--release`
///
/// # Errors
///
/// When the arguments are others; a check that fails is reported by the exit code.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode, String> {
    let checks: Vec<&Check> = match arguments {
        [] | ["--list"] => {
            print!("{}", table());
            return Ok(ExitCode::SUCCESS);
        }
        ["--since", revision] => due(&changes::files_since(revision)?),
        ["--release"] => CHECKS.iter().collect(),
        names => names.iter().map(|name| find(name)).collect::<Result<_, _>>()?,
    };
    if checks.is_empty() {
        println!("no check depends on what changed");
        return Ok(ExitCode::SUCCESS);
    }
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let job = |check: &&Check| {
        let mut command = Command::new(&here);
        command.args(["step", check.name]);
        let format =
            if FORMATS_OF_NODE.contains(&check.name) { Format::Tap } else { Format::Cargo };
        Job { format, ..Job::new(check.name, check.about, command) }
    };
    let summary = runner::run(checks.iter().map(job).collect(), 1, std::io::stdout());
    print!("{}", summary.text());
    Ok(summary.exit_code())
}

/// Checks whose tests run in Node.js
const FORMATS_OF_NODE: [&str; 4] = ["npm", "bundles", "page", "clients"];

/// Runs the conformance kit in all languages; in JavaScript, it is that of the package, built first
fn conformance() -> Result<(), String> {
    npm::build_for_tests()?;
    let options = "--ignored --nocapture --test-threads 1";
    let tests = format!("--test engine --test capi -- {options} broken_storages::a_hundred_runs");
    run_tests(&[], &tests)
}

/// Runs one check in this process, if there is one of this name
pub(crate) fn run_step(name: &str) -> Option<Result<(), String>> {
    let check = find(name).ok()?;
    let parts: Vec<&str> = check.parts.split_whitespace().collect();
    let ready = setup::run(&parts).map_err(|error| format!("did not run: {error}"));
    Some(ready.and_then(|()| match check.run {
        Tests(arguments) => run_tests(&[], arguments),
        TestsWith(name, value, arguments) => run_tests(&[(name, value)], arguments),
        Program(arguments) => run_command(&mut cargo(&format!("run --release {arguments}"))),
        Function(function) => function(),
    }))
}

/// The checks of the class `change` that depend on one of these files, one a line
pub(crate) fn list_due(files: &BTreeSet<String>) -> String {
    let due = due(files);
    let minutes: u32 = due.iter().map(|check| check.minutes).sum();
    let lines = due
        .iter()
        .map(|check| format!("  {:<10} {:>3} min  {}\n", check.name, check.minutes, check.about));
    match lines.collect::<String>() {
        none if none.is_empty() => "no check by name depends on what changed\n".to_owned(),
        lines => format!("`cargo xtask verify --since main` runs in {minutes} min:\n{lines}"),
    }
}

fn due(files: &BTreeSet<String>) -> Vec<&'static Check> {
    let depends = |check: &&Check| {
        let folders = || check.folders.split_whitespace();
        let is_inside = |file: &String| folders().any(|start| file.starts_with(start));
        check.class == Change && files.iter().any(is_inside)
    };
    CHECKS.iter().filter(depends).collect()
}

fn find(name: &str) -> Result<&'static Check, String> {
    let check = CHECKS.iter().find(|check| check.name == name);
    check.ok_or_else(|| format!("no check is called `{name}`; there are\n{}", table()))
}

/// All checks, each with its class, minutes and folders
fn table() -> String {
    let line = |Check { name, class, minutes, folders, about, .. }: &Check| {
        let class = if *class == Change { "change" } else { "release" };
        format!("{name:<18} {class:<8} {minutes:>3} min  {about}  {folders}\n")
    };
    CHECKS.iter().map(line).collect()
}

/// Runs tests of the workspace, or with other arguments than those of its development build
///
/// # Errors
///
/// When a test fails, or none is selected, which cargo lets pass.
pub(crate) fn run_tests(variables: &[(&str, &str)], arguments: &str) -> Result<(), String> {
    let mut tests = match arguments.contains("--release") {
        true => cargo(&format!("test {arguments}")),
        false => development(&format!("test {WORKSPACE} {arguments}")),
    };
    for (name, value) in variables {
        // Another number of seeds, minutes or connections can be asked for by its variable.
        tests.env(name, std::env::var(name).unwrap_or_else(|_| (*value).to_owned()));
    }
    count(&mut tests)
}

/// Runs tests, of which there has to be one
pub(crate) fn count(tests: &mut Command) -> Result<(), String> {
    let text = show(tests)?;
    let mut tally = Tally::default();
    text.lines().for_each(|line| tally.add(Format::Cargo, line));
    if tally.passed == 0 { Err("no test is called so".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> Vec<&'static str> {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        due(&files).iter().map(|check| check.name).collect()
    }

    #[test]
    fn checks_are_chosen_by_the_folders_that_changed() {
        assert_eq!(names(&["README.md", "node/server/Cargo.toml"]), [""; 0]);
        assert_eq!(names(&["interop/src/lib.rs"]), ["interop"]);
        assert_eq!(
            names(&["node/testing/clients/a.js", "benches/src/lib.rs"]),
            ["gate", "clients"]
        );
        assert!(list_due(&BTreeSet::from(["ffi/src/lib.rs".to_owned()])).contains("valgrind"));
    }

    #[test]
    fn checks_of_a_change_take_at_most_45_minutes() {
        let checks = CHECKS.iter().filter(|check| check.class == Change);
        assert!(checks.map(|check| check.minutes).sum::<u32>() <= 45);
    }

    #[test]
    fn names_are_unique_and_folders_and_parts_exist() {
        let names: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CHECKS.len());
        for check in CHECKS {
            for folder in check.folders.split_whitespace() {
                assert!(crate::shell::root().join(folder).exists(), "{folder}");
            }
            let parts: Vec<&str> = check.parts.split_whitespace().collect();
            assert!(setup::are_parts(&parts), "{}", check.name);
            assert!(table().contains(check.about));
        }
        assert!(run(&["no check"]).is_err());
    }
}
