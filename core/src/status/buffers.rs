//! The reusable memory of a walk over receipts.
//!
//! Between walks it holds capacity only, no rows and no nodes, and not more capacity than all but a
//! few transactions need.

use alloc::vec::Vec;

use super::receipt_tree::ReceiptTree;
use crate::storage::Key;

/// Maximum number of nodes whose capacity is retained: some 150 bytes each, and 70 for their keys
pub(crate) const MAX_RETAINED_NODES: usize = 4_096;

/// The lists of a walk
#[derive(Debug, Default)]
pub(crate) struct WalkBuffers {
    /// The keys that the query needs
    pub(super) keys: Vec<Key>,
    pub(super) tree: ReceiptTree,
    /// Indices of the nodes that have an outcome, depth first; the transaction's own comes first
    pub(super) depth_first: Vec<u32>,
    /// Whether a node is in `depth_first`
    pub(super) visited: Vec<bool>,
    /// Indices of the nodes still to be visited, the next one last
    pub(super) stack: Vec<u32>,
}

impl WalkBuffers {
    /// The same buffers without their contents
    pub(super) fn cleared(mut self) -> Self {
        let Self { keys, tree, depth_first, visited, stack } = &mut self;
        keys.clear();
        keys.shrink_to(2 * MAX_RETAINED_NODES);
        tree.clear(MAX_RETAINED_NODES);
        depth_first.clear();
        depth_first.shrink_to(MAX_RETAINED_NODES);
        visited.clear();
        visited.shrink_to(MAX_RETAINED_NODES);
        stack.clear();
        stack.shrink_to(MAX_RETAINED_NODES);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_keeps_the_memory_of_4_096_receipts() {
        let mut buffers = WalkBuffers {
            keys: Vec::with_capacity(20_000),
            depth_first: Vec::with_capacity(20_000),
            stack: Vec::with_capacity(20_000),
            ..WalkBuffers::default()
        };
        buffers.stack.push(7);
        let buffers = buffers.cleared();
        assert!((8_192..16_384).contains(&buffers.keys.capacity()), "{}", buffers.keys.capacity());
        for capacity in [buffers.depth_first.capacity(), buffers.stack.capacity()] {
            assert!((4_096..8_192).contains(&capacity), "{capacity}");
        }
        assert!(buffers.stack.is_empty());
    }
}
