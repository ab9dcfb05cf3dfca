//! The shared vectors over HTTP, on the program, from a store and from an archive.
//!
//! All vectors run and all that fail are named, because one rule affects many.

use std::collections::BTreeMap;
use std::path::Path;

use milepost_testing::archived::{self, Archived};
use milepost_testing::server::{self, Server};
use milepost_tests::sources::none;
use milepost_tests::vectors::{self, Fixture, Manifest, Vector};

/// The metric of the rows that requests found in an archive
const ARCHIVE_READS: &str = "milepost_archive_reads_total{result=\"found\"}";

/// Starts a server for a fixture with these flags and a directory of the fixture
type Start<'start> = &'start dyn Fn(&Fixture, &[String], &Path) -> Result<Server, String>;

/// Runs the vectors of these fixtures on servers, each started by `start`; returns how many ran,
/// and how many rows they found in an archive
fn run_on_servers(manifest: &Manifest, start: Start<'_>) -> (usize, u64) {
    let (mut failures, mut total, mut found) = (Vec::new(), 0, 0);
    for fixture in &manifest.fixtures {
        let directory = tempfile::tempdir().expect("a directory for the servers");
        let mut by_flags: BTreeMap<Vec<String>, Vec<&Vector>> = BTreeMap::new();
        for vector in manifest.of(fixture).filter(|vector| server::is_supported(vector, fixture)) {
            by_flags.entry(server::flags(vector)).or_default().push(vector);
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
    none(&failures);
    (total, found)
}

#[test]
fn the_server_gives_every_response() {
    let manifest = vectors::load().expect("the manifest and its files");
    let program = server::program().expect("the server is built");
    let (total, _) = run_on_servers(&manifest, &|fixture, flags, directory| {
        Server::start(&program, fixture, flags, directory)
    });
    // Only vectors that the command line cannot express are excluded.
    assert!(total * 10 > manifest.vectors.len() * 9, "only {total} vectors ran");
}

#[test]
fn the_server_gives_every_response_from_an_archive() {
    let mut manifest = vectors::load().expect("the manifest and its files");
    // It asks for the earliest block of the store.
    manifest.vectors.retain(|vector| vector.name != "config-earliest");
    let program = server::program().expect("the server is built");
    let (total, found) = run_on_servers(&manifest, &|fixture, flags, directory| {
        let Archived { store, archive } = archived::import_fixture(fixture, directory)?;
        Server::over(&program, fixture, flags, &store, &archive.display().to_string())
    });
    assert!(total * 10 > manifest.vectors.len() * 9, "only {total} vectors ran");
    assert!(found > 30, "{found} rows were found in archives");
}
