//! Reads what the hash of a block covers from its message, in one pass.
//!
//! Members that no hash covers are skipped. Values are read as the views read them, except that a
//! text which is only hashed is not checked: another text has another hash.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;
use core::str::FromStr;

use super::answer::Index;
use super::chunk::ChunkHeader;
use super::merkle::pair;
use super::outcome::{PartialExecutionOutcome, PartialExecutionStatus};
use crate::codec::json::{Number, ReadError, Reader, Scalar};
use crate::primitives::{Balance, Bytes, CryptoHash, Gas, ParseError, ShardId};

/// The members of a message that are read
pub(super) struct Message<'t> {
    /// The text of the block's header
    pub(super) header: &'t str,
    /// The headers of all chunks; `None` if the block does not have them
    pub(super) chunks: Option<ChunkList>,
    /// The shards, or why they cannot be read
    pub(super) shards: Result<Vec<Shard<'t>>, ReadError>,
}

/// The headers of a block's chunks
#[derive(Default)]
pub(super) struct ChunkList {
    pub(super) chunks: Vec<FoundChunk>,
    /// Why the list ends early
    pub(super) error: Option<ReadError>,
}

/// The header of a chunk, as far as its members are there
#[derive(Clone, Copy)]
pub(super) struct FoundChunk {
    /// With zeros in place of missing members
    pub(super) header: ChunkHeader,
    /// A bit for each of [`CHUNK_MEMBERS`] that is there
    found: u32,
}

/// The members of a chunk's header that are read
pub(super) const CHUNK_MEMBERS: [&str; 7] = [
    "chunk_hash",
    "outcome_root",
    "outgoing_receipts_root",
    "prev_state_root",
    "tx_root",
    "height_included",
    "shard_id",
];

impl FoundChunk {
    pub(super) const HASH: u32 = 1;
    pub(super) const OUTCOME_ROOT: u32 = 1 << 1;
    pub(super) const RECEIPTS_ROOT: u32 = 1 << 2;
    pub(super) const STATE_ROOT: u32 = 1 << 3;
    pub(super) const TX_ROOT: u32 = 1 << 4;
    pub(super) const HEIGHT: u32 = 1 << 5;
    pub(super) const SHARD_ID: u32 = 1 << 6;

    /// Whether these members are there
    pub(super) const fn has(&self, members: u32) -> bool {
        self.found & members == members
    }

    /// The first member that is not there
    pub(super) fn lacking(&self) -> Option<&'static str> {
        CHUNK_MEMBERS.get(self.found.trailing_ones() as usize).copied()
    }
}

/// A shard of a message
#[derive(Default)]
pub(super) struct Shard<'t> {
    pub(super) id: ShardId,
    /// Whether it has a chunk
    pub(super) has_chunk: bool,
    /// The text of the header of its new chunk
    pub(super) chunk_header: Option<&'t str>,
    pub(super) outcomes: Vec<Outcome<'t>>,
    /// The paths of all outcomes, one after the other
    pub(super) steps: Vec<Step>,
    pub(super) transactions: Vec<TransactionParties<'t>>,
    /// The id and the receiver of each receipt whose body is there
    pub(super) receipts: Vec<(CryptoHash, Cow<'t, str>)>,
}

/// A transaction, and the accounts that execute it
#[derive(Default)]
pub(super) struct TransactionParties<'t> {
    pub(super) hash: CryptoHash,
    /// Who executes its conversion
    pub(super) signer_id: Cow<'t, str>,
    /// Who executes the receipt that it is converted to
    pub(super) receiver_id: Cow<'t, str>,
}

/// An outcome that was executed
#[derive(Clone)]
pub(super) struct Outcome<'t> {
    pub(super) id: CryptoHash,
    pub(super) block_hash: CryptoHash,
    /// The id of the transaction or receipt beside it
    pub(super) executed: Option<CryptoHash>,
    pub(super) executor_id: Cow<'t, str>,
    /// The receipt that determines the result, if it is known
    pub(super) success_receipt_id: Option<CryptoHash>,
    /// `None` if its status is an unknown variant
    pub(super) leaf: Option<CryptoHash>,
    /// The end of its path
    pub(super) path_end: usize,
}

