//! Rows with wire text: transactions, outcomes and receipts.
//!
//! Each row is the few fields that a walk needs, and then the fragment: a walk parses no JSON, and
//! a response copies text. `import` has checked the fragments; they are not parsed here.

use alloc::vec::Vec;

use super::cursor::{Cursor, DecodeError, RowWriter, decode};
use super::{ByteRange, FinalizedTransaction};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::Table;

/// A transaction in a block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct TransactionRecord<'row> {
    /// Height of the block that holds it
    pub height: BlockHeight,
    /// Whether its signer is its receiver, so that its first receipt is local
    pub signer_is_receiver: bool,
    /// Its wire text
    pub fragment: &'row [u8],
}

impl<'row> TransactionRecord<'row> {
    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        self.write(RowWriter::new(Table::Transactions, 9 + self.fragment.len()))
    }

    /// The same in a reused buffer
    pub(crate) fn encode_reusing(&self, buffer: Vec<u8>) -> Vec<u8> {
        self.write(RowWriter::reuse(Table::Transactions, buffer))
    }

    fn write(&self, row: RowWriter) -> Vec<u8> {
        row.u8(u8::from(self.signer_is_receiver)).u64(self.height).raw(self.fragment).finish()
    }

    /// Decodes a row, which may be of a finalized transaction
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        if let Some(finalized) = FinalizedTransaction::decode(row)? {
            return Ok(finalized.transaction());
        }
        decode(Table::Transactions, row, |cursor| {
            let signer_is_receiver = cursor.u8()? != 0;
            Ok(Self { signer_is_receiver, height: cursor.u64()?, fragment: cursor.rest() })
        })
    }
}

/// The body of a receipt
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ReceiptRecord<'row> {
    /// Whether its predecessor is `system`, so that no milestone below `FINAL` waits for it
    pub refund: bool,
    /// Height of the first block that has it
    pub height: BlockHeight,
    /// Its wire text
    pub fragment: &'row [u8],
}

impl<'row> ReceiptRecord<'row> {
    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        self.write(RowWriter::new(Table::Receipts, 9 + self.fragment.len()))
    }

    /// The same in a reused buffer
    pub(crate) fn encode_reusing(&self, buffer: Vec<u8>) -> Vec<u8> {
        self.write(RowWriter::reuse(Table::Receipts, buffer))
    }

    fn write(&self, row: RowWriter) -> Vec<u8> {
        row.u8(u8::from(self.refund)).u64(self.height).raw(self.fragment).finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Receipts, row, |cursor| {
            let refund = cursor.u8()? != 0;
            Ok(Self { refund, height: cursor.u64()?, fragment: cursor.rest() })
        })
    }
}

/// The status of an outcome, as far as a walk needs it
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the layout of a row is closed by its version")]
pub enum OutcomeStatus {
    /// `Unknown`, or a variant that this release does not know: not executed yet
    Unknown,
    /// `Failure`: a leaf of the receipts
    Failure,
    /// `SuccessValue`: a leaf of the receipts
    SuccessValue,
    /// `SuccessReceiptId`: the result is that of this receipt
    SuccessReceiptId(CryptoHash),
}

/// The execution outcome of a transaction or a receipt
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct OutcomeRecord<'row> {
    /// Height of the block in which it was executed
    pub height: BlockHeight,
    /// Its status
    pub status: OutcomeStatus,
    /// Range of the text of its status in the fragment
    pub status_text: ByteRange,
    /// The receipts it generated: 32 bytes each
    pub receipt_ids: &'row [[u8; 32]],
    /// Its wire text, id and proof included
    pub fragment: &'row [u8],
}

