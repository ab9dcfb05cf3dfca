//! The address of a row: the number of a table, and 1 to 32 bytes within it.
//!
//! A key is `Copy` and holds no pointer, so it can pass through callbacks and queues. Numbers are
//! big endian, so a storage that orders keys by their bytes orders them by height.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::primitives::{BlockHeight, CryptoHash};

/// Number of the first table of an archive: those of a storage have ten numbers and room for more
#[cfg(feature = "archive")]
const FIRST_OF_ARCHIVE: u8 = 16;

/// The tables of a storage and of an archive; the numbers are part of the stored format and never
/// reused
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
    /// Protocol configurations, by the id of their epoch; those that stay in force in an epoch, by
    /// the hash of its id, and those that are in force from a height on, by the hash of the height
    Configs = 8,
    /// The transaction that a receipt comes from, by receipt id, until it is finalized
    ReceiptParents = 9,
    /// Finalized transactions, by hash
    #[cfg(feature = "archive")]
    ArchivedTransactions = 16,
    /// The transaction that a receipt comes from, by receipt id
    #[cfg(feature = "archive")]
    ArchivedReceipts = 17,
    /// Final blocks, by hash
    #[cfg(feature = "archive")]
    ArchivedBlocks = 18,
    /// The hash of the final block, by height
    #[cfg(feature = "archive")]
    ArchivedHeights = 19,
    /// Protocol configurations, by the keys that they have in a storage
    #[cfg(feature = "archive")]
    ArchivedConfigs = 20,
    /// The progress of a writer of the archive, by the writer's id
    #[cfg(feature = "archive")]
    ArchiveProgress = 21,
    /// Dictionaries of the compression, by number
    #[cfg(feature = "archive")]
    ArchiveDictionaries = 22,
    /// The proof of the outcomes that a final block confirms, by the hash of the block
    #[cfg(feature = "archive")]
    ArchivedProofs = 23,
}

impl Table {
    /// The tables of a storage, in the order of their numbers
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

    /// The tables of an archive, in the order of their numbers
    #[cfg(feature = "archive")]
    pub const ARCHIVE: [Self; 8] = [
        Self::ArchivedTransactions,
        Self::ArchivedReceipts,
        Self::ArchivedBlocks,
        Self::ArchivedHeights,
        Self::ArchivedConfigs,
        Self::ArchiveProgress,
        Self::ArchiveDictionaries,
        Self::ArchivedProofs,
    ];

    /// The table with this number
    pub fn from_number(number: u8) -> Option<Self> {
        #[cfg(feature = "archive")]
        if let Some(index) = number.checked_sub(FIRST_OF_ARCHIVE) {
            return Self::ARCHIVE.get(usize::from(index)).copied();
        }
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether it is a table of an archive, and not of a storage
    #[cfg(feature = "archive")]
    #[inline]
    pub const fn is_archive(self) -> bool {
        self.number() >= FIRST_OF_ARCHIVE
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
            #[cfg(feature = "archive")]
            Self::ArchivedTransactions => "archived_transactions",
            #[cfg(feature = "archive")]
            Self::ArchivedReceipts => "archived_receipts",
            #[cfg(feature = "archive")]
            Self::ArchivedBlocks => "archived_blocks",
            #[cfg(feature = "archive")]
            Self::ArchivedHeights => "archived_heights",
            #[cfg(feature = "archive")]
            Self::ArchivedConfigs => "archived_configs",
            #[cfg(feature = "archive")]
            Self::ArchiveProgress => "archive_progress",
            #[cfg(feature = "archive")]
            Self::ArchiveDictionaries => "archive_dictionaries",
            #[cfg(feature = "archive")]
            Self::ArchivedProofs => "archived_proofs",
        }
    }
}

/// The address of a row: the number of a table, then 1 to 32 bytes within it
///
/// A storage with one map uses [`as_bytes`](Self::as_bytes), which is also the key in other
/// languages; one with a map for each table uses [`table`](Self::table) and
/// [`bytes_in_table`](Self::bytes_in_table).
///
/// ```
/// use milepost::storage::{Key, Table};
///
/// let key = Key::number(Table::Heights, 258);
/// assert_eq!(key.table(), Table::Heights);
/// assert_eq!(key.as_bytes(), [2, 0, 0, 0, 0, 0, 0, 1, 2]);
/// assert_eq!(key.bytes_in_table(), [0, 0, 0, 0, 0, 0, 1, 2]);
/// assert_eq!(Key::from_bytes(key.as_bytes()), Some(key));
/// ```
#[derive(Clone, Copy)]
pub struct Key {
    table: Table,
    /// Of the bytes within the table
    length: u8,
    /// The number of the table, the bytes within it, and zeros
    bytes: [u8; Self::MAX_LEN],
}

impl Key {
    /// Maximum number of bytes of a key
    pub const MAX_LEN: usize = 33;

    /// The key of a hash
    pub const fn hash(table: Table, hash: CryptoHash) -> Self {
        let mut bytes = [table.number(); Self::MAX_LEN];
        let (_, in_table) = bytes.split_at_mut(1);
        in_table.copy_from_slice(hash.as_bytes());
        Self { table, length: 32, bytes }
    }

    /// The key of a number: eight bytes, big endian
    pub fn number(table: Table, number: BlockHeight) -> Self {
        let mut bytes = [0; Self::MAX_LEN];
        bytes[0] = table.number();
        bytes[1..9].copy_from_slice(&number.to_be_bytes());
        Self { table, length: 8, bytes }
    }

