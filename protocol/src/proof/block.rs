//! The check of a block message against its own hash.
//!
//! The hash is computed from the header, the roots in the header from the headers of the chunks,
//! and each outcome has to lead to the root of its shard. That root is in a later block only, so it
//! is returned to be compared there. Nothing of the message is changed or kept.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::{fmt, iter};

use super::LightHeader;
use super::chunk::{ChunkHeader, ChunkRoots};
use super::header::BlockHeaderView;
use super::merkle::parents;
use super::message::{Message, Shard, Step, chunk_header};
use crate::codec::json::{ReadError, Reader};
use crate::primitives::{CryptoHash, ShardId};
use crate::{Error, ErrorKind};

/// Maximum number of chunk headers, and of shards in a message, that are compared; mainnet has
/// about ten
const MAX_CHUNKS: usize = 4_096;

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
    /// The root of the outcomes of each shard with a new chunk that is in the message, which the
    /// next new chunk of the shard has to confirm
    pub outcome_roots: Vec<OutcomeRoot>,
    /// The root of the outcomes before each new chunk, as its header confirms it
    pub confirmed_roots: Vec<OutcomeRoot>,
    /// What light clients read of the header, if it has the hash that it states
    pub light_header: Option<LightHeader>,
    /// The `outcome_root` of each chunk header, in the order of the shard layout; those of chunks
    /// that are missing are of earlier chunks
    pub chunk_outcome_roots: Vec<CryptoHash>,
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
/// message is read once more. Bounded by the message. A message that lacks the new chunk of a
/// shard, as those of a partial feed do, is unverifiable; its other members are checked first.
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
    let mut check = BlockCheck::new();
    if let Err(stop) = check.read(message) {
        check.result = stop;
    }
    check
}

impl BlockCheck {
    /// A check that has found nothing wrong so far
    pub(super) const fn new() -> Self {
        Self {
            result: VerificationResult::Verified,
            hashes: None,
            shard_ids: Vec::new(),
            outcome_roots: Vec::new(),
            confirmed_roots: Vec::new(),
            light_header: None,
            chunk_outcome_roots: Vec::new(),
        }
    }

