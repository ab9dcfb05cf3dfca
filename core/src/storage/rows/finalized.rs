//! A finalized transaction: its whole result in one row, with the byte ranges of the parts.
//!
//! Nothing about a transaction changes once it is `FINAL`, so its result is written for the last
//! time into the transaction's own row, and responses copy it in one piece. An index of its
//! outcomes precedes the result, for typed views; responses skip it. Also here: the parents of
//! receipts, by which `import` finds the transaction that an outcome may complete.

use alloc::vec::Vec;

use super::cursor::{RowWriter, decode, decode_part};
use super::fragment::{OutcomeRecord, TransactionRecord};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::{Key, Table};

/// Flags of a transaction's row: the signer is the receiver, finalized, the first leaf failed
const SIGNER_IS_RECEIVER: u8 = 1;
const FINALIZED: u8 = 2;
const FAILED: u8 = 4;

/// The transaction that a receipt comes from
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ReceiptParent {
    /// The transaction's hash
    pub transaction: CryptoHash,
    /// Whether an execution generated it that was not the transaction's first
    pub is_later: bool,
}

impl ReceiptParent {
    /// The key of the record of a receipt
    pub const fn key(receipt: CryptoHash) -> Key {
        Key::hash(Table::ReceiptParents, receipt)
    }

    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        RowWriter::new(Table::ReceiptParents, 33)
            .hash(&self.transaction)
            .u8(u8::from(self.is_later))
            .finish()
    }

    /// Decodes a row
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(Table::ReceiptParents, row, |cursor| {
            let record = Self { transaction: cursor.hash()?, is_later: cursor.u8()? != 0 };
            cursor.end().map(|()| record)
        })
    }
}

/// A range of bytes of a text: its start and its end
pub type ByteRange = (u32, u32);

/// A finalized transaction: nothing about it changes any more
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct FinalizedTransaction<'row> {
    /// Whether the first leaf of its receipts failed; otherwise it returned a value
    pub failed: bool,
    /// Height of the block that holds it
    pub height: BlockHeight,
    /// Whether its signer is its receiver, so that its first receipt is local
    pub signer_is_receiver: bool,
    /// Number of its receipts
    pub receipt_count: u32,
    /// Range of the receipts in the result, with the comma before the member and its name
    pub receipts: ByteRange,
    /// Range of the transaction in the result
    pub transaction: ByteRange,
    /// The encoded index of the outcomes: see [`outcomes`](Self::outcomes)
    pub index: &'row [u8],
    /// The whole result of a response, receipts included
    pub result: &'row [u8],
}

/// An outcome of a finalized transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct FinalizedOutcome<'row> {
    /// The transaction's hash, or the id of a receipt
    pub id: CryptoHash,
    /// The outcome
    pub outcome: OutcomeRecord<'row>,
    /// The wire text of the receipt; `None` for the transaction and for a local receipt
    pub body: Option<&'row [u8]>,
}

impl<'row> FinalizedTransaction<'row> {
    /// Encodes the record as a row
    pub fn encode(&self) -> Vec<u8> {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        RowWriter::new(Table::Transactions, 38 + self.index.len() + self.result.len())
            .u8(FINALIZED
                | flag(self.signer_is_receiver, SIGNER_IS_RECEIVER)
                | flag(self.failed, FAILED))
            .u64(self.height)
            .u32(self.receipt_count)
            .u32(self.receipts.0)
            .u32(self.receipts.1)
            .u32(self.transaction.0)
            .u32(self.transaction.1)
            .bytes(self.index)
            .raw(self.result)
            .finish()
    }

