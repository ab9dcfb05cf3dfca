//! The check of the inner loop: formatting, lints of everything, and tests of what changed.
//!
//! Lints are those of the compilation that `cargo test` makes, so nothing is compiled that the next
//! run of the tests would compile again. Tests are those of the packages that changed.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

use crate::packages::Packages;
use crate::runner::{self, Job};
use crate::{changes, programs, test, text};

/// Checks what changed since the merge base with the main branch, or since a revision
///
/// # Errors
///
/// When the arguments are others, or git knows no such revision.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let base = match words {
        [] => changes::base()?,
        ["--since", revision] => (*revision).to_owned(),
        _ => return Err(format!("`check` takes `--since REV`, not `{}`", words.join(" "))),
    };
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let job = |name: &str, about: &str| {
        let mut command = Command::new(&here);
        command.args(["step", name]).env(BASE, &base);
        Job::new(name, about, command)
    };
    let jobs = vec![
        job("format", "the formatting of Rust code"),
        job("changed", "tests of the packages that changed"),
        job("lints", "lints of all packages"),
    ];
    // Their builds share a directory, so side by side they would only wait for each other.
    let summary = runner::run(jobs, 1, std::io::stdout());
    print!("{}", summary.text());
    test::print_due(&base)?;
    Ok(summary.exit_code())
}

/// The variable with the revision that is compared with
const BASE: &str = "XTASK_BASE";

/// Runs a step of this check in this process, if there is one of this name
pub(crate) fn run_step(name: &str) -> Option<Result<(), String>> {
    match name {
        "format" => Some(text::check_rust()),
        "changed" => Some(changed()),
        _ => None,
    }
}

fn changed() -> Result<(), String> {
    let base = std::env::var(BASE).map_err(|error| format!("{BASE}: {error}"))?;
    let packages = Packages::read()?;
    let changed = owners(&changes::files_since(&base)?, &packages);
    println!("changed since {base}: {}", changed.join(", "));
    if changed.is_empty() { Ok(()) } else { programs::run_packages(&changed) }
}

/// The packages with these files
fn owners<'packages>(
    files: &BTreeSet<String>,
    packages: &'packages Packages,
) -> Vec<&'packages str> {
    let owners = files.iter().filter_map(|file| packages.owner(file));
    let names: BTreeSet<&str> = owners.map(|package| &package.name[..]).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_own_a_changed_file_are_tested() {
        let packages = crate::packages::tests::packages();
        let of = |names: &[&str]| {
            owners(&names.iter().map(|name| (*name).to_owned()).collect(), &packages)
        };
        assert_eq!(
            of(&["node/server/src/main.rs", "core/src/lib.rs", "README.md"]),
            ["engine", "server"]
        );
        assert_eq!(of(&["docs/EVIDENCE.md"]), [""; 0]);
    }
}
