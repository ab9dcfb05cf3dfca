//! Tests an upgrade of the server from another release, and the way back.
//!
//! The other release is built from the history of the repository, in a clone of its own below the
//! target directory. What both have to keep is in the server's test `program`, which every run of
//! the tests runs with one release on both sides.

use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root, run, show};

/// Runs the test with the server of this revision, or of the last tagged release, on the other side
///
/// # Errors
///
/// When there is no such revision or it does not build, and when something is lost.
pub(crate) fn run_with(revision: Option<&str>) -> Result<String, String> {
    // Before the first release there is no tag.
    let newest = || output(program_at_root("git").args(["describe", "--tags", "--abbrev=0"]));
    let revision = revision.map(str::to_owned);
    let revision = revision.unwrap_or_else(|| newest().unwrap_or_else(|_| "HEAD~1".to_owned()));
    let commit = format!("{}^{{commit}}", revision.trim());
    let commit = output(program_at_root("git").args(["rev-parse", "--verify", &commit]))?;
    let place = shell::target()?.join("upgrade");
    let (tree, build) = (place.join("tree"), place.join("build"));
    if !tree.exists() {
        let mut clone = program_at_root("git");
        clone.args(["clone", "--quiet", "--shared", "--no-checkout"]).args([&root(), &tree]);
        run(&mut clone)?;
    }
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&tree).args(arguments);
        git
    };
    run(&mut git(&["checkout", "--quiet", "--detach", commit.trim()]))?;
    let mut other = cargo("build --package milepost-server");
    run(other.current_dir(&tree).arg("--target-dir").arg(&build))?;
    let mut test = cargo("test -p milepost-server --test program other_release -- --nocapture");
    let figures = show(test.env("MILEPOST_OTHER_RELEASE", build.join("debug/milepost")))?;
    let other = output(&mut git(&["show", "--no-patch", "--format=%h of %cs"]))?;
    Ok(format!("the other release: {}\n{figures}", other.trim()))
}
