//! Every source file is part of a crate, and every test of a program that is run: cargo and the
//! compiler pass over a file that no module names.

use std::collections::BTreeSet;
use std::fs;

use super::{files, none, root, texts};

/// The folder of the package that a file belongs to
fn package_of<'path>(path: &'path str, packages: &BTreeSet<String>) -> &'path str {
    let mut folders = path.match_indices('/').rev().map(|(at, _)| &path[..at]);
    folders.find(|folder| packages.contains(*folder)).unwrap_or_default()
}

/// The name of a package, which its one program has too
fn manifest_name(package: &str) -> String {
    let manifest = root().join(package).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("a package has a manifest");
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
    name.expect("a package has a name").trim_matches('"').to_owned()
}

fn packages() -> BTreeSet<String> {
    files().into_keys().filter_map(|path| Some(path.strip_suffix("/Cargo.toml")?.into())).collect()
}

/// Whether cargo or a build script starts at a file, rather than a module
fn is_root(inside: &str, manifest: &str) -> bool {
    let is_alone = |folder: &str| {
        let name = inside.strip_prefix(folder);
        name.is_some_and(|name| !name.contains('/') || name.ends_with("/main.rs"))
    };
    let is_found = ["src/bin/", "examples/", "benches/"].into_iter().any(is_alone)
        || (is_alone("tests/") && !manifest.contains("autotests = false"));
    let name = inside.strip_prefix("tests/").and_then(|name| name.strip_suffix(".rs"));
    let is_listed = name.is_some_and(|name| manifest.contains(&format!("name = \"{name}\"")));
    (is_found || is_listed)
        || ["src/lib.rs", "src/main.rs", "build.rs"].contains(&inside)
        || manifest.contains(&format!("path = \"{inside}\""))
}

#[test]
fn every_source_file_is_compiled() {
    let packages = packages();
    let sources = texts(&[".rs"]);
    let manifests = texts(&["Cargo.toml"]);
    let text = |path: &str| {
        let mut all = sources.iter().chain(&manifests);
        all.find(|(name, _)| name == path).map_or("", |(_, text)| text)
    };
    let mut complaints = Vec::new();
    for (path, _) in &sources {
        let package = package_of(path, &packages);
        let inside = path.strip_prefix(package).unwrap_or(path).trim_start_matches('/');
        if package.is_empty() || is_root(inside, text(&format!("{package}/Cargo.toml"))) {
            continue;
        }
        let module = path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        let (folder, name) = module.rsplit_once('/').expect("a file of a package has a folder");
        let parents = ["main.rs", "lib.rs", "mod.rs"].map(|name| format!("{folder}/{name}"));
        let mut parents = parents.into_iter().chain([format!("{folder}.rs")]);
        let is_named = |text: &str| {
            text.lines().any(|line| line.trim_start().ends_with(&format!("mod {name};")))
        };
        // By an attribute, or as what a test compiles.
        let is_named_as_file = || {
            let file = format!("/{}\"", path.rsplit('/').next().unwrap_or_default());
            !path.ends_with("/mod.rs") && sources.iter().any(|(_, text)| text.contains(&file))
        };
        if !parents.any(|parent| is_named(text(&parent))) && !is_named_as_file() {
            complaints.push(format!("{path}: no module names it"));
        }
    }
    none(&complaints);
}

#[test]
fn every_test_is_in_a_program_that_is_run() {
    let packages = packages();
    let runner = fs::read_to_string(root().join("xtask/src/programs.rs")).expect("the runner");
    // The names of all programs whose unit tests are built.
    let tested: BTreeSet<&str> = runner
        .split("--bin ")
        .skip(1)
        .filter_map(|rest| rest.split(|mark: char| mark.is_whitespace() || mark == '"').next())
        .collect();
    let mut complaints = Vec::new();
    for (path, text) in texts(&[".rs"]) {
        if !text.lines().any(|line| line.trim() == "#[test]") {
            continue;
        }
        let package = package_of(&path, &packages);
        let inside = path.strip_prefix(package).unwrap_or(&path).trim_start_matches('/');
        let has_library = files().contains_key(&format!("{package}/src/lib.rs"));
        let is_of_program = inside == "src/main.rs"
            || ["src/bin/", "examples/", "benches/"].iter().any(|start| inside.starts_with(start))
            || (inside.starts_with("src/") && !has_library);
        let name = manifest_name(package);
        if is_of_program && !tested.contains(&*name) {
            complaints.push(format!("{path}: tests of this program are not built"));
        }
    }
    none(&complaints);
}
