//! Prints the public interfaces of the library crates, or their changes since a revision.
//!
//! `cargo public-api` lists every public item of a crate with all its features, one a line, as
//! rustdoc sees it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::shell::{output, program_at_root, root, run as run_command, target};

/// The crates that are published as libraries for Rust
const CRATES: [&str; 8] = [
    "milepost-protocol",
    "milepost",
    "milepost-redb",
    "milepost-archive",
    "milepost-cassandra",
    "milepost-follow",
    "milepost-feeds",
    "milepost-practice",
];

/// Prints the interfaces, or the lines that are new or gone since the revision that is given
///
/// # Errors
///
/// When a crate does not build, or git knows no such revision.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let now = interfaces(root())?;
    let [revision] = arguments else {
        print!("{now}");
        return Ok(());
    };
    let folder = target()?.join("api-revision");
    let worktree = |arguments: &[&str]| {
        run_command(program_at_root("git").arg("worktree").args(arguments).arg(&folder))
    };
    worktree(&["add", "--no-checkout", "--detach"])?;
    let checkout = ["checkout", "--quiet", "--detach", revision];
    let before = run_command(program_at_root("git").current_dir(&folder).args(checkout))
        .and_then(|()| interfaces(&folder));
    worktree(&["remove", "--force"])?;
    let before = before?;
    let lines = |text| -> BTreeSet<&str> { str::lines(text).collect() };
    let (before, now) = (lines(&before), lines(&now));
    before.difference(&now).for_each(|line| println!("- {line}"));
    now.difference(&before).for_each(|line| println!("+ {line}"));
    Ok(())
}

/// The public items of the published crates, without what is implemented by derives
fn interfaces(repository: &Path) -> Result<String, String> {
    let mut all = String::new();
    for name in CRATES {
        // From rustup, so that it finds the newest compiler, whose rustdoc writes JSON.
        let mut list = program_at_root("cargo");
        list.current_dir(repository).args(["+nightly", "public-api", "--all-features", "-sss"]);
        list.args(["--package", name, "--target-dir"]).arg(target()?.join("api"));
        all += &output(list.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO"))?;
    }
    Ok(all)
}
