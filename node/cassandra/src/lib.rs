//! An archive for the `milepost` engine in Apache Cassandra, shared by any number of servers.
//!
//! Rows of an archive never change, so nothing here needs a transaction over several of them: every
//! statement is idempotent, is sent to a replica of its key and tried again at another one. A write
//! is acknowledged by a majority of the replicas in the local data centre (`LOCAL_QUORUM`). A read
//! asks one replica (`LOCAL_ONE`), and a majority before it says that there is no row.
//!
//! ```no_run
//! use milepost::archive::Archive;
//! use milepost_cassandra::{Address, CassandraArchive};
//!
//! let address: Address = "cassandra://10.0.0.1,10.0.0.2/milepost?dc=dc1".parse()?;
//! CassandraArchive::create(&address)?;
//! let archive = CassandraArchive::open(&address)?;
//! # let keys = [];
//! let mut rows = Vec::new();
//! archive.get_many(&keys, &mut rows)?;
//! # Ok::<(), milepost::Error>(())
//! ```
//!
//! # Layout
//!
//! Each table of an archive is a CQL table, so that it can be scanned, measured and dropped by
//! itself. The key is the partition. Within it, rows are clustered by content
//! hash: two writers whose rows have the same content overwrite each other, and rows that differ in
//! content are side by side, where one read finds both. A row above [`MAX_PIECE`] is stored in
//! pieces, which count only if all are there. Nothing is deleted in normal work, so there are no
//! tombstones; [`replace_many`] leaves one for each key that held another content.
//!
//! [`replace_many`]: milepost::archive::Archive::replace_many
//!
//! # Limits
//!
//! A row above [`MAX_ROW`] is rejected before it reaches the cluster, where a mutation that is too
//! large can end every node that it is tried on. Statements and bytes in flight are bounded for
//! each archive that is open: 64 writes of 32 MiB together, 32 reads of a page each.
//!
//! How durable an acknowledged row is depends on the setting `commitlog_sync` of the nodes, which
//! should be `group` or `batch`.
//!
//! What one replica has is what a read at `LOCAL_ONE` sees: of two rows that differ in content, a
//! replica that was down may have one, which is then served until the replica is repaired.
//!
//! Not supported: transactions, removing single rows, and a lifetime of rows.

#![forbid(unsafe_code)]

extern crate alloc;

mod address;
mod archive;
mod cluster;
mod error;
mod pieces;
mod read;
mod retry;
mod scan;
mod schema;
mod tls;
mod write;

pub use address::{Address, PASSWORD_VARIABLE};
pub use archive::CassandraArchive;
pub use pieces::{MAX_PIECE, MAX_ROW};

#[cfg(test)]
use {milepost_testing as _, tempfile as _};
