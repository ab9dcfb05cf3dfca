//! The contents of the small rows of an archive: receipts, blocks, their proofs and heights.
//!
//! The content of a finalized transaction is its row in the storage, that of a configuration is the
//! row of a configuration; neither is interpreted here.

use alloc::vec::Vec;

use super::Envelope;
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::proof::LightHeader;
use crate::storage::rows::BlockProof;
use crate::storage::rows::cursor::{RowWriter, decode_part};
use crate::storage::{Key, Table};

/// The transaction that a receipt comes from
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ArchivedReceipt {
    /// The transaction's hash
    pub transaction: CryptoHash,
    /// Height of the block that includes the transaction; for a receipt of an execution that was
    /// not the first, of the block that generated it
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
pub struct ArchivedBlock {
    /// Its height
    pub height: BlockHeight,
    /// The hash of its parent
    pub prev_hash: CryptoHash,
    /// Its epoch
    pub epoch_id: CryptoHash,
    /// `latest_protocol_version` of its header
    pub protocol_version: u32,
}

impl ArchivedBlock {
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
        RowWriter::part(76)
            .u64(self.height)
            .hash(&self.prev_hash)
            .hash(&self.epoch_id)
            .u32(self.protocol_version)
            .finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// As [`Envelope::decode`].
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        let content = Envelope::decode(Table::ArchivedBlocks, row)?.content()?;
        decode_part(Table::ArchivedBlocks, content, |cursor| {
            let block = Self {
                height: cursor.u64()?,
                prev_hash: cursor.hash()?,
                epoch_id: cursor.hash()?,
                protocol_version: cursor.u32()?,
            };
            cursor.end().map(|()| block)
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

/// What proves the outcomes that a final block confirms
///
/// Apart from the row of the block, because only writers that check blocks against their hashes
/// know it, and rows of all writers have one content.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ArchivedProof {
    /// The light header of the block
    pub header: LightHeader,
    /// The `outcome_root` of each of its chunks, in the order of the shard layout
    pub outcome_roots: Vec<CryptoHash>,
}

impl ArchivedProof {
    /// The key of the row for a block
    pub const fn key(block: CryptoHash) -> Key {
        Key::hash(Table::ArchivedProofs, block)
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// As [`Envelope::decode`].
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        let content = Envelope::decode(Table::ArchivedProofs, row)?.content()?;
        decode_part(Table::ArchivedProofs, content, |cursor| {
            match BlockProof::from_bytes(cursor.rest()).parts() {
                Some((header, outcome_roots)) => Ok(Self { header, outcome_roots }),
                None => Err(cursor.error("no light header")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

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
        };
        let row = plain_row(ORIGIN, &block.encode());
        assert_eq!(ArchivedBlock::decode(&row).unwrap(), block);
        let row = plain_row(ORIGIN, transaction.as_bytes());
        assert_eq!(ArchivedBlock::decode_hash(&row).unwrap(), transaction);
        for content in [&receipt.encode()[..39], &[&receipt.encode()[..], b"x"].concat()] {
            assert!(ArchivedReceipt::decode(&plain_row(ORIGIN, content)).is_err());
            assert!(ArchivedBlock::decode_hash(&plain_row(ORIGIN, content)).is_err());
        }
        for content in [&block.encode()[..75], &[&block.encode()[..], b"x"].concat()] {
            assert!(ArchivedBlock::decode(&plain_row(ORIGIN, content)).is_err());
        }
        let header = LightHeader::from_bytes(&[3; LightHeader::LEN]);
        let proof = BlockProof::new(&header, &[transaction]);
        let row = plain_row(ORIGIN, proof.as_bytes());
        let decoded = ArchivedProof::decode(&row).unwrap();
        assert_eq!(decoded, ArchivedProof { header, outcome_roots: vec![transaction] });
        let error = ArchivedProof::decode(&plain_row(ORIGIN, &[3; 271])).unwrap_err();
        assert!(error.detail().contains("no light header"), "{error}");
    }
}
