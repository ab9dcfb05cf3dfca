//! The protocol configurations of an archive, for a store that begins at a later height.
//!
//! A new server finds archived blocks by their heights and hashes, but has no configuration that
//! was in force at them. Those that the store lacks are put into it once, before anything is
//! exported; what other servers archive later is read from the archive. An archive of another
//! network is noticed here, by its configurations.

use milepost::archive::{Archive, Envelope};
use milepost::config::ConfigScope;
use milepost::primitives::CryptoHash;
use milepost::storage::rows::{ConfigOrigin, ConfigRecord};
use milepost::storage::{Key, Row, Snapshot as _, Table};
use milepost::{Error, ErrorKind};
use tracing::{info, warn};

use super::Chain;
use super::json_scan;

/// Rows that are read at a time, some 30 kB each
const PAGE: usize = 16;

/// Puts the configurations that the store lacks into it; blocks the thread
///
/// One with two contents is left out with a warning, since neither is known to be right.
///
/// # Errors
///
/// Those of the archive and of the store, and a configuration of another network.
pub(super) fn import(chain: &Chain, archive: &impl Archive) -> Result<(), Error> {
    let (mut count, mut rows): (u64, Vec<(Key, Row)>) = (0, Vec::new());
    loop {
        let after = rows.last().map(|(key, _)| *key);
        rows.clear();
        archive.scan(Table::ArchivedConfigs, after.as_ref(), PAGE, &mut rows)?;
        if rows.is_empty() {
            break;
        }
        for same_key in rows.chunk_by(|(one, _), (other, _)| one == other) {
            let [(key, row), others @ ..] = same_key else { continue };
            if !others.is_empty() {
                warn!("the archive holds two contents of {key:?}, and neither is used");
                continue;
            }
            let (scope, text) = config(key, row)?;
            let stored = Key::new(Table::Configs, key.bytes_in_table());
            let read = |key| chain.store().snapshot().get(&key);
            let is_stored = stored.map(read).transpose()?.flatten().is_some();
            if !is_stored {
                let put = chain.put_config(scope, text);
                put.map_err(|error| error.at(format!("{key:?}")))?;
                count += 1;
            }
        }
    }
    if count > 0 {
        info!("{count} protocol configurations were read from the archive");
    }
    Ok(())
}

/// `chain_id` of the first configuration; `None` if there is none
///
/// All are read, so that a damaged one is found before anything is written.
pub(crate) fn archived_chain_id(archive: &impl Archive) -> Result<Option<String>, Error> {
    let (mut chain_id, mut rows): (_, Vec<(Key, Row)>) = (None, Vec::new());
    loop {
        let after = rows.last().map(|(key, _)| *key);
        rows.clear();
        archive.scan(Table::ArchivedConfigs, after.as_ref(), PAGE, &mut rows)?;
        if rows.is_empty() {
            return Ok(chain_id);
        }
        for (key, row) in &rows {
            let (_, text) = config(key, row)?;
            if chain_id.is_none() {
                // Reading from memory cannot fail.
                chain_id = json_scan::value_at(text.as_bytes(), &["chain_id"]).ok().flatten();
            }
        }
    }
}

/// The blocks at which a configuration is in force, and its text
fn config<'row>(key: &Key, row: &'row Row) -> Result<(ConfigScope, &'row str), Error> {
    let content = Envelope::decode(key.table(), row)?.content()?;
    let ConfigRecord { origin, fragment } = ConfigRecord::decode(content)?;
    let scope = match (origin, <[u8; 32]>::try_from(key.bytes_in_table())) {
        (ConfigOrigin::Height(height), _) => ConfigScope::From(height),
        (ConfigOrigin::Epoch, Ok(epoch_id)) => ConfigScope::Epoch(CryptoHash::new(epoch_id)),
        _ => return Err(corrupt(key, "not the row of a configuration")),
    };
    let text = core::str::from_utf8(fragment).map_err(|error| corrupt(key, error))?;
    Ok((scope, text))
}

fn corrupt(key: &Key, detail: impl core::fmt::Display) -> Error {
    Error::new(ErrorKind::Corrupt, detail).at(format!("{key:?}"))
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use core::num::NonZero;

    use milepost::archive::{ArchiveLookup, WithArchive};
    use milepost::config::{BlockReference, ConfigQuery, ConfigResult};
    use milepost::endpoint::{Engine, WaitConfig};
    use milepost::import::{ImportSettings, Retention};
    use milepost::storage::run;
    use milepost_practice::config::protocol_config;
    use milepost_practice::{Practice, Settings};

    use crate::archive::test_archive::TestArchive;
    use crate::archive::{ArchiveOptions, Lookups, SharedArchive};
    use crate::chain::{Chain, Exporter};
    use crate::store::Store;
    use crate::store::StoreLocation;

    fn server(archive: &Arc<TestArchive>, writes: bool) -> (Chain, Arc<Exporter>) {
        let options = ArchiveOptions { writes, max_blocks: 1_000, until: None, kept_heights: None };
        let shared: SharedArchive = Arc::<TestArchive>::clone(archive);
        let lookups = Lookups::new(shared, NonZero::<u32>::MAX);
        let exporter = Arc::new(Exporter::new(lookups, options));
        let settings = ImportSettings::default().with_retention(Retention::Blocks(6));
        let store = Store::open(&StoreLocation::Memory).unwrap();
        let chain = Chain::new(Engine::default(), store, settings, WaitConfig::default());
        (chain.with_archive(Some(Arc::clone(&exporter))), exporter)
    }

    #[test]
    fn a_new_server_knows_what_was_in_force_at_archived_blocks() {
        let archive = TestArchive::new();
        let (first, exporter) = server(&archive, true);
        let mut practice = Practice::new(Settings::demo(3));
        let genesis = practice.settings().genesis_height;
        let boundaries: Vec<String> = practice.settings().boundary_accounts().collect();
        let boundaries: Vec<&str> = boundaries.iter().map(String::as_str).collect();
        let config = |version| protocol_config("practice", genesis, version, &boundaries);
        let messages: Vec<_> = (0..60).map(|_| practice.next_message()).collect();
        let changed = messages[30].height;
        for (height, version) in [(genesis, 82), (changed, 83)] {
            first.put_config(height, &config(version)).unwrap();
        }
        for message in &messages[..50] {
            first.import_block(&message.json).unwrap();
            exporter.step(&first).unwrap();
        }

        let (new, exporter) = server(&archive, false);
        // What it has of its own stays.
        new.put_config(changed, &config(84)).unwrap();
        exporter.step(&new).unwrap();
        for message in &messages[50..] {
            new.import_block(&message.json).unwrap();
        }
        let snapshot = new.store().snapshot();
        let both = WithArchive { snapshot: &snapshot, archive: exporter.lookups.archive() };
        for (index, version) in [(2, 82), (29, 82), (30, 84), (45, 84)] {
            let block = BlockReference::Height(messages[index].height);
            let query = ConfigQuery::new(block).with_archive(ArchiveLookup::Unknown);
            let ConfigResult::InForce(row) = run(&mut { query }, &both).unwrap() else {
                panic!("no configuration at {index}")
            };
            let text = String::from_utf8_lossy(&row).into_owned();
            assert!(text.contains(&format!("\"protocol_version\":{version},")), "{index}");
        }

        let (other, exporter) = server(&archive, true);
        let config = protocol_config("another", genesis, 82, &boundaries);
        other.put_config(genesis + 1, &config).unwrap();
        let error = exporter.step(&other).unwrap_err();
        assert!(error.to_string().contains("chain_id"), "{error}");
    }
}
