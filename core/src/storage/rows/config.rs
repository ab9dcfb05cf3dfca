//! The rows of configurations: one for each epoch, and one for each height that a host names.
//!
//! Blocks of two epochs have neighbouring heights at a boundary, and some are orphans, so that a
//! height alone does not say which configuration is in force: the epoch of the block does. Hosts
//! that know no epoch name a height, and the index lists these.

use alloc::string::String;
use alloc::vec::Vec;

use super::cursor::{Cursor, RowWriter, decode};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::{Key, Table};

/// The chain of the configurations, and the heights from which on some are in force
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ConfigIndex {
    /// `chain_id` of the configurations
    pub chain_id: String,
    /// `genesis_height` of the configurations
    pub genesis_height: BlockHeight,
    /// The heights that hosts have named, ascending
    pub heights: Vec<BlockHeight>,
}

impl ConfigIndex {
    /// The key of the record
    pub fn key() -> Key {
        Key::number(Table::Chain, 1)
    }

    /// The last height that is named at or below `height`
    pub fn in_force(&self, height: BlockHeight) -> Option<BlockHeight> {
        let after = self.heights.partition_point(|first| *first <= height);
        after.checked_sub(1).and_then(|index| self.heights.get(index)).copied()
    }

    /// [`in_force`](Self::in_force) on a row that is not decoded; allocates nothing
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    #[inline]
    pub fn in_force_in_row(row: &[u8], height: BlockHeight) -> Result<Option<BlockHeight>, Error> {
        decode(Table::Chain, row, |cursor| {
            cursor.bytes()?;
            cursor.u64()?;
            let count = cursor.count(8)?;
            let (heights, _) = cursor.take(count * 8)?.as_chunks();
            let height_of = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
            let after = heights.partition_point(|bytes| height_of(bytes) <= height);
            cursor.end()?;
            Ok(after.checked_sub(1).and_then(|index| heights.get(index)).map(height_of))
        })
    }

    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        RowWriter::new(Table::Chain, 16 + self.chain_id.len() + self.heights.len() * 8)
            .bytes(self.chain_id.as_bytes())
            .u64(self.genesis_height)
            .list(&self.heights, |row, height| row.u64(*height))
            .finish()
    }

    /// Decodes a row; without a row the index is empty
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: Option<&[u8]>) -> Result<Self, Error> {
        let Some(row) = row else { return Ok(Self::default()) };
        decode(Table::Chain, row, |cursor| {
            let chain_id = match core::str::from_utf8(cursor.bytes()?) {
                Ok(text) => String::from(text),
                Err(_) => return Err(cursor.error("chain id is not UTF-8")),
            };
            let genesis_height = cursor.u64()?;
            let record = Self { chain_id, genesis_height, heights: cursor.list(8, Cursor::u64)? };
            cursor.end().map(|()| record)
        })
    }
}

/// Why a configuration is in force
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the layout of a row is closed by its version")]
pub enum ConfigOrigin {
    /// A host has named the epoch
    Epoch,
    /// A host has named the height from which on it is in force, in epochs without one of their own
    Height(BlockHeight),
    /// It was in force up to this height, at the parent of the first block of an epoch that was
    /// imported, and stays until the epoch has one of its own
    Parent(BlockHeight),
}

/// A protocol configuration
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ConfigRecord<'row> {
    /// Why it is in force
    pub origin: ConfigOrigin,
    /// Its wire text: the value of `result` in a response
    pub fragment: &'row [u8],
}

impl<'row> ConfigRecord<'row> {
    /// The key of the configuration of this epoch
    pub const fn epoch_key(epoch_id: CryptoHash) -> Key {
        Key::hash(Table::Configs, epoch_id)
    }

    /// The key of the configuration that stays in force in this epoch: the hash of the id, because
    /// imports of blocks write this row, and those of configurations the row of the epoch
    pub fn kept_key(epoch_id: CryptoHash) -> Key {
        Key::hash(Table::Configs, CryptoHash::digest(epoch_id.as_bytes()))
    }

    /// The key of the configuration that is in force from this height on: the hash of the height,
    /// because all keys of a table have one length
    pub fn height_key(height: BlockHeight) -> Key {
        Key::hash(Table::Configs, CryptoHash::digest(&height.to_be_bytes()))
    }

    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        let (tag, height) = match self.origin {
            ConfigOrigin::Epoch => (0, 0),
            ConfigOrigin::Height(height) => (1, height),
            ConfigOrigin::Parent(height) => (2, height),
        };
        let row = RowWriter::new(Table::Configs, 9 + self.fragment.len());
        row.u8(tag).u64(height).raw(self.fragment).finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    #[inline]
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Configs, row, |cursor| {
            let origin = match (cursor.u8()?, cursor.u64()?) {
                (0, 0) => ConfigOrigin::Epoch,
                (1, height) => ConfigOrigin::Height(height),
                (2, height) => ConfigOrigin::Parent(height),
                _ => return Err(cursor.error("unknown origin of a configuration")),
            };
            Ok(Self { origin, fragment: cursor.rest() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_in_force_until_the_next_one() {
        let index = ConfigIndex { heights: alloc::vec![10, 20], ..ConfigIndex::default() };
        assert_eq!(index.in_force(9), None);
        assert_eq!(index.in_force(10), Some(10));
        assert_eq!(index.in_force(19), Some(10));
        assert_eq!(index.in_force(u64::MAX), Some(20));
        let row = index.encode();
        for height in [0, 9, 10, 11, 19, 20, 21, u64::MAX] {
            assert_eq!(ConfigIndex::in_force_in_row(&row, height).unwrap(), index.in_force(height));
            for end in 0..row.len() {
                assert!(ConfigIndex::in_force_in_row(&row[..end], height).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn a_row_says_why_its_configuration_is_in_force() {
        for origin in [ConfigOrigin::Epoch, ConfigOrigin::Height(u64::MAX), ConfigOrigin::Parent(7)]
        {
            let record = ConfigRecord { origin, fragment: b"{}" };
            let row = record.encode();
            assert_eq!(ConfigRecord::decode(&row), Ok(record));
            for end in 0..10 {
                assert!(ConfigRecord::decode(&row[..end]).is_err(), "{end}");
            }
        }
    }
}
