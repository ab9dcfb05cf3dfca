//! The receipts below a transaction, as far as they are known.
//!
//! Nodes live in one list in the order in which they were found, the transaction first, and each id
//! is there once, whatever the outcomes say. What walking needs of an outcome is decoded once, when
//! its row has come. Nothing is decided here.

use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::Error;
use crate::facts::Row;
use crate::facts::record::{OutcomeRecord, OutcomeStatus, ReceiptRecord};
use crate::primitives::{BlockHeight, CryptoHash, HashBuilder};

/// Up to so many nodes are searched one by one, which is quicker than a table
const FEW: usize = 16;

/// The transaction, or a receipt that its execution generated
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: CryptoHash,
    pub(super) outcome: Option<Row>,
    pub(super) body: Option<Row>,
    /// What the outcome says, once it was read
    pub(super) executed: Option<Executed>,
}

/// What an outcome says to the walk
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed {
    pub(super) height: BlockHeight,
    pub(super) status: OutcomeStatus,
    /// Where its receipts stand among the children of all nodes
    children: (u32, u32),
    /// Where its text begins in the row
    fragment: u32,
}

impl Node {
    /// The outcome, unless its status is unknown, which counts as none
    pub(super) fn done(&self) -> Option<&Executed> {
        self.executed.as_ref().filter(|executed| executed.status != OutcomeStatus::Unknown)
    }

    /// Whether the receipt is known to be a refund
    pub(super) fn is_refund(&self) -> Result<bool, Error> {
        let body = self.body.as_deref().map(ReceiptRecord::decode).transpose()?;
        Ok(body.is_some_and(|body| body.refund))
    }

    /// The wire text of the outcome
    pub(super) fn fragment(&self) -> Option<&[u8]> {
        let start = self.executed.as_ref()?.fragment as usize;
        self.outcome.as_deref()?.get(start..)
    }
}

/// The nodes, and which generated which
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The places of the receipts of each outcome, one outcome behind the other
    children: Vec<u32>,
    /// The places by id, once there are more than a few
    places: HashMap<CryptoHash, u32, HashBuilder>,
}

impl Tree {
    /// Forgets all nodes, and keeps room for so many at most
    pub(super) fn clear(&mut self, kept: usize) {
        self.nodes.clear();
        self.nodes.shrink_to(kept);
        self.children.clear();
        self.children.shrink_to(kept);
        self.places.clear();
        self.places.shrink_to(kept);
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    pub(super) fn node(&self, place: u32) -> Option<&Node> {
        self.nodes.get(place as usize)
    }

    /// The place of the node with this id
    pub(super) fn place_of(&self, id: &CryptoHash) -> Option<u32> {
        if self.nodes.len() > FEW {
            return self.places.get(id).copied();
        }
        self.nodes.iter().zip(0..).find_map(|(node, place)| (node.id == *id).then_some(place))
    }

    /// The place of the node with this id, which is made unless it is there
    pub(super) fn add(&mut self, id: CryptoHash) -> u32 {
        if let Some(place) = self.place_of(&id) {
            return place;
        }
        // The limit of a walk is far below 2^32.
        let place = self.nodes.len() as u32;
        self.nodes.push(Node { id, outcome: None, body: None, executed: None });
        if self.nodes.len() == FEW + 1 {
            self.places.extend(self.nodes.iter().map(|node| node.id).zip(0..));
        } else if self.nodes.len() > FEW {
            self.places.insert(id, place);
        }
        place
    }

    /// Reads the outcome of a node and adds the receipts that it generated
    pub(super) fn read(&mut self, place: usize) -> Result<(), Error> {
        let row = self.nodes.get_mut(place).and_then(|node| node.outcome.take());
        let Some(row) = row else { return Ok(()) };
        let outcome = OutcomeRecord::decode(&row)?;
        let first = self.children.len() as u32;
        for id in outcome.receipts() {
            let child = self.add(id);
            self.children.push(child);
        }
        let executed = Executed {
            height: outcome.height,
            status: outcome.status,
            children: (first, self.children.len() as u32),
            // Rows are far below 4 GiB, as block messages are.
            fragment: (row.len() - outcome.fragment.len()) as u32,
        };
        if let Some(node) = self.nodes.get_mut(place) {
            node.executed = Some(executed);
            node.outcome = Some(row);
        }
        Ok(())
    }

    /// The receipts of an outcome, in its order
    pub(super) fn children(&self, executed: &Executed) -> &[u32] {
        let (first, end) = executed.children;
        self.children.get(first as usize..end as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_place_however_many_there_are() {
        let id = |number: u32| CryptoHash::digest(&number.to_le_bytes());
        for count in [1, 5, FEW as u32, FEW as u32 + 1, 100] {
            let mut tree = Tree::default();
            for number in (0..count).chain(0..count) {
                assert_eq!(tree.add(id(number)), number);
            }
            assert_eq!(tree.nodes().len(), count as usize);
            assert!((0..count).all(|number| tree.place_of(&id(number)) == Some(number)));
            assert_eq!(tree.place_of(&id(count)), None);
        }
    }

    #[test]
    fn a_tree_that_was_large_keeps_little_room() {
        let mut tree = Tree::default();
        for number in 0..5_000_u32 {
            tree.add(CryptoHash::digest(&number.to_le_bytes()));
        }
        tree.clear(64);
        assert!(tree.nodes().is_empty() && tree.nodes.capacity() < 128);
        assert!(tree.places.capacity() < 256);
        assert_eq!(tree.add(CryptoHash::ZERO), 0);
    }
}
