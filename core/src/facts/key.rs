//! The address of a row: a table and at most 32 bytes.
//!
//! A key is `Copy` and holds no pointer, so keys travel freely through callbacks and queues.
//! Numbers are written big endian, so that a storage that keeps keys in order keeps them by height.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::primitives::{BlockHeight, CryptoHash};

/// The tables of a storage; the numbers are part of the format on disk and never reused
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
#[repr(u8)]
pub enum Table {
    /// Single rows about the whole store, by a small number
    Chain = 0,
    /// Blocks, by hash
    Blocks = 1,
    /// The hash of the canonical block, by height
    Heights = 2,
    /// The hash of the canonical block, by the order in which blocks came in
    Ordinals = 3,
    /// Transactions, by hash; those that are settled with all that belongs to them
    Transactions = 4,
    /// Execution outcomes of transactions and receipts, by id, or where they stand once settled
    Outcomes = 5,
    /// Receipts, by id
    Receipts = 6,
    /// The facts of blocks that are not on the canonical chain, by block hash
    Parked = 7,
    /// Protocol configurations, by the first height at which they are in force
    Configs = 8,
    /// The transaction that a receipt stems from, by the receipt's id, until it is settled
    Origins = 9,
}

impl Table {
    /// Every table, in the order of its number
    pub const ALL: [Self; 10] = [
        Self::Chain,
        Self::Blocks,
        Self::Heights,
        Self::Ordinals,
        Self::Transactions,
        Self::Outcomes,
        Self::Receipts,
        Self::Parked,
        Self::Configs,
        Self::Origins,
    ];

    /// The table of a number
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The number of the table
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The table's name, in lower case
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Blocks => "blocks",
            Self::Heights => "heights",
            Self::Ordinals => "ordinals",
            Self::Transactions => "transactions",
            Self::Outcomes => "outcomes",
            Self::Receipts => "receipts",
            Self::Parked => "parked",
            Self::Configs => "configs",
            Self::Origins => "origins",
        }
    }
}

/// The address of a row: a table and 1 to 32 bytes
///
/// ```
/// use milepost::facts::{Key, Table};
///
/// let key = Key::number(Table::Heights, 258);
/// assert_eq!(key.table(), Table::Heights);
/// assert_eq!(key.as_bytes(), [0, 0, 0, 0, 0, 0, 1, 2]);
/// ```
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Key {
    table: Table,
    length: u8,
    bytes: [u8; 32],
}

impl Key {
    /// The most bytes a key can have
    pub const LONGEST: usize = 32;

    /// The row of this hash
    pub const fn hash(table: Table, hash: CryptoHash) -> Self {
        Self { table, length: 32, bytes: *hash.as_bytes() }
    }

    /// The row of this number: eight bytes, big endian
    pub fn number(table: Table, number: BlockHeight) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Self { table, length: 8, bytes }
    }

    /// The row of these bytes; `None` unless there are 1 to 32
    pub fn from_bytes(table: Table, key: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        (!key.is_empty()).then_some(Self { table, length: key.len() as u8, bytes })
    }

    /// The table
    pub const fn table(&self) -> Table {
        self.table
    }

    /// What comes first in the order of keys, as a number
    const fn front(&self) -> u64 {
        let [a, b, c, d, e, f, g, ..] = self.bytes;
        u64::from_be_bytes([self.table.number(), a, b, c, d, e, f, g])
    }

    /// The bytes within the table
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// The items in the order of their keys
///
/// Places are sorted by what comes first in a key, which fits a register and differs for hashes; items
/// move once. The keys of a table have one length.
pub(crate) fn sorted_by_keys<T>(items: Vec<T>, key: impl Fn(&T) -> Key) -> Vec<T> {
    let fronts = items.iter().map(|item| key(item).front());
    let mut places: Vec<(u64, usize)> = fronts.zip(0..).collect();
    let key_at = |place: usize| items.get(place).map(&key);
    places.sort_unstable_by(|(one, place), (other, other_place)| {
        one.cmp(other).then_with(|| key_at(*place).cmp(&key_at(*other_place)))
    });
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    places.into_iter().filter_map(|(_, place)| items.get_mut(place)?.take()).collect()
}

/// By table, then by length, then by bytes
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let front = |key: &Self| (key.table, key.length);
        let bytes = |key: &Self| CryptoHash::new(key.bytes);
        front(self).cmp(&front(other)).then_with(|| bytes(self).cmp(&bytes(other)))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.as_bytes().first_chunk::<8>() {
            Some(number) if self.length == 8 => state.write_u64(u64::from_be_bytes(*number)),
            _ => state.write(self.as_bytes()),
        }
        state.write_u8(self.table.number());
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/", self.table.name())?;
        self.as_bytes().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_the_order_of_their_keys() {
        let mut keys = Vec::new();
        for last in (0..=255).rev() {
            let [mut early, mut late] = [[7; 32]; 2];
            (early[0], late[31]) = (last, last);
            for table in [Table::Receipts, Table::Outcomes] {
                keys.extend([late, early].map(|id| Key::hash(table, CryptoHash::new(id))));
            }
            keys.push(Key::number(Table::Heights, u64::from(last)));
        }
        keys.dedup();
        let sorted = sorted_by_keys(keys.clone(), |key| *key);
        assert!(sorted.iter().zip(&sorted[1..]).all(|(one, next)| one <= next));
        assert_eq!(sorted.len(), keys.len());
        let bytes = |key: &Key| (key.table(), key.as_bytes().to_vec());
        assert!(sorted.is_sorted_by_key(bytes));
    }
}
