//! The Merkle tree of the hashes of all blocks, to which each block adds its parent.
//!
//! Kept are the roots of the complete subtrees, one for each bit of the number of leaves that is
//! set, so memory is logarithmic.

use alloc::vec::Vec;

use milepost::primitives::CryptoHash;
use milepost::proof::root;

/// A Merkle tree that grows
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockTree {
    /// Number of leaves
    len: u64,
    /// Roots of the complete subtrees, the largest first
    subtrees: Vec<CryptoHash>,
}

impl BlockTree {
    pub(crate) fn push(&mut self, leaf: CryptoHash) {
        let mut node = leaf;
        for _ in 0..self.len.trailing_ones() {
            node = root(self.subtrees.pop().into_iter().chain([node]).collect());
        }
        self.subtrees.push(node);
        self.len += 1;
    }

    /// The root of all leaves
    pub(crate) fn root(&self) -> CryptoHash {
        let smallest_first = self.subtrees.iter().rev().copied();
        smallest_first
            .reduce(|right, left| root([left, right].to_vec()))
            .unwrap_or(CryptoHash::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_that_of_a_tree_of_all_leaves() {
        let (mut tree, mut leaves) = (BlockTree::default(), Vec::new());
        for number in 0..40_u8 {
            assert_eq!(tree.root(), root(leaves.clone()), "{number} leaves");
            leaves.push(CryptoHash::digest(&[number]));
            tree.push(CryptoHash::digest(&[number]));
        }
        assert!(tree.subtrees.len() < 6);
    }
}
