//! Where the peer's rows lie: in a `HashMap`, or in RocksDB where that was built.
//!
//! Rows are read in place, so neither of the two copies what is decoded anyway. Chosen once for a peer;
//! that a row is looked for in one of two places costs a branch.

use std::collections::HashMap;

use near_primitives::hash::CryptoHash;

#[cfg(feature = "rocksdb")]
use super::disk::Disk;

/// Rows by a hash
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Table {
    Transactions,
    Receipts,
}

/// The rows of a peer
#[derive(Debug)]
pub(super) enum Store {
    Memory(Memory),
    #[cfg(feature = "rocksdb")]
    Disk(Disk),
}

/// Rows in hash maps
#[derive(Debug, Default)]
pub(super) struct Memory {
    transactions: HashMap<CryptoHash, Vec<u8>>,
    receipts: HashMap<CryptoHash, Vec<u8>>,
    /// By id: one for each block that executed it
    outcomes: HashMap<CryptoHash, Vec<(CryptoHash, Vec<u8>)>>,
}

impl Store {
    #[cfg(feature = "rocksdb")]
    pub(super) fn on_disk() -> Self {
        Self::Disk(Disk::new())
    }

    /// Writes out what is in buffers
    #[cfg(feature = "rocksdb")]
    pub(super) fn flush(&self) {
        match self {
            Self::Memory(_) => {}
            Self::Disk(disk) => disk.flush(),
        }
    }

    pub(super) fn put(&mut self, table: Table, key: CryptoHash, row: Vec<u8>) {
        match self {
            Self::Memory(Memory { transactions, receipts, .. }) => {
                let rows = match table {
                    Table::Transactions => transactions,
                    Table::Receipts => receipts,
                };
                rows.insert(key, row);
            }
            #[cfg(feature = "rocksdb")]
            Self::Disk(disk) => disk.put(table, key, &row),
        }
    }

    pub(super) fn put_outcome(&mut self, id: CryptoHash, block: CryptoHash, row: Vec<u8>) {
        match self {
            Self::Memory(memory) => memory.outcomes.entry(id).or_default().push((block, row)),
            #[cfg(feature = "rocksdb")]
            Self::Disk(disk) => disk.put_outcome(id, block, &row),
        }
    }

    /// What `read` makes of a row, if there is one
    pub(super) fn read<T>(
        &self,
        table: Table,
        key: CryptoHash,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        match self {
            Self::Memory(Memory { transactions, receipts, .. }) => {
                let rows = match table {
                    Table::Transactions => transactions,
                    Table::Receipts => receipts,
                };
                rows.get(&key).map(|row| read(row))
            }
            #[cfg(feature = "rocksdb")]
            Self::Disk(disk) => disk.read(table, key, read),
        }
    }

    /// What `read` makes of the outcomes of this id, each with its block
    pub(super) fn read_outcomes<T>(
        &self,
        id: CryptoHash,
        mut read: impl FnMut(CryptoHash, &[u8]) -> T,
    ) -> Vec<T> {
        match self {
            Self::Memory(memory) => {
                let rows = memory.outcomes.get(&id).into_iter().flatten();
                rows.map(|(block, row)| read(*block, row)).collect()
            }
            #[cfg(feature = "rocksdb")]
            Self::Disk(disk) => disk.read_outcomes(id, read),
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::Memory(Memory::default())
    }
}
