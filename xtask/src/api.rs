//! Records of the public interfaces of the library crates, in `docs/api`.
//!
//! A record lists every public item of a crate with all its features, one a line, as rustdoc sees
//! it; a change of it is a change for users, and is seen in a review. Leaves out the C interface,
//! whose header and binary interface are checked in the step `c`, and JavaScript, whose types are
//! checked in the step `npm`.

use std::fs;

use crate::shell::{output, program_at_root, root, target};

/// The crates that are published as libraries for Rust
const CRATES: [&str; 7] = [
    "milepost-protocol",
    "milepost",
    "milepost-redb",
    "milepost-archive",
    "milepost-cassandra",
    "milepost-feeds",
    "milepost-practice",
];

/// Compares the interfaces with their records, or writes the records
///
/// # Errors
///
/// When an interface differs from its record, with the lines that do.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let accepts = match arguments {
        [] => false,
        ["--accept"] => true,
        _ => return Err("`api` takes `--accept` or nothing".into()),
    };
    let mut changes = Vec::new();
    for name in CRATES {
        let path = root().join(format!("docs/api/{name}.txt"));
        let record = fs::read_to_string(&path).unwrap_or_default();
        let interface = interface_of(name)?;
        changes.extend(differences(&record, &interface).map(|line| format!("{name}: {line}")));
        if accepts {
            fs::write(&path, &interface).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    changes.iter().for_each(|change| println!("{change}"));
    match changes.len() {
        0 => Ok(()),
        count if accepts => {
            println!("{count} lines written");
            Ok(())
        }
        count => Err(format!(
            "{count} lines of public interfaces are not as recorded; `cargo xtask api --accept` \
             records them"
        )),
    }
}

/// The public items of a crate, without what is implemented by derives and for all types
fn interface_of(name: &str) -> Result<String, String> {
    // From rustup, so that it finds the newest compiler, whose rustdoc writes JSON.
    let mut list = program_at_root("cargo");
    list.args(["+nightly", "public-api", "--package", name, "--all-features", "-sss"]);
    list.arg("--target-dir").arg(target()?.join("api"));
    output(list.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO"))
}

/// The lines that one text has and the other has not, with a sign
fn differences<'text>(
    record: &'text str,
    interface: &'text str,
) -> impl Iterator<Item = String> + 'text {
    let only_in = |one: &'text str, other: &'text str, sign: char| {
        let others: std::collections::BTreeSet<&str> = other.lines().collect();
        one.lines()
            .filter(move |line| !others.contains(line))
            .map(move |line| format!("{sign} {line}"))
    };
    only_in(record, interface, '-').chain(only_in(interface, record, '+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_text_only_are_differences() {
        let found: Vec<String> = differences("a\nb\nc\n", "a\nd\nc\n").collect();
        assert_eq!(found, ["- b", "+ d"]);
        assert_eq!(differences("a\n", "a\n").count(), 0);
    }
}