    /// Decodes a row of [`Table::Transactions`]; `None` if the transaction is not finalized
    ///
    /// # Errors
    ///
    /// Of kind `Version` or `Corrupt`: see [the module](super).
    #[inline]
    pub fn decode(row: &'row [u8]) -> Result<Option<Self>, Error> {
        decode(Table::Transactions, row, |cursor| {
            let flags = cursor.u8()?;
            if flags & FINALIZED == 0 {
                return Ok(None);
            }
            let (failed, signer_is_receiver) =
                (flags & FAILED != 0, flags & SIGNER_IS_RECEIVER != 0);
            let (height, receipt_count) = (cursor.u64()?, cursor.u32()?);
            let receipts = (cursor.u32()?, cursor.u32()?);
            let transaction = (cursor.u32()?, cursor.u32()?);
            let index = cursor.bytes()?;
            if cursor.range(receipts).is_none() || cursor.range(transaction).is_none() {
                return Err(cursor.error("a byte range exceeds the result"));
            }
            let result = cursor.rest();
            Ok(Some(Self {
                failed,
                height,
                signer_is_receiver,
                receipt_count,
                receipts,
                transaction,
                index,
                result,
            }))
        })
    }

    /// The result of a response without the receipts: the parts before and after them
    pub fn without_receipts(&self) -> [&'row [u8]; 2] {
        // `decode` has checked the range; one that is out of bounds in a record made by hand gives
        // empty parts.
        let (start, end) = (self.receipts.0 as usize, self.receipts.1 as usize);
        [self.result.get(..start), self.result.get(end..)].map(Option::unwrap_or_default)
    }

    /// The transaction
    pub fn transaction(&self) -> TransactionRecord<'row> {
        let Self { height, signer_is_receiver, .. } = *self;
        let (start, end) = self.transaction;
        let fragment = self.result.get(start as usize..end as usize).unwrap_or_default();
        TransactionRecord { height, signer_is_receiver, fragment }
    }

    /// The outcomes, the transaction's own first, then depth first
    pub fn outcomes(&self) -> FinalizedOutcomes<'row> {
        FinalizedOutcomes { index: self.index, result: self.result }
    }

    /// Whether the transaction was refused when it was included: its own outcome is a failure that
    /// generated no receipt
    pub fn is_refusal(&self) -> bool {
        self.outcomes().next().is_some_and(|own| own.is_ok_and(|own| own.outcome.is_refusal()))
    }

    /// Appends an outcome to an index, with the range of its text and, if the result has it, of the
    /// receipt's text
    pub fn add_outcome(
        index: &mut Vec<u8>,
        id: CryptoHash,
        outcome: &OutcomeRecord<'_>,
        fragment: ByteRange,
        body: Option<ByteRange>,
    ) {
        let head = OutcomeRecord { fragment: &[], ..*outcome }.encode();
        let body = body.unwrap_or_default();
        index.extend_from_slice(id.as_bytes());
        // The head's length fits: it is bounded by the number of receipts of one outcome.
        for number in [fragment.0, fragment.1, body.0, body.1, head.len() as u32] {
            index.extend_from_slice(&number.to_le_bytes());
        }
        index.extend_from_slice(&head);
    }
}

/// The outcomes of a finalized transaction
#[derive(Clone, Debug)]
pub struct FinalizedOutcomes<'row> {
    index: &'row [u8],
    result: &'row [u8],
}

impl<'row> FinalizedOutcomes<'row> {
    fn read(&mut self) -> Result<FinalizedOutcome<'row>, Error> {
        let text = |(start, end): ByteRange| self.result.get(start as usize..end as usize);
        let read = decode_part(Table::Transactions, self.index, |cursor| {
            let id = cursor.hash()?;
            let fragment = (cursor.u32()?, cursor.u32()?);
            let body = (cursor.u32()?, cursor.u32()?);
            let head = cursor.bytes()?;
            let (Some(fragment), Some(body)) = (text(fragment), text(body)) else {
                return Err(cursor.error("byte range of an outcome exceeds the result"));
            };
            Ok((id, head, fragment, body, cursor.rest()))
        });
        let (id, head, fragment, body, index) = read?;
        self.index = index;
        let body = Some(body).filter(|body| !body.is_empty());
        OutcomeRecord::decode_with_fragment(head, fragment).map(|outcome| FinalizedOutcome {
            id,
            outcome,
            body,
        })
    }
}

