//! Stands in for rustdoc where cargo tests the examples of the documentation, and writes the pages
//! as well, with warnings as errors.
//!
//! The pages are made from the libraries of the development build, which the examples link.
//! `cargo doc` would compile the metadata of every dependency apart, which took 2.5 minutes of
//! processor time from nothing.

use std::env;
use std::process::{Command, ExitCode};

use crate::shell::target;

/// The variable by which this program knows that it is called as rustdoc
const VARIABLE: &str = "XTASK_RUSTDOC";

/// Makes a `cargo test --doc` write the pages too
///
/// # Errors
///
/// When the path of this program is not known.
pub(crate) fn prepare(command: &mut Command) -> Result<(), String> {
    let here = env::current_exe().map_err(|error| error.to_string())?;
    command.env("RUSTDOC", here).env(VARIABLE, "1");
    Ok(())
}

/// Whether cargo calls this program as rustdoc
pub(crate) fn is_called() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// Runs rustdoc with the arguments of cargo, and a second time for the pages if they are those of a
/// test
///
/// # Errors
///
/// When rustdoc cannot be started.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode, String> {
    let mut is_good = start(arguments)?;
    if let Some(mut pages) = pages(arguments) {
        let folder = target()?.join("doc").display().to_string();
        pages.extend(["--out-dir", &folder, "--deny", "warnings"]);
        is_good &= start(&pages)?;
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn start(arguments: &[&str]) -> Result<bool, String> {
    let status = Command::new("rustdoc").args(arguments).status();
    Ok(status.map_err(|error| format!("rustdoc: {error}"))?.success())
}

/// The arguments of a test without those that only a test has; `None` if they are those of another
/// call
fn pages<'a>(arguments: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut rest = arguments.iter().copied();
    let mut pages = Vec::new();
    let mut is_test = false;
    while let Some(argument) = rest.next() {
        match argument {
            "--test" => is_test = true,
            "--test-run-directory" => drop(rest.next()),
            _ => pages.push(argument),
        }
    }
    is_test.then_some(pages)
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn pages_have_the_arguments_of_a_test_without_those_of_its_run() {
        let test = ["--crate-name", "a", "--test", "a.rs", "--test-run-directory", "d", "-L", "l"];
        assert_eq!(pages(&test).unwrap(), ["--crate-name", "a", "a.rs", "-L", "l"]);
        assert_eq!(pages(&["-vV"]), None);
    }
}