    /// The key of these bytes within a table; `None` unless there are 1 to 32
    pub fn new(table: Table, in_table: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::MAX_LEN];
        bytes[0] = table.number();
        bytes[1..].get_mut(..in_table.len())?.copy_from_slice(in_table);
        (!in_table.is_empty()).then_some(Self { table, length: in_table.len() as u8, bytes })
    }

    /// The key that [`as_bytes`](Self::as_bytes) returned; `None` for bytes that are no key
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (table, in_table) = bytes.split_first()?;
        Self::new(Table::from_number(*table)?, in_table)
    }

    /// The table
    pub const fn table(&self) -> Table {
        self.table
    }

    /// The first eight bytes, as a number that sorts as they do
    const fn prefix(&self) -> u64 {
        let [table, a, b, c, d, e, f, g, ..] = self.bytes;
        u64::from_be_bytes([table, a, b, c, d, e, f, g])
    }

    /// The number of the table, then the bytes within it: 2 to 33 bytes
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..=usize::from(self.length)]
    }

    /// The bytes within the table: 1 to 32
    pub fn bytes_in_table(&self) -> &[u8] {
        &self.padded_in_table()[..usize::from(self.length)]
    }

    /// The bytes within the table and zeros, which are compared faster than a slice
    const fn padded_in_table(&self) -> &[u8; 32] {
        let [_, in_table @ ..] = &self.bytes;
        in_table
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

/// The prefixes of the keys with their indices, sorted by the keys; equal keys stay in their order
///
/// Not generic, because that would make a sort for each kind of item.
fn sorted_order(count: usize, key_at: &dyn Fn(usize) -> Option<Key>) -> Vec<(u64, usize)> {
    let prefix = |index| key_at(index).map_or(0, |key| key.prefix());
    let mut order: Vec<(u64, usize)> = (0..count).map(|index| (prefix(index), index)).collect();
    order.sort_unstable_by(|(one, index), (other, other_index)| {
        one.cmp(other)
            .then_with(|| key_at(*index).cmp(&key_at(*other_index)))
            .then_with(|| index.cmp(other_index))
    });
    order
}

/// By table, then by length, then by bytes
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let table_and_length = |key: &Self| (key.table, key.length);
        let bytes = |key: &Self| CryptoHash::new(*key.padded_in_table());
        table_and_length(self)
            .cmp(&table_and_length(other))
            .then_with(|| bytes(self).cmp(&bytes(other)))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        (self.table, self.length) == (other.table, other.length)
            && self.padded_in_table() == other.padded_in_table()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.bytes_in_table().first_chunk::<8>() {
            Some(number) if self.length == 8 => state.write_u64(u64::from_be_bytes(*number)),
            _ => state.write(self.bytes_in_table()),
        }
        state.write_u8(self.table.number());
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/", self.table.name())?;
        self.bytes_in_table().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use core::hash::Hasher as _;

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
        assert!(sorted.is_sorted_by_key(|key| key.as_bytes().to_vec()));
    }

    #[test]
    fn a_key_is_its_table_and_1_to_32_bytes() {
        for length in 1..=32 {
            let key = Key::new(Table::Configs, &[7; 32][..length]).unwrap();
            assert_eq!(key.as_bytes(), [&[8], key.bytes_in_table()].concat());
            assert_eq!((key.table(), key.bytes_in_table().len()), (Table::Configs, length));
            assert_eq!(Key::from_bytes(key.as_bytes()), Some(key));
        }
        assert_eq!((Key::new(Table::Chain, &[]), Key::new(Table::Chain, &[0; 33])), (None, None));
        for bytes in [&[][..], &[8], &[10, 1], &[8; 34]] {
            assert_eq!(Key::from_bytes(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_table_is_its_number() {
        for table in Table::ALL {
            assert_eq!(Table::from_number(table.number()), Some(table));
        }
        for number in [10, 15, 24, 255] {
            assert_eq!(Table::from_number(number), None);
        }
    }

    #[cfg(feature = "archive")]
    #[test]
    fn the_tables_of_an_archive_have_numbers_of_their_own() {
        assert!(Table::ALL.iter().all(|table| !table.is_archive()));
        for (number, table) in (16..).zip(Table::ARCHIVE) {
            assert_eq!((table.number(), table.is_archive()), (number, true));
            assert_eq!(Table::from_number(number), Some(table));
        }
    }

    #[test]
    fn numbers_and_ids_have_hashes_of_their_own() {
        let hash = |key: Key| {
            let mut hasher = crate::primitives::IdentityHasher::default();
            key.hash(&mut hasher);
            hasher.finish()
        };
        let of = |write: &dyn Fn(&mut crate::primitives::IdentityHasher)| {
            let mut hasher = crate::primitives::IdentityHasher::default();
            write(&mut hasher);
            hasher.write_u8(Table::Heights.number());
            hasher.finish()
        };
        let number = hash(Key::number(Table::Heights, 7));
        assert_eq!(number, of(&|hasher| hasher.write_u64(7)));
        let id = CryptoHash::digest(b"an id");
        assert_eq!(hash(Key::hash(Table::Heights, id)), of(&|hasher| hasher.write(id.as_bytes())));
        assert_ne!(number, hash(Key::number(Table::Ordinals, 7)));
        let key = Key::new(Table::Heights, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let table = u64::from(Table::Heights.number());
        assert_eq!(key.prefix(), table << 56 | 0x0001_0203_0405_0607);
    }
}
