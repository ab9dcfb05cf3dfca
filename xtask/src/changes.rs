//! Which files differ from the main branch or from a revision, by git.

use std::collections::BTreeSet;

use crate::shell::{output, program_at_root};

/// The nearest commit that a main branch has too; without a main branch, the last commit
///
/// # Errors
///
/// When git counts no commits.
pub(crate) fn base() -> Result<String, String> {
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
///
/// # Errors
///
/// When there is no such revision.
pub(crate) fn files_since(revision: &str) -> Result<BTreeSet<String>, String> {
    let differ = ["diff", "--name-only", "--no-renames", "--relative", "-z", revision, "--"];
    let unknown = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let changed = git(&differ)?;
    let files = changed.split('\0').chain(unknown.split('\0'));
    Ok(files.filter(|file| !file.is_empty()).map(str::to_owned).collect())
}

fn git(words: &[&str]) -> Result<String, String> {
    output(program_at_root("git").args(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_asked_of_git() {
        assert!(files_since("no such revision").is_err());
        assert!(base().is_ok_and(|base| files_since(&base).is_ok()));
    }
}