    fn read(&mut self, message: &[u8]) -> Result<(), VerificationResult> {
        let text = str::from_utf8(message).map_err(|error| {
            let error = Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to());
            VerificationResult::Unverifiable(error)
        })?;
        let message = Message::read(text)
            .map_err(|error| VerificationResult::Unverifiable(error.into_error(text)))?;
        self.run(text, message)
    }

    /// Checks what was read of a message with this text
    pub(super) fn run(
        &mut self,
        text: &str,
        message: Message<'_>,
    ) -> Result<(), VerificationResult> {
        let unread = |error: ReadError| VerificationResult::Unverifiable(error.into_error(text));
        let Message { header, chunks, shards } = message;
        let header = BlockHeaderView::from_json(header).map_err(unverifiable("block.header"))?;
        self.hashes = Some((header.hash, header.prev_hash));
        let new_chunks = match (&chunks, &shards) {
            (None, Ok(shards)) => shards.iter().filter(|it| it.chunk_header.is_some()).count(),
            _ => header.chunk_mask.len(),
        };
        let chunks = match (chunks, &shards) {
            (Some(chunks), _) => chunks,
            // Messages made before 2022 have the headers of new chunks only, and those of a partial
            // feed not even these.
            (None, Ok(shards)) if shards.len() == header.chunk_mask.len() => {
                chunks_of_shards(shards)?
            }
            (None, _) => Vec::new(),
        };
        if chunks.len() > MAX_CHUNKS {
            return Err(missing("block.chunks", format_args!("more than {MAX_CHUNKS}")));
        }
        // Without all of them there are no roots to compare.
        if !chunks.is_empty() {
            self.shard_ids = chunks.iter().map(|chunk| chunk.shard_id).collect();
            self.chunk_outcome_roots = chunks.iter().map(|chunk| chunk.outcome_root).collect();
            check_roots(&header, &chunks)?;
        }
        match header.light_header() {
            Ok(Some(light_header)) => self.light_header = Some(light_header),
            Ok(None) => {
                let detail = format!("the header has another hash than {}", header.hash);
                return Err(VerificationResult::Wrong(
                    Error::new(ErrorKind::Chain, detail).at("block.header.hash"),
                ));
            }
            Err(reason) => return Err(missing("block.header", reason)),
        }
        let shards = shards.map_err(unread)?;
        if shards.len() > MAX_CHUNKS {
            return Err(missing("shards", format_args!("more than {MAX_CHUNKS}")));
        }
        let roots = shards.iter().enumerate().map(|(index, shard)| {
            let root = shard
                .root(header.hash)
                .map_err(|result| result.at(format_args!("shards[{index}]")))?;
            Ok(OutcomeRoot { shard_id: shard.id, root })
        });
        let mut roots = roots.collect::<Result<Vec<_>, _>>()?;
        let mut absent = None;
        for chunk in chunks.iter().filter(|chunk| chunk.height_included == header.height) {
            let shard_id = chunk.shard_id;
            self.confirmed_roots.push(OutcomeRoot { shard_id, root: chunk.outcome_root });
            match roots.iter().position(|root| root.shard_id == shard_id) {
                Some(index) => self.outcome_roots.push(roots.swap_remove(index)),
                None => absent = absent.or(Some(shard_id)),
            }
        }
        // The roots of the shards that are there are compared all the same.
        match absent {
            Some(shard_id) => {
                let detail = format!("shard {shard_id} has a new chunk, which is not there");
                Err(missing("shards", detail))
            }
            None if new_chunks < header.chunk_mask.iter().filter(|is_new| **is_new).count() => {
                Err(missing("shards", "some new chunks are not there"))
            }
            None => Ok(()),
        }
    }

    /// Whether the header has the hash that it states, and what it confirms can be compared
    pub(super) fn is_linked(&self) -> bool {
        match self.result {
            VerificationResult::Verified => true,
            // The shards are the last that is read, so only a new chunk is missing.
            VerificationResult::Unverifiable(_) => !self.confirmed_roots.is_empty(),
            VerificationResult::Wrong(_) => false,
        }
    }
}

impl VerificationResult {
    fn at(self, path: impl fmt::Display) -> Self {
        match self {
            Self::Verified => self,
            Self::Unverifiable(error) => Self::Unverifiable(error.at(path)),
            Self::Wrong(error) => Self::Wrong(error.at(path)),
        }
    }
}

