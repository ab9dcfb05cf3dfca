//! Reads what the hash of a block covers from its message, in one pass.
//!
//! Members that no hash covers are skipped. Values are read as the views read them, except that a
//! text which is only hashed is not checked: another text has another hash.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::str::FromStr;

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
    /// Whether each of [`CHUNK_MEMBERS`] is there
    found: [bool; CHUNK_MEMBERS.len()],
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
    /// Whether these members are there
    pub(super) fn has(&self, names: &[&str]) -> bool {
        let mut members = CHUNK_MEMBERS.iter().zip(self.found);
        members.all(|(name, found)| found || !names.contains(name))
    }

    /// The first member that is not there
    pub(super) fn lacking(&self) -> Option<&'static str> {
        let mut members = CHUNK_MEMBERS.iter().zip(self.found);
        members.find_map(|(name, found)| (!found).then_some(*name))
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
                true => pair(node, step.sibling),
                false => pair(step.sibling, node),
            })
        })
    }
}

impl<'t> Message<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, ReadError> {
        let mut reader = Reader::new(text);
        let (mut block, mut header, mut chunks, mut shards) = (false, None, None, None);
        let names = ["block", "shards"];
        reader.object(&names, "a block message", &mut |index, reader| {
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
            block = true;
            (header, chunks) = read_block(reader)?;
            Ok(())
        })?;
        reader.required(block.then_some(()), "block")?;
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
    let (mut hashes, mut numbers) = ([None; 5], [None; 2]);
    reader.object(&CHUNK_MEMBERS, "a chunk header", &mut |index, reader| {
        match hashes.get_mut(index) {
            Some(found) => *found = Some(hash(reader)?),
            None => numbers[index - hashes.len()] = Some(unsigned(reader)?),
        }
        Ok::<_, ReadError>(())
    })?;
    let header = ChunkHeader {
        hash: hashes[0].unwrap_or_default(),
        outcome_root: hashes[1].unwrap_or_default(),
        outgoing_receipts_root: hashes[2].unwrap_or_default(),
        prev_state_root: hashes[3].unwrap_or_default(),
        tx_root: hashes[4].unwrap_or_default(),
        height_included: numbers[0].unwrap_or_default(),
        shard_id: numbers[1].unwrap_or_default(),
    };
    let mut found = [false; CHUNK_MEMBERS.len()];
    let are_there = hashes.iter().map(Option::is_some).chain(numbers.iter().map(Option::is_some));
    found.iter_mut().zip(are_there).for_each(|(found, is_there)| *found = is_there);
    Ok(FoundChunk { header, found })
}

fn shard<'t>(reader: &mut Reader<'t>) -> Result<Shard<'t>, ReadError> {
    let (mut shard, mut id) = (Shard::default(), None);
    // The outcomes of transactions are the first in the tree, wherever they are in the text.
    let mut executed = Shard::default();
    let names = ["shard_id", "chunk", "receipt_execution_outcomes"];
    reader.object(&names, "a shard", &mut |index, reader| {
        match index {
            0 => id = Some(unsigned(reader)?),
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
    shard.id = reader.required(id, "shard_id")?;
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
        let mut order: Vec<usize> = (0..self.outcomes.len()).collect();
        order.sort_by_key(|index| (self.outcomes[*index].id, *index));
        let path = |index: usize| {
            let start = index.checked_sub(1).map_or(0, |before| self.outcomes[before].path_end);
            &self.steps[start..self.outcomes[index].path_end]
        };
        let is_copy = |pair: &[usize]| {
            let [one, other] = [pair[0], pair[1]].map(|index| &self.outcomes[index]);
            one.id == other.id && one.leaf == other.leaf && path(pair[0]) == path(pair[1])
        };
        let mut copies: Vec<usize> =
            order.windows(2).filter(|pair| is_copy(pair)).map(|pair| pair[1]).collect();
        if copies.is_empty() {
            return;
        }
        copies.sort_unstable();
        let (mut outcomes, mut steps) = (Vec::new(), Vec::new());
        for (index, outcome) in self.outcomes.iter().enumerate() {
            if copies.binary_search(&index).is_err() {
                steps.extend_from_slice(path(index));
                outcomes.push(Outcome { path_end: steps.len(), ..outcome.clone() });
            }
        }
        (self.outcomes, self.steps) = (outcomes, steps);
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
            reader.object(&names, "an outcome", &mut |index, reader| {
                if index == 0 {
                    found = Some(self.outcome(reader)?);
                } else if !reader.null()? {
                    self.body(reader)?;
                }
                Ok::<_, ReadError>(())
            })
        })?;
        self.outcomes.extend(found.map(|outcome| Outcome { executed: id, ..outcome }));
        Ok(())
    }

    /// Reads who signed a transaction and who receives it, and returns its hash
    fn parties(&mut self, reader: &mut Reader<'t>) -> Result<Option<CryptoHash>, ReadError> {
        const NAMES: [&str; 3] = ["hash", "signer_id", "receiver_id"];
        let (mut id, mut accounts) = (None, [None, None]);
        reader.object(&NAMES, "a transaction", &mut |index, reader| {
            match index {
                0 => id = Some(hash(reader)?),
                _ => accounts[index - 1] = Some(reader.text("an account id")?),
            }
            Ok::<_, ReadError>(())
        })?;
        if let (Some(hash), [Some(signer_id), Some(receiver_id)]) = (id, accounts) {
            self.transactions.push(TransactionParties { hash, signer_id, receiver_id });
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
        let (mut id, mut receiver) = (None, None);
        reader.object(&["receipt_id", "receiver_id"], "a receipt", &mut |index, reader| {
            match index {
                0 => id = Some(hash(reader)?),
                _ => receiver = Some(reader.text("an account id")?),
            }
            Ok::<_, ReadError>(())
        })?;
        self.receipts.extend(id.zip(receiver));
        Ok(id)
    }

    fn outcome(&mut self, reader: &mut Reader<'t>) -> Result<Outcome<'t>, ReadError> {
        let (id, block_hash, content) = outcome_members(reader, &mut self.steps)?;
        let (leaf, path_end) = (content.leaf(id), self.steps.len());
        let success_receipt_id = match content.status {
            Status::Receipt(id) => Some(id),
            _ => None,
        };
        let executor_id = content.executor_id;
        Ok(Outcome {
            id,
            block_hash,
            executed: None,
            executor_id,
            success_receipt_id,
            leaf,
            path_end,
        })
    }
}

/// Reads the id, the block and the content of an outcome, and appends its path to `steps`
pub(super) fn outcome_members<'t>(
    reader: &mut Reader<'t>,
    steps: &mut Vec<Step>,
) -> Result<(CryptoHash, CryptoHash, OutcomeContent<'t>), ReadError> {
    const NAMES: [&str; 4] = ["block_hash", "id", "outcome", "proof"];
    let (mut block_hash, mut id, mut content, mut has_path) = (None, None, None, false);
    reader.object(&NAMES, "an outcome", &mut |index, reader| {
        match index {
            0 => block_hash = Some(hash(reader)?),
            1 => id = Some(hash(reader)?),
            2 => content = Some(OutcomeContent::read(reader)?),
            _ => {
                has_path = true;
                path(reader, steps)?;
            }
        }
        Ok::<_, ReadError>(())
    })?;
    let id = reader.required(id, NAMES[1])?;
    let content = reader.required(content, NAMES[2])?;
    reader.required(has_path.then_some(()), NAMES[3])?;
    Ok((id, reader.required(block_hash, NAMES[0])?, content))
}

