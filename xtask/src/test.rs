//! The one test command: every check of the repository, in the order in which they are cheap.
//!
//! All steps run even when one fails, so that one run tells everything; the last line is the sum.
//! Leaves out benches and fuzzing, which have no verdict.

use std::process::ExitCode;

use crate::shell::{self, cargo, watch};
use crate::{c, gate, header, no_std, npm, page, simulate};

/// One check: its name, what it does, the check
struct Step {
    name: &'static str,
    about: &'static str,
    check: fn(&mut Tally) -> Result<(), String>,
}

const STEPS: [Step; 13] = [
    Step { name: "fmt", about: "the formatting of all Rust code", check: fmt },
    Step { name: "header", about: "the header for C, against its sources", check: header },
    Step { name: "no_std", about: "the engine, built for a target without std", check: no_std },
    Step { name: "features", about: "the engine without its default features", check: features },
    Step { name: "clippy", about: "lints of all code, as errors", check: clippy },
    Step { name: "doc", about: "the documentation, with its warnings as errors", check: doc },
    Step { name: "node", about: "the node's program, built as its users build it", check: node },
    Step {
        name: "simulation",
        about: "10,000 seeds of waiting, beside an oracle",
        check: simulation,
    },
    Step { name: "gate", about: "instructions of ten hot paths, within 3 %", check: gate },
    Step { name: "npm", about: "the npm package, built and tested in Node.js", check: npm },
    Step { name: "page", about: "the page, in a browser before a running node", check: page },
    Step { name: "c", about: "the interface for C and C++, also under sanitizers", check: c },
    Step { name: "tests", about: "unit, documentation and cross-crate tests", check: test },
];

/// The features that put the node's path beside ours
///
/// They are asked for together with the whole workspace: for a package alone the node's crates would
/// have other features than the cross-crate tests give them, and be built twice.
const PEERS: &str = "milepost-benches/peers,milepost-http-benches/peers";

/// The sum over all test binaries
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// The steps, one line each, for the help
pub(crate) fn list() -> String {
    let lines = STEPS.map(|step| format!("      {:<10} {}", step.name, step.about));
    lines.join("\n")
}

/// Runs the chosen steps and prints the sum as the last line; only an unknown word is a refusal
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode, String> {
    let steps = choose(arguments)?;
    let mut tally = Tally::default();
    let mut refusals = Vec::new();
    for step in &steps {
        println!("\n== {}: {}", step.name, step.about);
        let failed_before = tally.failed;
        if let Err(refusal) = (step.check)(&mut tally) {
            eprintln!("xtask: {}: {refusal}", step.name);
            refusals.push(step.name);
            if tally.failed == failed_before {
                tally.failed += 1;
            }
        }
    }
    println!();
    if !refusals.is_empty() {
        println!("steps that failed: {}", refusals.join(", "));
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

fn fmt(_: &mut Tally) -> Result<(), String> {
    shell::run(&mut cargo("fmt --all --check"))
}

fn header(_: &mut Tally) -> Result<(), String> {
    header::run(&["--check"])
}

fn no_std(_: &mut Tally) -> Result<(), String> {
    no_std::build()
}

fn features(_: &mut Tally) -> Result<(), String> {
    shell::run(&mut cargo("clippy -p milepost --all-targets --no-default-features -- -D warnings"))
}

fn clippy(_: &mut Tally) -> Result<(), String> {
    shell::run(&mut cargo("clippy --workspace --all-targets --keep-going -- -D warnings"))?;
    // The node's path, which only the benches have.
    shell::run(&mut cargo(&format!(
        "clippy --workspace --all-targets --keep-going --features {PEERS} -- -D warnings"
    )))?;
    // Left out of every run, and so out of all targets; its code is judged like any other.
    shell::run(&mut cargo("clippy -p milepost-server --test open_requests -- -D warnings"))
}

fn doc(_: &mut Tally) -> Result<(), String> {
    // The node's program and the engine's library have one name and would write to one place,
    // so each is documented by itself; the library comes last and stays.
    for part in ["-p milepost-server", "--workspace --exclude milepost-server"] {
        let mut command = cargo(&format!("doc --no-deps --keep-going {part}"));
        shell::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(())
}

fn node(_: &mut Tally) -> Result<(), String> {
    shell::run(&mut cargo("build -p milepost-server"))
}

fn simulation(_: &mut Tally) -> Result<(), String> {
    simulate::run(&["--seeds", "10000"])
}

fn gate(_: &mut Tally) -> Result<(), String> {
    gate::check()
}

fn npm(tally: &mut Tally) -> Result<(), String> {
    npm::test(|line| tally.add_tap(line))
}

fn page(tally: &mut Tally) -> Result<(), String> {
    npm::browser()?;
    page::build()?;
    page::test(|line| tally.add_tap(line))
}

fn c(tally: &mut Tally) -> Result<(), String> {
    c::test(|line| tally.add(line))
}

fn test(tally: &mut Tally) -> Result<(), String> {
    let mut command = cargo(&format!(
        "test --workspace --exclude milepost-capi --no-fail-fast --features {PEERS}"
    ));
    watch(&mut command, |line| tally.add(line))
}

impl Tally {
    /// Adds a closing line of Node's tests; any other line counts nothing
    fn add_tap(&mut self, line: &str) {
        let number = |count: &str| count.parse::<u64>().unwrap_or(0);
        match line.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')) {
            Some(("pass", count)) if line.starts_with("# ") => self.passed += number(count),
            Some(("fail", count)) if line.starts_with("# ") => self.failed += number(count),
            _ => {}
        }
    }

    /// Adds the closing line of a test binary; any other line counts nothing
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        for count in counts.split([';', '.']) {
            let mut words = count.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok());
            match (number, words.next()) {
                (Some(number), Some("passed")) => self.passed += number,
                (Some(number), Some("failed")) => self.failed += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STEPS, Tally, choose};

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        choose(arguments).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn result_lines_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            "the test result: ok. 100 passed; 100 failed",
        ] {
            tally.add(line);
        }
        assert_eq!((tally.passed, tally.failed), (15, 2));
    }

    #[test]
    fn result_lines_of_node_are_added_up() {
        let mut tally = Tally::default();
        for line in ["ok 1 - a # fail 7", "# tests 5", "# pass 3", "# fail 2", "# cancelled 0"] {
            tally.add_tap(line);
        }
        assert_eq!((tally.passed, tally.failed), (3, 2));
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
}
