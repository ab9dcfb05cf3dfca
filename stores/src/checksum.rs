//! The checksum in front of each row: of its table, its key and its bytes.
//!
//! It finds rows that decayed on disk and rows that are found under another key. It is no
//! signature: whoever can write the file can write the checksum. The function is part of the
//! format of the file and never changes within a version of it.
//!
//! Sixteen bytes are folded at a time, by a 64 by 64 bit multiplication whose halves are combined:
//! the way of the wyhash family. A multiplication waits for the one before, so a longer row goes in
//! four lanes side by side; that takes a fraction of what reading the row takes.

use milepost::facts::Key;

/// Bytes of a checksum
pub(crate) const LENGTH: usize = 8;

/// The first 256 bits of the fraction of pi
const PI: [u64; 4] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89];

/// The checksum of a row under its key
pub(crate) fn of(key: &Key, row: &[u8]) -> [u8; LENGTH] {
    let lengths = (row.len() as u64) << 8 | key.as_bytes().len() as u64;
    let start = fold(PI[0] ^ u64::from(key.table().number()), PI[1] ^ lengths);
    let state = absorb(absorb(start, key.as_bytes()), row);
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
    // Zeros cannot be mistaken for bytes of the row: the lengths went in first.
    let mut last = [0; 16];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    absorb_block(state, &last)
}

const fn absorb_block(state: u64, block: &[u8; 16]) -> u64 {
    let whole = u128::from_le_bytes(*block);
    fold(whole as u64 ^ PI[2] ^ state, (whole >> 64) as u64 ^ PI[3] ^ state.rotate_left(32))
}

const fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use milepost::facts::Table;

    use super::*;

    #[test]
    fn checksums_are_those_of_the_format() {
        let key = Key::number(Table::Blocks, 7);
        let long: Vec<u8> = (0..=255).collect();
        assert_eq!(u64::from_le_bytes(of(&key, b"")), VECTORS[0]);
        assert_eq!(u64::from_le_bytes(of(&key, b"row")), VECTORS[1]);
        assert_eq!(u64::from_le_bytes(of(&key, &long)), VECTORS[2]);
        assert_eq!(u64::from_le_bytes(of(&key, &[&long[..], b"row"].concat())), VECTORS[3]);
    }

    /// From a second implementation, in another language
    const VECTORS: [u64; 4] = [
        0x3b6f_f6df_edde_896a,
        0x6f0a_01bb_0d32_d891,
        0xe909_925c_73f8_a9f7,
        0x993a_a1bd_3b26_27e1,
    ];

    #[test]
    fn every_bit_counts() {
        let row: Vec<u8> = (0..200).collect();
        let key = Key::number(Table::Blocks, 7);
        let whole = of(&key, &row);
        for bit in 0..1600 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(of(&key, &damaged), whole, "bit {bit}");
        }
        for end in 0..200 {
            assert_ne!(of(&key, &row[..end]), whole, "length {end}");
        }
        assert_ne!(of(&key, &[&row[..], &[0]].concat()), whole);
        assert_ne!(of(&Key::number(Table::Blocks, 6), &row), whole);
        assert_ne!(of(&Key::number(Table::Heights, 7), &row), whole);
    }

    #[test]
    fn bytes_do_not_move_between_key_and_row() {
        let key = |bytes: &[u8]| Key::from_bytes(Table::Chain, bytes).unwrap();
        assert_ne!(of(&key(&[1]), &[0, 2]), of(&key(&[1, 0]), &[2]));
        assert_ne!(of(&key(&[1; 16]), &[1; 16]), of(&key(&[1; 32]), &[]));
    }
}
