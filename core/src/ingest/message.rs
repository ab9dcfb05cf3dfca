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
        let read = |reader: &mut Reader<'text>| {
            let (mut block, mut shards) = (None, None);
            reader.object(&["block", "shards"], "a block message", &mut |place, reader| {
                match place {
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
        read(&mut Reader::new(text)).map_err(|fault: Fault| {
            // What is no JSON at all is told first, wherever that shows.
            let whole = Reader::new(text).whole();
            whole.err().unwrap_or(fault).of(text)
        })
    }
}

impl Header {
    fn of_block(block: &mut Reader<'_>) -> Result<Self, Fault> {
        let mut header = None;
        block.object(&["header"], "a block", &mut |_, reader| {
            header = Some(Self::read(reader)?);
            Ok(())
        })?;
        block.required(header, "header")
    }

    fn read(header: &mut Reader<'_>) -> Result<Self, Fault> {
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
            height: number(&mut header.required(height, "height")?)?,
            hash: hash_of(&mut header.required(hash, "hash")?)?,
            prev_hash: hash_of(&mut header.required(prev_hash, "prev_hash")?)?,
            prev_height: known(prev_height, number)?,
            epoch_id: hash_of(&mut header.required(epoch_id, "epoch_id")?)?,
            last_final_block: known(last_final_block, hash_of)?,
            last_ds_final_block: known(last_ds_final_block, hash_of)?,
            latest_protocol_version,
        })
    }
}

impl<'text> Shard<'text> {
    fn read(shard: &mut Reader<'text>) -> Result<Self, Fault> {
        let (mut chunk, mut receipt_execution_outcomes) = (None, Vec::new());
        let names = ["chunk", "receipt_execution_outcomes"];
        shard.object(&names, "a shard", &mut |place, reader| {
            match place {
                0 => chunk = maybe(reader, Chunk::read)?,
                _ => receipt_execution_outcomes = list(reader, Executed::read)?,
            }
            Ok(())
        })?;
        Ok(Self { chunk, receipt_execution_outcomes })
    }
}

impl<'text> Chunk<'text> {
    fn read(chunk: &mut Reader<'text>) -> Result<Self, Fault> {
        let (mut transactions, mut receipts, mut local_receipts) = (None, None, Vec::new());
        let names = ["transactions", "receipts", "local_receipts"];
        chunk.object(&names, "a chunk", &mut |place, reader| {
            match place {
                0 => transactions = Some(list(reader, Included::read)?),
                1 => receipts = Some(list(reader, fact)?),
                _ => local_receipts = list(reader, fact)?,
            }
            Ok(())
        })?;
        let transactions = chunk.required(transactions, "transactions")?;
        Ok(Self { transactions, receipts: chunk.required(receipts, "receipts")?, local_receipts })
    }
}

impl<'text> Included<'text> {
    fn read(included: &mut Reader<'text>) -> Result<Self, Fault> {
        let (mut transaction, mut outcome) = (None, None);
        let expected = "a transaction with its outcome";
        included.object(&["transaction", "outcome"], expected, &mut |place, reader| {
            match place {
                0 => transaction = Some(fact(reader)?),
                _ => outcome = maybe(reader, Executed::read)?,
            }
            Ok(())
        })?;
        Ok(Self { transaction: included.required(transaction, "transaction")?, outcome })
    }
}

impl<'text> Executed<'text> {
    fn read(executed: &mut Reader<'text>) -> Result<Self, Fault> {
        let (mut outcome, mut receipt) = (None, None);
        let expected = "an outcome with its receipt";
        executed.object(&["execution_outcome", "receipt"], expected, &mut |place, reader| {
            match place {
                0 => outcome = Some(fact(reader)?),
                _ => receipt = maybe(reader, fact)?,
            }
            Ok(())
        })?;
        let execution_outcome = executed.required(outcome, "execution_outcome")?;
        Ok(Self { execution_outcome, receipt })
    }
}

/// A fact, to be looked at later: a reader before it
fn fact<'text>(reader: &mut Reader<'text>) -> Result<Reader<'text>, Fault> {
    let before = *reader;
    reader.raw().map(|_| before)
}

fn number(reader: &mut Reader<'_>) -> Result<u64, Fault> {
    reader.unsigned(u64::MAX, "u64")
}

fn hash_of(reader: &mut Reader<'_>) -> Result<CryptoHash, Fault> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ScalarError| reader.refuse(error))
}

/// A member that may be absent or `null`
fn known<T>(
    found: Option<Reader<'_>>,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let Some(mut reader) = found else { return Ok(None) };
    maybe(&mut reader, read)
}

/// A value that may be `null`
fn maybe<'text, T>(
    reader: &mut Reader<'text>,
    read: impl FnOnce(&mut Reader<'text>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    if reader.null()? { Ok(None) } else { read(reader).map(Some) }
}

fn list<'text, T>(
    reader: &mut Reader<'text>,
    read: impl Fn(&mut Reader<'text>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut items = Vec::new();
    reader.open_array("a sequence")?;
    while reader.item(items.is_empty())? {
        items.push(read(reader)?);
    }
    Ok(items)
}