impl<'row> OutcomeRecord<'row> {
    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        self.write(RowWriter::new(
            Table::Outcomes,
            64 + self.receipt_ids.len() * 32 + self.fragment.len(),
        ))
    }

    /// The same in a reused buffer
    pub(crate) fn encode_reusing(&self, buffer: Vec<u8>) -> Vec<u8> {
        self.write(RowWriter::reuse(Table::Outcomes, buffer))
    }

    fn write(&self, row: RowWriter) -> Vec<u8> {
        let (tag, next) = match self.status {
            OutcomeStatus::Unknown => (0, CryptoHash::ZERO),
            OutcomeStatus::Failure => (1, CryptoHash::ZERO),
            OutcomeStatus::SuccessValue => (2, CryptoHash::ZERO),
            OutcomeStatus::SuccessReceiptId(next) => (3, next),
        };
        let row = row.u64(self.height).u8(tag);
        let row = if tag == 3 { row.hash(&next) } else { row };
        row.u32(self.status_text.0)
            .u32(self.status_text.1)
            .u32(self.receipt_ids.len() as u32)
            .raw(self.receipt_ids.as_flattened())
            .raw(self.fragment)
            .finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super). The row of a finalized outcome is
    /// `Corrupt` here: see [`OutcomeRow`].
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Outcomes, row, |cursor| Self::read(cursor, None))
    }

    /// Decodes a row whose fragment is elsewhere
    pub(super) fn decode_with_fragment(
        row: &'row [u8],
        fragment: &'row [u8],
    ) -> Result<Self, Error> {
        decode(Table::Outcomes, row, |cursor| Self::read(cursor, Some(fragment)))
    }

    fn read(cursor: &mut Cursor<'row>, fragment: Option<&'row [u8]>) -> Result<Self, DecodeError> {
        let height = cursor.u64()?;
        let status = match cursor.u8()? {
            0 => OutcomeStatus::Unknown,
            1 => OutcomeStatus::Failure,
            2 => OutcomeStatus::SuccessValue,
            3 => OutcomeStatus::SuccessReceiptId(cursor.hash()?),
            FINALIZED => return Err(cursor.error("outcome is in the row of its transaction")),
            _ => return Err(cursor.error("unknown tag of an outcome status")),
        };
        let status_text = (cursor.u32()?, cursor.u32()?);
        let count = cursor.count(32)?;
        let (receipt_ids, _) = cursor.take(count * 32)?.as_chunks();
        let out_of_bounds = cursor.error("byte range of the status exceeds the fragment");
        let fragment = fragment.unwrap_or_else(|| cursor.rest());
        match fragment.get(status_text.0 as usize..status_text.1 as usize) {
            Some(_) => Ok(Self { height, status, status_text, receipt_ids, fragment }),
            None => Err(out_of_bounds),
        }
    }

    /// Ids of the receipts it generated
    pub fn receipts(&self) -> impl DoubleEndedIterator<Item = CryptoHash> + use<'row> {
        self.receipt_ids.iter().map(|id| CryptoHash::new(*id))
    }

    /// Whether this outcome of a transaction is its refusal: a failure that generated no receipt
    pub fn is_refusal(&self) -> bool {
        self.status == OutcomeStatus::Failure && self.receipt_ids.is_empty()
    }

    /// The wire text of its status
    pub fn status_fragment(&self) -> &'row [u8] {
        // `decode` has checked the range; one that is out of bounds in a record made by hand gives
        // an empty text.
        self.fragment
            .get(self.status_text.0 as usize..self.status_text.1 as usize)
            .unwrap_or_default()
    }
}

/// The status tag of an outcome that is in the row of a finalized transaction
const FINALIZED: u8 = 4;

/// The content of a row of [`Table::Outcomes`]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the layout of a row is closed by its version")]
pub enum OutcomeRow<'row> {
    /// The outcome
    Outcome(OutcomeRecord<'row>),
    /// The hash of the finalized transaction whose row has the outcome
    Finalized(CryptoHash),
}

impl<'row> OutcomeRow<'row> {
    /// Encodes the row of an outcome that is in the row of this finalized transaction
    pub fn encode_finalized(transaction: CryptoHash) -> Vec<u8> {
        // A zero takes the place of the height.
        RowWriter::new(Table::Outcomes, 41).u64(0).u8(FINALIZED).hash(&transaction).finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        match Self::finalized_in(row)? {
            Some(transaction) => Ok(Self::Finalized(transaction)),
            None => OutcomeRecord::decode(row).map(Self::Outcome),
        }
    }

    /// The finalized transaction whose row has the outcome; `None` if this row has it
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode), but an outcome in this row is not decoded.
    pub fn finalized_in(row: &[u8]) -> Result<Option<CryptoHash>, Error> {
        decode(Table::Outcomes, row, |cursor| {
            if (cursor.u64()?, cursor.u8()?) != (0, FINALIZED) {
                return Ok(None);
            }
            let transaction = cursor.hash()?;
            cursor.end().map(|()| Some(transaction))
        })
    }
}
