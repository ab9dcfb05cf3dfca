//! The address of a row: a table and at most 32 bytes.
//!
//! A key is `Copy` and holds no pointer, so it can pass through callbacks and queues. Numbers are
//! big endian, so a storage that orders keys by their bytes orders them by height.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::primitives::{BlockHeight, CryptoHash};

/// The tables of a storage; the numbers are part of the stored format and never reused
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
#[repr(u8)]
pub enum Table {
    /// Single rows about the whole storage, by a small number
    Chain = 0,
    /// Blocks, by hash
    Blocks = 1,
    /// The hash of the canonical block, by height
    Heights = 2,
    /// The hash of the canonical block, by ordinal: a counter of the blocks of the chain
    Ordinals = 3,
    /// Transactions, by hash; a finalized one with its outcomes and receipts
    Transactions = 4,
    /// Execution outcomes, by the id of the transaction or receipt; once finalized, the hash of
    /// the transaction whose row has the outcome
    Outcomes = 5,
    /// Receipts, by id
    Receipts = 6,
    /// The rows of blocks that are on a fork, by block hash
    ForkBlocks = 7,
    /// Protocol configurations, by the first height at which they are in force
    Configs = 8,
    /// The transaction that a receipt comes from, by receipt id, until it is finalized
    ReceiptParents = 9,
}

impl Table {
    /// All tables, in the order of their numbers
    pub const ALL: [Self; 10] = [
        Self::Chain,
        Self::Blocks,
        Self::Heights,
        Self::Ordinals,
        Self::Transactions,
        Self::Outcomes,
        Self::Receipts,
        Self::ForkBlocks,
        Self::Configs,
        Self::ReceiptParents,
    ];

    /// The table with this number
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
            Self::ForkBlocks => "fork_blocks",
            Self::Configs => "configs",
            Self::ReceiptParents => "receipt_parents",
        }
    }
}

/// The address of a row: a table and 1 to 32 bytes
///
/// ```
/// use milepost::storage::{Key, Table};
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
    /// Maximum number of bytes of a key
    pub const MAX_LEN: usize = 32;

    /// The key of a hash
    pub const fn hash(table: Table, hash: CryptoHash) -> Self {
        Self { table, length: 32, bytes: *hash.as_bytes() }
    }

    /// The key of a number: eight bytes, big endian
    pub fn number(table: Table, number: BlockHeight) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Self { table, length: 8, bytes }
    }

    /// The key of these bytes; `None` unless there are 1 to 32
    pub fn from_bytes(table: Table, key: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        (!key.is_empty()).then_some(Self { table, length: key.len() as u8, bytes })
    }

    /// The table
    pub const fn table(&self) -> Table {
        self.table
    }

    /// The table and the first seven bytes, as a number that sorts as they do
    const fn prefix(&self) -> u64 {
        let [a, b, c, d, e, f, g, ..] = self.bytes;
        u64::from_be_bytes([self.table.number(), a, b, c, d, e, f, g])
    }

    /// The bytes within the table
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Returns the items sorted by their keys; the keys of each table must have one length
///
/// Indices are sorted by a prefix of the key, which fits a register and usually differs between
/// hashes; each item moves once.
pub(crate) fn sorted_by_keys<T>(items: Vec<T>, key: impl Fn(&T) -> Key) -> Vec<T> {
    let order = sorted_order(items.len(), &|index| items.get(index).map(&key));
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.into_iter().filter_map(|(_, index)| items.get_mut(index)?.take()).collect()
}

/// The prefixes of the keys with their indices, sorted by the keys
///
/// Not generic, because that would make a sort for each kind of item.
fn sorted_order(count: usize, key_at: &dyn Fn(usize) -> Option<Key>) -> Vec<(u64, usize)> {
    let prefix = |index| key_at(index).map_or(0, |key| key.prefix());
    let mut order: Vec<(u64, usize)> = (0..count).map(|index| (prefix(index), index)).collect();
    order.sort_unstable_by(|(one, index), (other, other_index)| {
        one.cmp(other).then_with(|| key_at(*index).cmp(&key_at(*other_index)))
    });
    order
}

/// By table, then by length, then by bytes
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let table_and_length = |key: &Self| (key.table, key.length);
        let bytes = |key: &Self| CryptoHash::new(key.bytes);
        table_and_length(self)
            .cmp(&table_and_length(other))
            .then_with(|| bytes(self).cmp(&bytes(other)))
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
    fn items_are_sorted_by_their_keys() {
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
