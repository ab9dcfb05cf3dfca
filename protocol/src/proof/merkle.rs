//! Merkle trees of SHA-256: an inner node is the hash of its two children.
//!
//! Nodes are paired from left to right; the last of an odd number moves up unchanged. The root of
//! no leaves is all zero.

use alloc::vec;
use alloc::vec::Vec;

use crate::primitives::CryptoHash;
use crate::views::{Direction, MerklePathItem, UnknownFields};

/// The hash of two hashes, as of an inner node
pub(super) fn pair(left: &CryptoHash, right: &CryptoHash) -> CryptoHash {
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
        Direction::Left => Some(pair(&item.hash, &node)),
        Direction::Right => Some(pair(&node, &item.hash)),
        _ => None,
    })
}

/// The root of these leaves, in order
pub fn root(mut nodes: Vec<CryptoHash>) -> CryptoHash {
    while nodes.len() > 1 {
        nodes = parents(&nodes);
    }
    nodes.first().copied().unwrap_or(CryptoHash::ZERO)
}

/// The root of these leaves, in order, and the path from each leaf to it
///
/// ```
/// use milepost_protocol::primitives::CryptoHash;
/// use milepost_protocol::proof::{fold, root_and_paths};
///
/// let leaves = [b"first", b"other", b"third"].map(|text| CryptoHash::digest(text));
/// let (root, paths) = root_and_paths(&leaves);
/// assert_eq!((paths[0].len(), paths[2].len()), (2, 1));
/// assert_eq!(fold(leaves[2], &paths[2]), Some(root));
/// ```
pub fn root_and_paths(leaves: &[CryptoHash]) -> (CryptoHash, Vec<Vec<MerklePathItem>>) {
    let mut paths = vec![Vec::new(); leaves.len()];
    let mut nodes = leaves.to_vec();
    let mut level = 0;
    while nodes.len() > 1 {
        for (leaf, path) in paths.iter_mut().enumerate() {
            let index = leaf >> level;
            if let Some(sibling) = nodes.get(index ^ 1) {
                let direction = if index & 1 == 0 { Direction::Right } else { Direction::Left };
                let unknown_fields = UnknownFields::default();
                path.push(MerklePathItem { direction, hash: *sibling, unknown_fields });
            }
        }
        nodes = parents(&nodes);
        level += 1;
    }
    (nodes.first().copied().unwrap_or(CryptoHash::ZERO), paths)
}

/// The nodes of the next level of a tree
pub(super) fn parents(nodes: &[CryptoHash]) -> Vec<CryptoHash> {
    let (pairs, last) = nodes.as_chunks();
    pairs.iter().map(|[left, right]| pair(left, right)).chain(last.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_to_the_root() {
        for count in 0..20_u8 {
            let leaves: Vec<_> = (0..count).map(|leaf| CryptoHash::digest(&[leaf])).collect();
            let (found, paths) = root_and_paths(&leaves);
            assert_eq!(found, root(leaves.clone()), "{count} leaves");
            for (leaf, path) in leaves.into_iter().zip(paths) {
                assert_eq!(fold(leaf, &path), Some(found), "{count} leaves");
            }
        }
    }
}
