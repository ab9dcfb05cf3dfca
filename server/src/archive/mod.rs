//! The archive of the service: where finalized transactions are, beyond what the store keeps.
//!
//! A read that needs the archive runs on the blocking thread pool, a bounded number at a time, and
//! holds no snapshot of the store meanwhile; all others never wait for it. An archive that cannot
//! be read fails the requests that need it, and no others. A task exports final blocks and says
//! what the store may forget. What kind of archive it is, only this file knows.

mod access;
mod exporter;
mod lookups;
mod reads;

use alloc::sync::Arc;
use core::str::FromStr;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use milepost::Error;
use milepost::archive::{Archive, MemoryArchive};
use milepost::storage::{Key, Row, Table};

pub(crate) use access::ServiceSnapshot;
pub(crate) use exporter::{Exporter, run_exporter};
pub(crate) use lookups::Lookups;
pub(crate) use reads::Read;

/// When a client tries again whose request needs an archive that cannot be read
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An archive that threads share
pub(crate) type SharedArchive = Arc<dyn Archive + Send + Sync>;

/// Where an archive is
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ArchiveLocation {
    /// In memory, until the program ends
    Memory,
}

impl FromStr for ArchiveLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "memory" => Ok(Self::Memory),
            _ => Err(format!("`{text}` is no archive: memory")),
        }
    }
}

/// How the service uses its archive
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchiveOptions {
    /// Whether it exports its final blocks
    pub(crate) writes: bool,
    /// Maximum number of blocks that the store keeps for the archive
    pub(crate) max_blocks: u64,
}

/// Opens the archive at this location
pub(crate) fn open(location: &ArchiveLocation) -> SharedArchive {
    match location {
        ArchiveLocation::Memory => Arc::<LockedArchive>::default(),
    }
}

/// An archive in memory that threads share
#[derive(Default)]
struct LockedArchive(Mutex<MemoryArchive>);

impl LockedArchive {
    fn lock(&self) -> MutexGuard<'_, MemoryArchive> {
        // A thread that panicked has added its row or not.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Archive for LockedArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.lock().get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.lock().put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.lock().replace_many(rows)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.lock().scan(table, after, limit, rows)
    }
}
