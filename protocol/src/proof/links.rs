//! The demands of blocks on those after them: roots of outcomes, and members of the header.
//!
//! What a shard executed in a block is confirmed by the shard's next new chunk, in the first block
//! after it that has one; of a shard that is split, by the first chunk of each part. Kept are the
//! open roots of the newest blocks, forks among them; a block whose parent is not kept has nothing
//! to compare, and neither has a shard that a partial feed lacks. The version of headers never
//! falls along a chain, so a member that the header of the parent has is demanded.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::iter;

use super::block::other_hash;
use super::executors::{Executors, of_another};
use super::header::HeaderVersion;
use super::header_json::missing_field;
use super::{BlockCheck, OutcomeRoot, VerificationResult};
use crate::primitives::{CryptoHash, ShardId};
use crate::{Error, ErrorKind};

/// Number of blocks whose open roots are kept: more than the deepest fork
const MAX_BLOCKS: usize = 64;

/// The open roots of the newest blocks
///
/// ```
/// use milepost_protocol::proof::{OutcomeLinks, VerificationResult, check_block};
///
/// let mut links = OutcomeLinks::default();
/// let check = check_block(b"{}");
/// // Nothing is known of a message that cannot be verified.
/// assert_eq!(links.verify(&check), check.result);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OutcomeLinks {
    blocks: Vec<OpenRoots>,
    /// The executors of receipts that are not executed yet, by id; with the first block that names
    /// each
    awaited: BTreeMap<CryptoHash, (CryptoHash, Box<str>)>,
}

/// The demands of a block on its children
#[derive(Clone, Debug, Default)]
struct OpenRoots {
    hash: CryptoHash,
    prev_hash: CryptoHash,
    /// The shards of the block; none if they are unknown
    shard_ids: Vec<ShardId>,
    /// The roots that are not confirmed up to it
    roots: Vec<OutcomeRoot>,
    /// Whether its header has the hash that it states, and nothing in it is wrong
    is_verified: bool,
    /// The form of the newest header up to it that has the hash that it states
    form: Option<HeaderForm>,
    /// The ids of the receipts whose executors it names
    awaited: Vec<CryptoHash>,
}

/// The members of every header after one of this form
#[derive(Clone, Copy, Debug)]
struct HeaderForm {
    version: HeaderVersion,
    /// The epoch, in which the version stays the same
    epoch_id: CryptoHash,
    /// Whether the block lists the headers of its chunks
    has_chunk_list: bool,
}

impl OutcomeLinks {
    /// Whether a block agrees with its hash, and with the demands of the blocks before it
    ///
    /// Blocks are to be passed with each after its parent. A block that is wrong is kept too, until
    /// another one of its hash is not.
    pub fn verify(&mut self, check: &BlockCheck) -> VerificationResult {
        let Some((hash, prev_hash)) = check.hashes else { return check.result.clone() };
        let unknown = OpenRoots::default();
        let open = self.block(&prev_hash).unwrap_or(&unknown);
        let result = match &check.result {
            VerificationResult::Wrong(_) => check.result.clone(),
            result => match open.contradiction(check).or_else(|| self.other_executor(check)) {
                Some(error) => VerificationResult::Wrong(error),
                None => result.clone(),
            },
        };
        let is_wrong = matches!(result, VerificationResult::Wrong(_));
        let is_new = |shard| check.confirmed_roots.iter().any(|root| root.shard_id == shard);
        // A shard that was split is in the block until both of its parts have a chunk.
        let is_there = |shard| check.shard_ids.is_empty() || check.shard_ids.contains(&shard);
        let is_open = |root: &&OutcomeRoot| is_there(root.shard_id) && !is_new(root.shard_id);
        let open_roots = open.roots.iter().filter(is_open);
        let members = &check.members;
        let own_form = members.version.filter(|_| !is_wrong).map(|version| HeaderForm {
            version,
            epoch_id: members.epoch_id,
            has_chunk_list: members.has_chunk_list,
        });
        let awaited = if is_wrong { &[][..] } else { &check.executors.awaited };
        let block = OpenRoots {
            hash,
            prev_hash,
            shard_ids: check.shard_ids.clone(),
            roots: open_roots.chain(&check.outcome_roots).copied().collect(),
            is_verified: own_form.is_some(),
            form: own_form.or(open.form),
            awaited: awaited.iter().map(|(id, _)| *id).collect(),
        };
        if self.keep(block) {
            for (id, account) in awaited {
                self.awaited.entry(*id).or_insert_with(|| (hash, account.clone()));
            }
        }
        result
    }

    fn block(&self, hash: &CryptoHash) -> Option<&OpenRoots> {
        self.blocks.iter().find(|block| block.hash == *hash)
    }

