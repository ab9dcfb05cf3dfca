//! The check of a block message against its own hash.
//!
//! The hash is computed from the header, the roots in the header from the headers of the chunks,
//! and each outcome has to lead to the root of its shard. That root is in a later block only, so it
//! is returned to be compared there, as are the accounts that have to execute. Nothing of the
//! message is changed or kept. A missing or malformed member ends no other comparison.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::{fmt, iter};

use super::LightHeader;
use super::answer::Index;
use super::chunk::{ChunkHeader, ChunkRoots};
use super::executors::Executors;
use super::header::{BlockHeaderView, HashCheck, HeaderVersion, may_be_missing};
use super::header_json::{FoundHeader, missing_field};
use super::merkle::parents;
use super::message::{ChunkList, FoundChunk, Message, Outcome, Shard, Step, chunk_header};
use crate::codec::json::{ReadError, Reader};
use crate::primitives::{CryptoHash, ShardId};
use crate::{Error, ErrorKind};

/// Maximum number of chunk headers, and of shards in a message, that are compared; mainnet has
/// about ten
const MAX_CHUNKS: usize = 4_096;

/// The findings of the check of a block message
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
    /// Whether new chunks of some shards are not there, as in messages of a partial feed
    pub lacks_chunks: bool,
    /// The members that are compared with those of the parent's header
    pub(super) members: PresentMembers,
    pub(super) executors: Executors,
}

