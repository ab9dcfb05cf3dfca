//! The arrows between the crates, read from their manifests.
//!
//! `core` depends on no other room and takes no dependency with `std` switched on by default;
//! hosts depend on `core`; nothing depends on what is not published, and nothing in this workspace on
//! the crates of the node. That `core` needs no `std` is proved by building it for a
//! target without one, which `cargo xtask test` does.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// The rooms that stand beside each other on top of the engine
const BESIDE_EACH_OTHER: [&str; 4] =
    ["milepost-redb", "milepost-practice", "milepost-ffi", "milepost-wasm"];
/// What the names of the node's crates begin with
const NODE: &str = "near-";

fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages").clone();
    assert!(packages.iter().any(|package| package["name"] == "milepost"), "no engine");
    packages
}

fn name(row: &Value) -> &str {
    row["name"].as_str().expect("a name")
}

fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

/// The dependencies of a package that its users build too
fn shipped_dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    let all = package["dependencies"].as_array().expect("a list of dependencies");
    all.iter().filter(|dependency| dependency["kind"] != "dev")
}

#[test]
fn arrows_point_to_the_core() {
    let packages = packages();
    let rooms: BTreeSet<&str> = packages.iter().map(name).collect();
    let published = packages.iter().filter(|package| is_published(package));
    for package in published {
        for dependency in shipped_dependencies(package).map(name).filter(|d| rooms.contains(d)) {
            let (from, allowed) = match name(package) {
                from @ "milepost-protocol" => (from, false),
                from @ "milepost" => (from, dependency == "milepost-protocol"),
                // Hosts in C have the file too.
                from @ "milepost-ffi" if dependency == "milepost-redb" => (from, true),
                from if BESIDE_EACH_OTHER.contains(&from) => (from, dependency == "milepost"),
                from => (from, dependency == "milepost" || BESIDE_EACH_OTHER.contains(&dependency)),
            };
            assert!(allowed, "{from} depends on {dependency}");
        }
    }
}

#[test]
fn nothing_depends_on_what_is_not_published() {
    let packages = packages();
    let unpublished: BTreeSet<&str> =
        packages.iter().filter(|package| !is_published(package)).map(name).collect();
    assert!(unpublished.contains("milepost-tests"), "the tests are published");
    for package in packages.iter().filter(|package| is_published(package)) {
        for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
            // A dependency of tests without a version is left out of what is published.
            if dependency["kind"] == "dev" && dependency["req"] == "*" {
                continue;
            }
            let dependency = name(dependency);
            assert!(!unpublished.contains(dependency), "{} depends on {dependency}", name(package));
        }
    }
}

#[test]
fn the_crates_of_the_node_are_in_a_workspace_of_their_own() {
    let node_crates = |lock_file: &str| {
        let path = [env!("CARGO_MANIFEST_DIR"), "/../", lock_file].concat();
        let text = std::fs::read_to_string(path).expect("a lock file");
        let names: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with(&format!("name = \"{NODE}")))
            .map(str::to_owned)
            .collect();
        names
    };
    assert_eq!(node_crates("Cargo.lock"), [""; 0]);
    assert!(!node_crates("interop/Cargo.lock").is_empty(), "nothing is compared with the node");
}

#[test]
fn the_glue_is_made_by_the_version_of_its_macro() {
    let packages = packages();
    let asked = |package: &str, wanted: &str| {
        let package = packages.iter().find(|row| name(row) == package).expect("a package");
        let mut dependencies = package["dependencies"].as_array().expect("a list").iter();
        let dependency = dependencies.find(|row| name(row) == wanted).expect("a dependency");
        dependency["req"].as_str().expect("a requirement").to_owned()
    };
    let version = asked("milepost-wasm", "wasm-bindgen");
    assert!(version.starts_with('='), "wasm-bindgen {version} is not pinned");
    assert_eq!(version, asked("xtask-npm", "wasm-bindgen-cli-support"));
}

#[test]
fn the_engine_takes_no_default_features() {
    let packages = packages();
    for (crate_name, directory) in [("milepost-protocol", "protocol"), ("milepost", "core")] {
        let package = packages.iter().find(|package| name(package) == crate_name);
        let package = package.expect("a crate of the engine");
        for dependency in shipped_dependencies(package) {
            let defaults = dependency["uses_default_features"].as_bool();
            assert_eq!(defaults, Some(false), "{} with its default features", name(dependency));
        }
        let root = format!("{}/../{directory}/src/lib.rs", env!("CARGO_MANIFEST_DIR"));
        let root = std::fs::read_to_string(root).expect("the root of a crate");
        assert!(root.lines().any(|line| line == "#![no_std]"), "{crate_name} is built with std");
    }
}

#[test]
fn the_two_crates_of_the_engine_are_released_together() {
    let packages = packages();
    let engine = packages.iter().find(|package| name(package) == "milepost").expect("the engine");
    let mut dependencies = shipped_dependencies(engine);
    let protocol = dependencies.find(|row| name(row) == "milepost-protocol").expect("the types");
    let version = engine["version"].as_str().expect("a version");
    assert_eq!(protocol["req"].as_str(), Some(format!("={version}").as_str()));
}
