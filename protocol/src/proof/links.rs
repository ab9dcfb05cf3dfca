//! The roots of outcomes that later blocks confirm.
//!
//! What a shard executed in a block is confirmed by the shard's next new chunk, in the first block
//! after it that has one. Kept are the open roots of the newest blocks, forks among them; a block
//! whose parent is not kept has nothing to compare.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;

use super::{BlockCheck, OutcomeRoot, VerificationResult};
use crate::primitives::CryptoHash;
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
    blocks: VecDeque<(CryptoHash, Vec<OutcomeRoot>)>,
}

impl OutcomeLinks {
    /// Whether a block agrees with its hash, and with what it confirms of the blocks before it
    ///
    /// Blocks are to be passed with each after its parent.
    pub fn verify(&mut self, check: &BlockCheck) -> VerificationResult {
        let (VerificationResult::Verified, Some((hash, prev_hash))) = (&check.result, check.hashes)
        else {
            return check.result.clone();
        };
        let parent = self.blocks.iter().find(|(kept, _)| *kept == prev_hash);
        let mut open = parent.map_or_else(Vec::new, |(_, open)| open.clone());
        for confirmed in &check.confirmed_roots {
            let shard_id = confirmed.shard_id;
            let Some(at) = open.iter().position(|root| root.shard_id == shard_id) else { continue };
            let executed = open.swap_remove(at).root;
            if executed != confirmed.root {
                let detail = format!(
                    "the outcomes of shard {shard_id} before it have the root {executed}, not {}",
                    confirmed.root
                );
                return VerificationResult::Wrong(
                    Error::new(ErrorKind::Chain, detail).at("block.chunks"),
                );
            }
        }
        open.extend(&check.outcome_roots);
        if self.blocks.len() == MAX_BLOCKS {
            self.blocks.pop_front();
        }
        self.blocks.push_back((hash, open));
        VerificationResult::Verified
    }
}
