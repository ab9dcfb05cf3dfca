//! The features of the engine that users may choose, in its manifests and in its documentation.

use std::collections::BTreeSet;

use milepost_tests::sources::root;
use serde_json::Value;

use crate::no_std::packages;

/// The features of a package that users may choose, and whether each is on by default
fn features_of(package: &Value) -> BTreeSet<(String, bool)> {
    let features = package["features"].as_object().expect("features");
    let default = features["default"].as_array().expect("features by default");
    let names = features.keys().filter(|name| *name != "default" && !name.starts_with("internal-"));
    names.map(|name| (name.clone(), default.iter().any(|it| it == name))).collect()
}

/// The features in the first column of a table, and whether each is on by default
fn features_in_table(text: &str, header: &str) -> BTreeSet<(String, bool)> {
    let lines = text.lines().map(|line| line.trim_start_matches("//! "));
    let lines = lines.skip_while(|line| !line.starts_with(header)).skip(2);
    let lines = lines.map_while(|line| line.strip_prefix("| `"));
    let row = |line: &str| {
        let (name, rest) = line.split_once('`').expect("a name");
        (name.to_owned(), rest.starts_with(" (default)") || rest.starts_with(" | yes |"))
    };
    lines.map(row).collect()
}

#[test]
fn the_documentation_lists_the_features_of_the_manifests() {
    let packages = packages();
    for (name, documentation, header) in [
        ("milepost", "core/src/lib.rs", "| feature | default | effect |"),
        ("milepost-protocol", "protocol/README.md", "| feature | effect |"),
    ] {
        let package = packages.iter().find(|package| package["name"] == name).expect(name);
        let features = features_of(package);
        let path = root().join(documentation);
        let text = std::fs::read_to_string(path).expect(documentation);
        assert_eq!(features, features_in_table(&text, header), "{documentation}");
        assert!((1..=5).contains(&features.len()), "{name} has {} features", features.len());
    }
}
