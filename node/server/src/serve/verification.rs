//! Verifies the file of a store that was too large to be verified when it was opened.
//!
//! All rows are read once at a limited rate while requests are answered, each by its key as well:
//! a damaged page is found that would be a missing row, and so an unknown transaction. Damage ends
//! the server. Each table is read from a snapshot of its own, so that pages are used again.

use alloc::sync::Arc;
use core::time::Duration;
use std::thread;
use std::time::Instant;

use milepost::storage::{Storage as _, Table};
use milepost::{Error, ErrorKind};
use tokio::task;
use tracing::{error, info};

use crate::chain::Chain;
use crate::errors::Failure;

/// Bytes of rows that are read in a second in the background: 16 s for a GiB, and a fraction of
/// what a disk reads
const BYTES_PER_SECOND: u64 = 64 << 20;
/// Bytes after which it waits for its time
const STEP: u64 = 1 << 20;
/// How often a table that cannot be read is read again, and after which time
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// Verifies the store of a chain if it is not verified; damage shuts the service down
pub(crate) async fn verify_store(chain: Arc<Chain>) -> Result<(), Failure> {
    let verified = {
        let chain = Arc::clone(&chain);
        task::spawn_blocking(move || verify(&chain)).await
    };
    let verified = verified.unwrap_or_else(|error| Err(error.to_string().into()));
    if let Err(failure) = &verified {
        error!("{failure}");
        chain.shutdown();
    }
    verified
}

fn verify(chain: &Chain) -> Result<(), Failure> {
    let is_verified = chain.store().is_verified();
    let Some(storage) = chain.store().file().filter(|_| !is_verified) else {
        return Ok(());
    };
    let path = storage.path().display();
    let (start, mut bytes, mut step) = (Instant::now(), 0_u64, 0_u64);
    let mut progress = |row: u64| {
        (bytes, step) = (bytes.saturating_add(row), step.saturating_add(row));
        chain.metrics.store_verified_bytes.inc_by(row);
        if step < STEP {
            return Ok(());
        }
        step = 0;
        let due = Duration::from_secs_f64(bytes as f64 / BYTES_PER_SECOND as f64);
        thread::sleep(due.saturating_sub(start.elapsed()));
        match chain.is_shut_down() {
            // Not shown: the service ends.
            true => Err(Error::new(ErrorKind::Usage, "the service shuts down")),
            false => Ok(()),
        }
    };
    let mut verify = |table: &Table| {
        for _ in 0..TRIES {
            match storage.snapshot()?.verify_table(*table, &mut progress) {
                // The disk was full for a commit, and the file has been opened again since.
                Err(error) if error.kind() == ErrorKind::Storage => thread::sleep(PAUSE),
                verified => return verified,
            }
        }
        storage.snapshot()?.verify_table(*table, &mut progress)
    };
    let verified = Table::ALL.iter().try_for_each(&mut verify);
    match verified {
        Ok(()) => {
            chain.store().set_verified();
            info!("{path} is verified: {} MiB of rows", bytes >> 20);
        }
        Err(_) if chain.is_shut_down() => {}
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let text = format!("{path} is damaged, see `milepost store check`: {error}");
            return Err(Failure::damaged(text));
        }
        Err(error) => return Err(Failure::from(format!("{path} cannot be read: {error}"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use milepost::endpoint::{Engine, WaitConfig};
    use milepost::import::ImportSettings;
    use milepost_practice::{Practice, Settings};
    use milepost_redb::Options;

    use super::*;
    use crate::store::Store;
    use crate::store::StoreLocation;

    /// A chain over a file that is verified if it has at most these bytes
    fn chain(path: &Path, verify_bytes: u64) -> Arc<Chain> {
        let mut options = Options::default();
        options.verify_bytes = verify_bytes;
        let store = Store::open_with(&StoreLocation::File(path.to_owned()), &options).unwrap();
        let (engine, settings) = (Engine::default(), ImportSettings::default());
        Arc::new(Chain::new(engine, store, settings, WaitConfig::default()))
    }

    fn verified_bytes(chain: &Chain) -> u64 {
        chain.metrics.store_verified_bytes.get()
    }

    #[tokio::test]
    async fn a_large_file_is_verified_once_and_damage_ends_the_service() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("chain.milepost");
        {
            let mut store = milepost_redb::RedbStorage::open(&path, &Options::default()).unwrap();
            let mut practice = Practice::new(Settings::demo(1));
            for _ in 0..20 {
                let message = practice.next_message().json;
                let settings = ImportSettings::default();
                Engine::default().import_block(&message, &settings, &mut store).unwrap();
            }
        }
        let sound = chain(&path, u64::MAX);
        assert!(sound.store().is_verified());
        assert_eq!(verify_store(Arc::clone(&sound)).await, Ok(()));
        assert_eq!(verified_bytes(&sound), 0, "it was verified when it was opened");
        drop(sound);
        let sound = chain(&path, 0);
        assert!(!sound.store().is_verified());
        assert_eq!(verify_store(Arc::clone(&sound)).await, Ok(()));
        assert!(verified_bytes(&sound) > 10_000 && !sound.is_shut_down());
        assert!(sound.store().is_verified());
        drop(sound);

        // A part of a row, which is in the file as it was put.
        let mut file = fs::read(&path).unwrap();
        let place = file.windows(9).position(|bytes| bytes == b"predecess").unwrap();
        file[place] ^= 1;
        fs::write(&path, file).unwrap();
        let damaged = chain(&path, 0);
        let failure = verify_store(Arc::clone(&damaged)).await.unwrap_err();
        let Failure { text: error, code } = failure;
        assert!(error.contains("do not match their checksum") && code == 3, "{error}");
        assert!(error.contains("`milepost store check`") && damaged.is_shut_down(), "{error}");
        assert!(!damaged.store().is_verified());
    }
}
