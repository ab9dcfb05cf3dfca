//! The shape of a block message, as NEAR Lake and neardata write it.
//!
//! Only what decides about a block's place and facts is read here; transactions, receipts and
//! outcomes stay raw text until they are checked and rendered one by one. Unknown members are
//! passed over, because a block message has many that no answer shows. Messages that are plain, as
//! nearly all are, go past all this (see `plain.rs`); what is wrong with the others is said here.

use alloc::vec::Vec;

use crate::Error;
use crate::codec::json::{Fault, Reader};
use crate::primitives::{BlockHeight, CryptoHash, ScalarError};

/// The block message of a lake directory: the text of `block.json` and of each `shard_<n>.json`
///
/// Nothing is parsed: the message is their concatenation with some punctuation between, and
/// what is wrong in one of them is found when the message is taken in.
///
/// ```
/// let message = milepost::ingest::lake_message(b"{\"header\":{}}", [&b"{}"[..], b"{}"]);
/// assert_eq!(message, br#"{"block":{"header":{}},"shards":[{},{}]}"#);
/// ```
pub fn lake_message<'text>(block: &[u8], shards: impl IntoIterator<Item = &'text [u8]>) -> Vec<u8> {
    let mut message = br#"{"block":"#.to_vec();
    message.extend_from_slice(block);
    message.extend_from_slice(br#","shards":["#);
    for (shard, place) in shards.into_iter().zip(0_usize..) {
        if place > 0 {
            message.push(b',');
        }
        message.extend_from_slice(shard);
    }
    message.extend_from_slice(b"]}");
    message
}

/// What the header says about the block's place
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Header {
    pub(super) height: BlockHeight,
    pub(super) hash: CryptoHash,
    pub(super) prev_hash: CryptoHash,
    pub(super) prev_height: Option<BlockHeight>,
    pub(super) epoch_id: CryptoHash,
    pub(super) last_final_block: Option<CryptoHash>,
    pub(super) last_ds_final_block: Option<CryptoHash>,
    pub(super) latest_protocol_version: u32,
}

/// A block message: the header, and readers before what has to be read of its shards
pub(super) struct Message<'text> {
    pub(super) header: Header,
    pub(super) shards: Vec<Shard<'text>>,
}

pub(super) struct Shard<'text> {
    pub(super) chunk: Option<Chunk<'text>>,
    pub(super) receipt_execution_outcomes: Vec<Executed<'text>>,
}

pub(super) struct Chunk<'text> {
    pub(super) transactions: Vec<Included<'text>>,
    pub(super) receipts: Vec<Reader<'text>>,
    pub(super) local_receipts: Vec<Reader<'text>>,
}

/// A transaction in a chunk, with its outcome unless that comes later
pub(super) struct Included<'text> {
    pub(super) transaction: Reader<'text>,
    pub(super) outcome: Option<Executed<'text>>,
}

/// An outcome, with the receipt that was executed unless it was a transaction
pub(super) struct Executed<'text> {
    pub(super) execution_outcome: Reader<'text>,
    pub(super) receipt: Option<Reader<'text>>,
}

impl<'text> Message<'text> {
    /// Reads a message, whose facts stay as they are
    pub(super) fn read(text: &'text str) -> Result<Self, Error> {
        let read = |mut reader: Reader<'text>| {
            let [block, shards] = reader.members(["block", "shards"], "a block message")?;
            let header = Header::read(reader.required(block, "block")?)?;
            let shards = reader.required(shards, "shards")?;
            reader.end()?;
            Ok(Self { header, shards: list(Some(shards), Shard::read)? })
        };
        read(Reader::new(text)).map_err(|fault: Fault| fault.of(text))
    }
}

