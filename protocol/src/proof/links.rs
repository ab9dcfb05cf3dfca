//! The roots of outcomes that later blocks confirm.
//!
//! What a shard executed in a block is confirmed by the shard's next new chunk, in the first block
//! after it that has one; of a shard that is split, by the first chunk of each part. Kept are the
//! open roots of the newest blocks, forks among them; a block whose parent is not kept has nothing
//! to compare, and neither has a shard that a partial feed lacks.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;

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

/// What is not confirmed up to a block
#[derive(Clone, Debug, Default)]
struct OpenRoots {
    hash: CryptoHash,
    /// The shards of the block; none if they are unknown
    shard_ids: Vec<ShardId>,
    roots: Vec<OutcomeRoot>,
}

impl OutcomeLinks {
    /// Whether a block agrees with its hash, and with what it confirms of the blocks before it
    ///
    /// Blocks are to be passed with each after its parent.
    pub fn verify(&mut self, check: &BlockCheck) -> VerificationResult {
        let Some((hash, prev_hash)) = check.hashes.filter(|_| check.is_linked()) else {
            return check.result.clone();
        };
        let parent = self.blocks.iter().find(|block| block.hash == prev_hash);
        let open = parent.cloned().unwrap_or_default();
        for confirmed in &check.confirmed_roots {
            if let Some(executed) = open.contradicting(*confirmed) {
                let detail = format!(
                    "the outcomes of shard {} before it have the root {executed}, not {}",
                    confirmed.shard_id, confirmed.root
                );
                return VerificationResult::Wrong(
                    Error::new(ErrorKind::Chain, detail).at("block.chunks"),
                );
            }
        }
        let OpenRoots { mut roots, .. } = open;
        let is_new = |shard| check.confirmed_roots.iter().any(|root| root.shard_id == shard);
        // A shard that was split is in the block until both of its parts have a chunk.
        roots.retain(|root| check.shard_ids.contains(&root.shard_id) && !is_new(root.shard_id));
        roots.extend(&check.outcome_roots);
        if self.blocks.len() == MAX_BLOCKS {
            self.blocks.pop_front();
        }
        self.blocks.push_back(OpenRoots { hash, shard_ids: check.shard_ids.clone(), roots });
        check.result.clone()
    }
}

impl OpenRoots {
    /// The root that a shard's new chunk should confirm, if it is known and another
    fn contradicting(&self, confirmed: OutcomeRoot) -> Option<CryptoHash> {
        let OutcomeRoot { shard_id, root } = confirmed;
        if let Some(open) = self.roots.iter().find(|open| open.shard_id == shard_id) {
            return (open.root != root).then_some(open.root);
        }
        // A shard that was not there before is a part of one that was, and confirms its root.
        let is_known = |shard: &ShardId| self.roots.iter().any(|open| open.shard_id == *shard);
        let is_part = !self.shard_ids.contains(&shard_id) && self.shard_ids.iter().all(is_known);
        if !is_part || self.roots.iter().any(|open| open.root == root) {
            return None;
        }
        self.roots.first().map(|open| open.root)
    }
}
