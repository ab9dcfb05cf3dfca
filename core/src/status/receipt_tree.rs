//! The receipt tree of a transaction, as far as it is known.
//!
//! Nodes are in one list in the order in which they were found, the transaction first. Each id
//! occurs once, whatever the outcomes claim. What a walk needs of an outcome is decoded once, after
//! its row was supplied. Nothing is decided here.

use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash, HashBuilder};
use crate::storage::Row;
use crate::storage::rows::{OutcomeRecord, OutcomeStatus, ReceiptRecord};

/// Maximum number of nodes that are searched linearly, which is faster than a hash table
const MAX_LINEAR_SEARCH: usize = 16;

/// The transaction, or a receipt that its execution generated
#[derive(Debug)]
pub(super) struct TreeNode {
    pub(super) id: CryptoHash,
    pub(super) outcome: Option<Row>,
    pub(super) body: Option<Row>,
    /// The decoded members of the outcome
    pub(super) summary: Option<OutcomeSummary>,
}

/// The members of an outcome that a walk needs
#[derive(Clone, Copy, Debug)]
pub(super) struct OutcomeSummary {
    pub(super) height: BlockHeight,
    pub(super) status: OutcomeStatus,
    /// Start and end of its receipts among the children of all nodes
    children: (u32, u32),
    /// Offset of its fragment in the row
    fragment: u32,
}

impl TreeNode {
    /// The outcome; one with an unknown status counts as none
    pub(super) fn executed(&self) -> Option<&OutcomeSummary> {
        self.summary.as_ref().filter(|summary| summary.status != OutcomeStatus::Unknown)
    }

    /// Whether the receipt is known to be a refund
    pub(super) fn is_refund(&self) -> Result<bool, Error> {
        let body = self.body.as_deref().map(ReceiptRecord::decode).transpose()?;
        Ok(body.is_some_and(|body| body.refund))
    }

    /// The wire text of the outcome
    pub(super) fn fragment(&self) -> Option<&[u8]> {
        let start = self.summary.as_ref()?.fragment as usize;
        self.outcome.as_deref()?.get(start..)
    }
}

/// The nodes and their parent-child relation
#[derive(Debug, Default)]
pub(super) struct ReceiptTree {
    nodes: Vec<TreeNode>,
    /// Indices of the receipts of each outcome, outcome after outcome
    children: Vec<u32>,
    /// Indices by id, once there are more than [`MAX_LINEAR_SEARCH`] nodes
    index_by_id: HashMap<CryptoHash, u32, HashBuilder>,
}

impl ReceiptTree {
    /// Removes all nodes, and retains capacity for at most `max_capacity` of them
    pub(super) fn clear(&mut self, max_capacity: usize) {
        self.nodes.clear();
        self.nodes.shrink_to(max_capacity);
        self.children.clear();
        self.children.shrink_to(max_capacity);
        self.index_by_id.clear();
        self.index_by_id.shrink_to(max_capacity);
    }

    pub(super) fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// The nodes of the receipts, without that of the transaction
    pub(super) fn receipts(&self) -> &[TreeNode] {
        self.nodes.get(1..).unwrap_or_default()
    }

    pub(super) fn nodes_mut(&mut self) -> &mut [TreeNode] {
        &mut self.nodes
    }

    pub(super) fn node(&self, index: u32) -> Option<&TreeNode> {
        self.nodes.get(index as usize)
    }

    /// The index of the node with this id
    pub(super) fn index_of(&self, id: &CryptoHash) -> Option<u32> {
        if self.nodes.len() > MAX_LINEAR_SEARCH {
            return self.index_by_id.get(id).copied();
        }
        self.nodes.iter().zip(0..).find_map(|(node, index)| (node.id == *id).then_some(index))
    }

    /// The index of the node with this id, which is added unless it exists
    pub(super) fn add(&mut self, id: CryptoHash) -> u32 {
        if let Some(index) = self.index_of(&id) {
            return index;
        }
        // The limit of a walk is far below 2^32.
        let index = self.nodes.len() as u32;
        self.nodes.push(TreeNode { id, outcome: None, body: None, summary: None });
        if self.nodes.len() == MAX_LINEAR_SEARCH + 1 {
            self.index_by_id.extend(self.nodes.iter().map(|node| node.id).zip(0..));
        } else if self.nodes.len() > MAX_LINEAR_SEARCH {
            self.index_by_id.insert(id, index);
        }
        index
    }

    /// Decodes the outcome of a node and adds the receipts that it generated
    pub(super) fn decode_outcome(&mut self, index: usize) -> Result<(), Error> {
        let row = self.nodes.get_mut(index).and_then(|node| node.outcome.take());
        let Some(row) = row else { return Ok(()) };
        let outcome = OutcomeRecord::decode(&row)?;
        let first = self.children.len() as u32;
        for id in outcome.receipts() {
            let child = self.add(id);
            self.children.push(child);
        }
        let summary = OutcomeSummary {
            height: outcome.height,
            status: outcome.status,
            children: (first, self.children.len() as u32),
            // Rows are far below 4 GiB, as block messages are.
            fragment: (row.len() - outcome.fragment.len()) as u32,
        };
        if let Some(node) = self.nodes.get_mut(index) {
            node.summary = Some(summary);
            node.outcome = Some(row);
        }
        Ok(())
    }

    /// The indices of the receipts of an outcome, in its order
    pub(super) fn children(&self, summary: &OutcomeSummary) -> &[u32] {
        let (first, end) = summary.children;
        self.children.get(first as usize..end as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_added_once_below_and_above_the_linear_search_limit() {
        let id = |number: u32| CryptoHash::digest(&number.to_le_bytes());
        for count in [1, 5, MAX_LINEAR_SEARCH as u32, MAX_LINEAR_SEARCH as u32 + 1, 100] {
            let mut tree = ReceiptTree::default();
            for number in (0..count).chain(0..count) {
                assert_eq!(tree.add(id(number)), number);
            }
            assert_eq!(tree.nodes().len(), count as usize);
            assert!((0..count).all(|number| tree.index_of(&id(number)) == Some(number)));
            assert_eq!(tree.index_of(&id(count)), None);
        }
    }

    #[test]
    fn clear_retains_at_most_the_given_capacity() {
        let mut tree = ReceiptTree::default();
        for number in 0..5_000_u32 {
            tree.add(CryptoHash::digest(&number.to_le_bytes()));
        }
        tree.clear(64);
        assert!(tree.nodes().is_empty() && tree.nodes.capacity() < 128);
        assert!(tree.index_by_id.capacity() < 256);
        assert_eq!(tree.add(CryptoHash::ZERO), 0);
    }
}
