//! Reads block messages, as NEAR Lake and neardata write them.
//!
//! Read is only what determines the block's position and its rows; unknown members are skipped, as
//! a message has many that no response contains. A message is read in one pass, which encodes each
//! row where its value occurs. An error of that pass is not reported: what is wrong is found by
//! further passes of the same functions, so that the order of members does not determine which of
//! two errors is reported. What is read is a function of the message's values alone.

use core::ops::Range;

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::{BlockContent, BlockRows};
use crate::Error;
use crate::codec::json::{ReadError, Reader, path_at};
use crate::import::ImportSettings;
use crate::import::message::{MessageHeader, number, read_list, text_of};
use crate::import::summary::{
    Members, Offsets, OutcomeSummary, ReceiptSummary, RowSummary, TransactionSummary,
    check_canonical,
};
use crate::primitives::{CryptoHash, HashBuilder, ShardId};
use crate::storage::rows::BlockPoint;
use crate::views::TypeMismatches;
use crate::views::schema::{self, HasSchema as _, Repairs, Schema};

/// The purpose of a pass over a message
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Pass {
    /// Reads members in the order of the text; fails if the order may matter
    TextOrder,
    /// Skips the values of rows, and finds errors in the structure, which are reported first
    Structure,
    /// Reads members in the order in which they are listed here
    ListedOrder,
}

/// Why a pass failed
pub(super) enum Failure {
    /// An error without its path
    Structure(ReadError),
    /// An error with its path in the message
    Content(Error),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Structure(error)
    }
}

/// Gets what a check against the block's hash needs, while the message is read
pub(in crate::import) trait Observer<'text>: Default {
    /// The block, which the reader is before
    fn block(&mut self, _: Reader<'text>) {}

    /// A shard, which the reader is before
    fn shard(&mut self, _: Reader<'text>) {}

    /// A transaction of this shard, with its canonical text
    fn transaction(&mut self, _hash: CryptoHash, _text: &str) {}

    /// The body of a receipt in this shard, with its canonical text
    fn receipt(&mut self, _id: CryptoHash, _text: &str) {}

    /// An outcome of this shard, with its canonical text, and whether that has a value in another
    /// form than the message
    fn outcome(&mut self, _summary: &OutcomeSummary, _text: &str, _is_repaired: bool) {}

    /// The end of a shard, and whether it has a chunk
    fn end_shard(&mut self, _: Option<ShardId>, _has_chunk: bool) {}
}

/// Without a check
impl Observer<'_> for () {}

/// Reads a message; the observer is as new if not all of it was observed
pub(super) fn read<'text>(
    message: &'text [u8],
    settings: &ImportSettings,
    observer: &mut impl Observer<'text>,
) -> Result<BlockContent, Error> {
    let text = text_of(message)?;
    read_pass(text, Pass::TextOrder, settings, observer).or_else(|_| {
        *observer = Default::default();
        read_again(text, settings)
    })
}

/// Reads a message for which the first pass failed
#[cold]
pub(super) fn read_again(text: &str, settings: &ImportSettings) -> Result<BlockContent, Error> {
    let in_message = |failure| match failure {
        Failure::Structure(error) => error.into_error(text),
        Failure::Content(error) => error,
    };
    // A syntax error anywhere in the text is reported first.
    Reader::new(text).whole().map_err(|error| error.into_error(text))?;
    read_pass(text, Pass::Structure, settings, &mut ()).map_err(in_message)?;
    read_pass(text, Pass::ListedOrder, settings, &mut ()).map_err(in_message)
}

