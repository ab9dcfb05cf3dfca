//! The three facts about a transaction: itself, outcomes, receipts.
//!
//! Each row is its wire text behind the few numbers that a walk needs, so that walking reads no
//! JSON and answering copies. The texts were checked when they came in and are not looked at here.

use alloc::vec::Vec;

use super::SettledRecord;
use super::cursor::{Builder, Cursor, Flaw, decode};
use crate::Error;
use crate::facts::Table;
use crate::primitives::{BlockHeight, CryptoHash};

/// A transaction that is in a block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct TransactionRecord<'row> {
    /// Height of the block that holds it
    pub height: BlockHeight,
    /// Whether it is sent to its own signer, so that its first receipt is local
    pub to_itself: bool,
    /// Its wire text
    pub fragment: &'row [u8],
}

impl<'row> TransactionRecord<'row> {
    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        self.write(Builder::new(9 + self.fragment.len()))
    }

    /// The same in a buffer that was used before
    pub(crate) fn encode_over(&self, row: Vec<u8>) -> Vec<u8> {
        self.write(Builder::over(row))
    }

    fn write(&self, row: Builder) -> Vec<u8> {
        row.u8(u8::from(self.to_itself)).u64(self.height).raw(self.fragment).finish()
    }

    /// The record of a row, which may hold a settled transaction
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        if let Some(settled) = SettledRecord::decode(row)? {
            return Ok(settled.transaction());
        }
        decode(Table::Transactions, row, |cursor| {
            let to_itself = cursor.u8()? != 0;
            Ok(Self { to_itself, height: cursor.u64()?, fragment: cursor.rest() })
        })
    }
}

/// The body of a receipt
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ReceiptRecord<'row> {
    /// Whether its predecessor is `system`, so that no milestone below `FINAL` waits for it
    pub refund: bool,
    /// Height of the block that brought it first
    pub height: BlockHeight,
    /// Its wire text
    pub fragment: &'row [u8],
}

impl<'row> ReceiptRecord<'row> {
    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        self.write(Builder::new(9 + self.fragment.len()))
    }

    /// The same in a buffer that was used before
    pub(crate) fn encode_over(&self, row: Vec<u8>) -> Vec<u8> {
        self.write(Builder::over(row))
    }

    fn write(&self, row: Builder) -> Vec<u8> {
        row.u8(u8::from(self.refund)).u64(self.height).raw(self.fragment).finish()
    }

    /// The record of a row
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Receipts, row, |cursor| {
            let refund = cursor.u8()? != 0;
            Ok(Self { refund, height: cursor.u64()?, fragment: cursor.rest() })
        })
    }
}

/// What the status of an outcome says to the walk
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the layout of a row is closed by its version")]
pub enum OutcomeStatus {
    /// `Unknown`, or a form that this engine does not know: not executed yet
    Unknown,
    /// `Failure`: an end of the chain of receipts
    Failure,
    /// `SuccessValue`: an end of the chain of receipts
    SuccessValue,
    /// `SuccessReceiptId`: the chain goes on with this receipt
    SuccessReceiptId(CryptoHash),
}

/// The outcome of a transaction or a receipt
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct OutcomeRecord<'row> {
    /// Height of the block in which it happened
    pub height: BlockHeight,
    /// What its status says
    pub status: OutcomeStatus,
    /// Where the text of its status stands in the fragment
    pub status_text: (u32, u32),
    /// The receipts it generated: 32 bytes each
    pub receipt_ids: &'row [[u8; 32]],
    /// Its wire text, id and proof included
    pub fragment: &'row [u8],
}

impl<'row> OutcomeRecord<'row> {
    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        self.write(Builder::new(64 + self.receipt_ids.len() * 32 + self.fragment.len()))
    }

    /// The same in a buffer that was used before
    pub(crate) fn encode_over(&self, row: Vec<u8>) -> Vec<u8> {
        self.write(Builder::over(row))
    }

    fn write(&self, row: Builder) -> Vec<u8> {
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

    /// The record of a row
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row, and for the
    /// row of an outcome that is settled: see [`OutcomeRow`].
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Outcomes, row, |cursor| Self::read(cursor, None))
    }

    /// The record of a row whose fragment stands elsewhere
    pub(super) fn decode_with(row: &'row [u8], fragment: &'row [u8]) -> Result<Self, Error> {
        decode(Table::Outcomes, row, |cursor| Self::read(cursor, Some(fragment)))
    }

    fn read(cursor: &mut Cursor<'row>, fragment: Option<&'row [u8]>) -> Result<Self, Flaw> {
        let height = cursor.u64()?;
        let status = match cursor.u8()? {
            0 => OutcomeStatus::Unknown,
            1 => OutcomeStatus::Failure,
            2 => OutcomeStatus::SuccessValue,
            3 => OutcomeStatus::SuccessReceiptId(cursor.hash()?),
            SETTLED => return Err(cursor.flaw("an outcome that stands with its transaction")),
            _ => return Err(cursor.flaw("unknown status of an outcome")),
        };
        let status_text = (cursor.u32()?, cursor.u32()?);
        let count = cursor.count(32)?;
        let (receipt_ids, _) = cursor.take(count * 32)?.as_chunks();
        let outside = cursor.flaw("the status lies outside of the fragment");
        let fragment = fragment.unwrap_or_else(|| cursor.rest());
        match fragment.get(status_text.0 as usize..status_text.1 as usize) {
            Some(_) => Ok(Self { height, status, status_text, receipt_ids, fragment }),
            None => Err(outside),
        }
    }

    /// The receipts it generated
    pub fn receipts(&self) -> impl DoubleEndedIterator<Item = CryptoHash> + use<'row> {
        self.receipt_ids.iter().map(|id| CryptoHash::new(*id))
    }

    /// The wire text of its status
    pub fn status_fragment(&self) -> &'row [u8] {
        // `decode` has checked the range; a record built by hand with another one shows nothing.
        self.fragment
            .get(self.status_text.0 as usize..self.status_text.1 as usize)
            .unwrap_or_default()
    }
}

/// In place of the status of an outcome: it stands in the row of a transaction
const SETTLED: u8 = 4;

/// What the row of an outcome holds
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the layout of a row is closed by its version")]
pub enum OutcomeRow<'row> {
    /// The outcome
    Open(OutcomeRecord<'row>),
    /// The transaction in whose row it stands since that is settled
    Settled(CryptoHash),
}

impl<'row> OutcomeRow<'row> {
    /// The row of an outcome that stands in the row of this transaction
    pub fn settled_with(transaction: CryptoHash) -> Vec<u8> {
        // The height of an open outcome stands first.
        Builder::new(41).u64(0).u8(SETTLED).hash(&transaction).finish()
    }

    /// What a row holds
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: &'row [u8]) -> Result<Self, Error> {
        match Self::settled_in(row)? {
            Some(transaction) => Ok(Self::Settled(transaction)),
            None => OutcomeRecord::decode(row).map(Self::Open),
        }
    }

    /// The transaction in whose row the outcome stands; none if it stands here
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode), but an outcome that stands here is not looked at.
    pub fn settled_in(row: &[u8]) -> Result<Option<CryptoHash>, Error> {
        decode(Table::Outcomes, row, |cursor| {
            if (cursor.u64()?, cursor.u8()?) != (0, SETTLED) {
                return Ok(None);
            }
            let transaction = cursor.hash()?;
            cursor.end().map(|()| Some(transaction))
        })
    }
}
