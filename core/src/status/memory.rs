//! The memory of a walk, which the next one can use again.
//!
//! Between walks it holds no rows and no nodes, only room for them; and none for more nodes than all but
//! a few transactions have.

use alloc::vec::Vec;

use super::tree::Tree;
use crate::facts::Key;

/// The most nodes for which room is kept, with two keys each: some 150 bytes and 70
pub(crate) const KEPT: usize = 4_096;

/// What a walk keeps lists in
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The keys that are asked for
    pub(super) keys: Vec<Key>,
    pub(super) tree: Tree,
    /// Nodes with an outcome, depth first; the transaction's own comes first
    pub(super) order: Vec<u32>,
    /// Whether a node is in that order
    pub(super) listed: Vec<bool>,
    /// Nodes that are still to be listed, the next one last
    pub(super) stack: Vec<u32>,
}

impl Memory {
    /// The same memory without what is in it
    pub(super) fn cleared(mut self) -> Self {
        let Self { keys, tree, order, listed, stack } = &mut self;
        keys.clear();
        keys.shrink_to(2 * KEPT);
        tree.clear(KEPT);
        order.clear();
        order.shrink_to(KEPT);
        listed.clear();
        listed.shrink_to(KEPT);
        stack.clear();
        stack.shrink_to(KEPT);
        self
    }
}
