//! The one row about the whole chain, and the index of configurations.
//!
//! Every question reads the chain's row first, so it stays small: points, counters and lists that
//! ingest bounds. It changes with every block, and its generation tells two states apart.

use alloc::string::String;
use alloc::vec::Vec;

use super::cursor::{Builder, Cursor, Flaw, decode};
use crate::Error;
use crate::facts::{Key, Table};
use crate::primitives::{BlockHeight, CryptoHash};

/// A block by height and hash
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
    /// The ordinal of its first block here
    pub ordinal: u64,
}

/// The state of the canonical chain
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ChainRecord {
    /// How many batches have changed the chain: two reads with one number saw one state
    pub generation: u64,
    /// Ordinal of the oldest canonical block kept
    pub first_ordinal: u64,
    /// Ordinal that the next canonical block gets
    pub next_ordinal: u64,
    /// Ordinal of the next final block whose transactions are to be settled
    pub next_settled: u64,
    /// The newest canonical block
    pub head: Option<BlockPoint>,
    /// The newest final block; it never goes back
    pub last_final: Option<BlockPoint>,
    /// The newest epochs of the blocks kept, oldest first: as many as retention by epochs keeps,
    /// and at least the newest 16
    pub epochs: Vec<EpochStart>,
    /// The blocks that are parked on forks, lowest first
    pub parked: Vec<BlockPoint>,
}

impl ChainRecord {
    /// Where the record lives
    pub fn key() -> Key {
        Key::number(Table::Chain, 0)
    }

    /// Number of canonical blocks kept
    pub const fn blocks(&self) -> u64 {
        self.next_ordinal.saturating_sub(self.first_ordinal)
    }

    /// Whether a canonical block of this height is final
    pub fn is_final(&self, height: BlockHeight) -> bool {
        self.last_final.is_some_and(|last| height <= last.height)
    }

    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        let point = |row: Builder, point: &BlockPoint| row.u64(point.height).hash(&point.hash);
        Builder::new(128 + (self.epochs.len() + self.parked.len()) * 40)
            .u64(self.generation)
            .u64(self.first_ordinal)
            .u64(self.next_ordinal)
            .u64(self.next_settled)
            .option(self.head.as_ref(), point)
            .option(self.last_final.as_ref(), point)
            .list(&self.epochs, |row, epoch| row.hash(&epoch.epoch_id).u64(epoch.ordinal))
            .list(&self.parked, point)
            .finish()
    }

    /// The record of a row; an absent row is an empty chain
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: Option<&[u8]>) -> Result<Self, Error> {
        let Some(row) = row else { return Ok(Self::default()) };
        decode(Table::Chain, row, |cursor| {
            let front = Self::front(cursor)?;
            let record = Self {
                epochs: cursor.list(40, |cursor| {
                    Ok(EpochStart { epoch_id: cursor.hash()?, ordinal: cursor.u64()? })
                })?,
                parked: cursor.list(40, point)?,
                ..front
            };
            cursor.end().map(|()| record)
        })
    }

    /// The record of a row without its lists, for those who ask about points only; allocates nothing
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    #[inline]
    pub fn decode_front(row: &[u8]) -> Result<Self, Error> {
        decode(Table::Chain, row, Self::front)
    }

    #[inline]
    fn front(cursor: &mut Cursor<'_>) -> Result<Self, Flaw> {
        let record = Self {
            generation: cursor.u64()?,
            first_ordinal: cursor.u64()?,
            next_ordinal: cursor.u64()?,
            next_settled: cursor.u64()?,
            head: cursor.option(point)?,
            last_final: cursor.option(point)?,
            epochs: Vec::new(),
            parked: Vec::new(),
        };
        // No chain comes near the last ordinal, so whoever counts on need not look.
        if record.first_ordinal > record.next_ordinal || record.next_ordinal == u64::MAX {
            return Err(cursor.flaw("ordinals that cannot be"));
        }
        Ok(record)
    }
}

#[inline]
fn point(cursor: &mut Cursor<'_>) -> Result<BlockPoint, Flaw> {
    Ok(BlockPoint { height: cursor.u64()?, hash: cursor.hash()? })
}

/// From which heights on which configurations are in force
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
    /// Where the record lives
    pub fn key() -> Key {
        Key::number(Table::Chain, 1)
    }

    /// The first height of the configuration in force at `height`
    pub fn in_force(&self, height: BlockHeight) -> Option<BlockHeight> {
        let after = self.heights.partition_point(|first| *first <= height);
        after.checked_sub(1).and_then(|index| self.heights.get(index)).copied()
    }

    /// The same from the row of an index, which is not decoded; allocates nothing
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    #[inline]
    pub fn in_force_by(row: &[u8], height: BlockHeight) -> Result<Option<BlockHeight>, Error> {
        decode(Table::Chain, row, |cursor| {
            cursor.bytes()?;
            cursor.u64()?;
            let count = cursor.count(8)?;
            let (heights, _) = cursor.take(count * 8)?.as_chunks();
            let first = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
            let after = heights.partition_point(|bytes| first(bytes) <= height);
            cursor.end()?;
            Ok(after.checked_sub(1).and_then(|index| heights.get(index)).map(first))
        })
    }

    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        Builder::new(16 + self.chain_id.len() + self.heights.len() * 8)
            .bytes(self.chain_id.as_bytes())
            .u64(self.genesis_height)
            .list(&self.heights, |row, height| row.u64(*height))
            .finish()
    }

    /// The record of a row; an absent row is an empty index
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: Option<&[u8]>) -> Result<Self, Error> {
        let Some(row) = row else { return Ok(Self::default()) };
        decode(Table::Chain, row, |cursor| {
            let chain_id = match core::str::from_utf8(cursor.bytes()?) {
                Ok(text) => String::from(text),
                Err(_) => return Err(cursor.flaw("chain id is not text")),
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
    /// Its wire text, as it stands below `result`
    pub fragment: &'row [u8],
}

impl<'row> ConfigRecord<'row> {
    /// Where the record of the configuration lives that is in force from this height on
    pub fn key(height: BlockHeight) -> Key {
        Key::number(Table::Configs, height)
    }

    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        Builder::new(self.fragment.len()).raw(self.fragment).finish()
    }

    /// The record of a row
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Configs, row, |cursor| Ok(Self { fragment: cursor.rest() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_in_force_until_the_next() {
        let index = ConfigIndex { heights: alloc::vec![10, 20], ..ConfigIndex::default() };
        assert_eq!(index.in_force(9), None);
        assert_eq!(index.in_force(10), Some(10));
        assert_eq!(index.in_force(19), Some(10));
        assert_eq!(index.in_force(u64::MAX), Some(20));
        let row = index.encode();
        for height in [0, 9, 10, 11, 19, 20, 21, u64::MAX] {
            assert_eq!(ConfigIndex::in_force_by(&row, height).unwrap(), index.in_force(height));
            for end in 0..row.len() {
                assert!(ConfigIndex::in_force_by(&row[..end], height).is_err(), "{end}");
            }
        }
    }
}
