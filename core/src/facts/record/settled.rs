//! A settled transaction: its whole answer in one row, and where in it the parts stand.
//!
//! Once a transaction is `FINAL` nothing about it changes any more, so its answer is rendered for
//! the last time, into the transaction's own row, and an answer copies it in one piece. The list of
//! its outcomes stands in front, for hosts that look inside; answering skips it. Beside it the origins
//! of receipts, by which ingest finds the transaction that an outcome may settle.

use alloc::vec::Vec;

use super::cursor::{Builder, decode, decode_part};
use super::fact::{OutcomeRecord, TransactionRecord};
use crate::Error;
use crate::facts::{Key, Table};
use crate::primitives::{BlockHeight, CryptoHash};

/// Flags of a transaction's row: sent to its own signer, settled, the first leaf failed
const TO_ITSELF: u8 = 1;
const SETTLED: u8 = 2;
const FAILED: u8 = 4;

/// The transaction that a receipt stems from
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct OriginRecord {
    /// The transaction's hash
    pub transaction: CryptoHash,
}

impl OriginRecord {
    /// Where the record of a receipt lives
    pub const fn key(receipt: CryptoHash) -> Key {
        Key::hash(Table::Origins, receipt)
    }

    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        Builder::new(32).hash(&self.transaction).finish()
    }

    /// The record of a row
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(Table::Origins, row, |cursor| {
            let record = Self { transaction: cursor.hash()? };
            cursor.end().map(|()| record)
        })
    }
}

/// A range of bytes of the result: where it starts, and where it ends
pub type Place = (u32, u32);

/// A transaction that nothing will change any more
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct SettledRecord<'row> {
    /// Whether the first leaf of its receipts failed; else it returned a value
    pub failed: bool,
    /// Height of the block that holds it
    pub height: BlockHeight,
    /// Whether it is sent to its own signer, so that its first receipt is local
    pub to_itself: bool,
    /// How many receipts belong to it
    pub count: u32,
    /// Where the receipts stand, with the name of the member and the comma behind
    pub receipts: Place,
    /// Where the transaction stands
    pub transaction: Place,
    /// The outcomes: see [`outcomes`](Self::outcomes)
    pub index: &'row [u8],
    /// The whole result of an answer, receipts included
    pub result: &'row [u8],
}

/// An outcome of a settled transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct SettledOutcome<'row> {
    /// The transaction's hash, or the id of a receipt
    pub id: CryptoHash,
    /// The outcome
    pub outcome: OutcomeRecord<'row>,
    /// The wire text of the receipt; none for the transaction and for a local receipt
    pub body: Option<&'row [u8]>,
}

impl<'row> SettledRecord<'row> {
    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        Builder::new(38 + self.index.len() + self.result.len())
            .u8(SETTLED | flag(self.to_itself, TO_ITSELF) | flag(self.failed, FAILED))
            .u64(self.height)
            .u32(self.count)
            .u32(self.receipts.0)
            .u32(self.receipts.1)
            .u32(self.transaction.0)
            .u32(self.transaction.1)
            .bytes(self.index)
            .raw(self.result)
            .finish()
    }

    /// The record of a transaction's row; none if the transaction is not settled
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    #[inline]
    pub fn decode(row: &'row [u8]) -> Result<Option<Self>, Error> {
        decode(Table::Transactions, row, |cursor| {
            let flags = cursor.u8()?;
            if flags & SETTLED == 0 {
                return Ok(None);
            }
            let (failed, to_itself) = (flags & FAILED != 0, flags & TO_ITSELF != 0);
            let (height, count) = (cursor.u64()?, cursor.u32()?);
            let receipts = (cursor.u32()?, cursor.u32()?);
            let transaction = (cursor.u32()?, cursor.u32()?);
            let index = cursor.bytes()?;
            if cursor.part(receipts).is_none() || cursor.part(transaction).is_none() {
                return Err(cursor.flaw("a part lies outside of the result"));
            }
            let result = cursor.rest();
            Ok(Some(Self {
                failed,
                height,
                to_itself,
                count,
                receipts,
                transaction,
                index,
                result,
            }))
        })
    }

    /// The result of an answer without the receipts: what stands before them and what stands after
    pub fn without_receipts(&self) -> [&'row [u8]; 2] {
        // `decode` has checked the range; a record built by hand with another one shows nothing.
        let (start, end) = (self.receipts.0 as usize, self.receipts.1 as usize);
        [self.result.get(..start), self.result.get(end..)].map(Option::unwrap_or_default)
    }

    /// The transaction
    pub fn transaction(&self) -> TransactionRecord<'row> {
        let Self { height, to_itself, .. } = *self;
        let (start, end) = self.transaction;
        let fragment = self.result.get(start as usize..end as usize).unwrap_or_default();
        TransactionRecord { height, to_itself, fragment }
    }

    /// The outcomes, depth first; the transaction's own comes first
    pub fn outcomes(&self) -> SettledOutcomes<'row> {
        SettledOutcomes { index: self.index, result: self.result }
    }

    /// Appends an outcome to an index, by the places of its text and, if the result shows it, of the
    /// receipt's
    pub fn add_outcome(
        index: &mut Vec<u8>,
        id: CryptoHash,
        outcome: &OutcomeRecord<'_>,
        fragment: Place,
        body: Option<Place>,
    ) {
        let head = OutcomeRecord { fragment: &[], ..*outcome }.encode();
        let body = body.unwrap_or_default();
        index.extend_from_slice(id.as_bytes());
        // Bounded by the number of receipts in one outcome.
        for number in [fragment.0, fragment.1, body.0, body.1, head.len() as u32] {
            index.extend_from_slice(&number.to_le_bytes());
        }
        index.extend_from_slice(&head);
    }
}