pub(super) fn read_pass<'text, O: Observer<'text>>(
    text: &'text str,
    pass: Pass,
    settings: &ImportSettings,
    observer: &mut O,
) -> Result<BlockContent, Failure> {
    let mut message = Reader::new(text);
    let (mut header, mut rows, mut chunks) = (None, None, Vec::new());
    object(pass, &mut message, ["block", "shards"], "a block message", &mut |member, reader| {
        if member == 0 {
            observer.block(*reader);
            header = Some(MessageHeader::of_block(reader)?);
            return Ok(());
        }
        let (point, version) = match &header {
            Some(MessageHeader { height, hash, latest_protocol_version, .. }) => {
                (BlockPoint { height: *height, hash: *hash }, *latest_protocol_version)
            }
            // This pass reads no rows.
            None if pass == Pass::Structure => {
                (BlockPoint { height: 0, hash: CryptoHash::default() }, 0)
            }
            None => return Err(reader.schema_error("shards before their block").into()),
        };
        let mut shards = ShardReader {
            text,
            pass,
            observer: &mut *observer,
            rows: BlockRows::new(point, version, settings.strict_types),
            receipts: HashMap::default(),
            receipt_texts: HashMap::default(),
            chunks: Vec::new(),
            place: [0, 0],
        };
        read_list(reader, &mut |reader| {
            shards.shard(reader)?;
            shards.place[0] += 1;
            Ok::<_, Failure>(())
        })?;
        (rows, chunks) = (Some(shards.rows), shards.chunks);
        Ok(())
    })?;
    let header = message.required(header, "block")?;
    let rows = message.required(rows, "shards")?;
    message.end()?;
    header.check_chunks(chunks, settings.required_shards()).map_err(Failure::Content)?;
    Ok(BlockContent::new(header, rows))
}

/// Reads the shards of one message
struct ShardReader<'text, 'o, O> {
    /// The message
    text: &'text str,
    pass: Pass,
    observer: &'o mut O,
    rows: BlockRows,
    /// The receipts read so far, by a fingerprint of their start: most occur twice
    receipts: HashMap<u64, (&'text str, CryptoHash), HashBuilder>,
    /// The texts in the message of the receipts that were added, by id
    receipt_texts: HashMap<CryptoHash, &'text str, HashBuilder>,
    /// The shards whose chunk is in the message
    chunks: Vec<ShardId>,
    /// The numbers of the shard in the message and of the outcome of a receipt in the shard
    place: [usize; 2],
}

impl<'text, O: Observer<'text>> ShardReader<'text, '_, O> {
    fn shard(&mut self, shard: &mut Reader<'text>) -> Result<(), Failure> {
        let names = ["chunk", "receipt_execution_outcomes", "shard_id"];
        let (mut chunk, mut outcomes, mut shard_id) = (None, None, None);
        self.observer.shard(*shard);
        object(self.pass, shard, names, "a shard", &mut |member, reader| {
            match member {
                0 => chunk = nullable(reader, |reader| self.chunk(reader))?,
                1 => {
                    outcomes = Some(());
                    self.place[1] = 0;
                    read_list(reader, &mut |reader| {
                        self.outcome(reader, None)?;
                        self.place[1] += 1;
                        Ok::<_, Failure>(())
                    })?;
                }
                _ => shard_id = Some(number(reader)?),
            }
            Ok(())
        })?;
        // Without a new chunk a shard executes nothing.
        if chunk.is_some() {
            shard.required(outcomes, "receipt_execution_outcomes")?;
        }
        self.observer.end_shard(shard_id, chunk.is_some());
        self.chunks.extend(chunk.and(shard_id));
        Ok(())
    }

    fn chunk(&mut self, chunk: &mut Reader<'text>) -> Result<(), Failure> {
        let names = ["transactions", "receipts", "local_receipts", "instant_receipts"];
        let (mut transactions, mut receipts) = (None, None);
        object(self.pass, chunk, names, "a chunk", &mut |member, reader| match member {
            0 => {
                transactions = Some(());
                read_list(reader, &mut |reader| self.transaction(reader))
            }
            _ => {
                receipts = receipts.or((member == 1).then_some(()));
                read_list(reader, &mut |reader| self.receipt(reader).map(drop))
            }
        })?;
        chunk.required(transactions, "transactions")?;
        Ok(chunk.required(receipts, "receipts")?)
    }

    /// Reads a transaction in a chunk, with its outcome unless that is in a later block
    fn transaction(&mut self, included: &mut Reader<'text>) -> Result<(), Failure> {
        let names = ["transaction", "outcome"];
        let (mut transaction, mut outcome) = (None, None);
        let expected = "a transaction with its outcome";
        object(self.pass, included, names, expected, &mut |member, reader| {
            if member == 0 {
                transaction =
                    Some(self.value(reader, |rows, observer, summary: TransactionSummary| {
                        observer.transaction(summary.hash, &rows.text);
                        rows.add_transaction(&summary).map(|()| summary.hash)
                    })?);
                return Ok(());
            }
            let owner = transaction.map(|id| ("transaction", id));
            outcome = nullable(reader, |reader| self.outcome(reader, Some(owner)))?;
            Ok(())
        })?;
        let transaction = included.required(transaction, "transaction")?;
        check_owner(included, outcome, Some(transaction))
    }

