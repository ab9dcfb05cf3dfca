//! Keys and changes on their way to JavaScript: many of them in one array of bytes.
//!
//! A key is its table, the number of its bytes, and these. A change is a key and then the length of the row
//! in four bytes, little endian, and the row; a length of [`REMOVED`] removes it.

use milepost::facts::{Batch, Key};

/// The length that stands for a row that is to be removed: no row of an instance can be this long
const REMOVED: u32 = u32::MAX;

/// The keys, one behind the other
pub(crate) fn keys(keys: &[Key]) -> Vec<u8> {
    let mut out = Vec::with_capacity(keys.len() * (Key::LONGEST + 2));
    keys.iter().for_each(|wanted| key(wanted, &mut out));
    out
}

/// The changes, one behind the other
pub(crate) fn changes(batch: &Batch) -> Vec<u8> {
    let rows = batch.changes().iter().map(|(_, row)| row.as_ref().map_or(0, |row| row.len()));
    let mut out = Vec::with_capacity(
        rows.sum::<usize>() + batch.changes().len() * (Key::LONGEST + 2 + size_of::<u32>()),
    );
    for (changed, row) in batch.changes() {
        key(changed, &mut out);
        // A row of 4 GiB does not fit into an instance.
        let length = row.as_ref().map_or(REMOVED, |row| row.len() as u32);
        out.extend_from_slice(&length.to_le_bytes());
        if let Some(row) = row {
            out.extend_from_slice(row);
        }
    }
    out
}

fn key(key: &Key, out: &mut Vec<u8>) {
    let bytes = key.as_bytes();
    // At most `Key::LONGEST`, which is 32.
    out.extend_from_slice(&[key.table().number(), bytes.len() as u8]);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use milepost::facts::Table;

    use super::*;

    #[test]
    fn keys_and_rows_stand_behind_their_lengths() {
        let height = Key::number(Table::Heights, 258);
        assert_eq!(keys(&[height]), [2, 8, 0, 0, 0, 0, 0, 0, 1, 2]);
        let mut batch = Batch::new();
        batch.put(height, &b"row"[..]);
        batch.remove(height);
        let packed = changes(&batch);
        let (put, removed) = packed.split_at(17);
        assert_eq!(put[10..], *b"\x03\0\0\0row");
        assert_eq!(removed[10..], [255; 4]);
    }
}