/// A step of a path
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) struct Step {
    pub(super) sibling: CryptoHash,
    /// `None` if the direction is unknown
    pub(super) is_right: Option<bool>,
}

impl Step {
    /// The root to which a path leads; `None` if a direction is unknown
    pub(super) fn fold(leaf: CryptoHash, path: &[Self]) -> Option<CryptoHash> {
        path.iter().try_fold(leaf, |node, step| {
            Some(match step.is_right? {
                true => pair(&node, &step.sibling),
                false => pair(&step.sibling, &node),
            })
        })
    }
}

impl<'t> Message<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, ReadError> {
        let mut reader = Reader::new(text);
        let (mut header, mut chunks, mut shards) = (None, None, None);
        let names = ["block", "shards"];
        let found = reader.object(&names, "a block message", &mut |index, reader| {
            if index == 1 {
                let start = *reader;
                let found = list(reader, shard);
                if found.is_err() {
                    // What is in the block is read all the same.
                    *reader = start;
                    reader.raw()?;
                }
                shards = Some(found);
                return Ok::<_, ReadError>(());
            }
            (header, chunks) = read_block(reader)?;
            Ok(())
        })?;
        reader.require(found, &names[..1])?;
        let header = reader.required(header, "header")?;
        let shards = reader.required(shards, "shards")?;
        Ok(Self { header, chunks, shards })
    }
}

/// The text of a block's header, and the headers of its chunks
pub(super) fn read_block<'t>(
    reader: &mut Reader<'t>,
) -> Result<(Option<&'t str>, Option<ChunkList>), ReadError> {
    let (mut header, mut chunks) = (None, None);
    reader.object(&["header", "chunks"], "a block", &mut |index, reader| {
        if index == 0 {
            header = Some(reader.raw()?);
        } else if !reader.null()? {
            let (start, mut list) = (*reader, ChunkList::default());
            let read = each(reader, |reader| {
                list.chunks.push(chunk_header(reader)?);
                Ok(())
            });
            if let Err(error) = read {
                // The rest of the message is read all the same.
                *reader = start;
                reader.raw()?;
                list.error = Some(error);
            }
            chunks = Some(list);
        }
        Ok::<_, ReadError>(())
    })?;
    Ok((header, chunks))
}

/// The header of a chunk
pub(super) fn chunk_header(reader: &mut Reader<'_>) -> Result<FoundChunk, ReadError> {
    let mut header = ChunkHeader {
        hash: CryptoHash::ZERO,
        height_included: 0,
        shard_id: 0,
        outcome_root: CryptoHash::ZERO,
        outgoing_receipts_root: CryptoHash::ZERO,
        prev_state_root: CryptoHash::ZERO,
        tx_root: CryptoHash::ZERO,
    };
    let found = reader.object(&CHUNK_MEMBERS, "a chunk header", &mut |index, reader| {
        let member = match index {
            0 => &mut header.hash,
            1 => &mut header.outcome_root,
            2 => &mut header.outgoing_receipts_root,
            3 => &mut header.prev_state_root,
            4 => &mut header.tx_root,
            5 => return unsigned(reader).map(|height| header.height_included = height),
            _ => return unsigned(reader).map(|id| header.shard_id = id),
        };
        hash_into(reader, member)
    })?;
    Ok(FoundChunk { header, found })
}

fn shard<'t>(reader: &mut Reader<'t>) -> Result<Shard<'t>, ReadError> {
    let mut shard = Shard::default();
    // The outcomes of transactions are the first in the tree, wherever they are in the text.
    let mut executed = Shard::default();
    let names = ["shard_id", "chunk", "receipt_execution_outcomes"];
    let found = reader.object(&names, "a shard", &mut |index, reader| {
        match index {
            0 => shard.id = unsigned(reader)?,
            1 if reader.null()? => {}
            1 => {
                shard.has_chunk = true;
                let names =
                    ["header", "transactions", "receipts", "local_receipts", "instant_receipts"];
                reader.object(&names, "a chunk", &mut |index, reader| match index {
                    0 => {
                        shard.chunk_header = Some(reader.raw()?);
                        Ok::<_, ReadError>(())
                    }
                    1 => each(reader, |reader| shard.transaction(reader)),
                    _ => each(reader, |reader| shard.body(reader).map(drop)),
                })?;
            }
            _ => each(reader, |reader| executed.receipt(reader))?,
        }
        Ok::<_, ReadError>(())
    })?;
    reader.require(found, &names[..1])?;
    shard.receipts.append(&mut executed.receipts);
    let start = shard.steps.len();
    shard.steps.append(&mut executed.steps);
    shard.outcomes.extend(
        executed
            .outcomes
            .into_iter()
            .map(|outcome| Outcome { path_end: start + outcome.path_end, ..outcome }),
    );
    shard.skip_copies();
    Ok(shard)
}

