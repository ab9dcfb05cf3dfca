//! Merkle trees of SHA-256: an inner node is the hash of its two children.
//!
//! Nodes are paired from left to right; the last of an odd number moves up unchanged. The root of
//! no leaves is all zero.

use alloc::vec::Vec;

use crate::primitives::CryptoHash;
use crate::views::{Direction, MerklePathItem};

/// The hash of two hashes, as of an inner node
pub(super) fn pair(left: CryptoHash, right: CryptoHash) -> CryptoHash {
    let mut children = [0; 64];
    children[..32].copy_from_slice(left.as_bytes());
    children[32..].copy_from_slice(right.as_bytes());
    CryptoHash::digest(&children)
}

/// The root to which a path leads from a leaf; `None` if a direction is unknown
///
/// ```
/// use milepost_protocol::primitives::CryptoHash;
/// use milepost_protocol::proof::{fold, root};
///
/// let leaf = CryptoHash::digest(b"the only leaf");
/// assert_eq!(fold(leaf, &[]), Some(leaf));
/// assert_eq!(root(vec![leaf]), leaf);
/// ```
pub fn fold(leaf: CryptoHash, path: &[MerklePathItem]) -> Option<CryptoHash> {
    path.iter().try_fold(leaf, |node, item| match item.direction {
        Direction::Left => Some(pair(item.hash, node)),
        Direction::Right => Some(pair(node, item.hash)),
        _ => None,
    })
}

/// The root of these leaves, in order
pub fn root(mut nodes: Vec<CryptoHash>) -> CryptoHash {
    while nodes.len() > 1 {
        let pairs = nodes.chunks(2).map(|children| match children {
            [left, right] => pair(*left, *right),
            [single, ..] => *single,
            [] => CryptoHash::ZERO,
        });
        nodes = pairs.collect();
    }
    nodes.first().copied().unwrap_or(CryptoHash::ZERO)
}