/// The headers of the chunks, if every shard has a new one; none if not
fn chunks_of_shards(shards: &[Shard<'_>]) -> Result<Vec<ChunkHeader>, VerificationResult> {
    let mut chunks = Vec::with_capacity(shards.len());
    for shard in shards {
        let Some(header) = shard.chunk_header else { return Ok(Vec::new()) };
        let chunk = chunk_header(&mut Reader::new(header))
            .map_err(|error| VerificationResult::Unverifiable(error.into_error(header)))?;
        chunks.push(chunk);
    }
    Ok(chunks)
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
    // A node writes zero into a genesis block in place of the root of its chunks, which follow no
    // outcome. The block hash covers it.
    let is_genesis = header.prev_hash == CryptoHash::ZERO;
    let has_no_root = is_genesis && header.outcome_root == CryptoHash::ZERO;
    let outcome_root = if has_no_root { CryptoHash::ZERO } else { roots.outcome_root };
    let roots = [
        ("chunk_headers_root", roots.chunk_headers_root, header.chunk_headers_root),
        ("chunk_tx_root", roots.chunk_tx_root, header.chunk_tx_root),
        ("chunk_receipts_root", roots.chunk_receipts_root, header.chunk_receipts_root),
        ("prev_state_root", roots.prev_state_root, header.prev_state_root),
        ("outcome_root", outcome_root, header.outcome_root),
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

impl Shard<'_> {
    /// The root to which all outcomes lead; zero without outcomes
    fn root(&self, block_hash: CryptoHash) -> Result<CryptoHash, VerificationResult> {
        let mut leaves = Vec::with_capacity(self.outcomes.len());
        for outcome in &self.outcomes {
            let at = |result: VerificationResult| result.at(format_args!("outcome {}", outcome.id));
            if outcome.block_hash != block_hash {
                return Err(at(wrong("block_hash", block_hash, outcome.block_hash)));
            }
            if let Some(executed) = outcome.executed.filter(|executed| *executed != outcome.id) {
                return Err(at(wrong("id", executed, outcome.id)));
            }
            let Some(leaf) = outcome.leaf else {
                return Err(at(missing("status", "no known variant")));
            };
            leaves.push(leaf);
        }
        self.root_of_tree(&leaves).ok_or_else(|| self.contradiction(&leaves))
    }

    /// The path of each outcome
    fn paths(&self) -> impl Iterator<Item = &[Step]> {
        let starts = iter::once(0).chain(self.outcomes.iter().map(|outcome| outcome.path_end));
        starts.zip(&self.outcomes).map(|(start, outcome)| &self.steps[start..outcome.path_end])
    }

    /// The root of the tree of these leaves, if their paths are those of this tree, in any order
    ///
    /// Needs a hash for each leaf, where following the paths needs one for each step.
    fn root_of_tree(&self, leaves: &[CryptoHash]) -> Option<CryptoHash> {
        let mut nodes = vec![None; leaves.len()];
        let mut paths = Vec::with_capacity(leaves.len());
        for (leaf, path) in leaves.iter().zip(self.paths()) {
            let index = index_in_tree(path, leaves.len())?;
            if nodes[index].replace(*leaf).is_some() {
                return None;
            }
            paths.push((index, path.iter()));
        }
        let mut nodes = nodes.into_iter().collect::<Option<Vec<_>>>()?;
        while nodes.len() > 1 {
            for (index, path) in &mut paths {
                if let Some(sibling) = nodes.get(*index ^ 1)
                    && path.next()?.sibling != *sibling
                {
                    return None;
                }
                *index >>= 1;
            }
            nodes = parents(&nodes);
        }
        Some(nodes.first().copied().unwrap_or(CryptoHash::ZERO))
    }

    /// Why these outcomes are not a tree: their paths lead to several roots, or some are missing
    fn contradiction(&self, leaves: &[CryptoHash]) -> VerificationResult {
        let mut root = None;
        for ((outcome, leaf), path) in self.outcomes.iter().zip(leaves).zip(self.paths()) {
            let at = |result: VerificationResult| result.at(format_args!("outcome {}", outcome.id));
            let Some(end) = Step::fold(*leaf, path) else {
                return at(missing("proof", "a direction of no known variant"));
            };
            match root.replace(end) {
                Some(other) if other != end => return at(wrong("proof", other, end)),
                _ => {}
            }
        }
        let detail = format!("their paths are not those of a tree of {} leaves", leaves.len());
        missing("outcomes", detail)
    }
}

/// The index of the leaf with this path in a tree of so many leaves, if it is one of that tree
fn index_in_tree(path: &[Step], leaves: usize) -> Option<usize> {
    let mut steps = path.iter().rev();
    let mut index = 0;
    // From the root down; the last of an odd number of nodes is its parent, and has no step.
    for level in (0..leaves.next_power_of_two().ilog2()).rev() {
        let nodes = leaves.div_ceil(1 << level);
        index *= 2;
        if index + 1 < nodes && !steps.next()?.is_right? {
            index += 1;
        }
    }
    steps.next().is_none().then_some(index)
}
