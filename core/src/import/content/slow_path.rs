//! The slow path: reads any block message, and names what is wrong with it and where.
//!
//! The message is read first, and then its transactions, receipts and outcomes one by one. This
//! path defines which messages are accepted; the fast path accepts some of them.

use alloc::collections::BTreeMap;

use super::{BlockContent, BlockRows};
use crate::codec::json::Reader;
use crate::import::message::{BlockMessage, Chunk, OutcomeWithReceipt, TransactionWithOutcome};
use crate::import::summary::{OutcomeSummary, ReceiptSummary, RowSummary, TransactionSummary};
use crate::primitives::CryptoHash;
use crate::storage::rows::BlockPoint;
use crate::views::schema;
use crate::{Error, ErrorKind};

/// Reads a message
pub(super) fn read(text: &[u8]) -> Result<BlockContent, Error> {
    let text = core::str::from_utf8(text).map_err(|error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
    })?;
    let message = BlockMessage::read(text)?;
    let header = message.header;
    let point = BlockPoint { height: header.height, hash: header.hash };
    let mut reader = ShardReader { rows: BlockRows::new(point), receipts: BTreeMap::new() };
    for (shard, index) in message.shards.iter().zip(0_usize..) {
        let at = |error: Error| error.at(format_args!("shards[{index}]"));
        if let Some(chunk) = &shard.chunk {
            reader.chunk(chunk).map_err(|error| at(error.at("chunk")))?;
        }
        for (outcome, index) in shard.receipt_execution_outcomes.iter().zip(0_usize..) {
            reader.outcome(outcome, None).map_err(|error| {
                at(error.at(format_args!("receipt_execution_outcomes[{index}]")))
            })?;
        }
    }
    Ok(BlockContent::new(header, reader.rows))
}

/// Reads the shards of one message
struct ShardReader<'text> {
    rows: BlockRows,
    /// The ids of the receipts read so far, by their text: most occur twice
    receipts: BTreeMap<&'text str, CryptoHash>,
}

impl<'text> ShardReader<'text> {
    fn chunk(&mut self, chunk: &Chunk<'text>) -> Result<(), Error> {
        for (transaction, index) in chunk.transactions.iter().zip(0_usize..) {
            self.transaction(transaction)
                .map_err(|error| error.at(format_args!("transactions[{index}]")))?;
        }
        let lists = [("receipts", &chunk.receipts), ("local_receipts", &chunk.local_receipts)];
        for (name, receipts) in lists {
            for (receipt, index) in receipts.iter().zip(0_usize..) {
                self.receipt(*receipt)
                    .map_err(|error| error.at(format_args!("{name}[{index}]")))?;
            }
        }
        Ok(())
    }

    fn transaction(&mut self, included: &TransactionWithOutcome<'text>) -> Result<(), Error> {
        let at = |error: Error| error.at("transaction");
        let summary: TransactionSummary = self.canonicalize(included.transaction).map_err(at)?;
        self.rows.add_transaction(&summary).map_err(at)?;
        match &included.outcome {
            None => Ok(()),
            Some(outcome) => self
                .outcome(outcome, Some(("transaction", summary.hash)))
                .map_err(|error| error.at("outcome")),
        }
    }

    /// Reads an outcome with its receipt; with neither a receipt nor a `transaction`, it is the
    /// outcome of a transaction in an earlier block
    fn outcome(
        &mut self,
        executed: &OutcomeWithReceipt<'text>,
        transaction: Option<(&str, CryptoHash)>,
    ) -> Result<(), Error> {
        let receipt = match executed.receipt {
            None => None,
            Some(value) => {
                Some(("receipt", self.receipt(value).map_err(|error| error.at("receipt"))?))
            }
        };
        let at = |error: Error| error.at("execution_outcome");
        let summary: OutcomeSummary = self.canonicalize(executed.execution_outcome).map_err(at)?;
        self.rows.add_outcome(&summary, transaction.or(receipt)).map_err(at)
    }

    fn receipt(&mut self, value: Reader<'text>) -> Result<CryptoHash, Error> {
        let text = raw(value);
        if let Some(id) = self.receipts.get(text) {
            return Ok(*id);
        }
        let summary: ReceiptSummary = self.canonicalize(value)?;
        self.receipts.insert(text, summary.id);
        self.rows.add_receipt(&summary);
        Ok(summary.id)
    }

    /// Writes the canonical text of a value to `rows.text` and returns its summary
    fn canonicalize<S: RowSummary>(&mut self, value: Reader<'text>) -> Result<S, Error> {
        let BlockRows { canonicalizer, text, .. } = &mut self.rows;
        text.clear();
        // Offsets in errors are those of the message.
        let in_message = |error: Error| match error.offset() {
            Some(offset) => error.with_offset(value.offset() + offset),
            None => error,
        };
        canonicalizer.append(raw(value), text).map_err(in_message)?;
        S::from_canonical(text).or_else(|error| {
            // This error has an offset in the canonical text. The original text fails the same
            // check, with an offset in the message.
            schema::check::<S::View>(raw(value)).map_err(in_message)?;
            Err(Error::new(error.kind(), error.detail()).at(error.path()))
        })
    }
}

/// The text of a value that was read before
fn raw<'text>(mut value: Reader<'text>) -> &'text str {
    value.raw().unwrap_or_default()
}