/// The outcomes of a settled transaction
#[derive(Clone, Debug)]
pub struct SettledOutcomes<'row> {
    index: &'row [u8],
    result: &'row [u8],
}

impl<'row> SettledOutcomes<'row> {
    fn read(&mut self) -> Result<SettledOutcome<'row>, Error> {
        let part = |(start, end): Place| self.result.get(start as usize..end as usize);
        let read = decode_part(Table::Transactions, self.index, |cursor| {
            let id = cursor.hash()?;
            let fragment = (cursor.u32()?, cursor.u32()?);
            let body = (cursor.u32()?, cursor.u32()?);
            let head = cursor.bytes()?;
            let (Some(fragment), Some(body)) = (part(fragment), part(body)) else {
                return Err(cursor.flaw("an outcome lies outside of the result"));
            };
            Ok((id, head, fragment, body, cursor.rest()))
        });
        let (id, head, fragment, body, index) = read?;
        self.index = index;
        let body = Some(body).filter(|body| !body.is_empty());
        OutcomeRecord::decode_with(head, fragment).map(|outcome| SettledOutcome {
            id,
            outcome,
            body,
        })
    }
}

impl<'row> Iterator for SettledOutcomes<'row> {
    type Item = Result<SettledOutcome<'row>, Error>;

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
    use crate::facts::record::{OutcomeRow, OutcomeStatus};

    fn record<'row>(index: &'row [u8], result: &'row [u8]) -> SettledRecord<'row> {
        SettledRecord {
            failed: true,
            height: 7,
            to_itself: true,
            count: 1,
            receipts: (1, 3),
            transaction: (3, 5),
            index,
            result,
        }
    }

    #[test]
    fn a_settled_row_is_read_back_in_parts() {
        let [id, other] = [CryptoHash::digest(b"one"), CryptoHash::digest(b"other")];
        let outcome = OutcomeRecord {
            height: 9,
            status: OutcomeStatus::Failure,
            status_text: (0, 1),
            receipt_ids: &[*other.as_bytes()],
            fragment: b"67",
        };
        let mut index = vec![];
        SettledRecord::add_outcome(&mut index, id, &outcome, (6, 8), None);
        SettledRecord::add_outcome(&mut index, other, &outcome, (6, 8), Some((1, 3)));
        let settled = record(&index, b"012345678");
        let row = settled.encode();
        assert_eq!(SettledRecord::decode(&row).unwrap(), Some(settled));
        assert_eq!(settled.without_receipts().concat(), b"0345678");
        let transaction = TransactionRecord { height: 7, to_itself: true, fragment: b"34" };
        assert_eq!(TransactionRecord::decode(&row).unwrap(), transaction);
        assert_eq!(SettledRecord::decode(&transaction.encode()).unwrap(), None);
        let outcomes: Vec<_> = settled.outcomes().map(Result::unwrap).collect();
        let expected = [(id, None), (other, Some(&b"12"[..]))].map(|(id, body)| SettledOutcome {
            id,
            outcome,
            body,
        });
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn rows_cut_short_or_pointing_outside_are_refused() {
        let id = CryptoHash::ZERO;
        let outcome = OutcomeRecord {
            height: 9,
            status: OutcomeStatus::SuccessValue,
            status_text: (0, 0),
            receipt_ids: &[],
            fragment: b"",
        };
        let mut index = vec![];
        SettledRecord::add_outcome(&mut index, id, &outcome, (6, 80), None);
        let outside = record(&index, b"012345678").encode();
        let outside = SettledRecord::decode(&outside).unwrap().unwrap();
        assert!(outside.outcomes().map(|outcome| outcome.is_err()).eq([true]));
        assert!(SettledRecord::decode(&record(&[], b"01").encode()).is_err());
        for end in 1..index.len() {
            let short = record(index.get(..end).unwrap_or_default(), b"012345678").encode();
            let short = SettledRecord::decode(&short).unwrap().unwrap();
            assert!(short.outcomes().any(|outcome| outcome.is_err()), "{end}");
        }
    }

    #[test]
    fn the_row_of_an_outcome_says_where_it_stands() {
        let transaction = CryptoHash::digest(b"transaction");
        let row = OutcomeRow::settled_with(transaction);
        assert_eq!(OutcomeRow::decode(&row).unwrap(), OutcomeRow::Settled(transaction));
        assert!(OutcomeRecord::decode(&row).is_err());
        for end in 0..row.len() {
            assert!(OutcomeRow::decode(row.get(..end).unwrap_or_default()).is_err(), "{end}");
        }
    }
}
