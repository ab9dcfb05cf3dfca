//! The contents of the small rows of an archive: receipts, blocks and heights.
//!
//! The content of a finalized transaction is its row in the storage, that of a configuration is the
//! row of a configuration; neither is interpreted here.

use alloc::vec::Vec;

use super::Envelope;
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::cursor::{RowWriter, decode_part};
use crate::storage::{Key, Table};

/// The transaction that a receipt comes from
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ArchivedReceipt {
    /// The transaction's hash
    pub transaction: CryptoHash,
    /// Height of the block that includes the transaction
    pub height: BlockHeight,
}

impl ArchivedReceipt {
    /// The key of the row of a receipt
    pub const fn key(receipt: CryptoHash) -> Key {
        Key::hash(Table::ArchivedReceipts, receipt)
    }

    /// The content of the row
    pub fn encode(&self) -> Vec<u8> {
        RowWriter::part(40).hash(&self.transaction).u64(self.height).finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// As [`Envelope::decode`].
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        let content = Envelope::decode(Table::ArchivedReceipts, row)?.content()?;
        decode_part(Table::ArchivedReceipts, content, |cursor| {
            let record = Self { transaction: cursor.hash()?, height: cursor.u64()? };
            cursor.end().map(|()| record)
        })
    }
}

/// A final block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ArchivedBlock<'row> {
    /// Its height
    pub height: BlockHeight,
    /// The hash of its parent
    pub prev_hash: CryptoHash,
    /// Its epoch
    pub epoch_id: CryptoHash,
    /// `latest_protocol_version` of its header
    pub protocol_version: u32,
    /// What proofs need of its header; empty if the writer did not know it
    pub light_header: &'row [u8],
}

impl<'row> ArchivedBlock<'row> {
    /// The key of the row of a block
    pub const fn key(block: CryptoHash) -> Key {
        Key::hash(Table::ArchivedBlocks, block)
    }

    /// The key of the row that names the block of a height
    pub fn height_key(height: BlockHeight) -> Key {
        Key::number(Table::ArchivedHeights, height)
    }

    /// The content of the row
    pub fn encode(&self) -> Vec<u8> {
        RowWriter::part(76 + self.light_header.len())
            .u64(self.height)
            .hash(&self.prev_hash)
            .hash(&self.epoch_id)
            .u32(self.protocol_version)
            .raw(self.light_header)
            .finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// As [`Envelope::decode`].
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        let content = Envelope::decode(Table::ArchivedBlocks, row)?.content()?;
        decode_part(Table::ArchivedBlocks, content, |cursor| {
            Ok(Self {
                height: cursor.u64()?,
                prev_hash: cursor.hash()?,
                epoch_id: cursor.hash()?,
                protocol_version: cursor.u32()?,
                light_header: cursor.rest(),
            })
        })
    }

    /// Decodes the row of a height: the hash of the block
    ///
    /// # Errors
    ///
    /// As [`Envelope::decode`].
    pub fn decode_hash(row: &[u8]) -> Result<CryptoHash, Error> {
        let content = Envelope::decode(Table::ArchivedHeights, row)?.content()?;
        decode_part(Table::ArchivedHeights, content, |cursor| {
            let hash = cursor.hash()?;
            cursor.end().map(|()| hash)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::envelope::plain_row;
    use crate::archive::{Origin, WriterId};

    const ORIGIN: Origin = Origin::of(WriterId(1));

    #[test]
    fn rows_are_decoded_as_they_were_encoded() {
        let transaction = CryptoHash::digest(b"transaction");
        let receipt = ArchivedReceipt { transaction, height: 7 };
        let row = plain_row(ORIGIN, &receipt.encode());
        assert_eq!(ArchivedReceipt::decode(&row).unwrap(), receipt);
        let block = ArchivedBlock {
            height: 8,
            prev_hash: CryptoHash::digest(b"parent"),
            epoch_id: CryptoHash::digest(b"epoch"),
            protocol_version: 82,
            light_header: b"header",
        };
        let row = plain_row(ORIGIN, &block.encode());
        assert_eq!(ArchivedBlock::decode(&row).unwrap(), block);
        let row = plain_row(ORIGIN, transaction.as_bytes());
        assert_eq!(ArchivedBlock::decode_hash(&row).unwrap(), transaction);
        for content in [&receipt.encode()[..39], &[&receipt.encode()[..], b"x"].concat()] {
            assert!(ArchivedReceipt::decode(&plain_row(ORIGIN, content)).is_err());
            assert!(ArchivedBlock::decode_hash(&plain_row(ORIGIN, content)).is_err());
        }
        assert!(ArchivedBlock::decode(&plain_row(ORIGIN, &block.encode()[..75])).is_err());
    }
}
