//! The steps from the root of a shard's outcomes to a block: the part of a proof that SPICE
//! changes.
//!
//! Until SPICE, a chunk's header has the root of the outcomes that the shard executed with its
//! chunk before, and the block's light header has the root over these of all shards. With SPICE,
//! execution is decoupled from chunks: a block certifies roots of executions in a tree of its own,
//! in another member of its header. The leaf of an outcome, its path in the shard, and the chain of
//! headers stay as they are, so only this module and [`LightHeader`] are replaced.

use alloc::vec::Vec;

use super::LightHeader;
use super::merkle::root_and_paths;
use super::message::Step;
use crate::primitives::CryptoHash;
use crate::views::MerklePathItem;

/// The path from the root of a shard's outcomes to the root in the header of the block whose chunks
/// have these `outcome_root`s, in the order of the shard layout; `None` if it is not among them
///
/// The block that confirms a root is the first one after its execution that has it. A chunk that
/// is missing repeats the root of the one before, and both parts of a shard that is split have its
/// root.
pub fn confirmation_path(
    shard_root: CryptoHash,
    outcome_roots: &[CryptoHash],
) -> Option<Vec<MerklePathItem>> {
    let chunk = outcome_roots.iter().position(|root| *root == shard_root)?;
    let leaves: Vec<_> = outcome_roots.iter().map(leaf).collect();
    let (_, mut paths) = root_and_paths(&leaves);
    Some(paths.swap_remove(chunk))
}

/// The root that the header of a block has, and the root to which the root of a shard's outcomes
/// leads by this path: the block confirms it if they are equal. `None` if the path has a direction
/// of no known variant
pub(super) fn block_roots(
    header: &LightHeader,
    shard_root: &CryptoHash,
    path: &[Step],
) -> Option<(CryptoHash, CryptoHash)> {
    Some((header.outcome_root, Step::fold(leaf(shard_root), path)?))
}

/// Roots of shards are hashed once more in the tree of the block
fn leaf(shard_root: &CryptoHash) -> CryptoHash {
    CryptoHash::digest(shard_root.as_bytes())
}
