//! What a block message brings: its place in the chain and its facts, checked and rendered.
//!
//! This is the one place where wire text is made: every transaction, outcome and receipt is brought
//! into canonical form (compact, members sorted, nothing added and nothing lost), checked to be what
//! it should be, and put into the row that answers copy from. It is a function of the message alone.

mod careful;
mod plain;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use hashbrown::HashSet;

use super::brief::{OutcomeBrief, ReceiptBrief, TransactionBrief};
use super::message::Header;
use crate::codec::json;
use crate::facts::record::{BlockPoint, FactKey, OutcomeRecord, ReceiptRecord, TransactionRecord};
use crate::facts::{Row, Table, sorted_by_keys};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::{Error, ErrorKind};

/// A block message, checked and rendered
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Content {
    pub(super) point: BlockPoint,
    pub(super) header: Header,
    /// In the order of their keys, whatever the order in the message
    pub(super) facts: Vec<(FactKey, Row)>,
    pub(super) transactions: usize,
    pub(super) outcomes: usize,
    pub(super) receipts: usize,
}

impl Content {
    /// Reads a message: in one pass if it is plain, and else carefully, with a refusal that says what
    /// is wrong with it and where
    pub(super) fn read(message: &[u8]) -> Result<Self, Error> {
        let plain = if cfg!(feature = "quick-ingest") { plain::read(message) } else { None };
        plain.map_or_else(|| careful::read(message), Ok)
    }

    fn new(point: BlockPoint, header: Header, rendered: Rendered) -> Self {
        let facts = sorted_by_keys(rendered.facts, |(fact, _)| fact.key());
        let count = |table| facts.iter().filter(|(fact, _)| fact.table == table).count();
        Self {
            point,
            header,
            transactions: count(Table::Transactions),
            outcomes: count(Table::Outcomes),
            receipts: count(Table::Receipts),
            facts,
        }
    }
}

/// The facts of one block that are rendered, and the place where the next one is
struct Rendered {
    block: BlockPoint,
    facts: Vec<(FactKey, Row)>,
    seen: HashSet<(Table, CryptoHash), HashBuilder>,
    canonicalizer: json::Canonicalizer,
    /// The canonical text of the fact that is looked at
    text: String,
    /// The row that was made last, for the room it has
    row: Vec<u8>,
}

impl Rendered {
    fn new(block: BlockPoint) -> Self {
        Self {
            block,
            facts: Vec::new(),
            seen: HashSet::default(),
            canonicalizer: json::Canonicalizer::with_most_levels(json::MOST_LEVELS_INSIDE),
            text: String::new(),
            row: Vec::new(),
        }
    }

    /// Adds the transaction whose text was made
    fn add_transaction(&mut self, brief: &TransactionBrief) -> Result<(), Error> {
        self.once(Table::Transactions, brief.hash)?;
        let row = TransactionRecord {
            height: self.block.height,
            to_itself: brief.to_itself,
            fragment: self.text.as_bytes(),
        };
        self.row = row.encode_over(mem::take(&mut self.row));
        self.add(Table::Transactions, brief.hash);
        Ok(())
    }

    /// Adds the outcome whose text was made; `owner` is what it has to be the outcome of, if that is known
    fn add_outcome(
        &mut self,
        brief: &OutcomeBrief,
        owner: Option<(&str, CryptoHash)>,
    ) -> Result<(), Error> {
        if let Some((what, id)) = owner.filter(|(_, id)| *id != brief.id) {
            let detail = format_args!("{}, but its {what} is {id}", brief.id);
            return Err(Error::new(ErrorKind::Chain, detail).at("id"));
        }
        if brief.block_hash != self.block.hash {
            let detail = format_args!("{}, in block {}", brief.block_hash, self.block.hash);
            return Err(Error::new(ErrorKind::Chain, detail).at("block_hash"));
        }
        self.once(Table::Outcomes, brief.id)?;
        let row = OutcomeRecord {
            height: self.block.height,
            status: brief.status,
            status_text: (place(brief.status_text.start)?, place(brief.status_text.end)?),
            receipt_ids: &brief.receipt_ids,
            fragment: self.text.as_bytes(),
        };
        self.row = row.encode_over(mem::take(&mut self.row));
        self.add(Table::Outcomes, brief.id);
        Ok(())
    }

    /// Adds the receipt whose text was made, unless it is there already: the same one may stand in a
    /// chunk and beside its outcome; whether it was added
    fn add_receipt(&mut self, brief: &ReceiptBrief) -> bool {
        let new = self.seen.insert((Table::Receipts, brief.id));
        if new {
            let row = ReceiptRecord {
                refund: brief.refund,
                height: self.block.height,
                fragment: self.text.as_bytes(),
            };
            self.row = row.encode_over(mem::take(&mut self.row));
            self.add(Table::Receipts, brief.id);
        }
        new
    }

    /// Adds the row that was made
    fn add(&mut self, table: Table, id: CryptoHash) {
        self.facts.push((FactKey { table, id }, Row::from(&self.row[..])));
    }

    fn once(&mut self, table: Table, id: CryptoHash) -> Result<(), Error> {
        if self.seen.insert((table, id)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Chain, format_args!("{id} occurs twice in the block")))
    }
}

fn place(offset: usize) -> Result<u32, Error> {
    u32::try_from(offset)
        .map_err(|_| Error::new(ErrorKind::Limit, "an outcome of more than 4 GiB of text"))
}
