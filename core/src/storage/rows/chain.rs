//! The one row about the whole chain.
//!
//! Every query reads the chain's row first, so it stays small: block points, counters and lists
//! that `import` bounds. It changes with every block; its generation identifies the state.

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
    /// A height from which on the canonical blocks are of this epoch or of a later one
    pub height: BlockHeight,
}

/// Bytes of an epoch in the list of a row
const EPOCH_LEN: usize = 48;

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
    /// The height from which on every canonical block was imported: the parent of each block above
    /// it was in the storage, and no row of these blocks is pruned
    pub complete_from: BlockHeight,
    /// Whether the head was final as soon as it was imported: the rule of finality of its import
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

    /// The epoch of the canonical block of this height, if it is one of those that are listed
    pub fn epoch_at(&self, height: BlockHeight) -> Option<CryptoHash> {
        let epoch = self.epochs.iter().rev().find(|epoch| epoch.height <= height);
        epoch.map(|epoch| epoch.epoch_id)
    }

    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        let point = |row: RowWriter, point: &BlockPoint| row.u64(point.height).hash(&point.hash);
        RowWriter::new(
            Table::Chain,
            128 + self.epochs.len() * EPOCH_LEN + self.fork_blocks.len() * 40,
        )
        .u64(self.generation)
        .u64(self.first_ordinal)
        .u64(self.next_ordinal)
        .u64(self.next_finalized)
        .option(self.head.as_ref(), point)
        .option(self.last_final.as_ref(), point)
        .list(&self.epochs, |row, epoch| {
            row.hash(&epoch.epoch_id).u64(epoch.ordinal).u64(epoch.height)
        })
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
                epochs: cursor.list(EPOCH_LEN, EpochStart::read)?,
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

    /// The head, or the last final block, with its epoch; `None` if there is none, or its epoch is
    /// not listed; allocates nothing
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    #[inline]
    pub(crate) fn point_in_row(
        row: &[u8],
        is_final: bool,
    ) -> Result<Option<(BlockHeight, CryptoHash)>, Error> {
        decode(Table::Chain, row, |cursor| {
            let chain = Self::read_scalars(cursor)?;
            let point = if is_final { chain.last_final } else { chain.head };
            let mut epoch_id = None;
            for _ in 0..cursor.count(EPOCH_LEN)? {
                let epoch = EpochStart::read(cursor)?;
                if point.is_some_and(|point| epoch.height <= point.height) {
                    epoch_id = Some(epoch.epoch_id);
                }
            }
            Ok(point.map(|point| point.height).zip(epoch_id))
        })
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

impl EpochStart {
    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Ok(Self { epoch_id: cursor.hash()?, ordinal: cursor.u64()?, height: cursor.u64()? })
    }
}

#[inline]
fn point(cursor: &mut Cursor<'_>) -> Result<BlockPoint, DecodeError> {
    Ok(BlockPoint { height: cursor.u64()?, hash: cursor.hash()? })
}
