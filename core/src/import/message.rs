//! The structure of a block message, as NEAR Lake and neardata write it.
//!
//! Read here is only what determines the block's position and its rows. Transactions, receipts and
//! outcomes stay raw text, to be checked and encoded one by one. Unknown members are skipped: a
//! block message has many that no response contains. Plain messages, nearly all, are read by
//! `content/fast_path.rs` instead; the errors about all others are found here.

use alloc::vec::Vec;

use crate::Error;
use crate::codec::json::{ReadError, Reader};
use crate::primitives::{BlockHeight, CryptoHash, ParseError};

/// Joins the files of a NEAR Lake directory, `block.json` and each `shard_<n>.json`, to a message
///
/// The texts are concatenated and not parsed: errors in them are found when the message is
/// imported.
///
/// ```
/// let message = milepost::import::lake_message(b"{\"header\":{}}", [&b"{}"[..], b"{}"]);
/// assert_eq!(message, br#"{"block":{"header":{}},"shards":[{},{}]}"#);
/// ```
pub fn lake_message<'text>(block: &[u8], shards: impl IntoIterator<Item = &'text [u8]>) -> Vec<u8> {
    let mut message = br#"{"block":"#.to_vec();
    message.extend_from_slice(block);
    message.extend_from_slice(br#","shards":["#);
    for (shard, index) in shards.into_iter().zip(0_usize..) {
        if index > 0 {
            message.push(b',');
        }
        message.extend_from_slice(shard);
    }
    message.extend_from_slice(b"]}");
    message
}

/// The members of a block header that determine the block's position
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

/// A block message: the header, and a reader at each value of its shards that becomes a row
pub(super) struct BlockMessage<'text> {
    pub(super) header: Header,
    pub(super) shards: Vec<Shard<'text>>,
}

pub(super) struct Shard<'text> {
    pub(super) chunk: Option<Chunk<'text>>,
    pub(super) receipt_execution_outcomes: Vec<OutcomeWithReceipt<'text>>,
}

pub(super) struct Chunk<'text> {
    pub(super) transactions: Vec<TransactionWithOutcome<'text>>,
    pub(super) receipts: Vec<Reader<'text>>,
    pub(super) local_receipts: Vec<Reader<'text>>,
}

/// A transaction in a chunk, with its outcome unless that is in a later block
pub(super) struct TransactionWithOutcome<'text> {
    pub(super) transaction: Reader<'text>,
    pub(super) outcome: Option<OutcomeWithReceipt<'text>>,
}

/// An outcome, with the executed receipt unless a transaction was executed
pub(super) struct OutcomeWithReceipt<'text> {
    pub(super) execution_outcome: Reader<'text>,
    pub(super) receipt: Option<Reader<'text>>,
}

impl<'text> BlockMessage<'text> {
    /// Reads a message without the values of its shards
    pub(super) fn read(text: &'text str) -> Result<Self, Error> {
        let read = |reader: &mut Reader<'text>| {
            let (mut block, mut shards) = (None, None);
            reader.object(&["block", "shards"], "a block message", &mut |member, reader| {
                match member {
                    0 => block = Some(Header::of_block(reader)?),
                    _ => shards = Some(list(reader, Shard::read)?),
                }
                Ok(())
            })?;
            let header = reader.required(block, "block")?;
            let shards = reader.required(shards, "shards")?;
            reader.end()?;
            Ok(Self { header, shards })
        };
        read(&mut Reader::new(text)).map_err(|error: ReadError| {
            // A syntax error anywhere in the text is reported first.
            let whole = Reader::new(text).whole();
            whole.err().unwrap_or(error).into_error(text)
        })
    }
}

impl Header {
    fn of_block(block: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut header = None;
        block.object(&["header"], "a block", &mut |_, reader| {
            header = Some(Self::read(reader)?);
            Ok(())
        })?;
        block.required(header, "header")
    }

    fn read(header: &mut Reader<'_>) -> Result<Self, ReadError> {
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
            // The limit is that of `u32`.
            Some(mut version) => version.unsigned(u32::MAX.into(), "u32")? as u32,
        };
        Ok(Self {
            height: number(&mut header.required(height, "height")?)?,
            hash: hash_of(&mut header.required(hash, "hash")?)?,
            prev_hash: hash_of(&mut header.required(prev_hash, "prev_hash")?)?,
            prev_height: optional(prev_height, number)?,
            epoch_id: hash_of(&mut header.required(epoch_id, "epoch_id")?)?,
            last_final_block: optional(last_final_block, hash_of)?,
            last_ds_final_block: optional(last_ds_final_block, hash_of)?,
            latest_protocol_version,
        })
    }
}