impl Header {
    fn read(mut block: Reader<'_>) -> Result<Self, Fault> {
        let [header] = block.members(["header"], "a block")?;
        let mut header = block.required(header, "header")?;
        let [
            height,
            hash,
            prev_hash,
            prev_height,
            epoch_id,
            last_final_block,
            last_ds_final_block,
            latest_protocol_version,
        ] = header.members(
            [
                "height",
                "hash",
                "prev_hash",
                "prev_height",
                "epoch_id",
                "last_final_block",
                "last_ds_final_block",
                "latest_protocol_version",
            ],
            "a block header",
        )?;
        let latest_protocol_version = match latest_protocol_version {
            None => 0,
            // No more than 32 bits by the limit.
            Some(mut version) => version.unsigned(u32::MAX.into(), "u32")? as u32,
        };
        Ok(Self {
            height: number(header.required(height, "height")?)?,
            hash: hash_of(header.required(hash, "hash")?)?,
            prev_hash: hash_of(header.required(prev_hash, "prev_hash")?)?,
            prev_height: maybe(prev_height, number)?,
            epoch_id: hash_of(header.required(epoch_id, "epoch_id")?)?,
            last_final_block: maybe(last_final_block, hash_of)?,
            last_ds_final_block: maybe(last_ds_final_block, hash_of)?,
            latest_protocol_version,
        })
    }
}

impl<'text> Shard<'text> {
    fn read(mut shard: Reader<'text>) -> Result<Self, Fault> {
        let [chunk, outcomes] =
            shard.members(["chunk", "receipt_execution_outcomes"], "a shard")?;
        Ok(Self {
            chunk: maybe(chunk, Chunk::read)?,
            receipt_execution_outcomes: list(outcomes, Executed::read)?,
        })
    }
}

impl<'text> Chunk<'text> {
    fn read(mut chunk: Reader<'text>) -> Result<Self, Fault> {
        let [transactions, receipts, local_receipts] =
            chunk.members(["transactions", "receipts", "local_receipts"], "a chunk")?;
        let transactions = chunk.required(transactions, "transactions")?;
        let receipts = chunk.required(receipts, "receipts")?;
        Ok(Self {
            transactions: list(Some(transactions), Included::read)?,
            receipts: list(Some(receipts), Ok)?,
            local_receipts: list(local_receipts, Ok)?,
        })
    }
}

impl<'text> Included<'text> {
    fn read(mut included: Reader<'text>) -> Result<Self, Fault> {
        let [transaction, outcome] =
            included.members(["transaction", "outcome"], "a transaction with its outcome")?;
        Ok(Self {
            transaction: included.required(transaction, "transaction")?,
            outcome: maybe(outcome, Executed::read)?,
        })
    }
}

impl<'text> Executed<'text> {
    fn read(mut executed: Reader<'text>) -> Result<Self, Fault> {
        let [outcome, receipt] =
            executed.members(["execution_outcome", "receipt"], "an outcome with its receipt")?;
        Ok(Self {
            execution_outcome: executed.required(outcome, "execution_outcome")?,
            receipt: maybe(receipt, Ok)?,
        })
    }
}

fn number(mut reader: Reader<'_>) -> Result<u64, Fault> {
    reader.unsigned(u64::MAX, "u64")
}

fn hash_of(mut reader: Reader<'_>) -> Result<CryptoHash, Fault> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ScalarError| reader.refuse(error))
}

/// A member that may be absent or `null`
fn maybe<'text, T>(
    found: Option<Reader<'text>>,
    read: impl FnOnce(Reader<'text>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let Some(mut reader) = found else { return Ok(None) };
    if reader.null()? { Ok(None) } else { read(reader).map(Some) }
}

/// The items of a list that may be absent
fn list<'text, T>(
    found: Option<Reader<'text>>,
    read: impl Fn(Reader<'text>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut items = Vec::new();
    let Some(mut reader) = found else { return Ok(items) };
    reader.open_array("a sequence")?;
    while reader.item(items.is_empty())? {
        let item = reader;
        reader.raw()?;
        items.push(read(item)?);
    }
    Ok(items)
}