impl<'row> Iterator for FinalizedOutcomes<'row> {
    type Item = Result<FinalizedOutcome<'row>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.index = &[];
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::storage::rows::{OutcomeRow, OutcomeStatus};

    fn record<'row>(index: &'row [u8], result: &'row [u8]) -> FinalizedTransaction<'row> {
        FinalizedTransaction {
            failed: true,
            height: 7,
            signer_is_receiver: true,
            receipt_count: 1,
            receipts: (1, 3),
            transaction: (3, 5),
            index,
            result,
        }
    }

    #[test]
    fn a_finalized_row_decodes_to_its_parts() {
        let [id, other] = [CryptoHash::digest(b"one"), CryptoHash::digest(b"other")];
        let outcome = OutcomeRecord {
            height: 9,
            status: OutcomeStatus::Failure,
            status_text: (0, 1),
            receipt_ids: &[*other.as_bytes()],
            fragment: b"67",
        };
        let mut index = vec![];
        FinalizedTransaction::add_outcome(&mut index, id, &outcome, (6, 8), None);
        FinalizedTransaction::add_outcome(&mut index, other, &outcome, (6, 8), Some((1, 3)));
        // Two ids with five numbers and a head of 54 bytes, which lists a receipt and has no text
        assert_eq!(index.len(), 2 * (32 + 5 * 4 + 54));
        let finalized = record(&index, b"012345678");
        let row = finalized.encode();
        assert_eq!(FinalizedTransaction::decode(&row).unwrap(), Some(finalized));
        assert_eq!(finalized.without_receipts().concat(), b"0345678");
        let transaction =
            TransactionRecord { height: 7, signer_is_receiver: true, fragment: b"34" };
        assert_eq!(TransactionRecord::decode(&row).unwrap(), transaction);
        assert_eq!(FinalizedTransaction::decode(&transaction.encode()).unwrap(), None);
        let outcomes: Vec<_> = finalized.outcomes().map(Result::unwrap).collect();
        let expected = [(id, None), (other, Some(&b"12"[..]))].map(|(id, body)| FinalizedOutcome {
            id,
            outcome,
            body,
        });
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn truncated_rows_and_ranges_out_of_bounds_are_errors() {
        let id = CryptoHash::ZERO;
        let outcome = OutcomeRecord {
            height: 9,
            status: OutcomeStatus::SuccessValue,
            status_text: (0, 0),
            receipt_ids: &[],
            fragment: b"",
        };
        let mut index = vec![];
        FinalizedTransaction::add_outcome(&mut index, id, &outcome, (6, 80), None);
        let outside = record(&index, b"012345678").encode();
        let outside = FinalizedTransaction::decode(&outside).unwrap().unwrap();
        assert!(outside.outcomes().map(|outcome| outcome.is_err()).eq([true]));
        assert!(FinalizedTransaction::decode(&record(&[], b"01").encode()).is_err());
        // Only the range of the transaction, then only that of the receipts
        for (receipts, transaction) in [((1, 3), (3, 6)), ((3, 6), (1, 3))] {
            let record = FinalizedTransaction { receipts, transaction, ..record(&[], b"01234") };
            let error = FinalizedTransaction::decode(&record.encode()).unwrap_err();
            assert_eq!(error.detail(), "a byte range exceeds the result");
        }
        for end in 1..index.len() {
            let short = record(index.get(..end).unwrap_or_default(), b"012345678").encode();
            let short = FinalizedTransaction::decode(&short).unwrap().unwrap();
            assert!(short.outcomes().any(|outcome| outcome.is_err()), "{end}");
        }
    }

    #[test]
    fn the_row_of_a_finalized_outcome_names_its_transaction() {
        let transaction = CryptoHash::digest(b"transaction");
        let row = OutcomeRow::encode_finalized(transaction);
        assert_eq!(OutcomeRow::decode(&row).unwrap(), OutcomeRow::Finalized(transaction));
        assert!(OutcomeRecord::decode(&row).is_err());
        for end in 0..row.len() {
            assert!(OutcomeRow::decode(row.get(..end).unwrap_or_default()).is_err(), "{end}");
        }
    }
}
