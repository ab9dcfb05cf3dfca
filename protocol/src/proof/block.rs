//! The check of a block message against its own hash.
//!
//! The hash is computed from the header, the roots in the header from the headers of the chunks,
//! and each outcome has to lead to the root of its shard. That root is in a later block only, so it
//! is returned to be compared there. Nothing of the message is changed or kept.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::chunk::{ChunkHeader, ChunkRoots};
use super::header::BlockHeaderView;
use super::merkle::fold;
use super::outcome::leaf;
use crate::codec::json::{self, ReadError, Reader};
use crate::primitives::{CryptoHash, ParseError, ShardId};
use crate::views::ExecutionOutcomeWithIdView;
use crate::{Error, ErrorKind};

/// What the check of a block message found
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BlockCheck {
    /// Whether its members agree with its hash, by the message alone
    pub result: VerificationResult,
    /// The hashes of the block and of its parent, as the header has them; `None` without a header
    pub hashes: Option<(CryptoHash, CryptoHash)>,
    /// The shards of the chunk headers; none if the message lacks some of these headers
    pub shard_ids: Vec<ShardId>,
    /// The root of the outcomes of each shard with a new chunk, which the next new chunk of the
    /// shard has to confirm
    pub outcome_roots: Vec<OutcomeRoot>,
    /// The root of the outcomes before each new chunk, as its header confirms it
    pub confirmed_roots: Vec<OutcomeRoot>,
}

/// Whether the members of a message agree with the hash of its block
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there is no fourth result")]
pub enum VerificationResult {
    /// They agree
    Verified,
    /// A member that is needed is missing, or is of a form that is not known; which one
    Unverifiable(Error),
    /// They do not agree; which member, what was expected and what was found
    Wrong(Error),
}

/// The root of the outcomes of a shard
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an entry of a map")]
pub struct OutcomeRoot {
    /// The shard
    pub shard_id: ShardId,
    /// The root; zero without outcomes
    pub root: CryptoHash,
}

/// Checks a block message against the hash of its block
///
/// Costs a hash for each outcome, log and step of a path, and the decoding of all outcomes; a
/// message is read once more. Bounded by the message.
///
/// ```
/// use milepost_protocol::proof::{VerificationResult, check_block};
///
/// let check = check_block(br#"{"block": {"header": {}}, "shards": []}"#);
/// let VerificationResult::Unverifiable(error) = check.result else {
///     panic!("the header is empty")
/// };
/// assert_eq!(error.path(), "block.header");
/// ```
pub fn check_block(message: &[u8]) -> BlockCheck {
    let mut check = BlockCheck {
        result: VerificationResult::Verified,
        hashes: None,
        shard_ids: Vec::new(),
        outcome_roots: Vec::new(),
        confirmed_roots: Vec::new(),
    };
    if let Err(stop) = check.run(message) {
        check.result = stop;
    }
    check
}

impl BlockCheck {
    fn run(&mut self, message: &[u8]) -> Result<(), VerificationResult> {
        let text = str::from_utf8(message).map_err(|error| {
            let error = Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to());
            VerificationResult::Unverifiable(error)
        })?;
        let unread = |error: ReadError| VerificationResult::Unverifiable(error.into_error(text));
        let mut reader = Reader::new(text);
        let [block, shards] =
            reader.members(["block", "shards"], "a block message").map_err(unread)?;
        let mut block = reader.required(block, "block").map_err(unread)?;
        let [header, chunks] = block.members(["header", "chunks"], "a block").map_err(unread)?;
        let mut header = block.required(header, "header").map_err(unread)?;
        let header: BlockHeaderView = header
            .raw()
            .map_err(unread)
            .and_then(|header| json::read(header).map_err(unverifiable("block.header")))?;
        self.hashes = Some((header.hash, header.prev_hash));
        let mut shards = reader.required(shards, "shards").map_err(unread)?;
        let chunks = match chunks {
            Some(mut chunks) => read_list(&mut chunks, |chunk| read_chunk(chunk).map(Some)),
            // Messages made before 2022 have the headers of new chunks only.
            None => read_list(&mut shards.clone(), read_chunk_of_shard),
        };
        // Without all of them there are no roots to compare.
        let chunks = chunks.map_err(unread)?.into_iter().collect::<Option<Vec<_>>>();
        if let Some(chunks) = &chunks {
            self.shard_ids = chunks.iter().map(|chunk| chunk.shard_id).collect();
            check_roots(&header, chunks)?;
        }
        match header.is_hash_valid() {
            Ok(true) => {}
            Ok(false) => {
                let detail = format!("the header has another hash than {}", header.hash);
                return Err(VerificationResult::Wrong(
                    Error::new(ErrorKind::Chain, detail).at("block.header.hash"),
                ));
            }
            Err(reason) => return Err(missing("block.header", reason)),
        }
        let mut roots = read_shards(text, &mut shards, header.hash)?;
        for chunk in chunks.iter().flatten().filter(|chunk| chunk.height_included == header.height)
        {
            let shard_id = chunk.shard_id;
            self.confirmed_roots.push(OutcomeRoot { shard_id, root: chunk.outcome_root });
            let Some(index) = roots.iter().position(|root| root.shard_id == shard_id) else {
                let detail = format!("shard {shard_id} has a new chunk, which is not there");
                return Err(missing("shards", detail));
            };
            self.outcome_roots.push(roots.swap_remove(index));
        }
        Ok(())
    }
}

