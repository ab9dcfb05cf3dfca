//! The test command: every check of the repository, two or more at a time.
//!
//! Each step runs as a program of its own (`xtask step NAME`), so its output can be kept together,
//! and what the chosen steps need is installed first, beside those that need nothing. Leaves out
//! benches, which give no verdict; each runs once, unmeasured.

use core::num::NonZero;
use std::process::{Command, ExitCode};

use crate::packages::Packages;
use crate::runner::{self, Job};
use crate::shell::{cargo, run as run_command};
use crate::tally::Format;
use crate::workspace::{
    SERVER_PROGRAM, WORKSPACE, WORKSPACE_WITH_C, build_programs, interop_cargo, programs_folder,
    with_lints,
};
use crate::{bench, c, clients, cluster, fuzz, gate, no_std, npm, page, simulate, text};

/// One check
struct Step {
    name: &'static str,
    about: &'static str,
    /// Parts of `setup` that it needs
    parts: &'static [&'static str],
    /// Steps that have to end first, if they run at all
    after: &'static [&'static str],
    check: fn() -> Result<(), String>,
}

/// All steps, in the order in which they start
///
/// Short ones are first. Then steps that build into different directories alternate, because cargo
/// builds into one directory for one command at a time.
const STEPS: [Step; 17] = [
    step("fmt", "the layout of all Rust code", &[], fmt),
    step("text", "spelling, and the layout of all other code", &["text"], text::check),
    step("clippy", "lints of all other code, as errors", &["server"], clippy),
    step("gate", "instructions of ten hot paths, within 3 %", &["gate"], gate::check),
    step("npm", "the npm package, built and tested in Node.js", &["npm", "browser"], npm::test),
    step("tests", "unit, documentation and cross-crate tests", &["server", "strace"], tests),
    step("interop", "tests beside the node's crates, and their lints", &["server"], interop),
    step("c", "the interface for C and C++, also under sanitizers", &["c"], c::test),
    step(
        "fuzz",
        "the fuzz targets over their inputs, and some seconds each; their lints",
        &["fuzz"],
        fuzz::test,
    ),
    step(
        "no_std",
        "the crates that need no std, for a target without it",
        &["no_std"],
        no_std::build,
    ),
    step(
        "features",
        "the engine without its default features, the server with its own",
        &["server"],
        features,
    ),
    step("doc", "the documentation, with warnings as errors", &["server"], doc),
    Step {
        after: &["npm", "tests"],
        ..step(
            "page",
            "the page, in a browser with a running server",
            &["page", "browser"],
            page::test,
        )
    },
    Step {
        after: &["tests"],
        ..step(
            "simulation",
            "10,000 seeds of waiting, compared with an oracle",
            &[],
            simulate::test,
        )
    },
    Step {
        after: &["tests"],
        ..step(
            "clients",
            "published clients submit transactions to a server that forwards",
            &["clients"],
            clients::test,
        )
    },
    Step {
        after: &["tests"],
        ..step(
            "cluster",
            "an archive in a node of Cassandra that is started for it",
            &["cassandra"],
            cluster::test,
        )
    },
    Step {
        after: &["tests", "interop"],
        ..step("benches", "every bench once, and servers that give the same bytes", &[], benches)
    },
];

const fn step(
    name: &'static str,
    about: &'static str,
    parts: &'static [&'static str],
    check: fn() -> Result<(), String>,
) -> Step {
    Step { name, about, parts, after: &[], check }
}

/// The steps, one line each, for the help
pub(crate) fn list() -> String {
    let lines = STEPS.map(|step| format!("      {:<10} {}", step.name, step.about));
    lines.join("\n")
}

/// Runs the chosen steps, prints where the time went and the sum of all tests
///
/// # Errors
///
/// When the arguments name no step; a step that fails is reported by the exit code.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode, String> {
    let jobs = jobs(&choose(arguments)?)?;
    let slots = std::thread::available_parallelism().map_or(2, NonZero::get);
    let summary = runner::run(jobs, slots, std::io::stdout());
    print!("{}", summary.text());
    Ok(summary.exit_code())
}

/// Runs one step in this process
pub(crate) fn run_step(name: &str) -> Result<(), String> {
    let step = STEPS.iter().find(|step| step.name == name);
    (step.ok_or_else(|| format!("no step is called `{name}`"))?.check)()
}

/// The jobs of these steps, and before them one that installs what they need
fn jobs(steps: &[&Step]) -> Result<Vec<Job>, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut jobs = Vec::new();
    let mut parts: Vec<&str> = steps.iter().flat_map(|step| step.parts).copied().collect();
    parts.sort_unstable();
    parts.dedup();
    if !parts.is_empty() {
        let mut command = Command::new(&here);
        command.arg("setup").args(parts);
        let setup = Job::new("setup", "what the steps need, installed", command);
        jobs.push(Job { is_idle: true, ..setup });
    }
    for step in steps {
        let mut command = Command::new(&here);
        command.args(["step", step.name]);
        let mut job = Job::new(step.name, step.about, command);
        job.after = step.after.iter().map(|name| (*name).to_owned()).collect();
        if !step.parts.is_empty() {
            job.after.push("setup".to_owned());
        }
        // Node.js prints other closing lines.
        if ["npm", "page", "clients"].contains(&step.name) {
            job.format = Format::Tap;
        }
        jobs.push(job);
    }
    Ok(jobs)
}

