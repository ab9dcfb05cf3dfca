//! The tables of a peer's rows, in memory and in RocksDB.
//!
//! Outcomes are kept apart by both, because their key is longer than a hash: it has the block. A
//! node names its columns in the same way.

/// The tables whose key is a hash
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Table {
    Transactions,
    Receipts,
}
