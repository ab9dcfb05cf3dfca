//! The shared vectors, on the crate and on the server.
//!
//! All vectors run and all that fail are named, because one rule affects many. The files are also
//! compared with their declarations, so that neither changes without the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use milepost::storage::MemoryStorage;
use milepost_tests::declare::Declarations;
use milepost_tests::vectors::archived::{self, Archived};
use milepost_tests::vectors::http::{self, Server};
use milepost_tests::vectors::{self, Fixture, Manifest, Vector, engine};

/// The metric of the rows that requests found in an archive
const ARCHIVE_READS: &str = "milepost_archive_reads_total{result=\"found\"}";

fn manifest() -> Manifest {
    vectors::load().expect("the manifest and its files")
}

/// Panics with the failures, if there are any
fn assert_none(failures: &[String], total: usize) {
    let count = failures.len();
    assert!(failures.is_empty(), "{count} of {total} vectors\n{}\n", failures.join("\n"));
}

#[test]
fn files_are_as_declared() {
    let changes = Declarations::new().sync(&vectors::directory(), false);
    let changes = changes.expect("the files can be read");
    assert!(changes.is_empty(), "run `cargo xtask vectors` and review: {changes:#?}");
}

#[test]
fn every_vector_has_a_fixture_and_a_description() {
    let manifest = manifest();
    let declared: BTreeSet<&str> = manifest.fixtures.iter().map(|f| f.name.as_str()).collect();
    for vector in &manifest.vectors {
        assert!(declared.contains(vector.fixture.as_str()), "{}: no such fixture", vector.name);
        assert!(!vector.about.is_empty(), "{}: no description", vector.name);
    }
}

#[test]
fn the_engine_gives_every_response() {
    let manifest = manifest();
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
    assert_none(&failures, total);
    assert_eq!(total, manifest.vectors.len());
}

#[test]
fn the_check_of_every_proof_finds_what_is_declared() {
    let proofs = manifest().proofs;
    let failures = proofs.iter().filter_map(|proof| {
        let difference = engine::verify(proof).err()?;
        Some(format!("{}: {difference}", proof.name))
    });
    assert_none(&failures.collect::<Vec<_>>(), proofs.len());
    assert!(proofs.len() > 60, "{} proofs", proofs.len());
}

/// What starts a server for a fixture with these flags and a directory of the fixture
type Start<'start> = &'start dyn Fn(&Fixture, &[String], &Path) -> Result<Server, String>;

/// Runs the vectors of these fixtures on servers, each started by `start`; returns how many ran,
/// and how many rows they found in an archive
fn run_on_servers(manifest: &Manifest, start: Start<'_>) -> (usize, u64) {
    let (mut failures, mut total, mut found) = (Vec::new(), 0, 0);
    for fixture in &manifest.fixtures {
        let directory = tempfile::tempdir().expect("a directory for the servers");
        let mut by_flags: BTreeMap<Vec<String>, Vec<&Vector>> = BTreeMap::new();
        for vector in manifest.of(fixture).filter(|vector| http::is_supported(vector, fixture)) {
            by_flags.entry(http::flags(vector)).or_default().push(vector);
        }
        for (flags, vectors) in by_flags {
            let server = match start(fixture, &flags, directory.path()) {
                Ok(server) => server,
                Err(error) => {
                    failures.push(format!("fixture {}: {error}", fixture.name));
                    continue;
                }
            };
            for vector in vectors {
                total += 1;
                if let Err(difference) = server.run(vector) {
                    failures.push(format!("{}: {difference}", vector.name));
                }
            }
            let (_, metrics) = server.get("metrics").expect("the server has metrics");
            let metrics = String::from_utf8(metrics).expect("a text");
            let mut lines = metrics.lines();
            let rows = lines.find_map(|line| line.strip_prefix(ARCHIVE_READS)?.trim().parse().ok());
            found += rows.unwrap_or(0);
        }
    }
    assert_none(&failures, total);
    (total, found)
}

#[test]
fn the_server_gives_every_response() {
    let manifest = manifest();
    let program = http::program().expect("the server is built");
    let (total, _) = run_on_servers(&manifest, &|fixture, flags, directory| {
        Server::start(&program, fixture, flags, directory)
    });
    // Only what the command line cannot express is excluded.
    assert!(total * 10 > manifest.vectors.len() * 9, "only {total} vectors ran");
}

#[test]
fn the_server_gives_every_response_from_an_archive() {
    let mut manifest = manifest();
    // It asks for the earliest block of the store.
    manifest.vectors.retain(|vector| vector.name != "config-earliest");
    let program = http::program().expect("the server is built");
    let (total, found) = run_on_servers(&manifest, &|fixture, flags, directory| {
        let Archived { store, archive } = archived::import_fixture(fixture, directory)?;
        Server::over(&program, fixture, flags, &store, &archive.display().to_string())
    });
    assert!(total * 10 > manifest.vectors.len() * 9, "only {total} vectors ran");
    assert!(found > 30, "{found} rows were found in archives");
}