/// The members of an outcome that its leaf covers
pub(super) struct OutcomeContent<'t> {
    pub(super) receipt_ids: Vec<CryptoHash>,
    pub(super) gas_burnt: Gas,
    pub(super) tokens_burnt: Balance,
    pub(super) executor_id: Cow<'t, str>,
    pub(super) status: Status,
    pub(super) logs: Vec<Cow<'t, str>>,
}

pub(super) enum Status {
    Unknown,
    Failure,
    Value(Bytes),
    Receipt(CryptoHash),
    /// An unknown variant
    Other,
}

impl<'t> OutcomeContent<'t> {
    fn read(reader: &mut Reader<'t>) -> Result<Self, ReadError> {
        const NAMES: [&str; 6] =
            ["receipt_ids", "gas_burnt", "tokens_burnt", "executor_id", "status", "logs"];
        let (mut receipt_ids, mut logs, mut executor_id) = (None, None, None);
        let (mut gas_burnt, mut tokens_burnt, mut status) = (None, None, None);
        reader.object(&NAMES, "an outcome", &mut |index, reader| {
            match index {
                0 => receipt_ids = Some(list(reader, hash)?),
                1 => gas_burnt = Some(gas(reader)?),
                2 => tokens_burnt = Some(parsed(reader, "a decimal string of an amount")?),
                3 => executor_id = Some(reader.text("an account id")?),
                4 => status = Some(Status::read(reader)?),
                _ => {
                    logs = Some(list(reader, |reader| reader.text("a string"))?);
                }
            }
            Ok::<_, ReadError>(())
        })?;
        Ok(Self {
            receipt_ids: reader.required(receipt_ids, NAMES[0])?,
            gas_burnt: reader.required(gas_burnt, NAMES[1])?,
            tokens_burnt: reader.required(tokens_burnt, NAMES[2])?,
            executor_id: reader.required(executor_id, NAMES[3])?,
            status: reader.required(status, NAMES[4])?,
            logs: reader.required(logs, NAMES[5])?,
        })
    }

    pub(super) fn leaf(&self, id: CryptoHash) -> Option<CryptoHash> {
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
        Some(partial.leaf(id, &logs))
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
    let (mut sibling, mut is_right) = (None, None);
    reader.object(&["hash", "direction"], "a step of a path", &mut |index, reader| {
        if index == 0 {
            sibling = Some(hash(reader)?);
        } else {
            is_right = Some(match &*reader.text("a direction")? {
                "Left" => Some(false),
                "Right" => Some(true),
                _ => None,
            });
        }
        Ok::<_, ReadError>(())
    })?;
    let sibling = reader.required(sibling, "hash")?;
    Ok(Step { sibling, is_right: reader.required(is_right, "direction")? })
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
    parsed(reader, CryptoHash::EXPECTED)
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