fn unverifiable(path: &str) -> impl Fn(Error) -> VerificationResult {
    move |error| VerificationResult::Unverifiable(error.at(path))
}

fn missing(path: &str, detail: impl fmt::Display) -> VerificationResult {
    VerificationResult::Unverifiable(Error::new(ErrorKind::Schema, detail).at(path))
}

fn wrong(path: impl fmt::Display, expected: CryptoHash, found: CryptoHash) -> VerificationResult {
    let detail = format!("expected {expected}, found {found}");
    VerificationResult::Wrong(Error::new(ErrorKind::Chain, detail).at(path))
}

/// Compares the roots in the header with those of the chunks
fn check_roots(header: &BlockHeaderView, chunks: &[ChunkHeader]) -> Result<(), VerificationResult> {
    let roots = ChunkRoots::new(chunks);
    let roots = [
        ("chunk_headers_root", roots.chunk_headers_root, header.chunk_headers_root),
        ("chunk_tx_root", roots.chunk_tx_root, header.chunk_tx_root),
        ("chunk_receipts_root", roots.chunk_receipts_root, header.chunk_receipts_root),
        ("prev_state_root", roots.prev_state_root, header.prev_state_root),
        ("outcome_root", roots.outcome_root, header.outcome_root),
    ];
    for (member, expected, found) in roots {
        if expected != found {
            return Err(wrong(format_args!("block.header.{member}"), expected, found));
        }
    }
    let mask = chunks.iter().map(|chunk| chunk.height_included == header.height);
    if !mask.eq(header.chunk_mask.iter().copied()) {
        let error = Error::new(ErrorKind::Chain, "not the mask of the new chunks");
        return Err(VerificationResult::Wrong(error.at("block.header.chunk_mask")));
    }
    Ok(())
}

fn read_list<T>(
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let mut items = Vec::new();
    reader.open_array("a sequence")?;
    while reader.item(items.is_empty())? {
        items.push(read(reader)?);
    }
    Ok(items)
}

/// Reads the header of a shard's chunk, if it has one
fn read_chunk_of_shard(reader: &mut Reader<'_>) -> Result<Option<ChunkHeader>, ReadError> {
    let [chunk] = reader.members(["chunk"], "a shard")?;
    let Some(mut chunk) = chunk else { return Ok(None) };
    if chunk.null()? {
        return Ok(None);
    }
    let [header] = chunk.members(["header"], "a chunk")?;
    header.map(|mut header| read_chunk(&mut header)).transpose()
}

