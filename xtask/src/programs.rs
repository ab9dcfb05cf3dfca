//! Runs the test programs of the development build, several at a time.
//!
//! `cargo test` runs one program after another, and a test that waits leaves the processors idle.
//! Cargo names the programs that it has built; each runs in the folder of its package, as with
//! cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::runner::{self, Job};
use crate::rustdoc;
use crate::shell::output;
use crate::workspace::{SERVER_PROGRAM, WORKSPACE, development, programs_folder};

/// Programs at a time: tests of servers and feeds wait more than they compute
const SLOTS: usize = 3;

/// The variable with the folder of the libraries for C, for tests that link them
const LIBRARY_FOLDER: &str = "C_LIBRARY_FOLDER";

/// A test program
#[derive(Debug, Eq, PartialEq)]
struct Program {
    package: String,
    target: String,
    path: PathBuf,
    /// The folder of its package
    folder: PathBuf,
}

/// Runs all test programs and the documentation's examples, and writes its pages
///
/// # Errors
///
/// When a program fails.
pub(crate) fn run_all() -> Result<(), String> {
    let mut examples = development(&format!("test {WORKSPACE} --doc --no-fail-fast"));
    rustdoc::prepare(&mut examples)?;
    let mut jobs = vec![Job::new("examples", "the documentation, and its examples", examples)];
    jobs.extend(jobs_of(&programs()?)?);
    run(jobs)
}

/// Runs the test programs of these packages
///
/// # Errors
///
/// When a program fails.
pub(crate) fn run_packages(packages: &[&str]) -> Result<(), String> {
    let mut programs = programs()?;
    programs.retain(|program| packages.contains(&&program.package[..]));
    run(jobs_of(&programs)?)
}

/// What the development build compiles, in two steps: products, and test programs
///
/// With `--all-targets`, each program and example would also be compiled and linked as a test
/// program, without a test in it. Only the programs that are named here have unit tests.
pub(crate) fn compilations() -> [Command; 2] {
    [
        development(&format!("build {WORKSPACE} --lib --bins --examples --test * --bench *")),
        development(&format!("test --no-run {WORKSPACE} {TEST_PROGRAMS}")),
    ]
}

const TEST_PROGRAMS: &str = "--lib --test * --bin xtask --bin generate-types";

fn run(jobs: Vec<Job>) -> Result<(), String> {
    let summary = runner::run(jobs, SLOTS, std::io::stdout());
    print!("{}", summary.times());
    let is_good = summary.exit_code() == ExitCode::SUCCESS;
    if is_good { Ok(()) } else { Err(format!("failed: {}", summary.failures())) }
}

fn jobs_of(programs: &[Program]) -> Result<Vec<Job>, String> {
    let built = programs_folder()?;
    let job = |Program { package, target, path, folder }: &Program| {
        let mut command = Command::new(path);
        command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
        command.env(SERVER_PROGRAM, built.join("milepost")).env(LIBRARY_FOLDER, &built);
        Job::new(&format!("{package}::{target}"), "tests", command)
    };
    Ok(programs.iter().map(job).collect())
}

/// All test programs, which are built if they are not yet
fn programs() -> Result<Vec<Program>, String> {
    let format = "--no-run --message-format json-render-diagnostics";
    let messages = output(&mut development(&format!("test {WORKSPACE} {TEST_PROGRAMS} {format}")))?;
    Ok(messages.lines().filter_map(program).collect())
}

/// The test program that a message of cargo reports
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let target = &message["target"];
    let is_test = message["profile"]["test"].as_bool()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    // `path+file:///folder#name@version`, or `#version` where the folder has the name.
    let (place, name) = message["package_id"].as_str()?.rsplit_once('#')?;
    let name =
        name.split_once('@').map_or_else(|| place.rsplit('/').next(), |(name, _)| Some(name));
    is_test.then_some(Program {
        package: name?.to_owned(),
        target: target["name"].as_str()?.to_owned(),
        path: message["executable"].as_str()?.into(),
        folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{program_at_root, root};

    #[test]
    fn test_programs_are_read_from_the_messages_of_cargo() {
        let message = |is_test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///r/core#milepost@0.1.0",
                "manifest_path":"/r/core/Cargo.toml","target":{{"name":"it"}},
                "profile":{{"test":{is_test}}},"executable":"/t/debug/deps/it-1"}}"#
            )
        };
        let found = program(&message(true)).unwrap();
        assert_eq!((&found.package[..], &found.target[..]), ("milepost", "it"));
        assert_eq!(found.folder, Path::new("/r/core"));
        for other in [message(false), "{}".to_owned()] {
            assert_eq!(program(&other), None);
        }
        let short = message(true).replace("core#milepost@0.1.0", "xtask#0.1.0");
        assert_eq!(program(&short).unwrap().package, "xtask");
    }

    #[test]
    fn every_test_is_in_a_program_that_is_run() {
        let grep = ["grep", "--untracked", "--files-with-matches", "--fixed-strings", "#[test]"];
        let files = output(program_at_root("git").args(grep).args(["--", "*.rs"])).unwrap();
        for file in files.lines() {
            let Some((package, inside)) = file.split_once("/src/") else { continue };
            let has_library = root().join(package).join("src/lib.rs").exists();
            let program = inside.strip_prefix("bin/");
            let name = program.and_then(|rest| rest.split(['/', '.']).next()).unwrap_or(package);
            let is_run = has_library && inside != "main.rs" && program.is_none();
            assert!(is_run || TEST_PROGRAMS.split(' ').any(|word| word == name), "{file}");
        }
    }
}
