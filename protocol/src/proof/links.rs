//! What blocks say about those after them: roots of outcomes, and members of the header.
//!
//! What a shard executed in a block is confirmed by the shard's next new chunk, in the first block
//! after it that has one; of a shard that is split, by the first chunk of each part. Kept are the
//! open roots of the newest blocks, forks among them; a block whose parent is not kept has nothing
//! to compare, and neither has a shard that a partial feed lacks. The version of headers never
//! falls along a chain, so a member that the header of the parent has is demanded.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;

use super::block::other_hash;
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
    blocks: VecDeque<OpenRoots>,
}

/// What a block says about its children
#[derive(Clone, Debug, Default)]
struct OpenRoots {
    hash: CryptoHash,
    /// The shards of the block; none if they are unknown
    shard_ids: Vec<ShardId>,
    /// What is not confirmed up to it
    roots: Vec<OutcomeRoot>,
    /// Whether its header has the hash that it states, and nothing in it is wrong
    is_verified: bool,
    /// The form of the newest header up to it that has the hash that it states
    form: Option<HeaderForm>,
}

/// What every header has after one of this form
#[derive(Clone, Copy, Debug)]
struct HeaderForm {
    version: HeaderVersion,
    /// The epoch, in which the version stays the same
    epoch_id: CryptoHash,
    /// Whether the block lists the headers of its chunks
    has_chunk_list: bool,
}

impl OutcomeLinks {
    /// Whether a block agrees with its hash, and with what the blocks before it say
    ///
    /// Blocks are to be passed with each after its parent. A block that is wrong is kept too, until
    /// another one of its hash is not.
    pub fn verify(&mut self, check: &BlockCheck) -> VerificationResult {
        let Some((hash, prev_hash)) = check.hashes else { return check.result.clone() };
        let parent = self.blocks.iter().find(|block| block.hash == prev_hash);
        let open = parent.cloned().unwrap_or_default();
        let result = match &check.result {
            VerificationResult::Wrong(_) => check.result.clone(),
            result => match open.contradiction(check) {
                Some(error) => VerificationResult::Wrong(error),
                None => result.clone(),
            },
        };
        let is_wrong = matches!(result, VerificationResult::Wrong(_));
        let OpenRoots { mut roots, form, .. } = open;
        let is_new = |shard| check.confirmed_roots.iter().any(|root| root.shard_id == shard);
        // A shard that was split is in the block until both of its parts have a chunk.
        let is_there = |shard| check.shard_ids.is_empty() || check.shard_ids.contains(&shard);
        roots.retain(|root| is_there(root.shard_id) && !is_new(root.shard_id));
        roots.extend(&check.outcome_roots);
        let members = &check.members;
        let own_form = members.version.filter(|_| !is_wrong).map(|version| HeaderForm {
            version,
            epoch_id: members.epoch_id,
            has_chunk_list: members.has_chunk_list,
        });
        self.keep(OpenRoots {
            hash,
            shard_ids: check.shard_ids.clone(),
            roots,
            is_verified: own_form.is_some(),
            form: own_form.or(form),
        });
        result
    }

    /// Keeps a block, unless one of its hash is kept that is verified, or no worse
    fn keep(&mut self, block: OpenRoots) {
        if let Some(known) = self.blocks.iter_mut().find(|known| known.hash == block.hash) {
            if !known.is_verified && block.is_verified {
                *known = block;
            }
            return;
        }
        if self.blocks.len() == MAX_BLOCKS {
            // Blocks that anybody can make up go first.
            let index = self.blocks.iter().position(|known| !known.is_verified).unwrap_or(0);
            self.blocks.remove(index);
        }
        self.blocks.push_back(block);
    }
}

impl OpenRoots {
    /// What of a child contradicts this block
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
        if members.has_other_hash && members.epoch_id == self.epoch_id {
            let (hash, _) = child.hashes?;
            return Some(other_hash(hash));
        }
        if self.has_chunk_list && !members.has_chunk_list {
            return demanded("block", "chunks");
        }
        None
    }
}