impl<'text> Shard<'text> {
    fn read(shard: &mut Reader<'text>) -> Result<Self, ReadError> {
        let (mut chunk, mut receipt_execution_outcomes) = (None, Vec::new());
        let names = ["chunk", "receipt_execution_outcomes"];
        shard.object(&names, "a shard", &mut |member, reader| {
            match member {
                0 => chunk = nullable(reader, Chunk::read)?,
                _ => receipt_execution_outcomes = list(reader, OutcomeWithReceipt::read)?,
            }
            Ok(())
        })?;
        Ok(Self { chunk, receipt_execution_outcomes })
    }
}

impl<'text> Chunk<'text> {
    fn read(chunk: &mut Reader<'text>) -> Result<Self, ReadError> {
        let (mut transactions, mut receipts, mut local_receipts) = (None, None, Vec::new());
        let names = ["transactions", "receipts", "local_receipts"];
        chunk.object(&names, "a chunk", &mut |member, reader| {
            match member {
                0 => transactions = Some(list(reader, TransactionWithOutcome::read)?),
                1 => receipts = Some(list(reader, raw_value)?),
                _ => local_receipts = list(reader, raw_value)?,
            }
            Ok(())
        })?;
        let transactions = chunk.required(transactions, "transactions")?;
        Ok(Self { transactions, receipts: chunk.required(receipts, "receipts")?, local_receipts })
    }
}

impl<'text> TransactionWithOutcome<'text> {
    fn read(object: &mut Reader<'text>) -> Result<Self, ReadError> {
        let (mut transaction, mut outcome) = (None, None);
        let expected = "a transaction with its outcome";
        object.object(&["transaction", "outcome"], expected, &mut |member, reader| {
            match member {
                0 => transaction = Some(raw_value(reader)?),
                _ => outcome = nullable(reader, OutcomeWithReceipt::read)?,
            }
            Ok(())
        })?;
        Ok(Self { transaction: object.required(transaction, "transaction")?, outcome })
    }
}

impl<'text> OutcomeWithReceipt<'text> {
    fn read(object: &mut Reader<'text>) -> Result<Self, ReadError> {
        let (mut outcome, mut receipt) = (None, None);
        let expected = "an outcome with its receipt";
        object.object(&["execution_outcome", "receipt"], expected, &mut |member, reader| {
            match member {
                0 => outcome = Some(raw_value(reader)?),
                _ => receipt = nullable(reader, raw_value)?,
            }
            Ok(())
        })?;
        let execution_outcome = object.required(outcome, "execution_outcome")?;
        Ok(Self { execution_outcome, receipt })
    }
}

/// Skips a value and returns a reader at its start
fn raw_value<'text>(reader: &mut Reader<'text>) -> Result<Reader<'text>, ReadError> {
    let start = *reader;
    reader.raw().map(|_| start)
}

fn number(reader: &mut Reader<'_>) -> Result<u64, ReadError> {
    reader.unsigned(u64::MAX, "u64")
}

fn hash_of(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ParseError| reader.schema_error(error))
}

/// A member that may be absent or `null`
fn optional<T>(
    found: Option<Reader<'_>>,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, ReadError>,
) -> Result<Option<T>, ReadError> {
    let Some(mut reader) = found else { return Ok(None) };
    nullable(&mut reader, read)
}

/// A value that may be `null`
fn nullable<'text, T>(
    reader: &mut Reader<'text>,
    read: impl FnOnce(&mut Reader<'text>) -> Result<T, ReadError>,
) -> Result<Option<T>, ReadError> {
    if reader.null()? { Ok(None) } else { read(reader).map(Some) }
}

fn list<'text, T>(
    reader: &mut Reader<'text>,
    read: impl Fn(&mut Reader<'text>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let mut items = Vec::new();
    reader.open_array("a sequence")?;
    while reader.item(items.is_empty())? {
        items.push(read(reader)?);
    }
    Ok(items)
}