/// The members of a message that not every block has, or that this one lacks
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct PresentMembers {
    pub(super) epoch_id: CryptoHash,
    /// The version of the header, if that has the hash that it states
    pub(super) version: Option<HeaderVersion>,
    /// The first member that each later version of the header has, and this one lacks
    pub(super) lacking: Vec<(HeaderVersion, &'static str)>,
    /// Whether the hash is another one, which a member that is missing could explain
    pub(super) has_other_hash: bool,
    /// Whether the headers of the chunks are listed in the block
    pub(super) has_chunk_list: bool,
    /// A member that every block has, and this one lacks
    pub(super) missing: Option<Error>,
}

/// The findings in a message; of each kind the first
#[derive(Default)]
struct Findings {
    wrong: Option<Error>,
    /// A member that every block has
    missing: Option<Error>,
    /// Of an unknown version, or a member that not every block has
    unknown: Option<Error>,
}

impl Findings {
    fn wrong(&mut self, error: Error) {
        self.wrong.get_or_insert(error);
    }

    fn missing(&mut self, error: Error) {
        self.missing.get_or_insert(error);
    }

    fn unknown(&mut self, error: Error) {
        self.unknown.get_or_insert(error);
    }

    /// Adds that the header of the chunk at this place lacks a member, if it does
    fn chunk(&mut self, chunk: &FoundChunk, place: impl FnOnce() -> String) {
        if let Some(name) = chunk.lacking() {
            self.missing(Error::new(ErrorKind::Schema, missing_field(name)).at(place()));
        }
    }

    /// Adds why something cannot be read
    fn unread(&mut self, error: &ReadError, text: &str) {
        let is_lacking = error.is_lacking();
        let error = error.clone().into_error(text);
        if is_lacking { self.missing(error) } else { self.wrong(error) }
    }
}

/// Whether the members of a message agree with the hash of its block
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there is no fourth result")]
pub enum VerificationResult {
    /// They agree
    Verified,
    /// A member that is needed is missing, or of a version that is not known; which one
    Unverifiable(Error),
    /// They do not agree, or one is malformed; which member, with the expected and the found value
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
/// message is read once more. Bounded by the message. A message that lacks a member, or the new
/// chunk of a shard, as those of a partial feed do, is unverifiable unless another member is wrong;
/// [`OutcomeLinks`](super::OutcomeLinks) demands the members that its parent has.
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
    if let Err(error) = check.read(message) {
        check.result = VerificationResult::Unverifiable(error);
    }
    check
}

impl BlockCheck {
    /// A check that has found nothing wrong so far
    pub(super) fn new() -> Self {
        Self {
            result: VerificationResult::Verified,
            hashes: None,
            shard_ids: Vec::new(),
            outcome_roots: Vec::new(),
            confirmed_roots: Vec::new(),
            light_header: None,
            chunk_outcome_roots: Vec::new(),
            lacks_chunks: false,
            members: PresentMembers::default(),
            executors: Executors::default(),
        }
    }

    fn read(&mut self, message: &[u8]) -> Result<(), Error> {
        let text = str::from_utf8(message).map_err(|error| {
            Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
        })?;
        let message = Message::read(text).map_err(|error| error.into_error(text))?;
        self.run(text, message)
    }

    /// Checks what was read of a message with this text
    ///
    /// # Errors
    ///
    /// The header is no JSON object.
    pub(super) fn run(&mut self, text: &str, message: Message<'_>) -> Result<(), Error> {
        let Message { header, chunks, shards } = message;
        let found = BlockHeaderView::find(header).map_err(|error| error.at("block.header"))?;
        let mut findings = Findings::default();
        self.members.has_chunk_list = chunks.is_some();
        let shards = shards.unwrap_or_else(|error| {
            findings.unread(&error, text);
            Vec::new()
        });
        let are_shards_read = findings.wrong.is_none() && findings.missing.is_none();
        let of_shards = core::mem::take(&mut findings);
        let chunks = match chunks {
            Some(ChunkList { chunks, error }) => {
                if let Some(error) = error {
                    findings.wrong(error.into_error(text));
                }
                for (index, chunk) in chunks.iter().enumerate() {
                    findings.chunk(chunk, || format!("block.chunks[{index}]"));
                }
                chunks
            }
            // Messages made before 2022 have the headers of new chunks only, and those of a partial
            // feed not even these.
            None => chunks_of_shards(&shards, &mut findings),
        };
        self.check_header(&found, &chunks, &mut findings);
        findings.wrong = findings.wrong.or(of_shards.wrong);
        findings.missing = findings.missing.or(of_shards.missing);
        self.check_shards(&found, &chunks, &shards, are_shards_read, &mut findings);
        self.members.missing = findings.missing.clone();
        self.result = match (findings.wrong, findings.missing.or(findings.unknown)) {
            (Some(error), _) => VerificationResult::Wrong(error),
            (None, Some(error)) => VerificationResult::Unverifiable(error),
            (None, None) => VerificationResult::Verified,
        };
        Ok(())
    }

    /// Compares the header with the headers of the chunks and with its hash
    fn check_header(
        &mut self,
        found: &FoundHeader,
        chunks: &[FoundChunk],
        findings: &mut Findings,
    ) {
        let header = &found.view;
        if found.has("hash") && found.has("prev_hash") {
            self.hashes = Some((header.hash, header.prev_hash));
        }
        self.members.epoch_id = header.epoch_id;
        let at_header = |error: Error| error.at("block.header");
        // Members of another name are those of a header version that is not known here.
        let is_known = header.unknown_fields.is_empty();
        if let Some(error) = found.malformed.clone().map(at_header) {
            if is_known { findings.wrong(error) } else { findings.unknown(error) }
        }
        if let Some(name) = found.missing {
            let error = at_header(Error::new(ErrorKind::Schema, missing_field(name)));
            if is_known { findings.missing(error) } else { findings.unknown(error) }
        }
        if chunks.len() > MAX_CHUNKS {
            findings.wrong(too_many("block.chunks"));
        } else if self.members.has_chunk_list || chunks.len() == header.chunk_mask.len() {
            self.check_chunks(found, chunks, findings);
        }
        let included = new_chunks(header) as u64;
        let has_number = found.has("chunk_mask") && found.has("chunks_included");
        if has_number && header.chunks_included != included {
            let error = wrong("chunks_included", &included, &header.chunks_included);
            findings.wrong(at_header(error));
        }
        if found.malformed.is_some() || !found.unread.is_empty() {
            return;
        }
        match header.check_hash() {
            HashCheck::Valid(version, light_header) => {
                self.light_header = Some(light_header);
                self.members.version = Some(version);
            }
            HashCheck::Unknown(detail) => {
                findings.unknown(at_header(Error::new(ErrorKind::Schema, detail)));
                return;
            }
            HashCheck::Lacking(name) => {
                self.members.has_other_hash = true;
                findings.unknown(at_header(may_be_missing(name)));
            }
            HashCheck::Wrong => findings.wrong(other_hash(header.hash)),
        }
        let versions = HeaderVersion::ALL.into_iter();
        self.members.lacking =
            versions.filter_map(|version| Some((version, header.lacking(version)?))).collect();
    }

    /// Compares the header with the headers of all chunks
    fn check_chunks(
        &mut self,
        found: &FoundHeader,
        chunks: &[FoundChunk],
        findings: &mut Findings,
    ) {
        let headers: Vec<_> = chunks.iter().map(|chunk| chunk.header).collect();
        if chunks.iter().all(|chunk| chunk.has(FoundChunk::SHARD_ID)) {
            self.shard_ids = headers.iter().map(|chunk| chunk.shard_id).collect();
        }
        if chunks.iter().all(|chunk| chunk.has(FoundChunk::OUTCOME_ROOT)) {
            self.chunk_outcome_roots = headers.iter().map(|chunk| chunk.outcome_root).collect();
        }
        if let Err(error) = check_roots(found, chunks, &headers) {
            findings.wrong(error);
        }
    }

    /// Compares the outcomes of the shards with each other, and finds their roots
    fn check_shards(
        &mut self,
        found: &FoundHeader,
        chunks: &[FoundChunk],
        shards: &[Shard<'_>],
        are_shards_read: bool,
        findings: &mut Findings,
    ) {
        if shards.len() > MAX_CHUNKS {
            return findings.wrong(too_many("shards"));
        }
        let header = &found.view;
        let block_hash = found.has("hash").then_some(&header.hash);
        let mut roots: Vec<_> = shards
            .iter()
            .enumerate()
            .map(|(index, shard)| {
                let mut of_shard = Findings::default();
                let root = shard.root(block_hash, &mut of_shard);
                let at = |error: Error| error.at(format_args!("shards[{index}]"));
                of_shard.wrong.map(at).into_iter().for_each(|error| findings.wrong(error));
                of_shard.unknown.map(at).into_iter().for_each(|error| findings.unknown(error));
                (index, root)
            })
            .collect();
        match Executors::of(shards) {
            Ok(executors) => self.executors = executors,
            Err(error) => findings.wrong(error),
        }
        if !found.has("height") || chunks.len() > MAX_CHUNKS {
            return;
        }
        let is_new = |chunk: &&FoundChunk| chunk.header.height_included == header.height;
        let mut absent = None;
        for chunk in chunks.iter().filter(is_new) {
            let FoundChunk { header: ChunkHeader { shard_id, outcome_root, .. }, .. } = *chunk;
            if !chunk.has(FoundChunk::SHARD_ID | FoundChunk::HEIGHT) {
                continue;
            }
            if chunk.has(FoundChunk::OUTCOME_ROOT) {
                self.confirmed_roots.push(OutcomeRoot { shard_id, root: outcome_root });
            }
            match roots.iter().position(|(index, _)| shards[*index].id == shard_id) {
                Some(position) => {
                    let (_, root) = roots.swap_remove(position);
                    self.outcome_roots.extend(root.map(|root| OutcomeRoot { shard_id, root }));
                }
                None => absent = absent.or(Some(shard_id)),
            }
        }
        let is_listed =
            chunks.iter().all(|chunk| chunk.has(FoundChunk::SHARD_ID | FoundChunk::HEIGHT));
        if self.members.has_chunk_list && is_listed && findings.wrong.is_none() {
            // The other shards have no new chunk.
            let others = roots.iter().map(|(index, _)| *index);
            if let Some(index) = others.filter(|index| shards[*index].is_filled()).min() {
                let detail = format!("shard {} has no new chunk in the block", shards[index].id);
                let error = Error::new(ErrorKind::Chain, detail);
                findings.wrong(error.at(format_args!("shards[{index}]")));
            }
        }
        if !are_shards_read {
            return;
        }
        // The roots of the shards that are there are compared all the same.
        let detail = match absent {
            Some(shard_id) => format!("shard {shard_id} has a new chunk, which is not there"),
            None if chunks.iter().filter(is_new).count() < new_chunks(header) => {
                "some new chunks are not there".into()
            }
            None => return,
        };
        self.lacks_chunks = true;
        findings.unknown(Error::new(ErrorKind::Schema, detail).at("shards"));
    }
}

impl BlockCheck {
    /// Why the block is wrong if its parent is verified, and whether only within one epoch, where
    /// the version of headers stays the same
    #[doc(hidden)]
    pub fn demanded(&self) -> Option<(Error, bool)> {
        let members = &self.members;
        let missing = members.missing.clone().map(|error| (error, false));
        let (hash, _) = self.hashes?;
        missing.or_else(|| members.has_other_hash.then(|| (other_hash(hash), true)))
    }
}

/// The headers of new chunks, as their shards have them
fn chunks_of_shards(shards: &[Shard<'_>], findings: &mut Findings) -> Vec<FoundChunk> {
    let mut chunks = Vec::with_capacity(shards.len());
    for (index, shard) in shards.iter().enumerate() {
        let Some(header) = shard.chunk_header else { continue };
        let place = || format!("shards[{index}].chunk.header");
        match chunk_header(&mut Reader::new(header)) {
            Ok(chunk) => {
                findings.chunk(&chunk, place);
                chunks.push(chunk);
            }
            Err(error) => findings.wrong(error.into_error(header).at(place())),
        }
    }
    chunks
}

/// Number of new chunks by the header
fn new_chunks(header: &BlockHeaderView) -> usize {
    header.chunk_mask.iter().filter(|is_new| **is_new).count()
}

fn too_many(path: &str) -> Error {
    Error::new(ErrorKind::Limit, format_args!("more than {MAX_CHUNKS}")).at(path)
}

/// That a header has another hash than it states
pub(super) fn other_hash(hash: CryptoHash) -> Error {
    let detail = format!("the header has another hash than {hash}");
    Error::new(ErrorKind::Chain, detail).at("block.header.hash")
}

fn wrong(path: &str, expected: &dyn fmt::Display, found: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::Chain, format_args!("expected {expected}, found {found}")).at(path)
}

/// Compares the roots in the header with those of the chunks
fn check_roots(
    found: &FoundHeader,
    chunks: &[FoundChunk],
    headers: &[ChunkHeader],
) -> Result<(), Error> {
    let header = &found.view;
    let roots = ChunkRoots::new(headers);
    // A node writes zero into a genesis block in place of the root of its chunks, which follow no
    // outcome. The block hash covers it.
    let is_genesis = header.prev_hash == CryptoHash::ZERO;
    let has_no_root = is_genesis && header.outcome_root == CryptoHash::ZERO;
    let outcome_root = if has_no_root { &CryptoHash::ZERO } else { &roots.outcome_root };
    for (member, leaf, expected, stated) in [
        (
            "chunk_headers_root",
            FoundChunk::HASH | FoundChunk::HEIGHT,
            &roots.chunk_headers_root,
            &header.chunk_headers_root,
        ),
        ("chunk_tx_root", FoundChunk::TX_ROOT, &roots.chunk_tx_root, &header.chunk_tx_root),
        (
            "chunk_receipts_root",
            FoundChunk::RECEIPTS_ROOT,
            &roots.chunk_receipts_root,
            &header.chunk_receipts_root,
        ),
        (
            "prev_state_root",
            FoundChunk::STATE_ROOT,
            &roots.prev_state_root,
            &header.prev_state_root,
        ),
        ("outcome_root", FoundChunk::OUTCOME_ROOT, outcome_root, &header.outcome_root),
    ] {
        let is_there = found.has(member) && chunks.iter().all(|chunk| chunk.has(leaf));
        if is_there && expected != stated {
            return Err(wrong(member, expected, stated).at("block.header"));
        }
    }
    let has_heights = chunks.iter().all(|chunk| chunk.has(FoundChunk::HEIGHT));
    if !has_heights || !found.has("height") || !found.has("chunk_mask") {
        return Ok(());
    }
    let mask = headers.iter().map(|chunk| chunk.height_included == header.height);
    if !mask.eq(header.chunk_mask.iter().copied()) {
        let error = Error::new(ErrorKind::Chain, "not the mask of the new chunks");
        return Err(error.at("block.header.chunk_mask"));
    }
    Ok(())
}

impl Shard<'_> {
    /// Whether it has the members of a shard with a new chunk
    const fn is_filled(&self) -> bool {
        self.has_chunk || !self.outcomes.is_empty()
    }

    /// The root to which all outcomes lead; zero without outcomes, `None` if they contradict it
    fn root(&self, block_hash: Option<&CryptoHash>, findings: &mut Findings) -> Option<CryptoHash> {
        let mut leaves = Vec::with_capacity(self.outcomes.len());
        for outcome in &self.outcomes {
            let at = |error: Error| error.at(format_args!("outcome {}", outcome.id));
            if let Some(hash) = block_hash.filter(|hash| **hash != outcome.block_hash) {
                findings.wrong(at(wrong("block_hash", hash, &outcome.block_hash)));
            }
            if let Some(executed) = outcome.executed.as_ref().filter(|id| **id != outcome.id) {
                findings.wrong(at(wrong("id", executed, &outcome.id)));
            }
            if outcome.leaf.is_none() {
                let error = Error::new(ErrorKind::Schema, "no known variant").at("status");
                findings.unknown(at(error));
            }
            leaves.push(outcome.leaf);
        }
        let known: Option<Vec<_>> = leaves.iter().copied().collect();
        let root = known.and_then(|leaves| self.root_of_tree(&leaves));
        if root.is_none() {
            let (root, error) = self.contradiction(&leaves);
            if let Some(error) = error {
                findings.wrong(error);
            }
            return root;
        }
        root
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

    /// The root of these outcomes, and why they are not its tree: their paths lead to several
    /// roots, or to one with other leaves
    ///
    /// Without an error if a leaf is not known: the others lead to the root.
    fn contradiction(&self, leaves: &[Option<CryptoHash>]) -> (Option<CryptoHash>, Option<Error>) {
        let mut ends = Vec::with_capacity(leaves.len());
        for ((outcome, leaf), path) in self.outcomes.iter().zip(leaves).zip(self.paths()) {
            let Some(leaf) = leaf else { continue };
            let Some(end) = Step::fold(*leaf, path) else {
                let error = Error::new(ErrorKind::Schema, "a direction of no known variant");
                let place = format!("outcome {}", outcome.id);
                return (None, Some(error.at("proof").at(place)));
            };
            ends.push((end, outcome, *leaf));
        }
        // The root of most of them is right; of two, that of the leaf which the other's path has.
        let roots = Index::new(&mut ends.iter().map(|(end, ..)| *end));
        let siblings = Index::new(&mut self.steps.iter().map(|step| step.sibling));
        let weight = |(end, _, leaf): &(CryptoHash, &Outcome<'_>, CryptoHash)| {
            (roots.all(end).len(), !siblings.all(leaf).is_empty())
        };
        let Some((root, ..)) = ends.iter().max_by_key(|found| weight(found)).copied() else {
            return (None, None);
        };
        if let Some((end, outcome, _)) = ends.iter().find(|(end, ..)| *end != root) {
            let place = format!("outcome {}", outcome.id);
            return (None, Some(wrong("proof", &root, end).at(place)));
        }
        if ends.len() < leaves.len() {
            return (Some(root), None);
        }
        let count = leaves.len();
        let detail = format!("their paths prove others than the {count} that are here");
        (None, Some(Error::new(ErrorKind::Chain, detail).at("outcomes")))
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
