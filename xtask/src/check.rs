//! The check of the inner loop: formatting, lints and tests of what changed.
//!
//! Lints cover the crates that changed and all that depend on them; tests are those of the crates
//! that changed. Leaves out the node's crates, C, JavaScript and everything else that `cargo xtask
//! test` covers, and prints which of its steps a change needs besides.

use std::collections::BTreeSet;
use std::process::ExitCode;

use crate::packages::{Packages, arguments};
use crate::runner::{self, Job};
use crate::shell::{cargo, output, program_at_root};

/// The package of the C library; its tests are built by themselves, because its library has the
/// name of the engine's
const C_LIBRARY: &str = "milepost-capi";

/// Files that all packages depend on
const SHARED: [&str; 3] = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml"];

/// Which steps of `cargo xtask test` cover what this leaves out, by how paths begin
const LEFT_OUT: [(&str, &str); 10] = [
    ("bindings/js/", "npm,page"),
    ("wasm/", "npm"),
    ("server/", "page"),
    ("bindings/", "c"),
    ("include/", "c"),
    ("ffi/", "c"),
    ("tests/c/", "c"),
    ("tests/cpp/", "c"),
    ("tests/package/", "c"),
    ("interop/", "interop"),
];

/// Checks what changed since the merge base with the main branch, or since a revision
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let base = match words {
        [] => base()?,
        ["--since", revision] => (*revision).to_owned(),
        _ => return Err(format!("`check` takes `--since REV`, not `{}`", words.join(" "))),
    };
    let files = changed_files(&base)?;
    let packages = Packages::read()?;
    let plan = Plan::of(&files, &packages);
    println!("{} files differ from {base}", files.len());
    println!("tests: {}", list(&plan.tested));
    println!("lints: {}", list(&plan.linted));
    let steps = steps_left_out(&files);
    if !steps.is_empty() {
        println!("left out: `cargo xtask test --only {}`", steps.join(","));
    }
    // Their builds share a directory, so side by side they would only wait for each other.
    let summary = runner::run(plan.jobs(), 1, std::io::stdout());
    print!("{}", summary.text());
    Ok(summary.exit_code())
}

fn list(names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// What is checked, by the names of packages
#[derive(Debug, Eq, PartialEq)]
struct Plan<'packages> {
    tested: BTreeSet<&'packages str>,
    linted: BTreeSet<&'packages str>,
}

impl<'packages> Plan<'packages> {
    fn of(files: &BTreeSet<String>, packages: &'packages Packages) -> Self {
        let owners = files.iter().filter_map(|file| packages.owner(file));
        let tested: BTreeSet<&str> = owners.map(|package| &package.name[..]).collect();
        let is_shared = files.iter().any(|file| SHARED.contains(&&file[..]));
        let linted = if is_shared { packages.names() } else { packages.with_dependents(&tested) };
        Self { tested, linted }
    }

    fn jobs(&self) -> Vec<Job> {
        let mut jobs = vec![Job::new("fmt", "the formatting", cargo("fmt --all --check"))];
        if !self.linted.is_empty() {
            let linted = arguments(&self.linted);
            let command = format!("clippy {linted} --all-targets --keep-going -- -D warnings");
            jobs.push(Job::new("clippy", "lints, as errors", cargo(&command)));
        }
        let mut tested = self.tested.clone();
        let has_c_library = tested.remove(C_LIBRARY);
        if !tested.is_empty() {
            let command = format!("test {} --no-fail-fast", arguments(&tested));
            jobs.push(Job::new("tests", "tests of what changed", cargo(&command)));
        }
        if has_c_library {
            let command = cargo(&format!("test -p {C_LIBRARY} --no-fail-fast"));
            jobs.push(Job::new("c", "tests of the C library", command));
        }
        jobs
    }
}

/// The steps that cover what is left out of these files' checks
fn steps_left_out(files: &BTreeSet<String>) -> Vec<&'static str> {
    let covers = |file: &String| {
        let found = LEFT_OUT.iter().find(|(start, _)| file.starts_with(start));
        found.map(|(_, steps)| steps.split(','))
    };
    let steps: BTreeSet<&str> = files.iter().filter_map(covers).flatten().collect();
    steps.into_iter().collect()
}

/// The nearest commit that a main branch has too; without a main branch, the last commit
fn base() -> Result<String, String> {
    let mut nearest: Option<(u64, String)> = None;
    for branch in ["main", "origin/main"] {
        let Ok(base) = git(&["merge-base", "HEAD", branch]) else { continue };
        let base = base.trim().to_owned();
        let ahead = git(&["rev-list", "--count", &format!("{base}..HEAD")])?;
        let ahead = ahead.trim().parse().unwrap_or(u64::MAX);
        if nearest.as_ref().is_none_or(|(other, _)| ahead < *other) {
            nearest = Some((ahead, base));
        }
    }
    Ok(nearest.map_or_else(|| "HEAD".to_owned(), |(_, base)| base))
}

/// Files in the working tree that differ from this revision, and those that git does not know
fn changed_files(base: &str) -> Result<BTreeSet<String>, String> {
    let changed = git(&["diff", "--name-only", "--no-renames", "--relative", "-z", base, "--"])?;
    let unknown = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let files = changed.split('\0').chain(unknown.split('\0'));
    Ok(files.filter(|file| !file.is_empty()).map(str::to_owned).collect())
}

fn git(words: &[&str]) -> Result<String, String> {
    output(program_at_root("git").args(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn changed_crates_are_tested_and_their_dependents_linted() {
        let packages = crate::packages::tests::packages();
        let plan = |names: &[&str]| Plan::of(&files(names), &packages);
        let outer = plan(&["server/src/main.rs", "README.md"]);
        assert_eq!(outer.tested, BTreeSet::from(["server"]));
        assert_eq!(outer.linted, outer.tested);
        let inner = plan(&["core/src/lib.rs"]);
        assert_eq!(inner.tested, BTreeSet::from(["engine"]));
        assert_eq!(inner.linted, BTreeSet::from(["chain", "engine", "server", "store"]));
        let page = plan(&["docs/EVIDENCE.md"]);
        assert_eq!(page.jobs().iter().map(|job| &job.name[..]).collect::<Vec<_>>(), ["fmt"]);
    }

    #[test]
    fn a_file_that_all_depend_on_has_all_linted() {
        let packages = crate::packages::tests::packages();
        let plan = Plan::of(&files(&["Cargo.lock"]), &packages);
        assert_eq!(plan.linted, packages.names());
        assert!(plan.tested.is_empty());
    }

    #[test]
    fn the_c_library_is_tested_by_itself() {
        let names = |tested: &[&'static str]| {
            let tested: BTreeSet<&str> = tested.iter().copied().collect();
            let jobs = Plan { linted: tested.clone(), tested }.jobs();
            jobs.iter().map(|job| job.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[C_LIBRARY]), ["fmt", "clippy", "c"]);
        assert_eq!(names(&[C_LIBRARY, "server"]), ["fmt", "clippy", "tests", "c"]);
    }

    #[test]
    fn steps_that_are_left_out_are_named() {
        assert_eq!(steps_left_out(&files(&["core/src/lib.rs"])), [""; 0]);
        let of = files(&["ffi/src/lib.rs", "bindings/js/src/a.ts", "bindings/cpp/include/a.hpp"]);
        assert_eq!(steps_left_out(&of), ["c", "npm", "page"]);
    }

    #[test]
    fn changed_files_are_asked_of_git() {
        assert!(changed_files("no such revision").is_err());
        assert!(base().is_ok_and(|base| !base.is_empty()));
    }
}