    /// An executor or a body of another account than the ancestors of a block name
    fn other_executor(&self, check: &BlockCheck) -> Option<Error> {
        let (_, prev_hash) = check.hashes?;
        let Executors { awaited, executed } = &check.executors;
        let executed = executed.iter().map(|(id, shard, account)| (id, Some(*shard), account));
        let mut found = executed.chain(awaited.iter().map(|(id, account)| (id, None, account)));
        found.find_map(|(id, shard, account)| {
            let (block, expected) = self.awaited.get(id)?;
            if expected == account || !self.is_ancestor(block, &prev_hash) {
                return None;
            }
            let error = of_another(false, expected, account);
            Some(match shard {
                Some(shard) => error.at(format!("shards[{shard}].outcome {id}.executor_id")),
                None => error.at(format!("shards.receipt {id}.receiver_id")),
            })
        })
    }

    /// Whether a block is this one or one before it
    fn is_ancestor(&self, hash: &CryptoHash, block: &CryptoHash) -> bool {
        let first = Some(block);
        let next = |block: &&CryptoHash| self.block(block).map(|known| &known.prev_hash);
        // No more than there are blocks, which may claim to be their own ancestors.
        iter::successors(first, next).take(MAX_BLOCKS).any(|ancestor| ancestor == hash)
    }

    /// Keeps a block, unless one of its hash is kept that is verified, or no worse
    fn keep(&mut self, block: OpenRoots) -> bool {
        let known = self.blocks.iter().position(|known| known.hash == block.hash);
        // Blocks that anybody can make up go first.
        let first_out = || self.blocks.iter().position(|known| !known.is_verified).unwrap_or(0);
        let out = match known {
            Some(index) if self.blocks[index].is_verified || !block.is_verified => return false,
            None if self.blocks.len() == MAX_BLOCKS => Some(first_out()),
            known => known,
        };
        if let Some(index) = out {
            let removed = self.blocks.remove(index);
            for id in removed.awaited {
                if self.awaited.get(&id).is_some_and(|(block, _)| *block == removed.hash) {
                    self.awaited.remove(&id);
                }
            }
        }
        self.blocks.push(block);
        true
    }
}

impl OpenRoots {
    /// The member of a child that contradicts this block
    fn contradiction(&self, child: &BlockCheck) -> Option<Error> {
        if let Some(error) = self.form.and_then(|form| form.lacking(child)) {
            return Some(error);
        }
        child.confirmed_roots.iter().find_map(|confirmed| {
            let executed = self.contradicting(*confirmed)?;
            let detail = format!(
                "the outcomes of shard {} before it have the root {executed}, not {}",
                confirmed.shard_id, confirmed.root
            );
            Some(Error::new(ErrorKind::Chain, detail).at("block.chunks"))
        })
    }

    /// The root that a shard's new chunk should confirm, if it is known and another
    fn contradicting(&self, confirmed: OutcomeRoot) -> Option<CryptoHash> {
        let OutcomeRoot { shard_id, root } = confirmed;
        if let Some(open) = self.roots.iter().find(|open| open.shard_id == shard_id) {
            return (open.root != root).then_some(open.root);
        }
        // A shard that was not there before is a part of one that was, and confirms its root.
        let is_known = |shard: &ShardId| self.roots.iter().any(|open| open.shard_id == *shard);
        let is_part = !self.shard_ids.is_empty()
            && !self.shard_ids.contains(&shard_id)
            && self.shard_ids.iter().all(is_known);
        if !is_part || self.roots.iter().any(|open| open.root == root) {
            return None;
        }
        self.roots.first().map(|open| open.root)
    }
}

impl HeaderForm {
    /// Whether an epoch is this one; the first two of a chain have one id, of zeros
    fn is_epoch(self, epoch_id: CryptoHash) -> bool {
        epoch_id == self.epoch_id && epoch_id != CryptoHash::ZERO
    }

    /// The member that a child lacks, or that its header has another hash
    fn lacking(self, child: &BlockCheck) -> Option<Error> {
        let members = &child.members;
        let demanded = |path: &str, name: &str| {
            let detail = format!("{}, which the parent has", missing_field(name));
            Some(Error::new(ErrorKind::Schema, detail).at(path))
        };
        if let Some(error) = &members.missing {
            return Some(error.clone());
        }
        let mut lacking = members.lacking.iter();
        if let Some((_, name)) = lacking.find(|(version, _)| *version == self.version) {
            return demanded("block.header", name);
        }
        // Within an epoch nothing else can be missing.
        if members.has_other_hash && self.is_epoch(members.epoch_id) {
            let (hash, _) = child.hashes?;
            return Some(other_hash(hash));
        }
        if self.has_chunk_list && !members.has_chunk_list {
            return demanded("block", "chunks");
        }
        None
    }
}
