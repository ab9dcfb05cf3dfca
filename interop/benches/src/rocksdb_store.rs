//! Rows in RocksDB, in column families as a node has them.
//!
//! Transactions and receipts are read by key, outcomes by iterating over the blocks after the
//! prefix of an id, as in a node. Filters and the block cache are configured as in a node. The
//! cache holds all rows and nothing is compressed, so the peer reads faster than a node. Dropping
//! the value deletes its files.

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, Direction, IteratorMode,
    Options, ReadOptions,
};
use tempfile::TempDir;

use near_primitives::hash::CryptoHash;

use super::table::Table;

/// Bytes of the block cache; more than any workload has
const CACHE: usize = 512 << 20;
/// Filter bits per key, as RocksDB's documentation recommends
const FILTER_BITS: f64 = 10.0;

const TRANSACTIONS: &str = "transactions";
const RECEIPTS: &str = "receipts";
const OUTCOMES: &str = "outcomes";
const COLUMNS: [&str; 3] = [TRANSACTIONS, RECEIPTS, OUTCOMES];

/// A database in a temporary folder
#[derive(Debug)]
pub(super) struct RocksDbStore {
    // Dropped before its folder is deleted.
    database: DB,
    _folder: TempDir,
}

impl RocksDbStore {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the database");
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&Cache::new_lru_cache(CACHE));
        blocks.set_bloom_filter(FILTER_BITS, false);
        blocks.set_cache_index_and_filter_blocks(true);
        blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
        let mut options = Options::default();
        options.set_block_based_table_factory(&blocks);
        let columns = COLUMNS.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let database = DB::open_cf_descriptors(&options, folder.path(), columns);
        Self { database: database.expect("a new database"), _folder: folder }
    }

    pub(super) fn flush(&self) {
        for name in COLUMNS {
            self.database.flush_cf(self.column(name)).expect("a successful write");
        }
    }

    pub(super) fn put(&self, table: Table, key: CryptoHash, row: &[u8]) {
        let column = self.column(name(table));
        self.database.put_cf(column, key.as_bytes(), row).expect("a successful write");
    }

    pub(super) fn put_outcome(&self, id: CryptoHash, block: CryptoHash, row: &[u8]) {
        let key = [id.as_bytes().as_slice(), block.as_bytes()].concat();
        let column = self.column(OUTCOMES);
        self.database.put_cf(column, key, row).expect("a successful write");
    }

    pub(super) fn read<T>(
        &self,
        table: Table,
        key: CryptoHash,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        let row = self.database.get_pinned_cf(self.column(name(table)), key.as_bytes());
        row.expect("a successful read").map(|row| read(&row))
    }

    pub(super) fn read_outcomes<T>(
        &self,
        id: CryptoHash,
        mut read: impl FnMut(CryptoHash, &[u8]) -> T,
    ) -> Vec<T> {
        let mut options = ReadOptions::default();
        options.set_iterate_range(rocksdb::PrefixRange(id.as_bytes().as_slice()));
        let from = IteratorMode::From(id.as_bytes(), Direction::Forward);
        let rows = self.database.iterator_cf_opt(self.column(OUTCOMES), options, from);
        let rows = rows.map(|row| row.expect("a successful read"));
        rows.map(|(key, row)| {
            let block = key.last_chunk().expect("a key of two hashes");
            read(CryptoHash(*block), &row)
        })
        .collect()
    }

    fn column(&self, name: &str) -> &ColumnFamily {
        self.database.cf_handle(name).expect("a column of the database")
    }
}

const fn name(table: Table) -> &'static str {
    match table {
        Table::Transactions => TRANSACTIONS,
        Table::Receipts => RECEIPTS,
    }
}
