//! The one row about the whole chain, and the index of configurations.
//!
//! Every query reads the chain's row first, so it stays small: block points, counters and lists
//! that `import` bounds. It changes with every block; its generation identifies the state.

use alloc::string::String;
use alloc::vec::Vec;

use super::cursor::{Cursor, DecodeError, RowWriter, decode};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::{Key, Table};

/// The height and the hash of a block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "height and hash name a block")]
pub struct BlockPoint {
    /// Its height
    pub height: BlockHeight,
    /// Its hash
    pub hash: CryptoHash,
}

/// Where an epoch begins
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct EpochStart {
    /// The epoch's id
    pub epoch_id: CryptoHash,
    /// The ordinal of its first block in the storage
    pub ordinal: u64,
}

/// The state of the canonical chain
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ChainRecord {
    /// Number of batches that have changed the chain: reads with the same number saw the same state
    pub generation: u64,
    /// Ordinal of the oldest canonical block in the storage
    pub first_ordinal: u64,
    /// Ordinal of the next canonical block
    pub next_ordinal: u64,
    /// Ordinal of the next block whose transactions are to be finalized
    pub next_finalized: u64,
    /// The newest canonical block
    pub head: Option<BlockPoint>,
    /// The newest final block; its height never decreases
    pub last_final: Option<BlockPoint>,
    /// The newest epochs of the blocks in the storage, oldest first: as many as retention by
    /// epochs keeps, and at least the newest 16
    pub epochs: Vec<EpochStart>,
    /// The fork blocks, lowest first
    pub fork_blocks: Vec<BlockPoint>,
    /// The height from which on every canonical block was taken in: the parent of each block above
    /// it was in the storage, and no row of these blocks is pruned
    pub complete_from: BlockHeight,
    /// Whether the head was final as soon as it was taken in: the rule of finality of its import
    pub all_final: bool,
}

impl ChainRecord {
    /// The key of the record
    pub fn key() -> Key {
        Key::number(Table::Chain, 0)
    }

    /// Number of canonical blocks in the storage
    pub const fn block_count(&self) -> u64 {
        self.next_ordinal.saturating_sub(self.first_ordinal)
    }

    /// Whether a canonical block of this height is final
    pub fn is_final(&self, height: BlockHeight) -> bool {
        self.last_final.is_some_and(|last| height <= last.height)
    }

    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        let point = |row: RowWriter, point: &BlockPoint| row.u64(point.height).hash(&point.hash);
        RowWriter::new(Table::Chain, 128 + (self.epochs.len() + self.fork_blocks.len()) * 40)
            .u64(self.generation)
            .u64(self.first_ordinal)
            .u64(self.next_ordinal)
            .u64(self.next_finalized)
            .option(self.head.as_ref(), point)
            .option(self.last_final.as_ref(), point)
            .list(&self.epochs, |row, epoch| row.hash(&epoch.epoch_id).u64(epoch.ordinal))
            .list(&self.fork_blocks, point)
            .u64(self.complete_from)
            .u8(u8::from(self.all_final))
            .finish()
    }

    /// Decodes a row; without a row the chain is empty
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: Option<&[u8]>) -> Result<Self, Error> {
        let Some(row) = row else { return Ok(Self::default()) };
        decode(Table::Chain, row, |cursor| {
            let scalars = Self::read_scalars(cursor)?;
            let record = Self {
                epochs: cursor.list(40, |cursor| {
                    Ok(EpochStart { epoch_id: cursor.hash()?, ordinal: cursor.u64()? })
                })?,
                fork_blocks: cursor.list(40, point)?,
                complete_from: cursor.u64()?,
                all_final: cursor.u8()? != 0,
                ..scalars
            };
            cursor.end().map(|()| record)
        })
    }

    /// Decodes what responses need of a row, without its lists and the fields after them, which
    /// stay empty; allocates nothing
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    #[inline]
    pub fn decode_without_lists(row: &[u8]) -> Result<Self, Error> {
        decode(Table::Chain, row, Self::read_scalars)
    }

    #[inline]
    fn read_scalars(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let record = Self {
            generation: cursor.u64()?,
            first_ordinal: cursor.u64()?,
            next_ordinal: cursor.u64()?,
            next_finalized: cursor.u64()?,
            head: cursor.option(point)?,
            last_final: cursor.option(point)?,
            epochs: Vec::new(),
            fork_blocks: Vec::new(),
            complete_from: 0,
            all_final: false,
        };
        // No chain comes near the last ordinal, so increments need no check.
        if record.first_ordinal > record.next_ordinal || record.next_ordinal == u64::MAX {
            return Err(cursor.error("impossible block ordinals"));
        }
        Ok(record)
    }
}

#[inline]
fn point(cursor: &mut Cursor<'_>) -> Result<BlockPoint, DecodeError> {
    Ok(BlockPoint { height: cursor.u64()?, hash: cursor.hash()? })
}

/// The heights from which on configurations are in force
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ConfigIndex {
    /// `chain_id` of the configurations
    pub chain_id: String,
    /// `genesis_height` of the configurations
    pub genesis_height: BlockHeight,
    /// The first heights, ascending
    pub heights: Vec<BlockHeight>,
}

impl ConfigIndex {
    /// The key of the record
    pub fn key() -> Key {
        Key::number(Table::Chain, 1)
    }

    /// The first height of the configuration in force at `height`
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

/// A protocol configuration
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ConfigRecord<'row> {
    /// Its wire text: the value of `result` in a response
    pub fragment: &'row [u8],
}

impl<'row> ConfigRecord<'row> {
    /// The key of the configuration that is in force from this height on
    pub fn key(height: BlockHeight) -> Key {
        Key::number(Table::Configs, height)
    }

    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        RowWriter::new(Table::Configs, self.fragment.len()).raw(self.fragment).finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Configs, row, |cursor| Ok(Self { fragment: cursor.rest() }))
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
}
