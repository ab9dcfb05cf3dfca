//! The two houses: the engine names nothing of the node, and the crates of both depend one way.
//!
//! Each test names every file and line that breaks its rule.

use milepost_tests::sources::{none, reads_of_responses, texts, uses_of_later_modules};

/// The folders of the engine and of its tests; the others at the root belong to neither house
const ENGINE: [&str; 13] = [
    "protocol", "core", "follow", "stores", "practice", "ffi", "include", "wasm", "bindings",
    "tests", "benches", "fuzz", "examples",
];

/// Which crates of ours a crate is built of: all that are published, and all of the node
#[rustfmt::skip]
const CRATES: [(&str, &[&str]); 15] = [
    ("protocol", &[]),
    ("core", &["milepost-protocol"]),
    ("follow", &["milepost"]),
    ("stores/redb", &["milepost"]),
    ("practice", &["milepost"]),
    ("wasm", &["milepost"]),
    // The C library includes the embedded storage.
    ("ffi", &["milepost", "milepost-redb"]),
    ("node/archive", &["milepost"]),
    ("node/cassandra", &["milepost"]),
    ("node/feeds", &["milepost", "milepost-follow"]),
    ("node/server", &["milepost", "milepost-redb", "milepost-practice", "milepost-archive",
        "milepost-cassandra", "milepost-feeds"]),
    ("node/testing", &["milepost", "milepost-redb", "milepost-practice", "milepost-testkit",
        "milepost-tests", "milepost-archive", "milepost-follow"]),
    ("node/benches", &["milepost", "milepost-redb", "milepost-practice", "milepost-testkit",
        "milepost-benches", "milepost-archive", "milepost-feeds", "milepost-testing"]),
    ("node/fuzz", &["milepost-tests", "milepost-server", "milepost-testing"]),
    ("node/interop", &["milepost-interop", "milepost-practice", "milepost-node-benches",
        "milepost-testing"]),
];

/// The manifests by their folders
fn manifests() -> impl Iterator<Item = (String, String)> {
    let manifests = texts(&["/Cargo.toml"]).into_iter();
    manifests.map(|(path, text)| (path.trim_end_matches("/Cargo.toml").to_owned(), text))
}

/// The name of the package of a manifest
fn name(manifest: &str) -> &str {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = \""));
    line.and_then(|line| line.split('"').next()).expect("a package has a name")
}

#[test]
fn the_engine_names_nothing_of_the_node() {
    // No source can use a crate that its manifest does not name.
    let mut names = Vec::new();
    for (folder, manifest) in manifests().filter(|(folder, _)| folder.starts_with("node/")) {
        names.push(name(&manifest).to_owned());
        names.push(format!("{folder}/"));
    }
    assert!(names.iter().any(|name| name == "node/server/"), "{names:?}");
    let kinds = [
        ".rs", ".toml", ".js", ".cjs", ".mjs", ".ts", ".json", ".html", ".c", ".cpp", ".h", ".hpp",
        ".cmake", ".txt", ".in",
    ];
    let mut complaints = Vec::new();
    for (path, text) in texts(&kinds) {
        if !ENGINE.iter().any(|folder| path.starts_with(&format!("{folder}/"))) {
            continue;
        }
        let mut in_workspace = false;
        for (line, number) in text.lines().zip(1..) {
            if path.ends_with(".toml") && line.starts_with('[') {
                in_workspace = line.starts_with("[workspace");
            }
            let names = names.iter().filter(|name| line.contains(&***name) && !in_workspace);
            complaints.extend(names.map(|name| format!("{path}:{number}: names {name}")));
        }
    }
    none(&complaints);
}

#[test]
fn crates_depend_one_way() {
    let mut complaints = Vec::new();
    let mut seen = 0;
    for (folder, manifest) in manifests() {
        let is_published = manifest.contains("[package]") && !manifest.contains("publish = false");
        if !is_published && !folder.starts_with("node/") {
            continue;
        }
        let Some((_, allowed)) = CRATES.iter().find(|(known, _)| *known == folder) else {
            complaints.push(format!("{folder}: a crate without a line in the table"));
            continue;
        };
        seen += 1;
        let mut is_shipped = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                is_shipped = line == "[dependencies]" || line.ends_with(".dependencies]");
            }
            let used = line.split([' ', '.']).next().unwrap_or_default();
            let is_ours = used == "milepost" || used.starts_with("milepost-");
            if is_shipped && is_ours && !allowed.contains(&used) {
                complaints.push(format!("{folder}: depends on {used}"));
            }
        }
    }
    none(&complaints);
    assert_eq!(seen, CRATES.len(), "a line of the table has no crate");
}

#[test]
fn no_host_reads_a_response_of_the_engine() {
    // They read the answers of other programs: nodes, the model's clients.
    let readers = [
        "node/server/src/upstream/",
        "node/server/src/commands/query.rs",
        "node/server/src/simulation/",
    ];
    none(&reads_of_responses(&["node/server/src/"], &readers));
}

/// The modules of the server, in the order of the table in its documentation
const SERVER: [&str; 17] = [
    "locks", "log", "errors", "metrics", "store", "archive", "request", "waits", "chain",
    "queries", "upstream", "feed", "http", "cli", "follow", "serve", "commands",
];

#[test]
fn modules_of_the_server_use_only_those_before_them() {
    let exempt = ["lib", "main", "fuzz", "simulation"];
    none(&uses_of_later_modules("node/server", &SERVER, &exempt));
}