    /// Reads an outcome with its receipt, and returns its id
    ///
    /// There is an `owner` in a chunk, the transaction if it was read already. With neither owner
    /// nor receipt it is the outcome of a transaction in an earlier block.
    fn outcome(
        &mut self,
        executed: &mut Reader<'text>,
        owner: Option<Option<(&'static str, CryptoHash)>>,
    ) -> Result<CryptoHash, Failure> {
        let names = ["receipt", "execution_outcome"];
        let (mut outcome, mut receipt) = (None, None);
        let expected = "an outcome with its receipt";
        object(self.pass, executed, names, expected, &mut |member, reader| {
            if member == 0 {
                receipt = nullable(reader, |reader| self.receipt(reader))?;
                return Ok(());
            }
            let owner = owner.unwrap_or_else(|| receipt.map(|id| ("receipt", id)));
            outcome = Some(self.value(reader, |rows, observer, summary: OutcomeSummary| {
                if rows.add_outcome(&summary, owner)? {
                    observer.outcome(&summary, &rows.text, rows.is_repaired);
                }
                Ok(summary.id)
            })?);
            Ok(())
        })?;
        let outcome = executed.required(outcome, "execution_outcome")?;
        if owner.is_none() {
            check_owner(executed, Some(outcome), receipt)?;
            if receipt.is_none() {
                self.rows.without_body.push((outcome, self.place));
            }
        }
        Ok(outcome)
    }

    /// Reads a receipt, which may occur both in a chunk and with its outcome, and returns its id
    fn receipt(&mut self, reader: &mut Reader<'text>) -> Result<CryptoHash, Failure> {
        let rest = reader.rest();
        let fingerprint = fingerprint(rest);
        if let Some((text, id)) = fingerprint.and_then(|key| self.receipts.get(&key))
            && rest.starts_with(text)
        {
            reader.advance(text.len());
            return Ok(*id);
        }
        let mut is_new = false;
        let id = self.value(reader, |rows, observer, summary: ReceiptSummary| {
            observer.receipt(summary.id, &rows.text);
            is_new = rows.add_receipt(&summary);
            Ok(summary.id)
        })?;
        let text = rest.get(..rest.len() - reader.rest().len()).unwrap_or_default();
        if let Some(fingerprint) = fingerprint {
            self.receipts.insert(fingerprint, (text, id));
        }
        if is_new {
            self.receipt_texts.insert(id, text);
        } else if self.pass == Pass::TextOrder && self.receipt_texts.get(&id) != Some(&text) {
            // Two texts of one receipt: the first in the listed order is used.
            return Err(reader.schema_error("another text of the receipt").into());
        }
        Ok(id)
    }

    /// Writes the canonical text of the next value to `rows.text`, and `add`s its row; returns what
    /// that does
    fn value<S: RowSummary>(
        &mut self,
        reader: &mut Reader<'text>,
        add: impl FnOnce(&mut BlockRows, &mut O, S) -> Result<CryptoHash, Error>,
    ) -> Result<CryptoHash, Failure> {
        if self.pass == Pass::Structure {
            reader.raw()?;
            return Ok(CryptoHash::default());
        }
        let start = reader.offset();
        let offsets = self.members(S::View::SCHEMA, S::NAMES, reader)?;
        match S::read(Members { text: &self.rows.text, offsets }) {
            Ok(summary) => {
                let added = add(&mut self.rows, self.observer, summary);
                if let Some(error) = self.rows.repeated.take() {
                    self.report_repeated(error, start);
                }
                added.map_err(|error| self.content_error(error, start))
            }
            Err(error) => {
                let error = error.into_error(&self.rows.text);
                Err(self.text_error(S::View::SCHEMA, &error, start..reader.offset()))
            }
        }
    }

    /// Writes the canonical text of the next value to `rows.text`, and finds these members in it
    ///
    /// Not generic, because that would make code for each kind of row.
    fn members(
        &mut self,
        schema: &Schema,
        names: &[&str],
        reader: &mut Reader<'text>,
    ) -> Result<Offsets, Failure> {
        let start = reader.offset();
        let BlockRows { canonicalizer, text, is_repaired, strict_types, type_mismatches, .. } =
            &mut self.rows;
        text.clear();
        if let Err(error) = reader.canonical(canonicalizer, text) {
            return Err(self.content_error(error, start));
        }
        match check_canonical(schema, names, text, *strict_types) {
            Ok((offsets, repairs, repaired)) => {
                *is_repaired = repaired;
                if repairs.has_mismatches() {
                    report(repairs, text, self.text, start, type_mismatches);
                }
                Ok(offsets)
            }
            Err(error) => Err(self.text_error(schema, &error, start..reader.offset())),
        }
    }

    /// Counts the value that starts at this offset of the message among the type mismatches
    #[cold]
    #[inline(never)]
    fn report_repeated(&mut self, error: Error, start: usize) {
        self.rows.type_mismatches.count += 1;
        let at_its_place = || error.at(path_at(self.text.as_bytes(), start));
        self.rows.type_mismatches.first.get_or_insert_with(at_its_place);
    }

    /// An error of the value that starts at this offset of the message
    #[cold]
    #[inline(never)]
    fn content_error(&self, error: Error, start: usize) -> Failure {
        Failure::Content(error.at(path_at(self.text.as_bytes(), start)))
    }

    /// An error of the canonical text of the value in this range of the message, which has an
    /// offset in that: the original text fails the same check, with an offset in the message
    #[cold]
    #[inline(never)]
    fn text_error(&self, schema: &Schema, error: &Error, range: Range<usize>) -> Failure {
        let start = range.start;
        let original = self.text.get(range).unwrap_or_default();
        let error = schema::locate(schema, error, original, self.rows.strict_types);
        let error = match error.offset() {
            Some(offset) => error.with_offset(start + offset),
            None => error,
        };
        self.content_error(error, start)
    }
}

/// Adds the type mismatches in the text of the value that starts at this offset of the message
#[cold]
#[inline(never)]
fn report(
    repairs: Repairs,
    text: &str,
    message: &str,
    start: usize,
    type_mismatches: &mut TypeMismatches,
) {
    repairs.report(text, &|| path_at(message.as_bytes(), start), type_mismatches);
}

/// Checks that an outcome is that of its transaction or its receipt, which may come after it
fn check_owner(
    reader: &Reader<'_>,
    outcome: Option<CryptoHash>,
    owner: Option<CryptoHash>,
) -> Result<(), Failure> {
    match (outcome, owner) {
        // In the listed order the owner comes first, and the error is found there.
        (Some(outcome), Some(owner)) if outcome != owner => {
            Err(reader.schema_error("an outcome of something else").into())
        }
        _ => Ok(()),
    }
}

/// Reads an object; `member` gets the index in `names` of each member named there, which may occur
/// once, and must move past its value
fn object<'text, const N: usize>(
    pass: Pass,
    reader: &mut Reader<'text>,
    names: [&str; N],
    expected: &str,
    member: &mut dyn FnMut(usize, &mut Reader<'text>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if pass != Pass::ListedOrder {
        return reader.object(&names, expected, member).map(drop);
    }
    let values = reader.members(names, expected)?;
    values.into_iter().enumerate().try_for_each(|(index, value)| match value {
        Some(mut value) => member(index, &mut value),
        None => Ok(()),
    })
}

/// Reads a value that may be `null`
fn nullable<'text, T>(
    reader: &mut Reader<'text>,
    read: impl FnOnce(&mut Reader<'text>) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    if reader.null()? { Ok(None) } else { read(reader).map(Some) }
}

/// A hash of eight bytes of each sixteen of the first 256, in which most receipts differ
fn fingerprint(text: &str) -> Option<u64> {
    // A receipt shorter than this is fingerprinted with the text after it, which does no harm.
    let (chunks, _) = text.as_bytes().first_chunk::<256>()?.as_chunks::<16>();
    Some(chunks.iter().fold(0, |hash: u64, chunk| {
        let word = u128::from_le_bytes(*chunk) as u64;
        // 2^64 divided by the golden ratio, made odd, as in `IdentityHasher`.
        (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }))
}