fn read_chunk(reader: &mut Reader<'_>) -> Result<ChunkHeader, ReadError> {
    const NAMES: [&str; 7] = [
        "chunk_hash",
        "height_included",
        "shard_id",
        "outcome_root",
        "outgoing_receipts_root",
        "prev_state_root",
        "tx_root",
    ];
    let found = reader.members(NAMES, "a chunk header")?;
    let mut members = NAMES.into_iter().zip(found);
    // In the order of the names.
    let mut next = || {
        let (name, found) = members.next().unwrap_or_default();
        reader.required(found, name)
    };
    Ok(ChunkHeader {
        hash: hash(&mut next()?)?,
        height_included: next()?.unsigned(u64::MAX, "u64")?,
        shard_id: next()?.unsigned(u64::MAX, "u64")?,
        outcome_root: hash(&mut next()?)?,
        outgoing_receipts_root: hash(&mut next()?)?,
        prev_state_root: hash(&mut next()?)?,
        tx_root: hash(&mut next()?)?,
    })
}

fn hash(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ParseError| reader.schema_error(error))
}

/// Reads the outcomes of all shards; returns the root of each
fn read_shards(
    text: &str,
    reader: &mut Reader<'_>,
    block_hash: CryptoHash,
) -> Result<Vec<OutcomeRoot>, VerificationResult> {
    let unread = |error: ReadError| VerificationResult::Unverifiable(error.into_error(text));
    let mut roots = Vec::new();
    reader.open_array("a sequence").map_err(unread)?;
    while reader.item(roots.is_empty()).map_err(unread)? {
        let names = ["shard_id", "chunk", "receipt_execution_outcomes"];
        let [shard_id, chunk, executed] = reader.members(names, "a shard").map_err(unread)?;
        let mut shard_id = reader.required(shard_id, "shard_id").map_err(unread)?;
        let shard_id = shard_id.unsigned(u64::MAX, "u64").map_err(unread)?;
        let mut shard =
            ShardOutcomes { path: format!("shards[{}]", roots.len()), block_hash, root: None };
        if let Some(mut chunk) = chunk
            && !chunk.null().map_err(unread)?
        {
            let [transactions] = chunk.members(["transactions"], "a chunk").map_err(unread)?;
            if let Some(mut transactions) = transactions {
                shard.outcomes(&mut transactions, "outcome", unread)?;
            }
        }
        if let Some(mut executed) = executed {
            shard.outcomes(&mut executed, "execution_outcome", unread)?;
        }
        roots.push(OutcomeRoot { shard_id, root: shard.root.unwrap_or(CryptoHash::ZERO) });
    }
    Ok(roots)
}

/// The outcomes of a shard, whose paths have to lead to one root
struct ShardOutcomes {
    path: String,
    block_hash: CryptoHash,
    root: Option<CryptoHash>,
}

impl ShardOutcomes {
    /// Reads the outcomes that these objects have in a member
    fn outcomes(
        &mut self,
        reader: &mut Reader<'_>,
        member: &str,
        unread: impl Fn(ReadError) -> VerificationResult,
    ) -> Result<(), VerificationResult> {
        reader.open_array("a sequence").map_err(&unread)?;
        let mut is_first = true;
        while reader.item(is_first).map_err(&unread)? {
            is_first = false;
            let [outcome] = reader.members([member], "an outcome").map_err(&unread)?;
            let Some(mut outcome) = outcome else { continue };
            if member == "outcome" {
                // With the receipt that the transaction became, or without an outcome yet.
                if outcome.null().map_err(&unread)? {
                    continue;
                }
                let names = ["execution_outcome"];
                let [inner] = outcome.members(names, "an outcome").map_err(&unread)?;
                let Some(inner) = inner else { continue };
                outcome = inner;
            }
            self.outcome(outcome.raw().map_err(&unread)?)?;
        }
        Ok(())
    }

    fn outcome(&mut self, text: &str) -> Result<(), VerificationResult> {
        let outcome: ExecutionOutcomeWithIdView =
            json::read(text).map_err(unverifiable(&self.path))?;
        let path = format!("{}: outcome {}", self.path, outcome.id);
        let Some(root) = leaf(&outcome).and_then(|leaf| fold(leaf, &outcome.proof)) else {
            return Err(missing(&path, "a status or a direction of no known variant"));
        };
        if outcome.block_hash != self.block_hash {
            let path = format!("{path}: block_hash");
            return Err(wrong(&path, self.block_hash, outcome.block_hash));
        }
        match self.root.replace(root) {
            Some(other) if other != root => Err(wrong(&path, other, root)),
            _ => Ok(()),
        }
    }
}
