//! The shared vectors, on the crate and on the node's program.
//!
//! All vectors run and all that differ are named, because a change of one rule shows in many. The
//! files are also compared with their declarations, so that neither can change without the other.

use std::collections::{BTreeMap, BTreeSet};

use milepost::facts::MemoryStorage;
use milepost_tests::declare::Declarations;
use milepost_tests::vectors::{self, Manifest, Vector, engine, http};

fn manifest() -> Manifest {
    vectors::load().expect("the manifest and its files")
}

/// Fails with the names of the vectors that differ, and how
fn none(complaints: &[String], asked: usize) {
    let count = complaints.len();
    assert!(complaints.is_empty(), "{count} of {asked} vectors\n{}\n", complaints.join("\n"));
}

#[test]
fn files_are_as_declared() {
    let changes = Declarations::new().settle(&vectors::directory(), false);
    let changes = changes.expect("the files can be read");
    assert!(changes.is_empty(), "run `cargo xtask vectors` and review: {changes:#?}");
}

#[test]
fn every_vector_has_its_scene() {
    let manifest = manifest();
    let scenes: BTreeSet<&str> = manifest.scenes.iter().map(|scene| scene.name.as_str()).collect();
    let asked: BTreeSet<&str> = manifest.vectors.iter().map(|v| v.scene.as_str()).collect();
    assert!(asked.is_subset(&scenes), "scenes that are not there: {asked:?}");
    assert!(
        manifest.vectors.iter().all(|vector| !vector.about.is_empty()),
        "a vector about nothing"
    );
}

#[test]
fn the_engine_gives_every_answer() {
    let manifest = manifest();
    let (mut complaints, mut asked) = (Vec::new(), 0);
    for scene in &manifest.scenes {
        let storage = match engine::set(scene, MemoryStorage::new()) {
            Ok(storage) => storage,
            Err(refusal) => {
                complaints.push(format!("scene {}: {refusal}", scene.name));
                continue;
            }
        };
        for vector in manifest.of(scene) {
            asked += 1;
            if let Err(difference) = engine::run(vector, scene, &storage) {
                complaints.push(format!("{}: {difference}", vector.name));
            }
        }
    }
    none(&complaints, asked);
    assert_eq!(asked, manifest.vectors.len());
}

#[test]
fn the_node_gives_every_answer() {
    let manifest = manifest();
    let program = http::program().expect("the node's program");
    let (mut complaints, mut asked) = (Vec::new(), 0);
    for scene in &manifest.scenes {
        let mut by_flags: BTreeMap<Vec<String>, Vec<&Vector>> = BTreeMap::new();
        for vector in manifest.of(scene).filter(|vector| http::can_ask(vector, scene)) {
            by_flags.entry(http::flags(vector)).or_default().push(vector);
        }
        for (flags, vectors) in by_flags {
            let work = tempfile::tempdir().expect("a directory for the node");
            let node = match http::Node::start(&program, scene, &flags, work.path()) {
                Ok(node) => node,
                Err(refusal) => {
                    complaints.push(format!("scene {}: {refusal}", scene.name));
                    continue;
                }
            };
            for vector in vectors {
                asked += 1;
                if let Err(difference) = node.run(vector) {
                    complaints.push(format!("{}: {difference}", vector.name));
                }
            }
        }
    }
    none(&complaints, asked);
    // Only what the command line has no word for is left out.
    assert!(asked * 10 > manifest.vectors.len() * 9, "only {asked} vectors were asked");
}
