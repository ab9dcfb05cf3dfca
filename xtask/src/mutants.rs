//! Changes of the engine's code that no test notices, by `cargo mutants`.
//!
//! A sample of its list, drawn by a seed, is tried with quick unit tests first, and the ones that
//! pass with all unit tests, then with the integration tests of the engine. Changes that alter
//! nothing are listed with their reason in `.cargo/mutants.toml`. At least 96 % have to be noticed,
//! and in no module may more than two pass.

use core::hash::{Hash as _, Hasher as _};
use std::collections::BTreeMap;
use std::fs;
use std::hash::DefaultHasher;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::shell::{cargo, output, target};
use crate::workspace::{SERVER_PROGRAM, programs_folder};

/// The changed packages
const PACKAGES: &str = "-p milepost -p milepost-protocol";
/// Changes of a sample
const SAMPLE: usize = 150;
/// Of a hundred changes, those that have to be noticed
const NOTICED: usize = 96;
/// Changes of a module that may pass
const MAX_MISSED: usize = 2;

/// The tests that changes are tried with, those that pass with the next ones: a name, options of
/// `cargo mutants`, and arguments of `cargo test`; first without the unit tests that take most of
/// their time
const STAGES: [(&str, &str, &str); 3] = [
    (
        "quick",
        "--all-features",
        "--lib -- --skip adversarial --skip archive_exporter --skip archive_writer \
         --skip conformance --skip finalize --skip made_final --skip mutat --skip summaries_have \
         --skip verifier --skip watch_tests",
    ),
    ("unit", "--all-features", "--lib"),
    // Not `--test engine`: it also applies to the unchanged tree, whose tests are those of the
    // changed packages.
    ("integration", "--test-package milepost-tests", "--tests"),
];

/// Tries a sample of changes: `[--seed N] [--count N]`
///
/// # Errors
///
/// When the arguments are others, or too many changes pass.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (mut seed, mut count) = (now, SAMPLE);
    for pair in arguments.chunks(2) {
        match pair {
            ["--seed", number] => seed = number.parse().map_err(|_| "--seed takes a number")?,
            ["--count", number] => count = number.parse().map_err(|_| "--count takes a number")?,
            _ => return Err("`mutants` takes --seed N and --count N".into()),
        }
    }
    let list = output(&mut cargo(&format!("mutants --list {PACKAGES} --all-features")))?;
    let mut names: Vec<&str> = list.lines().filter(|line| !line.is_empty()).collect();
    names.sort_by_cached_key(|name| {
        let mut hasher = DefaultHasher::new();
        (seed, name).hash(&mut hasher);
        hasher.finish()
    });
    println!("{count} of {} changes, --seed {seed}", names.len());
    names.truncate(count);
    let folder = target()?.join("mutants");
    let mut noticed = 0;
    for (stage, options, tests) in STAGES {
        let outcomes = attempt(&names, &folder.join(stage), options, tests)?;
        noticed += outcomes.noticed;
        names.retain(|name| outcomes.missed.iter().any(|missed| missed == name));
    }
    report(&names, noticed)
}

/// The outcomes of some changes; one that does not compile has none
#[derive(Default)]
struct Outcomes {
    noticed: usize,
    missed: Vec<String>,
}

/// Tries these changes with some tests
fn attempt(names: &[&str], output: &Path, options: &str, tests: &str) -> Result<Outcomes, String> {
    if names.is_empty() {
        return Ok(Outcomes::default());
    }
    let _ = fs::remove_dir_all(output);
    fs::create_dir_all(output).map_err(|error| format!("{}: {error}", output.display()))?;
    let mut command = cargo(&format!("mutants --no-shuffle {PACKAGES} {options}"));
    command.arg("--output").arg(output);
    // One function changes at a time, and most of a build stays.
    command.env("CARGO_INCREMENTAL", "1");
    for name in names {
        let file = name.split(':').next().unwrap_or(name);
        command.args(["--file", file, "--re", &format!("^{}$", escaped(name))]);
    }
    // The tests of servers start one that is built from the tree as it is.
    command.env(SERVER_PROGRAM, programs_folder()?.join("milepost"));
    command.env_remove("CARGO_TARGET_DIR").arg("--").args(tests.split(' '));
    let status = command.status().map_err(|error| format!("cargo mutants: {error}"))?;
    // 2 and 3 say that changes pass or time out, which is counted here.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo mutants: {status}"));
    }
    let list = |name: &str| -> Result<Vec<String>, String> {
        let path = output.join("mutants.out").join(name);
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        // Fields that are left out are tried whatever the expressions say.
        Ok(text.lines().filter(|line| names.contains(line)).map(str::to_owned).collect())
    };
    let noticed = list("caught.txt")?.len() + list("timeout.txt")?.len();
    Ok(Outcomes { noticed, missed: list("missed.txt")? })
}

/// A text as a regular expression that matches it alone; `\<` would be the start of a word
fn escaped(text: &str) -> String {
    let escape = |character: char| match "\\.+*?()|[]{}^$".contains(character) {
        true => format!("\\{character}"),
        false => character.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Prints the changes that passed by module, and fails if they are too many
fn report(missed: &[&str], noticed: usize) -> Result<(), String> {
    let mut modules: BTreeMap<&str, usize> = BTreeMap::new();
    for name in missed {
        println!("passed: {name}");
        *modules.entry(module_of(name)).or_default() += 1;
    }
    let viable = noticed + missed.len();
    println!("{noticed} of {viable} changes were noticed; passed by module: {modules:?}");
    let is_enough = noticed * 100 >= viable * NOTICED;
    let has_hole = modules.values().any(|count| *count > MAX_MISSED);
    if is_enough && !has_hole { Ok(()) } else { Err("too many changes passed".into()) }
}

/// The crate and the module of a change, such as `core/src/status`
fn module_of(name: &str) -> &str {
    let path = name.split(".rs:").next().unwrap_or(name);
    let end = path.match_indices('/').nth(2).map_or(path.len(), |(end, _)| end);
    path.get(..end).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "core/src/status/compact.rs:59:5: replace a -> String with \"\".into()";

    #[test]
    fn a_name_is_matched_as_it_is() {
        assert_eq!(escaped("a.rs:1:2: f<'r> -> + with -"), "a\\.rs:1:2: f<'r> -> \\+ with -");
        assert_eq!(module_of(NAME), "core/src/status");
        assert_eq!(module_of("core/src/status.rs:1:1: replace"), "core/src/status");
    }

    #[test]
    fn a_sample_with_holes_fails() {
        let missed = [NAME; 3];
        assert!(report(&missed[..2], 98).is_ok());
        assert!(report(&missed, 97).is_err(), "three of a module");
        assert!(report(&missed[..2], 47).is_err(), "95.9 %");
    }
}
