//! The encoding in which keys and changes go to JavaScript: many of them in one byte array.
//!
//! A key is its length and its bytes. A change is a key, the length of the row in four bytes,
//! little endian, and the row; the length [`REMOVED`] removes the row. A row for an archive has the
//! 32 bytes of its content between the key and the length.

use milepost::archive::content_hash;
use milepost::storage::{Batch, Key, Row};
use milepost::{Error, ErrorKind};

/// The length that marks a removed row; no row of an instance can be this long
const REMOVED: u32 = u32::MAX;

/// Encodes keys
pub(crate) fn encode_keys(keys: &[Key]) -> Vec<u8> {
    let mut out = Vec::with_capacity(keys.len() * (Key::MAX_LEN + 1));
    keys.iter().for_each(|key| encode_key(key, &mut out));
    out
}

/// Encodes the changes of a batch
pub(crate) fn encode_changes(batch: &Batch) -> Vec<u8> {
    let row_lens = batch.changes().iter().map(|(_, row)| row.as_ref().map_or(0, |row| row.len()));
    let mut out = Vec::with_capacity(
        row_lens.sum::<usize>() + batch.changes().len() * (Key::MAX_LEN + 1 + size_of::<u32>()),
    );
    for (key, row) in batch.changes() {
        encode_key(key, &mut out);
        // A row of 4 GiB does not fit into an instance.
        let length = row.as_ref().map_or(REMOVED, |row| row.len() as u32);
        out.extend_from_slice(&length.to_le_bytes());
        if let Some(row) = row {
            out.extend_from_slice(row);
        }
    }
    out
}

/// Encodes rows for an archive
///
/// Content is the hash of what the row says.
///
/// # Errors
///
/// A row is no envelope.
pub(crate) fn encode_archive_rows(rows: &[(Key, Row)]) -> Result<Vec<u8>, Error> {
    let lengths = rows.iter().map(|(_, row)| row.len() + Key::MAX_LEN + 37);
    let mut out = Vec::with_capacity(lengths.sum());
    for (key, row) in rows {
        let hash = content_hash(row)?;
        encode_key(key, &mut out);
        out.extend_from_slice(hash.as_bytes());
        out.extend_from_slice(&(row.len() as u32).to_le_bytes());
        out.extend_from_slice(row);
    }
    Ok(out)
}

/// A key of an archive from its bytes
///
/// # Errors
///
/// No table of an archive has such a key.
pub(crate) fn archive_key(bytes: &[u8]) -> Result<Key, Error> {
    let key = Key::from_bytes(bytes).filter(|key| key.table().is_archive());
    key.ok_or_else(|| Error::new(ErrorKind::Storage, "a key of the archive is none of its tables"))
}

fn encode_key(key: &Key, out: &mut Vec<u8>) {
    let bytes = key.as_bytes();
    // At most `Key::MAX_LEN`, which is 33.
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use milepost::storage::Table;

    use super::*;

    #[test]
    fn keys_and_rows_follow_their_lengths() {
        let height = Key::number(Table::Heights, 258);
        assert_eq!(encode_keys(&[height]), [9, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
        let mut batch = Batch::new();
        batch.put(height, &b"row"[..]);
        batch.remove(height);
        let encoded = encode_changes(&batch);
        let (put, removed) = encoded.split_at(17);
        assert_eq!(put[10..], *b"\x03\0\0\0row");
        assert_eq!(removed[10..], [255; 4]);
    }
}
