//! The checksum that precedes each row on disk, over its table, key and bytes.
//!
//! It detects rows that were damaged on disk or stored under another key. It is not a signature.
//! The function is part of the file format and does not change within a format version.
//!
//! Each step folds sixteen bytes by a 64 by 64 bit multiplication whose halves are combined, as in
//! the wyhash family. Each multiplication depends on the previous one, so longer rows use four
//! independent lanes; this takes a fraction of the time to read the row.

use milepost::storage::Key;

/// Length of a checksum in bytes
pub(crate) const LENGTH: usize = 8;

/// The first 256 bits of the fraction of pi
const PI: [u64; 4] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89];

/// The checksum of a row under its key
pub(crate) fn of(key: &Key, row: &[u8]) -> [u8; LENGTH] {
    let lengths = (row.len() as u64) << 8 | key.bytes_in_table().len() as u64;
    let start = fold(PI[0] ^ u64::from(key.table().number()), PI[1] ^ lengths);
    let state = absorb(absorb(start, key.bytes_in_table()), row);
    fold(state ^ PI[2], PI[3]).to_le_bytes()
}

fn absorb(mut state: u64, bytes: &[u8]) -> u64 {
    let (strides, bytes) = bytes.as_chunks::<64>();
    if !strides.is_empty() {
        let mut lanes = PI.map(|start| state ^ start);
        for stride in strides {
            let (blocks, _) = stride.as_chunks::<16>();
            for (lane, block) in lanes.iter_mut().zip(blocks) {
                *lane = absorb_block(*lane, block);
            }
        }
        let pair = |low: u64, high: u64| (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
        state = absorb_block(state, &pair(lanes[0], lanes[1]));
        state = absorb_block(state, &pair(lanes[2], lanes[3]));
    }
    let (blocks, rest) = bytes.as_chunks::<16>();
    for block in blocks {
        state = absorb_block(state, block);
    }
    if rest.is_empty() {
        return state;
    }
    // Padding is unambiguous, because the lengths were absorbed first.
    let mut last = [0; 16];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    absorb_block(state, &last)
}

const fn absorb_block(state: u64, block: &[u8; 16]) -> u64 {
    let word = u128::from_le_bytes(*block);
    fold(word as u64 ^ PI[2] ^ state, (word >> 64) as u64 ^ PI[3] ^ state.rotate_left(32))
}

const fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use milepost::storage::Table;

    use super::*;

    #[test]
    fn checksums_match_the_test_vectors() {
        let key = Key::number(Table::Blocks, 7);
        let long: Vec<u8> = (0..=255).collect();
        assert_eq!(u64::from_le_bytes(of(&key, b"")), VECTORS[0]);
        assert_eq!(u64::from_le_bytes(of(&key, b"row")), VECTORS[1]);
        assert_eq!(u64::from_le_bytes(of(&key, &long)), VECTORS[2]);
        assert_eq!(u64::from_le_bytes(of(&key, &[&long[..], b"row"].concat())), VECTORS[3]);
    }

    /// From an independent implementation in another language
    const VECTORS: [u64; 4] = [
        0x3b6f_f6df_edde_896a,
        0x6f0a_01bb_0d32_d891,
        0xe909_925c_73f8_a9f7,
        0x993a_a1bd_3b26_27e1,
    ];

    #[test]
    fn every_bit_changes_the_checksum() {
        let row: Vec<u8> = (0..200).collect();
        let key = Key::number(Table::Blocks, 7);
        let checksum = of(&key, &row);
        for bit in 0..1600 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(of(&key, &damaged), checksum, "bit {bit}");
        }
        for end in 0..200 {
            assert_ne!(of(&key, &row[..end]), checksum, "length {end}");
        }
        assert_ne!(of(&key, &[&row[..], &[0]].concat()), checksum);
        assert_ne!(of(&Key::number(Table::Blocks, 6), &row), checksum);
        assert_ne!(of(&Key::number(Table::Heights, 7), &row), checksum);
    }

    #[test]
    fn the_boundary_of_key_and_row_changes_the_checksum() {
        let key = |bytes: &[u8]| Key::new(Table::Chain, bytes).unwrap();
        assert_ne!(of(&key(&[1]), &[0, 2]), of(&key(&[1, 0]), &[2]));
        assert_ne!(of(&key(&[1; 16]), &[1; 16]), of(&key(&[1; 32]), &[]));
    }
}