impl<'t> Shard<'t> {
    /// Removes outcomes that are listed again: the same leaf, at the same place in the tree
    ///
    /// A feed lists the outcome of a transaction with each of its copies in a chunk.
    fn skip_copies(&mut self) {
        let Self { outcomes, steps, .. } = self;
        let path = |index: usize| {
            let start = index.checked_sub(1).map_or(0, |before| outcomes[before].path_end);
            &steps[start..outcomes[index].path_end]
        };
        let index = Index::new(&mut outcomes.iter().map(|outcome| outcome.id));
        let mut are_copies = vec![false; outcomes.len()];
        for pair in index.0.windows(2) {
            let ((id, one), (next_id, next)) = (pair[0], pair[1]);
            are_copies[next] = id == next_id
                && outcomes[one].leaf == outcomes[next].leaf
                && path(one) == path(next);
        }
        if !are_copies.contains(&true) {
            return;
        }
        let (all_steps, mut start) = (core::mem::take(steps), 0);
        let mut are_copies = are_copies.into_iter();
        outcomes.retain_mut(|outcome| {
            let path = start..outcome.path_end;
            start = outcome.path_end;
            let is_copy = are_copies.next() == Some(true);
            if !is_copy {
                steps.extend_from_slice(&all_steps[path]);
                outcome.path_end = steps.len();
            }
            !is_copy
        });
    }

    /// Reads a transaction with the outcome of its conversion, if it has one
    fn transaction(&mut self, reader: &mut Reader<'t>) -> Result<(), ReadError> {
        let (mut id, mut found) = (None, None);
        let names = ["transaction", "outcome"];
        reader.object(&names, "a transaction", &mut |index, reader| {
            if index == 0 {
                id = self.parties(reader)?;
                return Ok::<_, ReadError>(());
            }
            if reader.null()? {
                return Ok(());
            }
            let names = ["execution_outcome", "receipt"];
            reader
                .object(&names, "an outcome", &mut |index, reader| {
                    if index == 0 {
                        found = Some(self.outcome(reader)?);
                    } else if !reader.null()? {
                        self.body(reader)?;
                    }
                    Ok::<_, ReadError>(())
                })
                .map(drop)
        })?;
        self.outcomes.extend(found.map(|outcome| Outcome { executed: id, ..outcome }));
        Ok(())
    }

    /// Reads who signed a transaction and who receives it, and returns its hash
    fn parties(&mut self, reader: &mut Reader<'t>) -> Result<Option<CryptoHash>, ReadError> {
        const NAMES: [&str; 3] = ["hash", "signer_id", "receiver_id"];
        let mut parties = TransactionParties::default();
        let found = reader.object(&NAMES, "a transaction", &mut |index, reader| {
            match index {
                0 => hash_into(reader, &mut parties.hash)?,
                1 => parties.signer_id = reader.text("an account id")?,
                _ => parties.receiver_id = reader.text("an account id")?,
            }
            Ok::<_, ReadError>(())
        })?;
        let id = (found & 1 == 1).then_some(parties.hash);
        if found == 0b111 {
            self.transactions.push(parties);
        }
        Ok(id)
    }

    /// Reads the outcome of a receipt
    fn receipt(&mut self, reader: &mut Reader<'t>) -> Result<(), ReadError> {
        let (mut id, mut found) = (None, None);
        let names = ["execution_outcome", "receipt"];
        reader.object(&names, "an outcome", &mut |index, reader| {
            if index == 0 {
                found = Some(self.outcome(reader)?);
            } else if !reader.null()? {
                id = self.body(reader)?;
            }
            Ok::<_, ReadError>(())
        })?;
        self.outcomes.extend(found.map(|outcome| Outcome { executed: id, ..outcome }));
        Ok(())
    }

