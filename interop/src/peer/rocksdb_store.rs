//! Rows in RocksDB, in column families as a node has them.
//!
//! Transactions and receipts are read by key, outcomes by iterating over the blocks after the
//! prefix of an id, as in a node. Filters and the block cache are configured as in a node. Where
//! reads are timed, the cache holds all rows and nothing is compressed, so the peer reads faster
//! than a node; where bytes are counted, rows are compressed as in a node. Dropping the value
//! deletes its files.

use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, ColumnFamily, ColumnFamilyDescriptor,
    CompactOptions, DB, DBCompressionType, Direction, IteratorMode, Options, ReadOptions,
};
use tempfile::TempDir;

use near_primitives::hash::CryptoHash;

use super::table::Table;

/// Bytes of the block cache; more than any workload has
const CACHE: usize = 512 << 20;
/// Filter bits per key, as RocksDB's documentation recommends
const FILTER_BITS: f64 = 10.0;
/// Bytes of a block before compression, of the dictionary of a file and of the rows that it is
/// trained with: those of a node (nearcore, `core/store/src/config.rs` and `db/rocksdb.rs`)
const NODE_BLOCK: usize = 16 << 10;
const NODE_DICTIONARY: i32 = 32 << 10;
const NODE_TRAINING: i32 = 100 * NODE_DICTIONARY;
/// zstd's own level, and window bits that only zlib reads
const DEFAULT_LEVEL: i32 = 32_767;
const DEFAULT_WINDOW: i32 = -14;

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
    /// An empty database whose rows are not compressed
    pub(super) fn new() -> Self {
        Self::open(BlockBasedOptions::default(), Options::default())
    }

    /// An empty database that compresses as a node does, once it is [compacted](Self::compact)
    ///
    /// A node has LZ4 in the levels above the last one, where nothing is after compaction.
    pub(super) fn compressed() -> Self {
        let (mut blocks, mut options) = (BlockBasedOptions::default(), Options::default());
        blocks.set_block_size(NODE_BLOCK);
        options.set_bottommost_compression_type(DBCompressionType::Zstd);
        options.set_bottommost_compression_options(
            DEFAULT_WINDOW,
            DEFAULT_LEVEL,
            0,
            NODE_DICTIONARY,
            true,
        );
        options.set_bottommost_zstd_max_train_bytes(NODE_TRAINING, true);
        Self::open(blocks, options)
    }

    fn open(mut blocks: BlockBasedOptions, mut options: Options) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the database");
        blocks.set_block_cache(&Cache::new_lru_cache(CACHE));
        blocks.set_bloom_filter(FILTER_BITS, false);
        blocks.set_cache_index_and_filter_blocks(true);
        blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
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

    /// Moves all rows to the last level, whose files are compressed
    pub(super) fn compact(&self) {
        let mut options = CompactOptions::default();
        // Else a file is moved there as it is.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        for name in COLUMNS {
            let (column, none) = (self.column(name), None::<&[u8]>);
            self.database.compact_range_cf_opt(column, none, none, &options);
        }
    }

    /// Bytes of keys and rows, and of the files that have them
    pub(super) fn sizes(&self) -> [u64; 2] {
        let rows = COLUMNS.iter().flat_map(|name| {
            let rows = self.database.iterator_cf(self.column(name), IteratorMode::Start);
            rows.map(|row| row.expect("a successful read"))
        });
        let rows = rows.map(|(key, row)| (key.len() + row.len()) as u64).sum();
        let files = self.database.live_files().expect("a list of files");
        [rows, files.iter().map(|file| file.size as u64).sum()]
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
