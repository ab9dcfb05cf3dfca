//! The schema: a keyspace, and a CQL table for each table of an archive.
//!
//! The comment of each table names the version of this layout, which is compared when an archive is
//! opened. All tables have the same columns. Rows are found by their key alone, written once and
//! removed by repairs alone, which is what `UnifiedCompactionStrategy` does well with few
//! overlapping files. Rows come compressed, so blocks that do not shrink are stored as they are,
//! with a checksum.

use milepost::storage::Table;

use crate::address::Address;

/// The comment of a table; the number is raised with the columns or what they mean
pub(crate) const COMMENT: &str = "milepost archive, layout 1";

/// What makes the keyspace
pub(crate) fn keyspace(address: &Address) -> String {
    format!(
        "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = \
         {{'class': 'NetworkTopologyStrategy', '{}': {}}}",
        address.keyspace(),
        address.data_center(),
        address.replication()
    )
}

/// What makes a table
pub(crate) fn table(keyspace: &str, table: Table) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {keyspace}.{} (\
         key blob, content blob, copy blob, piece tinyint, pieces tinyint, bytes blob, \
         PRIMARY KEY (key, content, copy, piece)) WITH comment = '{COMMENT}' \
         AND compaction = {{'class': 'UnifiedCompactionStrategy'}} \
         AND compression = {{'class': 'LZ4Compressor', 'chunk_length_in_kb': 16, \
         'min_compress_ratio': 1.1}}",
        table.name()
    )
}

/// What writes a piece; the time is the node's
pub(crate) fn put(table: Table) -> String {
    format!(
        "INSERT INTO {} (key, content, copy, piece, pieces, bytes) VALUES (?, ?, ?, ?, ?, ?)",
        table.name()
    )
}

/// What writes a piece at a time
pub(crate) fn put_at(table: Table) -> String {
    format!("{} USING TIMESTAMP ?", put(table))
}

/// What removes all that a key held at a time
pub(crate) fn remove_at(table: Table) -> String {
    format!("DELETE FROM {} USING TIMESTAMP ? WHERE key = ?", table.name())
}

/// What reads the pieces of a key
pub(crate) fn read(table: Table) -> String {
    format!("SELECT content, copy, piece, pieces, bytes FROM {} WHERE key = ?", table.name())
}

/// What reads the places of the pieces of a key, and when they were written
pub(crate) fn places(table: Table) -> String {
    format!("SELECT content, copy, piece, writetime(pieces) FROM {} WHERE key = ?", table.name())
}

/// What reads all pieces from a token on
pub(crate) fn scan(table: Table) -> String {
    format!(
        "SELECT key, content, copy, piece, pieces, bytes FROM {} WHERE token(key) >= ?",
        table.name()
    )
}