    /// Reads who receives a receipt, and returns its id
    fn body(&mut self, reader: &mut Reader<'t>) -> Result<Option<CryptoHash>, ReadError> {
        let (mut id, mut receiver) = (CryptoHash::ZERO, Cow::default());
        let names = ["receipt_id", "receiver_id"];
        let found = reader.object(&names, "a receipt", &mut |index, reader| {
            match index {
                0 => hash_into(reader, &mut id)?,
                _ => receiver = reader.text("an account id")?,
            }
            Ok::<_, ReadError>(())
        })?;
        if found == 0b11 {
            self.receipts.push((id, receiver));
        }
        Ok((found & 1 == 1).then_some(id))
    }

    fn outcome(&mut self, reader: &mut Reader<'t>) -> Result<Outcome<'t>, ReadError> {
        let content = OutcomeContent::read(reader, &mut self.steps)?;
        Ok(Outcome {
            id: content.id,
            block_hash: content.block_hash,
            executed: None,
            success_receipt_id: match content.status {
                Status::Receipt(id) => Some(id),
                _ => None,
            },
            leaf: content.leaf(),
            executor_id: content.executor_id,
            path_end: self.steps.len(),
        })
    }
}

/// An outcome, as far as its leaf covers it
#[derive(Default)]
pub(super) struct OutcomeContent<'t> {
    pub(super) id: CryptoHash,
    pub(super) block_hash: CryptoHash,
    pub(super) receipt_ids: Vec<CryptoHash>,
    pub(super) gas_burnt: Gas,
    pub(super) tokens_burnt: Balance,
    pub(super) executor_id: Cow<'t, str>,
    pub(super) status: Status,
    pub(super) logs: Vec<Cow<'t, str>>,
    /// Whether it has metadata, which its leaf does not cover
    pub(super) has_metadata: bool,
}

#[derive(Default)]
pub(super) enum Status {
    #[default]
    Unknown,
    Failure,
    Value(Bytes),
    Receipt(CryptoHash),
    /// An unknown variant
    Other,
}

impl<'t> OutcomeContent<'t> {
    /// Reads an outcome with its id and its block, and appends its path to `steps`
    pub(super) fn read(reader: &mut Reader<'t>, steps: &mut Vec<Step>) -> Result<Self, ReadError> {
        const NAMES: [&str; 4] = ["id", "outcome", "proof", "block_hash"];
        let mut content = Self::default();
        let found = reader.object(&NAMES, "an outcome", &mut |index, reader| match index {
            0 => hash_into(reader, &mut content.id),
            1 => content.members(reader),
            2 => path(reader, steps),
            _ => hash_into(reader, &mut content.block_hash),
        })?;
        reader.require(found, &NAMES)?;
        Ok(content)
    }

    fn members(&mut self, reader: &mut Reader<'t>) -> Result<(), ReadError> {
        const NAMES: [&str; 7] = [
            "receipt_ids",
            "gas_burnt",
            "tokens_burnt",
            "executor_id",
            "status",
            "logs",
            "metadata",
        ];
        let found = reader.object(&NAMES, "an outcome", &mut |index, reader| {
            match index {
                0 => self.receipt_ids = list(reader, hash)?,
                1 => self.gas_burnt = gas(reader)?,
                2 => self.tokens_burnt = parsed(reader, "a decimal string of an amount")?,
                3 => self.executor_id = reader.text("an account id")?,
                4 => self.status = Status::read(reader)?,
                5 => self.logs = list(reader, |reader| reader.text("a string"))?,
                _ => {
                    self.has_metadata = true;
                    reader.raw()?;
                }
            }
            Ok::<_, ReadError>(())
        })?;
        reader.require(found, &NAMES[..6])
    }

