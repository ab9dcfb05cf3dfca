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
pub(crate) struct Generated {
    /// Its line of the record
    name: &'static str,
    /// Paths of git, of the sources
    sources: &'static [&'static str],
    /// Paths of git, of the files that are written
    files: &'static [&'static str],
}

/// The generators that are programs of this workspace, each by the name of its command
const PROGRAMS: [(&str, Generated); 3] = [
    (
        "milepost-header",
        Generated {
            name: "header",
            sources: &["ffi/src", "ffi/header/src"],
            files: &["include/milepost.h"],
        },
    ),
    (
        "xtask-types",
        Generated {
            name: "types",
            // The docs of views and configurations are in their schemas.
            sources: &["protocol/src/views", "protocol/src/config", "xtask/types/src"],
            files: &[
                "bindings/js/wire.d.ts",
                "bindings/js/errors.d.ts",
                "bindings/js/config.d.ts",
                "server/src/http/discovery/*.json",
            ],
        },
    ),
    (
        "vectors",
        Generated {
            name: "vectors",
            sources: &["tests/src/declare", "tests/src/bin/vectors.rs"],
            files: &[
                "tests/vectors/manifest.json",
                "tests/vectors/blocks",
                "tests/vectors/configs",
                "tests/vectors/proofs",
                "tests/vectors/requests",
                "tests/vectors/responses",
                "server/src/conformance/expectations.json",
            ],
        },
    ),
];

/// The page, which Vite builds
pub(crate) const PAGE: Generated = Generated {
    name: "page",
    sources: &[
        "bindings/js/page/index.html",
        "bindings/js/page/package-lock.json",
        "bindings/js/page/src",
        "bindings/js/page/vite.config.ts",
        // What the page imports of the npm package.
        "bindings/js/src/core/compile.js",
        "bindings/js/src/core/errors.js",
        "bindings/js/src/core/input.js",
        "bindings/js/src/core/json.js",
        "bindings/js/src/core/options.js",
        "bindings/js/src/proof",
    ],
    files: &["server/page"],
};

/// The module that checks proofs, which is one of the page's files
pub(crate) const PAGE_MODULE: Generated = Generated {
    name: "page-module",
    sources: &["protocol/Cargo.toml", "protocol/src", "wasm/proof"],
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
    let found = PROGRAMS.iter().find(|(_, generated)| generated.name == name);
    let (program, generated) = found.ok_or_else(|| format!("no program generates `{name}`"))?;
    let path = build_programs(&[program])?.join(program);
    shell::run(program_at_root(path).arg(word))?;
    if word == "check" { Ok(()) } else { record(generated) }
}

/// Runs every program again and compares its files; compares the hash of the page's module, of which
/// another compiler would make other bytes
pub(crate) fn compare_all() -> Result<(), String> {
    PROGRAMS.iter().try_for_each(|(_, generated)| run(generated.name, &["--check"]))?;
    PAGE_MODULE.compare("page")
}

/// Compares the hashes of sources and files with the record
///
/// # Errors
///
/// When a generator was not run since a change of its sources, or a file was edited by hand.
pub(crate) fn check() -> Result<(), String> {
    PROGRAMS.iter().try_for_each(|(_, generated)| generated.compare(generated.name))?;
    PAGE.compare("page")
}

/// Writes the line of a generator whose files were written
pub(crate) fn record(generated: &Generated) -> Result<(), String> {
    let mut record = read_record();
    record.insert(generated.name.to_owned(), generated.hash()?);
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
    ///
    /// # Errors
    ///
    /// When they differ.
    pub(crate) fn compare(&self, command: &str) -> Result<(), String> {
        if read_record().get(self.name) == Some(&self.hash()?) {
            return Ok(());
        }
        let sources = self.sources.join(", ");
        Err(format!("{sources} or what is made of it has changed; run `cargo xtask {command}`"))
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
    use std::path::PathBuf;

    use super::*;

    fn all() -> impl Iterator<Item = Generated> {
        PROGRAMS.map(|(_, generated)| generated).into_iter().chain([PAGE, PAGE_MODULE])
    }

    #[test]
    fn every_generator_has_sources_and_files() {
        for generated in all() {
            for path in generated.sources.iter().chain(generated.files) {
                let listed = output(program_at_root("git").args(["ls-files", "--", path])).unwrap();
                assert!(!listed.is_empty(), "{path}");
            }
        }
    }

    #[test]
    fn what_the_page_imports_of_the_package_is_among_its_sources() {
        let list = output(program_at_root("git").arg("ls-files").args(PAGE.sources)).unwrap();
        let files: Vec<PathBuf> =
            list.lines().map(|file| root().join(file).canonicalize().unwrap()).collect();
        for file in &files {
            let text = fs::read_to_string(file).unwrap();
            // Types are not in the page, and the glue is made with the module.
            let code = text.lines().filter(|line| !line.starts_with("/**"));
            let words = code.flat_map(|line| line.split('"'));
            let is_path = |word: &&str| word.starts_with('.') && word.ends_with(".js");
            for path in words.filter(is_path).filter(|path| !path.contains("/build/")) {
                let imported = file.parent().unwrap().join(path).canonicalize().unwrap();
                assert!(files.contains(&imported), "{path} of {}", file.display());
            }
        }
    }

    #[test]
    fn a_hash_depends_on_paths_and_contents() {
        let of = |files: &'static [&'static str]| {
            Generated { name: "", sources: &[], files }.hash().unwrap()
        };
        let one = of(&["LICENSE-MIT"]);
        assert_eq!(one, of(&["LICENSE-MIT", "LICENSE-MIT"]));
        assert_ne!(one, of(&["LICENSE-APACHE"]));
        assert_ne!(one, of(&["LICENSE-MIT", "LICENSE-APACHE"]));
    }
}
