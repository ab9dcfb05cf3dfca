//! The storage of the peer's rows: a `HashMap`, or RocksDB with the feature `rocksdb`.
//!
//! Rows are decoded in place, without a copy. Choosing between the two costs a branch per read.

use std::collections::HashMap;

use near_primitives::hash::CryptoHash;

#[cfg(feature = "rocksdb")]
use super::rocksdb_store::RocksDbStore;
use super::table::Table;

/// The rows of a peer
#[derive(Debug)]
pub(super) enum Store {
    Memory(Memory),
    #[cfg(feature = "rocksdb")]
    RocksDb(RocksDbStore),
}

/// Rows in hash maps
#[derive(Debug, Default)]
pub(super) struct Memory {
    transactions: HashMap<CryptoHash, Vec<u8>>,
    receipts: HashMap<CryptoHash, Vec<u8>>,
    /// By id: one per block that executed it
    outcomes: HashMap<CryptoHash, Vec<(CryptoHash, Vec<u8>)>>,
}

impl Store {
    #[cfg(feature = "rocksdb")]
    pub(super) fn rocksdb() -> Self {
        Self::RocksDb(RocksDbStore::new())
    }

    #[cfg(feature = "rocksdb")]
    pub(super) fn compressed_rocksdb() -> Self {
        Self::RocksDb(RocksDbStore::compressed())
    }

    /// Bytes of keys and rows, and of their files after compaction; `None` in memory
    #[cfg(feature = "rocksdb")]
    pub(super) fn compacted_sizes(&self) -> Option<[u64; 2]> {
        match self {
            Self::Memory(_) => None,
            Self::RocksDb(store) => {
                store.compact();
                Some(store.sizes())
            }
        }
    }

    /// Writes buffered rows to disk
    #[cfg(feature = "rocksdb")]
    pub(super) fn flush(&self) {
        match self {
            Self::Memory(_) => {}
            Self::RocksDb(store) => store.flush(),
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
            Self::RocksDb(store) => store.put(table, key, &row),
        }
    }

    pub(super) fn put_outcome(&mut self, id: CryptoHash, block: CryptoHash, row: Vec<u8>) {
        match self {
            Self::Memory(memory) => memory.outcomes.entry(id).or_default().push((block, row)),
            #[cfg(feature = "rocksdb")]
            Self::RocksDb(store) => store.put_outcome(id, block, &row),
        }
    }

    /// Calls `read` with a row and returns the result; `None` if there is no row
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
            Self::RocksDb(store) => store.read(table, key, read),
        }
    }

    /// Calls `read` with each outcome of this id and its block
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
            Self::RocksDb(store) => store.read_outcomes(id, read),
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::Memory(Memory::default())
    }
}
