//! The content of a block message: the block's header and its rows, checked and encoded.
//!
//! Wire text is made here and nowhere else: every transaction, outcome and receipt is brought into
//! canonical form (compact, members sorted, nothing added or lost), checked against its schema, and
//! put into the row that responses copy from. The content is a function of the message and of
//! the settings: whether types are strict, and which shards are tracked.

mod block_reader;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

pub(super) use block_reader::Observer;
use hashbrown::HashMap;

use super::ImportSettings;
use super::message::MessageHeader;
use super::summary::{OutcomeSummary, ReceiptSummary, TransactionSummary};
use crate::codec::json::{self, Reader};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::storage::rows::{
    BlockPoint, BlockProof, OutcomeRecord, OutcomeStatus, ReceiptRecord, RowId, TransactionRecord,
};
use crate::storage::{Row, Table, sorted_by_keys};
use crate::views::TypeMismatches;
use crate::{Error, ErrorKind};

/// A block message, checked and encoded
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct BlockContent {
    pub(super) point: BlockPoint,
    pub(super) header: MessageHeader,
    /// Sorted by key
    pub(super) rows: Vec<(RowId, Row)>,
    pub(super) transactions: usize,
    pub(super) outcomes: usize,
    pub(super) receipts: usize,
    pub(super) type_mismatches: TypeMismatches,
    /// The outcomes without the body of their receipt, which may be in a block before, by id with
    /// the numbers of their shard and of themselves in it
    pub(super) without_body: Vec<(CryptoHash, [usize; 2])>,
    /// Nothing, unless the block is verified
    pub(super) proof: BlockProof,
}

impl BlockContent {
    /// Reads a message; errors name what is wrong and where
    pub(super) fn read(message: &[u8], settings: &ImportSettings) -> Result<Self, Error> {
        block_reader::read(message, settings, &mut ())
    }

    /// The same, with an observer, which is as new if not all of the message was observed
    pub(super) fn read_observed<'text>(
        message: &'text [u8],
        settings: &ImportSettings,
        observer: &mut impl Observer<'text>,
    ) -> Result<Self, Error> {
        block_reader::read(message, settings, observer)
    }

    fn new(header: MessageHeader, rows: BlockRows) -> Self {
        let BlockRows { block: point, rows, type_mismatches, without_body, .. } = rows;
        let rows = sorted_by_keys(rows, |(row_id, _)| row_id.key());
        let count = |table| rows.iter().filter(|(row_id, _)| row_id.table == table).count();
        Self {
            point,
            header,
            transactions: count(Table::Transactions),
            outcomes: count(Table::Outcomes),
            receipts: count(Table::Receipts),
            rows,
            type_mismatches,
            without_body,
            proof: BlockProof::default(),
        }
    }

    /// Hashes of its transactions, in ascending order
    pub(super) fn transaction_hashes(&self) -> Vec<CryptoHash> {
        let rows = self.rows.iter().filter(|(row_id, _)| row_id.table == Table::Transactions);
        rows.map(|(row_id, _)| row_id.id).collect()
    }
}

/// The first protocol version in which a transaction counts once in a chunk
///
/// Before, a chunk could list one twice, and each time had an outcome of its own.
const UNIQUE_TRANSACTIONS: u32 = 85;

/// The encoded rows of one block, and the buffers for the next one
struct BlockRows {
    block: BlockPoint,
    protocol_version: u32,
    rows: Vec<(RowId, Row)>,
    /// The index of the first row of each id
    first: HashMap<(Table, CryptoHash), usize, HashBuilder>,
    strict_types: bool,
    /// Values that the rows have although they are not of their type
    type_mismatches: TypeMismatches,
    /// A transaction or an outcome that was there already, and was skipped
    repeated: Option<Error>,
    without_body: Vec<(CryptoHash, [usize; 2])>,
    canonicalizer: json::Canonicalizer,
    /// The canonical text for the next row
    text: String,
    /// Whether a value in it has another form than in the message
    is_repaired: bool,
    /// The last row; its buffer is reused
    row: Vec<u8>,
}

impl BlockRows {
    fn new(block: BlockPoint, protocol_version: u32, strict_types: bool) -> Self {
        Self {
            block,
            protocol_version,
            rows: Vec::new(),
            first: HashMap::default(),
            strict_types,
            type_mismatches: TypeMismatches::default(),
            repeated: None,
            without_body: Vec::new(),
            canonicalizer: json::Canonicalizer::with_max_depth(json::MAX_INNER_DEPTH),
            text: String::new(),
            is_repaired: false,
            row: Vec::new(),
        }
    }

    /// Adds the transaction in `text`, unless it is there: a copy may have another signature, which
    /// is not a part of the hash
    fn add_transaction(&mut self, summary: &TransactionSummary) -> Result<(), Error> {
        if let Some(first) = self.note(Table::Transactions, summary.hash) {
            let first = self.rows.get(first);
            let first = first.map(|(_, row)| TransactionRecord::decode(row)).transpose()?;
            let first = first.and_then(|first| str::from_utf8(first.fragment).ok());
            let is_copy = first.is_some_and(|first| {
                without_signature(first)
                    .is_some_and(|one| Some(one) == without_signature(&self.text))
            });
            return self.skip(summary.hash, "transaction", is_copy);
        }
        let row = TransactionRecord {
            height: self.block.height,
            signer_is_receiver: summary.signer_is_receiver,
            fragment: self.text.as_bytes(),
        };
        self.row = row.encode_reusing(mem::take(&mut self.row));
        self.add_row(Table::Transactions, summary.hash);
        Ok(())
    }

