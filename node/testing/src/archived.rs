//! Fixtures as a new server has them: what is final in an archive, and the blocks since then in a
//! store.
//!
//! A writer imports all blocks and archives what it can. The store begins with the newest block
//! below which everything is archived, so the vectors find in the archive whatever can be there.

use core::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use milepost::ErrorKind;
use milepost::archive::{ArchiveWriter, Origin, WriterId};
use milepost::endpoint::Engine;
use milepost::import::BlockImport;
use milepost::storage::{MemoryStorage, Storage as _, run};
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
    let mut writer = ArchiveWriter::open(WRITER, &rows).map_err(failed)?;
    let whole = engine::import_fixture(fixture, MemoryStorage::new())?;
    while let Some(export) = run(&mut writer.export(), &whole).map_err(failed)? {
        writer.put(export, &rows).map_err(failed)?;
    }
    let chain = Engine::default().chain_status(&whole).map_err(failed)?;
    let first = chain.earliest.map_or(0, |block| writer.progress().floor(block.height));
    let file = RedbStorage::open(&store, &Options::default()).map_err(|error| error.to_string())?;
    import_from(first, fixture, file)?;
    Ok(Archived { store, archive })
}

/// Imports the configurations of a fixture and its blocks from this height on, except those on
/// forks from below it
fn import_from(first: u64, fixture: &Fixture, mut storage: RedbStorage) -> Result<(), String> {
    engine::import_configs(fixture, &mut storage)?;
    for path in &fixture.blocks {
        let failed = |error: &dyn Error| with_path(path, error);
        let message = fs::read(path).map_err(|error| failed(&error))?;
        let import = BlockImport::new(&message, engine::import_settings(fixture));
        let import = import.map_err(|error| failed(&error))?;
        let snapshot = storage.snapshot().map_err(|error| failed(&error))?;
        match import.run(&snapshot) {
            Ok((batch, summary)) if summary.block.height >= first => {
                storage.commit(batch).map_err(|error| failed(&error))?;
            }
            Err(error) if error.kind() != ErrorKind::Chain => return Err(failed(&error)),
            _ => {}
        }
    }
    Ok(())
}
