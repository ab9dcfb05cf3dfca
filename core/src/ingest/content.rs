//! What a block message brings: its place in the chain and its facts, checked and rendered.
//!
//! This is the one place where wire text is made: every transaction, outcome and receipt is read
//! as a typed view (which refuses a wrong shape), brought into canonical form (compact, members
//! sorted, nothing added and nothing lost) and put into the row that answers copy from. It is a
//! function of the message alone.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use hashbrown::HashSet;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::message::{Chunk, Executed, Header, Included, Message};
use crate::codec::json;
use crate::facts::record::{
    BlockPoint, FactKey, OutcomeRecord, OutcomeStatus, ReceiptRecord, TransactionRecord,
};
use crate::facts::{Row, Table};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::views::{
    ExecutionOutcomeWithIdView, ExecutionStatusView, ReceiptView, SignedTransactionView,
};
use crate::{Error, ErrorKind};

/// The predecessor of refunds
const SYSTEM: &str = "system";

/// A block message, checked and rendered
pub(super) struct Content {
    pub(super) point: BlockPoint,
    pub(super) header: Header,
    pub(super) facts: Vec<(FactKey, Row)>,
    pub(super) transactions: usize,
    pub(super) outcomes: usize,
    pub(super) receipts: usize,
}

impl Content {
    /// Reads a message
    pub(super) fn read(message: &[u8]) -> Result<Self, Error> {
        let text = message;
        let message: Message<'_> = json::read_slice(text)?;
        let header = message.block.header;
        let point = BlockPoint { height: header.height, hash: header.hash };
        let mut renderer = Renderer::new(point, text);
        for (shard, number) in message.shards.iter().zip(0_usize..) {
            let at = |error: Error| error.at(format_args!("shards[{number}]"));
            if let Some(chunk) = &shard.chunk {
                renderer.chunk(chunk).map_err(|error| at(error.at("chunk")))?;
            }
            for (executed, index) in shard.receipt_execution_outcomes.iter().zip(0_usize..) {
                renderer.executed_receipt(executed).map_err(|error| {
                    at(error.at(format_args!("receipt_execution_outcomes[{index}]")))
                })?;
            }
        }
        let count = |table| renderer.facts.iter().filter(|(fact, _)| fact.table == table).count();
        Ok(Self {
            point,
            header,
            transactions: count(Table::Transactions),
            outcomes: count(Table::Outcomes),
            receipts: count(Table::Receipts),
            facts: renderer.facts,
        })
    }
}

/// Renders the facts of one block
struct Renderer<'text> {
    block: BlockPoint,
    /// The whole message
    message: &'text [u8],
    facts: Vec<(FactKey, Row)>,
    seen: HashSet<(Table, CryptoHash), HashBuilder>,
    /// The receipts that were rendered, by their text: most stand there twice
    bodies: BTreeMap<&'text str, CryptoHash>,
    canonicalizer: json::Canonicalizer,
    text: String,
}

