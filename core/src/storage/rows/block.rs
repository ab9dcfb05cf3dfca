//! A block: its position in the chain and the rows that came with it.
//!
//! A canonical block lists the ids of its rows, so that exactly those are removed when it leaves
//! the chain; the rows of a fork block are kept in one row of their own. `import` decides which
//! blocks are canonical. What proofs of outcomes need of a header is kept with its block.

use alloc::vec::Vec;

use super::cursor::{Cursor, DecodeError, RowWriter, decode};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::proof::LightHeader;
use crate::storage::{Key, Row, Table};

/// The table and id of a row that belongs to a block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct RowId {
    /// Its table: transactions, outcomes, receipts or receipt parents
    pub table: Table,
    /// Its id within the table
    pub id: CryptoHash,
}

impl RowId {
    /// The key of the row
    pub const fn key(&self) -> Key {
        Key::hash(self.table, self.id)
    }

    fn write(row: RowWriter, row_id: &Self) -> RowWriter {
        row.u8(row_id.table.number()).hash(&row_id.id)
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        // These rows are removed with their block: another table here would remove blocks.
        match Table::from_number(cursor.u8()?) {
            Some(
                table @ (Table::Transactions
                | Table::Outcomes
                | Table::Receipts
                | Table::ReceiptParents),
            ) => Ok(Self { table, id: cursor.hash()? }),
            _ => Err(cursor.error("not a table of rows that belong to a block")),
        }
    }
}

/// What proves the outcomes that a block confirms: its light header, and the `outcome_root` of each
/// chunk; nothing if the block was imported without a check against its hash
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BlockProof(Vec<u8>);

impl BlockProof {
    /// The proof of a block with this header, whose chunks have these roots in the order of the
    /// shard layout
    pub fn new(header: &LightHeader, outcome_roots: &[CryptoHash]) -> Self {
        let roots = outcome_roots.iter().map(|root| &root.as_bytes()[..]);
        let header = header.to_bytes();
        let parts: Vec<&[u8]> = [&header[..]].into_iter().chain(roots).collect();
        Self(parts.concat())
    }

    /// The proof with these bytes, those of [`as_bytes`](Self::as_bytes)
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// The light header and the roots as they are stored; empty without a proof
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The light header and the roots
    pub fn parts(&self) -> Option<(LightHeader, Vec<CryptoHash>)> {
        let (header, roots) = self.0.split_first_chunk()?;
        let (roots, _) = roots.as_chunks();
        let roots = roots.iter().map(|root| CryptoHash::new(*root)).collect();
        Some((LightHeader::from_bytes(header), roots))
    }
}

/// An imported block
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct BlockRecord {
    /// Its height
    pub height: BlockHeight,
    /// The hash of its parent
    pub prev_hash: CryptoHash,
    /// Its epoch
    pub epoch_id: CryptoHash,
    /// `last_final_block` of its header
    pub last_final: CryptoHash,
    /// `last_ds_final_block` of its header: the last block one step short of final
    pub last_near_final: CryptoHash,
    /// `latest_protocol_version` of its header
    pub protocol_version: u32,
    /// The proof of the outcomes that it confirms
    pub proof: BlockProof,
    /// Its ordinal in the canonical chain; `None` for a fork block
    pub ordinal: Option<u64>,
    /// The rows that are removed with it; empty for a fork block
    ///
    /// The parents of receipts of later executions come first: transactions do not list these
    /// receipts.
    pub rows: Vec<RowId>,
}

impl BlockRecord {
    /// The receipts of executions that were not the first of their transactions
    #[cfg(feature = "archive")]
    pub(crate) fn later_receipts(&self) -> impl Iterator<Item = CryptoHash> + '_ {
        let is_later = |row_id: &&RowId| row_id.table == Table::ReceiptParents;
        self.rows.iter().take_while(is_later).map(|row_id| row_id.id)
    }

    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        RowWriter::new(Table::Blocks, 192 + self.proof.0.len() + self.rows.len() * 33)
            .u64(self.height)
            .hash(&self.prev_hash)
            .hash(&self.epoch_id)
            .hash(&self.last_final)
            .hash(&self.last_near_final)
            .u32(self.protocol_version)
            .bytes(&self.proof.0)
            .option(self.ordinal.as_ref(), |row, ordinal| row.u64(*ordinal))
            .list(&self.rows, RowId::write)
            .finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(Table::Blocks, row, |cursor| {
            let record = Self {
                height: cursor.u64()?,
                prev_hash: cursor.hash()?,
                epoch_id: cursor.hash()?,
                last_final: cursor.hash()?,
                last_near_final: cursor.hash()?,
                protocol_version: cursor.u32()?,
                proof: BlockProof(cursor.bytes()?.to_vec()),
                ordinal: cursor.option(Cursor::u64)?,
                rows: cursor.list(33, RowId::read)?,
            };
            cursor.end().map(|()| record)
        })
    }
}

/// The rows of a block on a fork, kept until the fork becomes canonical or is pruned
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ForkBlock {
    /// The rows that are added when the block becomes canonical
    pub rows: Vec<(RowId, Row)>,
}

impl ForkBlock {
    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        let bytes: usize = self.rows.iter().map(|(_, row)| row.len() + 37).sum();
        RowWriter::new(Table::ForkBlocks, 4 + bytes)
            .list(&self.rows, |writer, (row_id, row)| RowId::write(writer, row_id).bytes(row))
            .finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(Table::ForkBlocks, row, |cursor| {
            let rows =
                cursor.list(37, |cursor| Ok((RowId::read(cursor)?, Row::from(cursor.bytes()?))))?;
            cursor.end().map(|()| Self { rows })
        })
    }
}

/// Encodes the hash of a canonical block as a row of [`Table::Heights`] or [`Table::Ordinals`]
pub fn encode_block_hash(table: Table, hash: &CryptoHash) -> Vec<u8> {
    RowWriter::new(table, 32).hash(hash).finish()
}

/// Decodes a row of [`Table::Heights`] or [`Table::Ordinals`]
///
/// # Errors
///
/// Of kind `Version` or `Corrupt`: see [the module](super).
pub fn decode_block_hash(table: Table, row: &[u8]) -> Result<CryptoHash, Error> {
    decode(table, row, |cursor| {
        let hash = cursor.hash()?;
        cursor.end().map(|()| hash)
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_row_id_names_a_table_whose_rows_belong_to_blocks() {
        for table in Table::ALL {
            let row_id = RowId { table, id: CryptoHash::ZERO };
            let fork_block = ForkBlock { rows: vec![(row_id, Row::from(&b"x"[..]))] };
            let decoded = ForkBlock::decode(&fork_block.encode());
            let expected =
                ["transactions", "outcomes", "receipts", "receipt_parents"].contains(&table.name());
            assert_eq!(decoded.is_ok(), expected, "{decoded:?}");
        }
    }
}
