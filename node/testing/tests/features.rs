//! The features of the build that is tested, beside those of the builds that are released.
//!
//! Cargo builds a dependency once for the whole workspace, with every feature that any package
//! asks for. A feature that only a test asks for is then in the tested library and not in the
//! released one, where the same code may behave otherwise. Each such feature is listed here.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use milepost_tests::sources::root;

/// The released builds: the server and the library for C
const RELEASED: [&[&str]; 2] =
    [&["--package=milepost-server", "--features=cassandra,jemalloc"], &["--package=milepost-capi"]];

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
    ("zerocopy", "derive zerocopy-derive", "a macro"),
    ("tracing-subscriber", "env-filter matchers once_cell tracing", "another filter, for loom"),
];

/// Features by crate and version
type Features = BTreeMap<String, BTreeSet<String>>;

fn features(selection: &[&str], edges: &str) -> Features {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tree = Command::new(cargo);
    tree.current_dir(root()).args(["tree", "--locked"]);
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
