//! The dependencies between the crates, read from their manifests.
//!
//! `protocol` and `core` disable the default features of their dependencies. No published crate
//! depends on an unpublished one, and no crate of this workspace on those of the NEAR node.
//! `cargo xtask test` checks that `core` needs no `std` by building it for a target without one.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// The prefix of the names of the node's crates
const NODE_PREFIX: &str = "near-";

/// The packages of the workspace, as `cargo metadata` prints them
pub(crate) fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages").clone();
    assert!(packages.iter().any(|package| package["name"] == "milepost"), "no package milepost");
    packages
}

fn name(row: &Value) -> &str {
    row["name"].as_str().expect("a name")
}

fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

/// The dependencies of a package that its users build as well
fn shipped_dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    let all = package["dependencies"].as_array().expect("a list of dependencies");
    all.iter().filter(|dependency| dependency["kind"] != "dev")
}

#[test]
fn no_published_crate_depends_on_an_unpublished_one() {
    let packages = packages();
    let unpublished: BTreeSet<&str> =
        packages.iter().filter(|package| !is_published(package)).map(name).collect();
    assert!(unpublished.contains("milepost-tests"), "milepost-tests is published");
    for package in packages.iter().filter(|package| is_published(package)) {
        for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
            // A development dependency without a version is not part of the published manifest.
            if dependency["kind"] == "dev" && dependency["req"] == "*" {
                continue;
            }
            let dependency = name(dependency);
            assert!(!unpublished.contains(dependency), "{} depends on {dependency}", name(package));
        }
    }
}

#[test]
fn the_crates_of_the_node_are_in_a_separate_workspace() {
    let node_crates = |lock_file: &str| {
        let path = [env!("CARGO_MANIFEST_DIR"), "/../", lock_file].concat();
        let text = std::fs::read_to_string(path).expect("a lock file");
        let names: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with(&format!("name = \"{NODE_PREFIX}")))
            .map(str::to_owned)
            .collect();
        names
    };
    assert_eq!(node_crates("Cargo.lock"), [""; 0]);
    assert!(
        !node_crates("interop/Cargo.lock").is_empty(),
        "interop does not use the crates of the node"
    );
}

#[test]
fn wasm_bindgen_and_its_command_have_the_same_version() {
    let packages = packages();
    let requirement = |package: &str, dependency: &str| {
        let package = packages.iter().find(|row| name(row) == package).expect("a package");
        let mut dependencies = package["dependencies"].as_array().expect("a list").iter();
        let dependency = dependencies.find(|row| name(row) == dependency).expect("a dependency");
        dependency["req"].as_str().expect("a requirement").to_owned()
    };
    let version = requirement("milepost-wasm", "wasm-bindgen");
    for module in ["milepost-wasm-follow", "milepost-wasm-kit", "milepost-wasm-verifier"] {
        assert_eq!(version, requirement(module, "wasm-bindgen"));
    }
    assert!(version.starts_with('='), "wasm-bindgen {version} is not pinned");
    assert_eq!(version, requirement("xtask-generate", "wasm-bindgen-cli-support"));
}

#[test]
fn the_engine_disables_default_features() {
    let packages = packages();
    for (crate_name, directory) in [("milepost-protocol", "protocol"), ("milepost", "core")] {
        let package = packages.iter().find(|package| name(package) == crate_name);
        let package = package.expect("a crate of the engine");
        for dependency in shipped_dependencies(package) {
            let defaults = dependency["uses_default_features"].as_bool();
            assert_eq!(defaults, Some(false), "{} has its default features", name(dependency));
        }
        let root = format!("{}/../{directory}/src/lib.rs", env!("CARGO_MANIFEST_DIR"));
        let root = std::fs::read_to_string(root).expect("the root of a crate");
        assert!(root.lines().any(|line| line == "#![no_std]"), "{crate_name} is not no_std");
    }
}

#[test]
fn core_requires_the_same_version_of_protocol() {
    let packages = packages();
    let engine = packages.iter().find(|package| name(package) == "milepost").expect("the engine");
    let mut dependencies = shipped_dependencies(engine);
    let protocol =
        dependencies.find(|row| name(row) == "milepost-protocol").expect("the dependency");
    let version = engine["version"].as_str().expect("a version");
    assert_eq!(protocol["req"].as_str(), Some(format!("={version}").as_str()));
}