    pub(super) fn leaf(&self) -> Option<CryptoHash> {
        let status = match &self.status {
            Status::Unknown => PartialExecutionStatus::Unknown,
            Status::Failure => PartialExecutionStatus::Failure,
            Status::Value(value) => PartialExecutionStatus::SuccessValue(value),
            Status::Receipt(id) => PartialExecutionStatus::SuccessReceiptId(*id),
            Status::Other => return None,
        };
        let partial = PartialExecutionOutcome {
            receipt_ids: &self.receipt_ids,
            gas_burnt: self.gas_burnt,
            tokens_burnt: self.tokens_burnt,
            executor_id: &self.executor_id,
            status,
        };
        let logs: Vec<_> = self.logs.iter().map(|log| CryptoHash::digest(log.as_bytes())).collect();
        Some(partial.leaf(self.id, &logs))
    }
}

impl Status {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        match reader.scalar()? {
            Scalar::String(name) if name == "Unknown" => return Ok(Self::Unknown),
            Scalar::String(_) => return Ok(Self::Other),
            Scalar::Object => {}
            other => return Err(reader.type_error(&other, "a status")),
        }
        let names = ["Failure", "SuccessValue", "SuccessReceiptId", "Unknown"];
        let mut found = None;
        reader.object(&names, "a status", &mut |index, reader| {
            if found.is_some() {
                return Err(reader.schema_error("a second variant"));
            }
            found = Some(match index {
                1 => Self::Value(parsed(reader, "a base64 string")?),
                2 => Self::Receipt(hash(reader)?),
                _ => {
                    reader.raw()?;
                    if index == 0 { Self::Failure } else { Self::Unknown }
                }
            });
            Ok(())
        })?;
        Ok(found.unwrap_or(Self::Other))
    }
}

/// Reads a path and appends its steps
pub(super) fn path(reader: &mut Reader<'_>, steps: &mut Vec<Step>) -> Result<(), ReadError> {
    each(reader, |reader| {
        steps.push(step(reader)?);
        Ok(())
    })
}

fn step(reader: &mut Reader<'_>) -> Result<Step, ReadError> {
    let names = ["hash", "direction"];
    let mut step = Step { sibling: CryptoHash::ZERO, is_right: None };
    let found = reader.object(&names, "a step of a path", &mut |index, reader| {
        if index == 0 {
            return hash_into(reader, &mut step.sibling);
        }
        step.is_right = match &*reader.text("a direction")? {
            "Left" => Some(false),
            "Right" => Some(true),
            _ => None,
        };
        Ok::<_, ReadError>(())
    })?;
    reader.require(found, &names)?;
    Ok(step)
}

fn gas(reader: &mut Reader<'_>) -> Result<Gas, ReadError> {
    match reader.scalar()? {
        Scalar::Number(Number::Unsigned(gas)) => Ok(Gas(gas)),
        Scalar::String(text) => text.parse().map_err(|error| reader.schema_error(error)),
        other => Err(reader.type_error(&other, "an amount of gas")),
    }
}

pub(super) fn unsigned(reader: &mut Reader<'_>) -> Result<u64, ReadError> {
    reader.unsigned(u64::MAX, "u64")
}

pub(super) fn hash(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let mut hash = CryptoHash::ZERO;
    hash_into(reader, &mut hash)?;
    Ok(hash)
}

/// Reads a hash in place
pub(super) fn hash_into(reader: &mut Reader<'_>, hash: &mut CryptoHash) -> Result<(), ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    hash.read(&text).map_err(|error| reader.schema_error(error))
}

pub(super) fn parsed<T: FromStr<Err = ParseError>>(
    reader: &mut Reader<'_>,
    expected: &str,
) -> Result<T, ReadError> {
    reader.text(expected)?.parse().map_err(|error| reader.schema_error(error))
}

pub(super) fn list<'t, T>(
    reader: &mut Reader<'t>,
    mut read: impl FnMut(&mut Reader<'t>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let mut items = Vec::new();
    each(reader, |reader| {
        items.push(read(reader)?);
        Ok(())
    })?;
    Ok(items)
}

pub(super) fn each<'t>(
    reader: &mut Reader<'t>,
    mut read: impl FnMut(&mut Reader<'t>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    reader.open_array("a sequence")?;
    let mut is_first = true;
    while reader.item(is_first)? {
        is_first = false;
        read(reader)?;
    }
    Ok(())
}
