//! The test command: every check that each change has to pass, two steps at a time.
//!
//! Each step runs as a program of its own (`xtask step NAME`), so its output can be kept together.
//! What they need is installed first, and the development build is made once: lints, tests and the
//! programs that tests start are one compilation. What takes longer is checked by name (`verify`).

use core::num::NonZero;
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use crate::packages::Packages;
use crate::runner::{self, Job};
use crate::shell::{self, cargo, run as run_command};
use crate::tally::Format;
use crate::toolchain::{Toolchain, Wanted};
use crate::{changes, configurations, generate, npm, programs, setup, text, verify};

/// One step
struct Step {
    name: &'static str,
    about: &'static str,
    /// Steps that have to end first
    after: &'static [&'static str],
    check: fn() -> Result<(), String>,
}

/// What of `setup` the steps need
const PARTS: [&str; 6] = ["lints", "text", "no_std", "npm", "c", "tools"];

/// A target without an operating system and without `std`
const NO_STD: &str = "wasm32v1-none";

/// All steps, in the order in which they start
///
/// Steps that build into one directory would wait for each other, except that tests only run.
const STEPS: [Step; 8] = [
    step("generated", "files that are made from sources, by a hash", &[], generate::check),
    step("build", "everything is compiled once, with lints", &[], build),
    step("text", "spelling, and the layout of all files", &[], text::check),
    step("no_std", "the engine without std, and with each feature by itself", &[], no_std),
    step("tests", "all tests, and the documentation", &["build"], programs::run_all),
    step("wasm", "the npm package in Node.js", &["build"], npm::test),
    step("address", "programs in C under AddressSanitizer", &["build"], address),
    step("lints", "warnings of the compilation, as errors", &["tests", "wasm"], lints),
];

const fn step(
    name: &'static str,
    about: &'static str,
    after: &'static [&'static str],
    check: fn() -> Result<(), String>,
) -> Step {
    Step { name, about, after, check }
}

/// Runs all steps or those that are named; prints where the time went, and the sum of all tests
///
/// # Errors
///
/// When the arguments name no step; a step that fails is reported by the exit code.
pub(crate) fn run(names: &[&str]) -> Result<ExitCode, String> {
    let begin = SystemTime::now();
    let jobs = jobs(&choose(names)?)?;
    let slots = std::thread::available_parallelism().map_or(2, NonZero::get);
    let summary = runner::run(jobs, slots, std::io::stdout());
    let configurations = configurations::check(&shell::target()?, begin);
    print_due(&changes::base()?)?;
    if !shell::root().join("../shared/data").is_dir() {
        println!("left out: no shared folder");
    }
    print!("{}", summary.text());
    configurations.map(|()| summary.exit_code())
}

/// Prints which checks by name depend on what changed since a revision
///
/// # Errors
///
/// When git knows no such revision.
pub(crate) fn print_due(base: &str) -> Result<(), String> {
    print!("\n{}", verify::list_due(&changes::files_since(base)?));
    Ok(())
}

/// Runs one step in this process
pub(crate) fn run_step(name: &str) -> Result<(), String> {
    let step = STEPS.iter().find(|step| step.name == name);
    match step {
        _ if name == "setup" => setup::run(&PARTS),
        Some(step) => (step.check)(),
        None => crate::check::run_step(name)
            .or_else(|| verify::run_step(name))
            .unwrap_or_else(|| Err(format!("no step is called `{name}`"))),
    }
}

/// The jobs of these steps, and before them one that installs what they need
fn jobs(steps: &[&Step]) -> Result<Vec<Job>, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let job = |name: &str, about: &str| {
        let mut command = Command::new(&here);
        command.args(["step", name]);
        Job::new(name, about, command)
    };
    let mut jobs = vec![job("setup", "what the steps need, installed")];
    for step in steps {
        let mut job = job(step.name, step.about);
        job.after = step.after.iter().map(|name| (*name).to_owned()).collect();
        if step.name != "generated" {
            job.after.push("setup".to_owned());
        }
        // Node.js prints other closing lines.
        if step.name == "wasm" {
            job.format = Format::Tap;
        }
        jobs.push(job);
    }
    Ok(jobs)
}

/// The steps with these names, or all
fn choose(names: &[&str]) -> Result<Vec<&'static Step>, String> {
    let all: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        return Err(format!("`test` has no step `{unknown}`; there are {}", all.join(", ")));
    }
    let is_chosen = |step: &&Step| names.is_empty() || names.contains(&step.name);
    Ok(STEPS.iter().filter(is_chosen).collect())
}

/// Compiles everything; a warning does not keep the tests from running
fn build() -> Result<(), String> {
    programs::compilations().iter_mut().try_for_each(run_command)
}

/// Fails for the warnings of the compilation, which cargo repeats
fn lints() -> Result<(), String> {
    let mut count = 0;
    for mut compilation in programs::compilations() {
        let output = shell::show(&mut compilation)?;
        count += output.lines().filter(|line| line.starts_with("warning")).count();
    }
    if count == 0 { Ok(()) } else { Err(format!("{count} warnings")) }
}

/// Checks the engine for a target without `std`: with no feature, each by itself, and the default
fn no_std() -> Result<(), String> {
    let toolchain = Toolchain::find(Wanted::Library(NO_STD))?;
    for (package, features) in Packages::read()?.no_std()? {
        let single = features.iter().map(|feature| format!("--no-default-features -F {feature}"));
        let sets = ["", "--no-default-features"].into_iter().map(str::to_owned).chain(single);
        for set in sets {
            let check = format!("check -p {package} --lib --target {NO_STD} {set}");
            let mut check = cargo(&check);
            toolchain.prepare(&mut check, "core,alloc");
            // Warnings are errors of the compiler, not of cargo, so nothing is compiled again.
            check.env("CARGO_TARGET_DIR", shell::target()?.join("no_std"));
            let warnings = shell::show(&mut check)?;
            if warnings.lines().any(|line| line.starts_with("warning")) {
                return Err(format!("{package} {set}: has warnings"));
            }
        }
    }
    Ok(())
}

/// Runs programs in C and C++ with a library that is instrumented
fn address() -> Result<(), String> {
    let tests = "--test capi -- tools:: adversarial:: storage_check:: api:: growth:: example:: \
                 response cpp::functions cpp::the_example_waits cpp::an_archive";
    verify::run_tests(&[("MILEPOST_TOOL", "address")], tests)
}

#[cfg(test)]
mod tests {
    use super::{PARTS, STEPS, choose, jobs};

    #[test]
    fn steps_are_chosen_by_name() {
        let names = |names: &[&str]| {
            choose(names).map(|steps| steps.iter().map(|step| step.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), STEPS.len());
        assert_eq!(names(&["text", "build"]).unwrap(), ["build", "text"]);
        assert!(names(&["lint"]).is_err_and(|error| error.contains("`lint`")));
    }

    #[test]
    fn steps_follow_steps_before_them_and_the_setup() {
        for (index, step) in STEPS.iter().enumerate() {
            for other in step.after {
                assert!(STEPS[..index].iter().any(|step| step.name == *other), "{other}");
            }
        }
        assert!(crate::setup::are_parts(&PARTS));
        let jobs = jobs(&choose(&["tests"]).unwrap()).unwrap();
        assert_eq!(jobs.iter().map(|job| &job.name[..]).collect::<Vec<_>>(), ["setup", "tests"]);
        assert_eq!(jobs[1].after, ["build", "setup"]);
    }
}
