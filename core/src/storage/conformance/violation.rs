//! The requirements on a storage, and the violation of one.
//!
//! A violation names the requirement, the key and what was found, so that adapters in other
//! languages can report it in their own way. How a requirement is tested is not stated here.

use alloc::string::String;
use core::fmt;

use crate::storage::Key;

/// A requirement of the engine on a storage
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Requirement {
    /// A row that was never written, or was removed, is `None` and not an error
    MissingRow,
    /// All rows that a batch puts can be read
    Put,
    /// A put replaces the existing row
    Replace,
    /// A remove removes the row, and no other row
    Remove,
    /// Removing a missing row is not an error and changes nothing
    RemoveMissing,
    /// The same bytes in two tables are two keys
    DistinctTables,
    /// `get_many` returns rows in the order of the keys, including missing and repeated ones
    GetManyOrder,
    /// `get_many` appends to the vector
    GetManyAppends,
    /// `get_many` without keys returns no rows and no error
    GetManyWithoutKeys,
    /// Keys of 2 to 33 bytes, of every value after the number of the table, are distinct, also if
    /// one is a prefix of another
    DistinctKeys,
    /// `get_many` takes thousands of keys in one call
    GetManyThousands,
    /// An empty row is a row
    EmptyRow,
    /// Rows are read back unchanged, whatever their bytes
    ArbitraryBytes,
    /// Rows of several MiB are read back unchanged
    LargeRow,
    /// The last change of a key in a batch wins
    LastChangeWins,
    /// An empty batch changes nothing
    EmptyBatch,
    /// A batch of ten thousand changes is applied whole
    LargeBatch,
    /// A row that was read does not change when its key is written again
    ImmutableRows,
    /// After each of many batches the storage has the rows of a plain map
    Model,
    /// A snapshot reads the state in which it was taken
    SnapshotIsolation,
    /// Without snapshots, a read sees the newest commit, and sees all of it or nothing
    ReadCommitted,
    /// A thread reads one state, as its snapshots declare, while another thread commits
    Threads,
    /// Commits survive closing and opening the storage
    Durability,
}

impl Requirement {
    /// All requirements, in the order in which they are checked
    pub const ALL: [Self; 23] = [
        Self::MissingRow,
        Self::Put,
        Self::Replace,
        Self::Remove,
        Self::RemoveMissing,
        Self::DistinctTables,
        Self::GetManyOrder,
        Self::GetManyAppends,
        Self::GetManyWithoutKeys,
        Self::DistinctKeys,
        Self::GetManyThousands,
        Self::EmptyRow,
        Self::ArbitraryBytes,
        Self::LargeRow,
        Self::LastChangeWins,
        Self::EmptyBatch,
        Self::LargeBatch,
        Self::ImmutableRows,
        Self::Model,
        Self::SnapshotIsolation,
        Self::ReadCommitted,
        Self::Threads,
        Self::Durability,
    ];

    /// The requirement in a few words, in lower case
    pub const fn description(self) -> &'static str {
        match self {
            Self::MissingRow => "a missing row is `None` and not an error",
            Self::Put => "a row that was put can be read",
            Self::Replace => "a put replaces the existing row",
            Self::Remove => "a remove removes the row, and no other row",
            Self::RemoveMissing => "removing a missing row changes nothing",
            Self::DistinctTables => "the same bytes in two tables are two keys",
            Self::DistinctKeys => "keys of 2 to 33 bytes are distinct",
            Self::EmptyRow => "an empty row is a row",
            Self::ArbitraryBytes => "rows are read back unchanged",
            Self::LargeRow => "rows of several MiB are read back unchanged",
            Self::GetManyOrder => "get_many returns rows in the order of the keys",
            Self::GetManyAppends => "get_many appends to the vector",
            Self::GetManyWithoutKeys => "get_many without keys returns no rows",
            Self::GetManyThousands => "get_many takes thousands of keys",
            Self::LastChangeWins => "the last change of a key in a batch wins",
            Self::EmptyBatch => "an empty batch changes nothing",
            Self::LargeBatch => "a batch of ten thousand changes is applied whole",
            Self::ImmutableRows => "a row that was read does not change",
            Self::Model => "the storage has the rows of a plain map after each of many batches",
            Self::SnapshotIsolation => "a snapshot reads the state in which it was taken",
            Self::ReadCommitted => "a read sees the newest commit, and sees it whole",
            Self::Threads => "a thread reads one state while another thread commits",
            Self::Durability => "commits survive closing and opening the storage",
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.description())
    }
}

/// A violated requirement of a storage, or of an archive: which one, at which key, and the finding
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation<R = Requirement> {
    pub(crate) requirement: R,
    pub(crate) key: Option<Key>,
    pub(crate) detail: String,
}

impl<R: Copy> Violation<R> {
    /// The violated requirement
    pub const fn requirement(&self) -> R {
        self.requirement
    }

    /// The key that was read; `None` if it concerns a batch or a call as a whole
    pub const fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// The expected and the found value
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl<R: fmt::Display> fmt::Display for Violation<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "violated requirement \"{}\": ", self.requirement)?;
        if let Some(key) = &self.key {
            write!(formatter, "{key:?}: ")?;
        }
        formatter.write_str(&self.detail)
    }
}

impl<R: fmt::Debug + fmt::Display> core::error::Error for Violation<R> {}