impl<'text> Renderer<'text> {
    fn new(block: BlockPoint, message: &'text [u8]) -> Self {
        Self {
            block,
            message,
            facts: Vec::new(),
            seen: HashSet::default(),
            bodies: BTreeMap::new(),
            canonicalizer: json::Canonicalizer::with_most_levels(json::MOST_LEVELS_INSIDE),
            text: String::new(),
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'text>) -> Result<(), Error> {
        for (included, index) in chunk.transactions.iter().zip(0_usize..) {
            self.transaction(included)
                .map_err(|error| error.at(format_args!("transactions[{index}]")))?;
        }
        let lists = [("receipts", &chunk.receipts), ("local_receipts", &chunk.local_receipts)];
        for (name, receipts) in lists {
            for (receipt, index) in receipts.iter().zip(0_usize..) {
                self.receipt(receipt).map_err(|error| error.at(format_args!("{name}[{index}]")))?;
            }
        }
        Ok(())
    }

    fn transaction(&mut self, included: &Included<'text>) -> Result<(), Error> {
        let at = |error: Error| error.at("transaction");
        let view: SignedTransactionView = self.render(included.transaction).map_err(at)?;
        let hash = view.hash;
        let row = TransactionRecord {
            height: self.block.height,
            to_itself: view.signer_id == view.receiver_id,
            fragment: self.text.as_bytes(),
        };
        let row = row.encode();
        self.add_once(Table::Transactions, hash, row).map_err(at)?;
        match &included.outcome {
            None => Ok(()),
            Some(executed) => {
                self.executed(executed, Some(("transaction", hash))).map_err(|e| e.at("outcome"))
            }
        }
    }

    /// A receipt's outcome; also the outcome of a transaction that was included earlier
    fn executed_receipt(&mut self, executed: &Executed<'text>) -> Result<(), Error> {
        self.executed(executed, None)
    }

    fn executed(
        &mut self,
        executed: &Executed<'text>,
        transaction: Option<(&str, CryptoHash)>,
    ) -> Result<(), Error> {
        let receipt = match executed.receipt {
            None => None,
            Some(body) => Some(("receipt", self.receipt(body).map_err(|e| e.at("receipt"))?)),
        };
        self.outcome(executed.execution_outcome, transaction.or(receipt))
            .map_err(|error| error.at("execution_outcome"))
    }

    fn outcome(&mut self, raw: &RawValue, owner: Option<(&str, CryptoHash)>) -> Result<(), Error> {
        let (view, status): (ExecutionOutcomeWithIdView, _) =
            self.render_and_find(raw, &["outcome", "status"])?;
        if let Some((what, id)) = owner.filter(|(_, id)| *id != view.id) {
            let detail = format_args!("{}, but its {what} is {id}", view.id);
            return Err(Error::new(ErrorKind::Chain, detail).at("id"));
        }
        if view.block_hash != self.block.hash {
            let detail = format_args!("{}, in block {}", view.block_hash, self.block.hash);
            return Err(Error::new(ErrorKind::Chain, detail).at("block_hash"));
        }
        // The view has found it as well.
        let status = status.unwrap_or_default();
        let row = OutcomeRecord {
            height: self.block.height,
            status: outcome_status(&view.outcome.status),
            status_text: (place(status.start)?, place(status.end)?),
            receipt_ids: &view
                .outcome
                .receipt_ids
                .iter()
                .map(|id| *id.as_bytes())
                .collect::<Vec<_>>(),
            fragment: self.text.as_bytes(),
        };
        let (id, row) = (view.id, row.encode());
        self.add_once(Table::Outcomes, id, row)
    }

    /// The body of a receipt; the same one may stand in a chunk and beside its outcome
    fn receipt(&mut self, raw: &'text RawValue) -> Result<CryptoHash, Error> {
        if let Some(id) = self.bodies.get(raw.get()) {
            return Ok(*id);
        }
        let view: ReceiptView = self.render(raw)?;
        let id = view.receipt_id;
        self.bodies.insert(raw.get(), id);
        let refund = view.predecessor_id.as_str() == SYSTEM;
        if self.seen.insert((Table::Receipts, id)) {
            let row =
                ReceiptRecord { refund, height: self.block.height, fragment: self.text.as_bytes() };
            self.facts.push((FactKey { table: Table::Receipts, id }, row.encode().into()));
        }
        Ok(id)
    }

    /// Brings a raw value into canonical form, in `self.text`, and reads it as a `View`
    fn render<View: DeserializeOwned>(&mut self, raw: &RawValue) -> Result<View, Error> {
        self.render_and_find(raw, &[]).map(|(view, _)| view)
    }

    /// Renders, and says where in `self.text` the value of a member stands
    fn render_and_find<View: DeserializeOwned>(
        &mut self,
        raw: &RawValue,
        path: &'static [&'static str],
    ) -> Result<(View, Option<Range<usize>>), Error> {
        self.text.clear();
        let found = self
            .canonicalizer
            .append_and_find(raw.get(), path, &mut self.text)
            .map_err(|error| self.in_message(raw, error))?;
        let view = json::read(&self.text).map_err(|error: Error| {
            // The offset is one of the canonical text; that of the message is found by reading what
            // came in, which is refused for the same reason.
            match json::read::<View>(raw.get()) {
                Err(error) => self.in_message(raw, error),
                Ok(_) => Error::new(error.kind(), error.detail()).at(error.path()),
            }
        })?;
        Ok((view, found))
    }

    /// An error in a raw value, with its offset in the message
    fn in_message(&self, raw: &RawValue, error: Error) -> Error {
        // A raw value borrows from the message, so the distance of their first bytes is its place.
        let start = (raw.get().as_ptr() as usize).saturating_sub(self.message.as_ptr() as usize);
        match error.offset() {
            Some(offset) => error.with_offset(start + offset),
            None => error,
        }
    }

    fn add_once(&mut self, table: Table, id: CryptoHash, row: Vec<u8>) -> Result<(), Error> {
        if !self.seen.insert((table, id)) {
            return Err(Error::new(
                ErrorKind::Chain,
                format_args!("{id} occurs twice in the block"),
            ));
        }
        self.facts.push((FactKey { table, id }, row.into()));
        Ok(())
    }
}

fn place(offset: usize) -> Result<u32, Error> {
    u32::try_from(offset)
        .map_err(|_| Error::new(ErrorKind::Limit, "an outcome of more than 4 GiB of text"))
}

/// What a status says to the walk; one of a form that is not known has executed nothing
const fn outcome_status(status: &ExecutionStatusView) -> OutcomeStatus {
    match status {
        ExecutionStatusView::SuccessValue(_) => OutcomeStatus::SuccessValue,
        ExecutionStatusView::Failure(_) => OutcomeStatus::Failure,
        ExecutionStatusView::SuccessReceiptId(id) => OutcomeStatus::SuccessReceiptId(*id),
        ExecutionStatusView::Unknown | ExecutionStatusView::Other(_) => OutcomeStatus::Unknown,
    }
}
