//! The archive of the server: where finalized transactions are, beyond what the store keeps.
//!
//! A read that needs the archive runs on the blocking thread pool, a bounded number at a time, and
//! holds no snapshot of the store meanwhile; all others never wait for it. An archive that cannot
//! be read fails the requests that need it, and no others. A task exports final blocks and says
//! what the store may forget. What kind of archive it is, only this file knows.

mod access;

mod conflicts;

pub(crate) mod forgotten_heights;
mod late;
mod lookups;

#[cfg(test)]
pub(crate) mod test_archive;

use alloc::sync::Arc;
use core::fmt;
use core::num::NonZero;
use core::str::FromStr;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Mutex;

use milepost::archive::{Archive, MemoryArchive, Origin, WriterId};
use milepost::primitives::BlockHeight;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use milepost_archive::{CompressedArchive, DirectoryArchive};
#[cfg(feature = "cassandra")]
use milepost_cassandra::{Address, CassandraArchive};

use crate::locks::lock;
use crate::store::StoreLocation;
pub(crate) use access::{AccessState, QuerySnapshot, run_request, with_archive, without_archive};
pub(crate) use forgotten_heights::Forgotten;
pub(crate) use late::LateArchive;
pub(crate) use lookups::Lookups;

/// When a client tries again whose request needs an archive that cannot be read
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An archive that threads share
pub(crate) type SharedArchive = Arc<dyn Archive + Send + Sync>;

/// The writer of dictionaries: none of the servers that share an archive
const DICTIONARIES: Origin = Origin::of(WriterId(0));

/// Where an archive is
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ArchiveLocation {
    /// In memory, until the program ends
    Memory,
    /// In a directory of this machine
    Directory(PathBuf),
    /// In Apache Cassandra
    #[cfg(feature = "cassandra")]
    Cassandra(Address),
}

impl ArchiveLocation {
    /// The archive beside a store, if the store is a directory
    pub(crate) fn beside(store: &StoreLocation) -> Option<Self> {
        match store {
            StoreLocation::Memory | StoreLocation::File(_) => None,
            StoreLocation::Directory(path) => Some(Self::Directory(path.join("archive"))),
        }
    }

    /// Whether no other server can use it at the same time
    pub(crate) const fn is_exclusive(&self) -> bool {
        match self {
            Self::Memory | Self::Directory(_) => true,
            #[cfg(feature = "cassandra")]
            Self::Cassandra(_) => false,
        }
    }

    /// Whether there may be an archive, without making one; an error if that cannot be seen
    pub(crate) fn exists(&self) -> Result<bool, Error> {
        match self {
            Self::Memory => Ok(false),
            Self::Directory(directory) => DirectoryArchive::exists(directory),
            #[cfg(feature = "cassandra")]
            Self::Cassandra(_) => Ok(true),
        }
    }

    /// Whether there is no archive
    pub(crate) fn is_missing(&self) -> bool {
        // Where it cannot be seen, opening it says why.
        matches!(self.exists(), Ok(false))
    }
}

/// The text of the command line
impl fmt::Display for ArchiveLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => formatter.write_str("memory"),
            Self::Directory(directory) => directory.display().fmt(formatter),
            #[cfg(feature = "cassandra")]
            Self::Cassandra(address) => {
                write!(formatter, "cassandra keyspace {}", address.keyspace())
            }
        }
    }
}

impl FromStr for ArchiveLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("no archive: `memory`, a directory or cassandra://HOST/KEYSPACE".to_owned()),
            "memory" => Ok(Self::Memory),
            #[cfg(feature = "cassandra")]
            _ if text.starts_with("cassandra://") => {
                text.parse().map(Self::Cassandra).map_err(|error| format!("{error}"))
            }
            #[cfg(not(feature = "cassandra"))]
            _ if text.starts_with("cassandra://") => {
                Err("this program was built without the feature `cassandra`".to_owned())
            }
            _ if text.contains("://") => Err(format!(
                "`{text}` is no archive: `memory`, a directory or cassandra://HOST/KEYSPACE"
            )),
            _ => Ok(Self::Directory(text.into())),
        }
    }
}

/// How the server uses its archive
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchiveOptions {
    /// Whether it exports its final blocks
    pub(crate) writes: bool,
    /// Maximum number of blocks that the store keeps for the archive
    pub(crate) max_blocks: u64,
    /// The height up to which blocks are exported; without it all
    pub(crate) until: Option<BlockHeight>,
    /// The number of heights up to the newest final one that the archive keeps; without it all
    pub(crate) kept_heights: Option<NonZero<u64>>,
}

impl ArchiveOptions {
    /// Those of a server that exports all its blocks, and keeps so many for the archive
    pub(crate) const fn writing(max_blocks: u64) -> Self {
        Self { writes: true, max_blocks, until: None, kept_heights: None }
    }
}

/// Opens the archive at this location, which is made if it does not exist and this server writes;
/// blocks the thread
pub(crate) fn open(location: &ArchiveLocation, writes: bool) -> Result<SharedArchive, Error> {
    let rows = open_rows(location, writes)?;
    match location {
        ArchiveLocation::Memory => Ok(rows),
        _ => Ok(Arc::new(compressed(rows)?)),
    }
}

/// The archive of these rows, which are compressed
pub(crate) fn compressed(rows: SharedArchive) -> Result<CompressedArchive<SharedArchive>, Error> {
    CompressedArchive::new(rows, DICTIONARIES)
}

/// As [`open`], with the rows as they are stored
pub(crate) fn open_rows(location: &ArchiveLocation, writes: bool) -> Result<SharedArchive, Error> {
    #[cfg(not(feature = "cassandra"))]
    let _ = writes;
    match location {
        ArchiveLocation::Memory => Ok(Arc::<LockedArchive>::default()),
        ArchiveLocation::Directory(directory) => Ok(Arc::new(DirectoryArchive::open(directory)?)),
        #[cfg(feature = "cassandra")]
        ArchiveLocation::Cassandra(address) => {
            if writes {
                CassandraArchive::create(address)?;
            }
            Ok(Arc::new(CassandraArchive::open(address)?))
        }
    }
}

/// What each of these keys holds, or why that cannot be served; an error if the archive cannot be
/// read
///
/// All are read in one call. Where that fails because of one row, each is read alone.
pub(crate) fn read_each(
    keys: &[Key],
    get_many: impl Fn(&[Key], &mut Vec<Option<Row>>) -> Result<(), Error>,
) -> Result<Vec<Result<Option<Row>, Error>>, Error> {
    let get = |keys: &[Key]| {
        let mut rows = Vec::with_capacity(keys.len());
        get_many(keys, &mut rows).map(|()| rows)
    };
    let is_of_row = |error: &Error| {
        matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Corrupt | ErrorKind::Version)
    };
    match get(keys) {
        Ok(rows) => Ok(rows.into_iter().map(Ok).collect()),
        Err(error) if is_of_row(&error) => {
            let each = keys.iter().map(|key| match get(core::slice::from_ref(key)) {
                Ok(mut rows) => Ok(Ok(rows.pop().flatten())),
                Err(error) if is_of_row(&error) => Ok(Err(error)),
                Err(error) => Err(error),
            });
            each.collect()
        }
        Err(error) => Err(error),
    }
}

/// An archive in memory that threads share
#[derive(Default)]
struct LockedArchive(Mutex<MemoryArchive>);

impl Archive for LockedArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        lock(&self.0).get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        lock(&self.0).put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        lock(&self.0).replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        lock(&self.0).remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        lock(&self.0).scan(table, after, limit, rows)
    }
}
