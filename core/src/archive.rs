//! The archive: finalized transactions in immutable rows, behind a storage of recent blocks.
//!
//! A storage keeps what can still change; what is final is put into an archive, which any number of
//! servers share. A row of an archive is self-contained and never changes, so puts are idempotent,
//! in any order and by any number of writers; no transaction over several rows is needed. The
//! [`Envelope`] of each row names its writer and a hash of its content: two rows of one key that
//! differ in content are an error, and neither is served, unless one is a refusal and the other an
//! execution. An archive does not interpret rows.

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod contents;
mod envelope;
mod export;
#[cfg(test)]
mod export_tests;
mod height_ranges;
mod lookup;
mod memory;
mod progress;
mod records;
mod removal;
#[cfg(test)]
mod tests;
mod with_archive;
mod writer;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::Error;
use crate::storage::rows::version;
use crate::storage::{Key, Row, Table};

pub use contents::{is_new_content, served_row};
pub use envelope::{Compression, Envelope, Origin, Release, WriterId, content_hash};
pub use export::{Export, ExportQuery};
pub use height_ranges::HeightRanges;
pub use lookup::ArchiveLookup;
pub use memory::MemoryArchive;
pub use progress::{OpenTransaction, WriterProgress, for_each_row};
pub use records::{ArchivedBlock, ArchivedProof, ArchivedReceipt};
pub use removal::{ArchivedRow, Removal};
pub use with_archive::WithArchive;
pub(crate) use writer::ArchiveWriter;
pub use writer::{ArchiveWrite, copy};

/// The format version of the rows that this release writes: their first byte
///
/// Raised with the layout of an envelope or of any row inside it. A release reads no version but
/// its own.
pub const FORMAT_VERSION: u8 = version(Table::ArchivedTransactions);

/// Number of rows of a page that is read of an archive
pub(crate) const PAGE: usize = 256;

/// Rows that are put once, and read by any number of threads and processes
///
/// Keys are those of [`Table::ARCHIVE`], rows are encoded [`Envelope`]s. A missing row is `None`
/// and never an error; an error means that the archive cannot answer, and is never taken for a
/// missing row. The engine guarantees that rows of all tables but [`Table::ArchiveProgress`] are
/// put with the same content by every writer that is right.
///
/// The feature `conformance` has the tests that every archive should pass. An archive that
/// compresses returns rows whose envelope is [plain](Compression::None).
pub trait Archive {
    /// Appends the row of each key to `rows`, in the order of the keys
    ///
    /// An archive that pays per call reads all keys in one round trip.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if a key holds two rows whose content
    /// differs, so that neither is served: see [`served_row`].
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) or
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if the archive cannot answer. What was
    /// appended before the error has no meaning.
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error>;

    /// Puts rows; they are durable, at a quorum where there are replicas, when this returns `Ok`
    ///
    /// Idempotent, in any order, and by any number of writers at once. A row with the same content
    /// as one that is there is not added; one with another content is kept beside it: see
    /// [`is_new_content`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) if not all rows are durable; any part of
    /// them may be there then. [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a row is larger
    /// than the archive takes.
    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error>;

    /// Replaces all that these keys hold by these rows
    ///
    /// For rows of [`Table::ArchiveProgress`], each of which has one writer, and to repair rows
    /// that are wrong.
    ///
    /// # Errors
    ///
    /// As [`put_many`](Self::put_many).
    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error>;

    /// Removes all that these keys hold; keys that hold nothing are no error
    ///
    /// For [`Removal`], and never in normal work: a row that is put at the same time may be there
    /// afterwards or not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) if not all are removed; any part of them
    /// may be.
    fn remove_many(&self, keys: &[Key]) -> Result<(), Error>;

    /// Appends rows of a table to `rows`: about `limit` of them, those after the key `after`
    ///
    /// The order is the archive's own, and stays the same. For statistics, copies and checks, not
    /// for requests. A key that holds several rows is listed with each of them, one after the
    /// other and never across two pages, so a page may exceed `limit`; it is empty only after the
    /// last row.
    ///
    /// # Errors
    ///
    /// As [`get_many`](Self::get_many), without `Conflict`.
    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error>;
}

macro_rules! archive_by_deref {
    ($($pointer:ty),+) => {$(
        impl<A: Archive + ?Sized> Archive for $pointer {
            fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
                (**self).get_many(keys, rows)
            }

            fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
                (**self).put_many(rows)
            }

            fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
                (**self).replace_many(rows)
            }

            fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
                (**self).remove_many(keys)
            }

            fn scan(
                &self,
                table: Table,
                after: Option<&Key>,
                limit: usize,
                rows: &mut Vec<(Key, Row)>,
            ) -> Result<(), Error> {
                (**self).scan(table, after, limit, rows)
            }
        }
    )+};
}

archive_by_deref!(&A, Box<A>, Arc<A>);
