//! The shared vectors, on the crate.
//!
//! All vectors run and all that fail are named, because one rule affects many. The files are also
//! compared with their declarations, so that neither changes without the other.

use std::collections::BTreeSet;

use milepost::storage::MemoryStorage;
use milepost_tests::declare::Declarations;
use milepost_tests::sources::none;
use milepost_tests::vectors::{self, engine};

#[test]
fn files_are_as_declared() {
    let changes = Declarations::new().sync(&vectors::directory(), false);
    let changes = changes.expect("the files can be read");
    assert!(changes.is_empty(), "run `cargo xtask vectors` and review: {changes:#?}");
}

#[test]
fn every_vector_has_a_fixture_and_a_description() {
    let manifest = vectors::load().expect("the manifest and its files");
    let declared: BTreeSet<&str> = manifest.fixtures.iter().map(|f| f.name.as_str()).collect();
    for vector in &manifest.vectors {
        assert!(declared.contains(vector.fixture.as_str()), "{}: no such fixture", vector.name);
        assert!(!vector.about.is_empty(), "{}: no description", vector.name);
    }
}

#[test]
fn the_engine_gives_every_response() {
    let manifest = vectors::load().expect("the manifest and its files");
    let (mut failures, mut total) = (Vec::new(), 0);
    for fixture in &manifest.fixtures {
        let storage = match engine::import_fixture(fixture, MemoryStorage::new()) {
            Ok(storage) => storage,
            Err(error) => {
                failures.push(format!("fixture {}: {error}", fixture.name));
                continue;
            }
        };
        for vector in manifest.of(fixture) {
            total += 1;
            if let Err(difference) = engine::run(vector, fixture, &storage) {
                failures.push(format!("{}: {difference}", vector.name));
            }
        }
    }
    none(&failures);
    assert_eq!(total, manifest.vectors.len());
}

#[test]
fn the_check_of_every_proof_finds_what_is_declared() {
    let proofs = vectors::load().expect("the manifest and its files").proofs;
    let failures = proofs.iter().filter_map(|proof| {
        let difference = engine::verify(proof).err()?;
        Some(format!("{}: {difference}", proof.name))
    });
    none(&failures.collect::<Vec<_>>());
    assert!(proofs.len() > 60, "{} proofs", proofs.len());
}
