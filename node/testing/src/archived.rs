//! Fixtures as a new server has them: what is final in an archive, and the blocks since then in a
//! store.
//!
//! A writer imports all blocks and archives what it can. The store begins with the newest block
//! below which everything is archived, so the vectors find in the archive whatever can be there.

use core::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use milepost::ErrorKind;
use milepost::archive::{Origin, WriterId};
use milepost::endpoint::{ArchiveExporter, Engine};
use milepost::import::BlockImport;
use milepost::primitives::CryptoHash;
use milepost::storage::rows::decode_block_hash;
use milepost::storage::{Key, MemoryStorage, Snapshot as _, Storage as _, Table};
use milepost_archive::{CompressedArchive, DirectoryArchive};
use milepost_redb::{Options, RedbStorage};
use milepost_tests::vectors::{Fixture, engine, with_path};

const WRITER: WriterId = WriterId(1);

/// A store in a file and its archive in a directory
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "two paths")]
pub struct Archived {
    /// The file of the store
    pub store: PathBuf,
    /// The directory of the archive
    pub archive: PathBuf,
}

/// Imports a fixture into this directory, unless that was done before
///
/// # Errors
///
/// The import of a file failed; the error names the file.
pub fn import_fixture(fixture: &Fixture, directory: &Path) -> Result<Archived, String> {
    let (store, archive) = (directory.join("chain.milepost"), directory.join("archive"));
    if store.exists() {
        return Ok(Archived { store, archive });
    }
    let failed = |error: milepost::Error| format!("fixture {}: {error}", fixture.name);
    let rows = DirectoryArchive::open(&archive).map_err(failed)?;
    let rows = CompressedArchive::new(rows, Origin::of(WRITER)).map_err(failed)?;
    let mut whole = engine::import_fixture(fixture, MemoryStorage::new())?;
    let mut exporter = ArchiveExporter::new(u64::MAX, Some(WRITER));
    exporter.run(&mut whole, &rows, false).map_err(failed)?;
    let chain = Engine::default().chain_status(&whole).map_err(failed)?;
    let floor = exporter.status().kept_from;
    let head = chain.head.map_or(0, |block| block.height);
    let mut rows = (floor..=head).map(|height| whole.get(&Key::number(Table::Heights, height)));
    let first = rows.find_map(|row| row.transpose()).transpose().map_err(failed)?;
    let first = first.map(|row| decode_block_hash(Table::Heights, &row));
    let first = first.transpose().map_err(failed)?;
    let file = RedbStorage::open(&store, &Options::default()).map_err(|error| error.to_string())?;
    import_from(first, fixture, file)?;
    Ok(Archived { store, archive })
}

/// Imports the configurations of a fixture and its blocks from this one on, except those on forks
/// from below it
fn import_from(
    first: Option<CryptoHash>,
    fixture: &Fixture,
    mut storage: RedbStorage,
) -> Result<(), String> {
    engine::import_configs(fixture, &mut storage)?;
    let mut has_begun = false;
    for path in &fixture.blocks {
        let failed = |error: &dyn Error| with_path(path, error);
        let message = fs::read(path).map_err(|error| failed(&error))?;
        let import = BlockImport::new(&message, engine::import_settings(fixture));
        let import = import.map_err(|error| failed(&error))?;
        let snapshot = storage.snapshot().map_err(|error| failed(&error))?;
        match import.run(&snapshot) {
            Ok((batch, summary)) => {
                // An orphan of the same height may come before it.
                has_begun |= Some(summary.block.hash) == first;
                if has_begun {
                    storage.commit(batch).map_err(|error| failed(&error))?;
                }
            }
            Err(error) if error.kind() == ErrorKind::Chain => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(())
}