/// The steps that `--only` names, or all, without those that `--skip` names
fn choose(arguments: &[&str]) -> Result<Vec<&'static Step>, String> {
    let mut steps: Vec<&Step> = STEPS.iter().collect();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (*word, None),
        };
        let only = match flag {
            "--only" => true,
            "--skip" => false,
            _ => return Err(format!("`test` takes `--only` and `--skip`, not `{word}`")),
        };
        let value = value.or_else(|| words.next().copied());
        let names = value.ok_or_else(|| format!("{flag} needs the names of steps"))?;
        for name in names.split(',') {
            if STEPS.iter().all(|step| step.name != name) {
                return Err(format!("no step is called `{name}`; the steps are\n{}", list()));
            }
        }
        steps.retain(|step| names.split(',').any(|name| name == step.name) == only);
    }
    Ok(steps)
}

fn fmt() -> Result<(), String> {
    text::WORKSPACES.iter().try_for_each(|workspace| {
        run_command(cargo("fmt --all --check").arg("--manifest-path").arg(workspace))
    })
}

fn clippy() -> Result<(), String> {
    let all = format!("clippy {WORKSPACE_WITH_C} --all-targets --keep-going -- -D warnings");
    run_command(&mut cargo(&all))
}

fn features() -> Result<(), String> {
    // Without the tests, whose dependencies ask for the default features.
    let packages = Packages::read()?.no_std_arguments()?;
    let engine = format!("clippy {packages} --lib --no-default-features -- -D warnings");
    run_command(&mut cargo(&engine))?;
    // The server with its own features, without those that other packages ask for.
    run_command(&mut cargo("check -p milepost-server"))
}

fn doc() -> Result<(), String> {
    // The server's program and the engine's library have one name and would be written to one
    // place, so libraries are documented by themselves; they come last and stay.
    for targets in ["--bins", "--lib"] {
        let mut command = cargo(&format!("doc {WORKSPACE} --no-deps --keep-going {targets}"));
        run_command(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(())
}

fn tests() -> Result<(), String> {
    let mut tests = cargo(&format!("test {WORKSPACE} --no-fail-fast"));
    // Which this builds before it runs the tests.
    run_command(tests.env(SERVER_PROGRAM, programs_folder()?.join("milepost")))
}

fn interop() -> Result<(), String> {
    run_command(&mut with_lints(interop_cargo("test --all-targets --no-run")?))?;
    let programs = build_programs(&["milepost"])?;
    let mut tests = with_lints(interop_cargo("test --no-fail-fast")?);
    run_command(tests.env(SERVER_PROGRAM, programs.join("milepost")))
}

fn benches() -> Result<(), String> {
    run_command(&mut cargo(&format!("test {WORKSPACE} --bench *")))?;
    // Builds the server of the node's path too, which is a program of the same package.
    run_command(&mut with_lints(interop_cargo("test --bench *")?))?;
    build_programs(&["milepost", "http-bench"])?;
    run_command(&mut bench::compare_servers()?)
}

#[cfg(test)]
mod tests {
    use super::{STEPS, choose, jobs, list};

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        choose(arguments).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn steps_are_chosen_by_name() {
        assert_eq!(names(&[]).len(), STEPS.len());
        assert_eq!(names(&["--only", "clippy,fmt"]), ["fmt", "clippy"]);
        assert_eq!(names(&["--only=fmt"]), ["fmt"]);
        assert_eq!(names(&["--skip=tests"]).len(), STEPS.len() - 1);
    }

    #[test]
    fn unknown_words_are_refused() {
        for arguments in [&["--only", "lint"][..], &["--only"], &["--fast"], &["fmt"]] {
            assert!(choose(arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn steps_name_steps_and_parts_that_there_are() {
        for step in &STEPS {
            for other in step.after {
                assert!(STEPS.iter().any(|step| step.name == *other), "{other}");
            }
            assert!(crate::setup::are_parts(step.parts), "{:?}", step.parts);
            assert!(list().contains(step.about));
        }
    }

    #[test]
    fn what_steps_need_is_installed_before_them() {
        let of = |arguments: &[&str]| jobs(&choose(arguments).unwrap()).unwrap();
        let with_parts = of(&["--only", "gate,npm,fmt"]);
        let names: Vec<&str> = with_parts.iter().map(|job| &job.name[..]).collect();
        assert_eq!(names, ["setup", "fmt", "gate", "npm"]);
        let words: Vec<_> = with_parts[0].command.get_args().collect();
        assert_eq!(words, ["setup", "browser", "gate", "npm"]);
        assert!(with_parts[1].after.is_empty());
        assert_eq!(with_parts[2].after, ["setup"]);
        assert_eq!(of(&["--only", "fmt"]).len(), 1);
    }
}
