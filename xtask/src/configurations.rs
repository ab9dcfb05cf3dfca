//! In how many configurations a run compiles the crates that everything depends on.
//!
//! The crate graph takes minutes for each configuration, which is a profile, a target, a set of
//! features and a kind of output. One configuration is one compilation of `serde_core`, which every
//! part of the repository needs; a run that makes more of them than there are reasons for fails.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// The configurations of the tests, each with its reason
const CONFIGURATIONS: [(&str, &str); 5] = [
    ("development", "lints, tests, and the programs and libraries that tests use"),
    ("host tools", "xtask itself, which is there before anything else is built"),
    ("wasm", "the modules of the npm package"),
    ("AddressSanitizer", "the library that programs in C are tested with"),
    ("no std", "the engine for a target without it, with each feature by itself"),
];

const COUNTED: &str = "libserde_core-";

/// Prints the list, and what this run has compiled below the target directory
///
/// # Errors
///
/// When these are more than the list has.
pub(crate) fn check(target: &Path, since: SystemTime) -> Result<(), String> {
    let mut compiled = Vec::new();
    find(target, since, &mut compiled);
    compiled.sort();
    compiled.dedup();
    println!("configurations: {} of at most {}", compiled.len(), CONFIGURATIONS.len());
    for (name, reason) in CONFIGURATIONS {
        println!("  {name:<18} {reason}");
    }
    if compiled.len() <= CONFIGURATIONS.len() {
        return Ok(());
    }
    let list = compiled.join("\n  ");
    Err(format!(
        "serde_core was compiled {} times, at most {} are allowed:\n  {list}",
        compiled.len(),
        CONFIGURATIONS.len()
    ))
}

/// Adds compilations that are not older, each as its path without the extension
fn find(folder: &Path, since: SystemTime, compiled: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(data) = entry.metadata() else { continue };
        if data.is_dir() {
            // Has as many folders as there are crates, and no libraries.
            if !path.ends_with(".fingerprint") && !path.ends_with("node_modules") {
                find(&path, since, compiled);
            }
        } else if entry.file_name().to_string_lossy().starts_with(COUNTED)
            && data.modified().is_ok_and(|time| time >= since)
        {
            compiled.push(path.with_extension("").display().to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn metadata_and_library_are_one_compilation_and_old_ones_do_not_count() {
        let folder = std::env::temp_dir().join(format!("xtask-count-{}", std::process::id()));
        let deps = folder.join("debug/deps");
        fs::create_dir_all(&deps).unwrap();
        let since = SystemTime::now() - Duration::from_secs(60);
        let write = |name: String| fs::write(deps.join(name), "").unwrap();
        write("libserde_core-a.rmeta".to_owned());
        write("libserde_core-a.rlib".to_owned());
        for other in 0..CONFIGURATIONS.len() - 1 {
            write(format!("libserde_core-{other}.rmeta"));
        }
        assert_eq!(check(&folder, since), Ok(()));
        assert_eq!(check(&folder, SystemTime::now() + Duration::from_secs(60)), Ok(()));
        write("libserde_core-b.rmeta".to_owned());
        let error = check(&folder, since).unwrap_err();
        fs::remove_dir_all(&folder).unwrap();
        assert!(error.contains("compiled 6 times"), "{error}");
    }
}
