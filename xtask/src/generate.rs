//! Writes the committed files that are generated from sources, and knows whether they are current.
//!
//! Generators are programs in crates of their own, with their own dependencies. A record keeps one
//! hash of the sources and of the files of each, so that the tests see within a second that a
//! generator was not run after a change. The invariant: files and record are written together.

use std::collections::BTreeMap;
use std::fs;

use crate::shell::{self, output, program_at_root, root};
use crate::workspace::build_programs;

/// What one generator reads and writes
struct Generated {
    /// The command of xtask, and the line of the record
    name: &'static str,
    /// The program of this workspace that generates it, and its last arguments; Vite builds the
    /// page
    program: Option<&'static str>,
    /// Paths of git, of the sources
    sources: &'static [&'static str],
    /// Paths of git, of the files that are written
    files: &'static [&'static str],
}

const ALL: [Generated; 4] = [
    Generated {
        name: "header",
        program: Some("generate-header"),
        sources: &["ffi/src", "xtask/generate/src/header", "xtask/generate/src/header.rs"],
        files: &["include/milepost.h"],
    },
    Generated {
        name: "types",
        program: Some("generate-types"),
        // The docs of views and configurations are in their schemas.
        sources: &[
            "protocol/src/views",
            "protocol/src/views.rs",
            "protocol/src/config",
            "protocol/src/config.rs",
            "xtask/generate/src/bin/generate-types",
        ],
        files: &[
            "bindings/js/wire.d.ts",
            "bindings/js/errors.d.ts",
            "bindings/js/config.d.ts",
            "node/server/src/http/discovery/*.json",
        ],
    },
    Generated {
        name: "vectors",
        program: Some("vectors"),
        sources: &["tests/src/declare", "tests/src/declare.rs", "tests/src/bin/vectors.rs"],
        files: &[
            "tests/vectors/manifest.json",
            "tests/vectors/blocks",
            "tests/vectors/configs",
            "tests/vectors/proofs",
            "tests/vectors/requests",
            "tests/vectors/responses",
        ],
    },
    PAGE,
];

/// The page of the server
const PAGE: Generated = Generated {
    name: "page",
    program: None,
    sources: &[
        "node/page/index.html",
        "node/page/package-lock.json",
        "node/page/src",
        "node/page/vite.config.ts",
        // Of the npm package, the page imports the check of proofs and its imports.
        "bindings/js/src/core",
        "bindings/js/src/verifier",
    ],
    files: &["node/server/page"],
};

/// The module in the page, which only checks by name compare
const PAGE_MODULE: Generated = Generated {
    name: "page-module",
    program: None,
    sources: &["protocol/Cargo.toml", "protocol/src", "wasm/verifier"],
    files: &[],
};

/// The record: a name and a hash in each line
const RECORD: &str = "xtask/generated.txt";

/// Writes the files of a generator and their line of the record, or with `--check` compares
///
/// # Errors
///
/// When the generator fails, or finds another file than its own.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<(), String> {
    let word = match arguments {
        [] => "write",
        ["--check"] => "check",
        [unknown, ..] => return Err(format!("only `--check` is known here, not `{unknown}`")),
    };
    let named = ALL.iter().find(|generated| generated.name == name);
    let Some((generated, program)) = named.and_then(|found| Some((found, found.program?))) else {
        return Err(format!("no program generates `{name}`"));
    };
    let mut words = program.split(' ');
    let program = words.next().unwrap_or_default();
    let path = build_programs(&[program])?.join(program);
    shell::run(program_at_root(path).arg(word).args(words))?;
    if word == "check" { Ok(()) } else { record(core::slice::from_ref(generated)) }
}

/// Runs every program again and compares with the committed files, except the page, of whose module
/// another compiler makes other bytes
pub(crate) fn compare_all() -> Result<(), String> {
    let mut programs = ALL.iter().filter(|generated| generated.program.is_some());
    programs.try_for_each(|generated| run(generated.name, &["--check"]))?;
    check_page_module()
}

/// Compares the hashes of sources and files with the record
///
/// # Errors
///
/// When a generator was not run since a change of its sources, or a file was edited by hand.
pub(crate) fn check() -> Result<(), String> {
    ALL.iter().try_for_each(|generated| generated.compare(generated.name))
}

/// Compares the hash of the sources of the page's module
pub(crate) fn check_page_module() -> Result<(), String> {
    PAGE_MODULE.compare("page")
}

/// Records the page, which was built with its module
pub(crate) fn record_page() -> Result<(), String> {
    record(&[PAGE, PAGE_MODULE])
}

fn record(written: &[Generated]) -> Result<(), String> {
    let mut record = read_record();
    for generated in written {
        record.insert(generated.name.to_owned(), generated.hash()?);
    }
    let lines: Vec<String> = record.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
    fs::write(root().join(RECORD), lines.concat()).map_err(|error| format!("{RECORD}: {error}"))
}

/// Empty if there is none
fn read_record() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join(RECORD)).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect()
}

impl Generated {
    /// Compares with the record; the error names the command of xtask that writes the files again
    fn compare(&self, command: &str) -> Result<(), String> {
        if read_record().get(self.name) == Some(&self.hash()?) {
            return Ok(());
        }
        let sources = self.sources.join(", ");
        Err(format!(
            "{sources} or the files made from it have changed; run `cargo xtask {command}`"
        ))
    }

    /// A hash of the paths and contents of all sources and files
    fn hash(&self) -> Result<String, String> {
        let mut list = program_at_root("git");
        list.args(["ls-files", "--cached", "--others", "--exclude-standard", "--"]);
        let paths = output(list.args(self.sources).args(self.files))?;
        let mut paths: Vec<&str> = paths.lines().collect();
        paths.sort_unstable();
        paths.dedup();
        // A file that was removed is still in the index.
        paths.retain(|path| root().join(path).is_file());
        let hashes = shell::filter(program_at_root("git").args(HASH_FILES), &paths.join("\n"))?;
        let lines = hashes.lines().zip(&paths).map(|(hash, path)| format!("{hash} {path}\n"));
        let list: String = lines.collect();
        let hash = shell::filter(program_at_root("git").args(HASH_INPUT), &list)?;
        Ok(hash.trim().to_owned())
    }
}

/// Hashes contents as they are, whatever line endings the machine prefers
const HASH_FILES: [&str; 3] = ["hash-object", "--no-filters", "--stdin-paths"];
const HASH_INPUT: [&str; 2] = ["hash-object", "--stdin"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generator_has_sources_and_files() {
        for generated in ALL.iter().chain([&PAGE_MODULE]) {
            for path in generated.sources.iter().chain(generated.files) {
                let listed = output(program_at_root("git").args(["ls-files", "--", path])).unwrap();
                assert!(!listed.is_empty(), "{path}");
            }
        }
    }

    #[test]
    fn a_hash_depends_on_paths_and_contents() {
        let of = |files: &'static [&'static str]| {
            Generated { name: "", program: None, sources: &[], files }.hash().unwrap()
        };
        let one = of(&["LICENSE-MIT"]);
        assert_eq!(one, of(&["LICENSE-MIT", "LICENSE-MIT"]));
        assert_ne!(one, of(&["LICENSE-APACHE"]));
        assert_ne!(one, of(&["LICENSE-MIT", "LICENSE-APACHE"]));
    }
}