    /// Adds the outcome in `text`; `owner` is its transaction or receipt, if that is known;
    /// returns whether it is a leaf of the root of outcomes
    fn add_outcome(
        &mut self,
        summary: &OutcomeSummary,
        owner: Option<(&str, CryptoHash)>,
    ) -> Result<bool, Error> {
        if let Some((what, id)) = owner.filter(|(_, id)| *id != summary.id) {
            let detail = format_args!("{}, but its {what} is {id}", summary.id);
            return Err(Error::new(ErrorKind::Chain, detail).at("id"));
        }
        if summary.block_hash != self.block.hash {
            let detail = format_args!("{}, in block {}", summary.block_hash, self.block.hash);
            return Err(Error::new(ErrorKind::Chain, detail).at("block_hash"));
        }
        let first = self.note(Table::Outcomes, summary.id);
        let row = OutcomeRecord {
            height: self.block.height,
            status: summary.status,
            status_text: (
                text_offset(summary.status_text.start)?,
                text_offset(summary.status_text.end)?,
            ),
            receipt_ids: &summary.receipt_ids,
            fragment: self.text.as_bytes(),
        };
        let status = summary.status;
        self.row = row.encode_reusing(mem::take(&mut self.row));
        if let Some(first) = first {
            return self.add_outcome_again(summary.id, status, first);
        }
        self.add_row(Table::Outcomes, summary.id);
        Ok(true)
    }

    /// Adds the outcome in `row`, of whose id `first` is the first row, and returns whether it is a
    /// leaf
    #[cold]
    fn add_outcome_again(
        &mut self,
        id: CryptoHash,
        status: OutcomeStatus,
        first: usize,
    ) -> Result<bool, Error> {
        let is_transaction = self.first.contains_key(&(Table::Transactions, id));
        let is_copy = self.rows.get(first).is_some_and(|(_, row)| **row == *self.row);
        if is_copy || self.protocol_version >= UNIQUE_TRANSACTIONS || !is_transaction {
            return self.skip(id, "outcome", is_copy).map(|()| false);
        }
        // Each is a leaf; the first execution is the answer, and the receipts of all are its own.
        let row = Row::from(&self.row[..]);
        if let Some((_, first)) = self.rows.get_mut(first)
            && matches!(status, OutcomeStatus::SuccessReceiptId(_))
        {
            match OutcomeRecord::decode(first)?.status {
                OutcomeStatus::Failure => *first = row,
                _ => self.rows.push((outcome_id(id), row)),
            }
        }
        Ok(true)
    }

    /// Adds the receipt in `text` unless it was added before, and returns whether it was added: a
    /// receipt may occur both in a chunk and with its outcome
    fn add_receipt(&mut self, summary: &ReceiptSummary) -> bool {
        let new = self.note(Table::Receipts, summary.id).is_none();
        if new {
            let row = ReceiptRecord {
                refund: summary.refund,
                height: self.block.height,
                fragment: self.text.as_bytes(),
            };
            self.row = row.encode_reusing(mem::take(&mut self.row));
            self.add_row(Table::Receipts, summary.id);
        }
        new
    }

    /// Adds the row in `row`
    fn add_row(&mut self, table: Table, id: CryptoHash) {
        self.rows.push((RowId { table, id }, Row::from(&self.row[..])));
    }

    /// Notes that the next row has this id, unless it has one: returns the index of the first
    fn note(&mut self, table: Table, id: CryptoHash) -> Option<usize> {
        let first = self.first.get(&(table, id)).copied();
        if first.is_none() {
            self.first.insert((table, id), self.rows.len());
        }
        first
    }

    /// Skips a copy, as the runtime does
    #[cold]
    fn skip(&mut self, id: CryptoHash, what: &str, is_copy: bool) -> Result<(), Error> {
        if is_copy {
            let detail = format_args!("{what} {id} is listed again, and skipped");
            self.repeated = Some(Error::new(ErrorKind::Chain, detail));
            return Ok(());
        }
        let detail = format_args!("{what} {id} occurs twice in the block, with other content");
        Err(Error::new(ErrorKind::Chain, detail))
    }
}

const fn outcome_id(id: CryptoHash) -> RowId {
    RowId { table: Table::Outcomes, id }
}

/// The canonical text of a transaction before and after its signature
fn without_signature(text: &str) -> Option<[&str; 2]> {
    let mut reader = Reader::new(text);
    let [signature] = reader.members(["signature"], "a transaction").ok()?;
    let mut signature = signature?;
    let start = signature.offset();
    let end = start + signature.raw().ok()?.len();
    Some([text.get(..start)?, text.get(end..)?])
}

fn text_offset(offset: usize) -> Result<u32, Error> {
    u32::try_from(offset)
        .map_err(|_| Error::new(ErrorKind::Limit, "text of an outcome exceeds 4 GiB"))
}
