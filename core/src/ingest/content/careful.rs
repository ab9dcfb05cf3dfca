//! A block message, read carefully: whatever is wrong with it is named with its place.
//!
//! The message is read first, and its facts one by one after that. What is accepted is what a block message may be; the quick reader beside it takes a part of that.

use alloc::collections::BTreeMap;

use super::{Content, Rendered};
use crate::codec::json::Reader;
use crate::facts::record::BlockPoint;
use crate::ingest::brief::{Brief, OutcomeBrief, ReceiptBrief, TransactionBrief};
use crate::ingest::message::{Chunk, Executed, Included, Message};
use crate::primitives::CryptoHash;
use crate::views::shape;
use crate::{Error, ErrorKind};

/// Reads a message
pub(super) fn read(text: &[u8]) -> Result<Content, Error> {
    let text = core::str::from_utf8(text).map_err(|error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
    })?;
    let message = Message::read(text)?;
    let header = message.header;
    let point = BlockPoint { height: header.height, hash: header.hash };
    let mut renderer = Renderer { rendered: Rendered::new(point), bodies: BTreeMap::new() };
    for (shard, number) in message.shards.iter().zip(0_usize..) {
        let at = |error: Error| error.at(format_args!("shards[{number}]"));
        if let Some(chunk) = &shard.chunk {
            renderer.chunk(chunk).map_err(|error| at(error.at("chunk")))?;
        }
        for (executed, index) in shard.receipt_execution_outcomes.iter().zip(0_usize..) {
            renderer.executed(executed, None).map_err(|error| {
                at(error.at(format_args!("receipt_execution_outcomes[{index}]")))
            })?;
        }
    }
    Ok(Content::new(point, header, renderer.rendered))
}

/// Renders the facts of one block
struct Renderer<'text> {
    rendered: Rendered,
    /// The receipts that were rendered, by their text: most stand there twice
    bodies: BTreeMap<&'text str, CryptoHash>,
}

impl<'text> Renderer<'text> {
    fn chunk(&mut self, chunk: &Chunk<'text>) -> Result<(), Error> {
        for (included, index) in chunk.transactions.iter().zip(0_usize..) {
            self.transaction(included)
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

    fn transaction(&mut self, included: &Included<'text>) -> Result<(), Error> {
        let at = |error: Error| error.at("transaction");
        let brief: TransactionBrief = self.render(included.transaction).map_err(at)?;
        self.rendered.add_transaction(&brief).map_err(at)?;
        match &included.outcome {
            None => Ok(()),
            Some(executed) => self
                .executed(executed, Some(("transaction", brief.hash)))
                .map_err(|error| error.at("outcome")),
        }
    }

    /// An outcome of a transaction or a receipt; without an owner or a receipt beside it, of a transaction
    /// that was included earlier
    fn executed(
        &mut self,
        executed: &Executed<'text>,
        transaction: Option<(&str, CryptoHash)>,
    ) -> Result<(), Error> {
        let receipt = match executed.receipt {
            None => None,
            Some(body) => Some(("receipt", self.receipt(body).map_err(|e| e.at("receipt"))?)),
        };
        let at = |error: Error| error.at("execution_outcome");
        let brief: OutcomeBrief = self.render(executed.execution_outcome).map_err(at)?;
        self.rendered.add_outcome(&brief, transaction.or(receipt)).map_err(at)
    }

    fn receipt(&mut self, body: Reader<'text>) -> Result<CryptoHash, Error> {
        let text = raw(body);
        if let Some(id) = self.bodies.get(text) {
            return Ok(*id);
        }
        let brief: ReceiptBrief = self.render(body)?;
        self.bodies.insert(text, brief.id);
        self.rendered.add_receipt(&brief);
        Ok(brief.id)
    }

    /// Makes the canonical text of the value that is next, and says what its row has to know
    fn render<B: Brief>(&mut self, body: Reader<'text>) -> Result<B, Error> {
        let Rendered { canonicalizer, text, .. } = &mut self.rendered;
        text.clear();
        // What is wrong with the value is said with the offset in the message.
        let in_message = |error: Error| match error.offset() {
            Some(offset) => error.with_offset(body.at() + offset),
            None => error,
        };
        canonicalizer.append(raw(body), text).map_err(in_message)?;
        B::find(text).or_else(|error| {
            // Its offset is one of the canonical text; what came in is refused for the same reason.
            shape::check::<B::View>(raw(body)).map_err(in_message)?;
            Err(Error::new(error.kind(), error.detail()).at(error.path()))
        })
    }
}

/// The text of a value that was read before
fn raw<'text>(mut body: Reader<'text>) -> &'text str {
    body.raw().unwrap_or_default()
}
