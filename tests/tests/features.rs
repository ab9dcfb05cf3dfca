//! The features of the build that is tested, beside those of the builds that are released.
//!
//! Cargo builds a dependency once for the whole workspace, with every feature that any package
//! asks for. A feature that only a test asks for is then in the tested library and not in the
//! released one, where the same code may behave otherwise. Each such feature is listed here. The
//! documentation of the engine lists those of its own that users may choose.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::no_std::packages;

/// What is released: the server and the library for C
const RELEASED: [&[&str]; 2] =
    [&["--package=milepost-server", "--features=cassandra"], &["--package=milepost-capi"]];

/// The build of the tests: everything
const TESTED: [&str; 2] = ["--workspace", "--features=milepost-server/cassandra"];

/// Features of the tested build alone, by crate and reason
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("milepost", "conformance", "the kit for storages, which the tests of each storage run"),
    ("milepost-protocol", "default", "the two features above it"),
    ("milepost-protocol", "internal-schema-docs", "texts in schemas, for the generator of types"),
    ("tokio", "test-util", "a clock that tests of the server move; nothing else uses it"),
    ("bs58", "default std", "adds an implementation of `std::error::Error`"),
    ("base64", "default", "`std`, which the server has"),
    ("curve25519-dalek", "precomputed-tables zeroize", "as in the line below"),
    ("ed25519-dalek", "default fast zeroize", "the practice chain signs with tables"),
    ("sha2", "alloc default oid", "the tests hash with its defaults"),
    ("serde_core", "default", "`std`, which all have"),
    ("digest", "alloc", "hashes of any size, which the engine does not use"),
    ("memchr", "default", "`std`, which the server has"),
    ("num-traits", "std", "floating point, which the engine does not use"),
    ("zeroize", "alloc default", "an implementation for vectors"),
    (
        "hashbrown",
        "allocator-api2 default default-hasher equivalent inline-more raw-entry serde",
        "other hashers; ours is named in each type",
    ),
    ("indexmap", "serde", "an implementation for the generator of glue for wasm"),
    ("libc", "extra_traits", "implementations of `Debug`"),
    ("hyper-util", "service", "for the benches of HTTP"),
    ("tower", "make", "for axum, in the examples"),
    ("regex-automata", "meta nfa-pikevm", "more kinds of patterns, for criterion"),
    ("zerocopy", "derive zerocopy-derive", "a macro"),
];

/// Features by crate and version
type Features = BTreeMap<String, BTreeSet<String>>;

fn features(selection: &[&str], edges: &str) -> Features {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tree = Command::new(cargo);
    tree.current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).args(["tree", "--locked", "--offline"]);
    tree.args(["--prefix=none", "--no-dedupe", "--format={p}|{f}", edges]).args(selection);
    let output = tree.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all = Features::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        // The folder of a package of the workspace follows its version.
        let package = package.split(" (").next().unwrap_or_default();
        let features = features.trim_end_matches(" (*)").split(',');
        let features = features.filter(|name| !name.is_empty()).map(str::to_owned);
        all.entry(package.to_owned()).or_default().extend(features);
    }
    all
}

#[test]
fn the_tested_build_has_no_feature_that_the_released_ones_lack() {
    let each = EXCEPTIONS.iter().flat_map(|(name, features, _)| {
        features.split(' ').map(move |feature| format!("{name}/{feature}"))
    });
    let exceptions: BTreeSet<String> = each.collect();
    let (mut leaked, mut used) = (BTreeSet::new(), BTreeSet::new());
    let tested = features(&TESTED, "--edges=normal,build,dev");
    for selection in RELEASED {
        let released = features(selection, "--edges=normal,no-proc-macro");
        assert!(
            released.keys().any(|it| it.starts_with("milepost v")),
            "{selection:?} is not built of the engine"
        );
        for (package, features) in released {
            let name = package.split(' ').next().unwrap_or_default();
            for feature in tested.get(&package).into_iter().flatten() {
                if !features.contains(feature) {
                    let feature = format!("{name}/{feature}");
                    let list = if exceptions.contains(&feature) { &mut used } else { &mut leaked };
                    list.insert(feature);
                }
            }
        }
    }
    assert!(leaked.is_empty(), "features that no release has: {leaked:?}");
    assert_eq!(exceptions, used, "each exception has a use");
}

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
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(documentation);
        let text = std::fs::read_to_string(path).expect(documentation);
        assert_eq!(features, features_in_table(&text, header), "{documentation}");
        assert!((1..=5).contains(&features.len()), "{name} has {} features", features.len());
    }
}
