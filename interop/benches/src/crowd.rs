//! Many open requests, and a node that follows the same chain.

use core::hint::black_box;

use milepost_benches::Crowd;

use super::{Rows, hash, satisfies};

/// A crowd, and the rows of a node that takes in the same blocks
#[derive(Debug)]
pub struct CrowdBesideANode {
    crowd: Crowd,
    rows: Rows,
}

impl CrowdBesideANode {
    /// So many open requests on a chain whose outcomes are as long as on a network; see [`Crowd::new`]
    ///
    /// # Panics
    ///
    /// When the engine answers what should wait, or the node refuses a block.
    pub fn new(open: usize, seed: u64) -> Self {
        let mut new = Self { crowd: Crowd::with_long_outcomes(open, seed), rows: Rows::new() };
        new.follow();
        new
    }

    /// What `work` makes of the crowd; the node takes in the blocks that came meanwhile afterwards
    ///
    /// # Panics
    ///
    /// When the node refuses a block.
    pub fn with_crowd<T>(&mut self, work: impl FnOnce(&mut Crowd) -> T) -> T {
        let result = work(&mut self.crowd);
        self.follow();
        result
    }

    /// Builds the status of every open request as a node does on each block, of the node's types;
    /// how many have a status
    ///
    /// # Panics
    ///
    /// When one of the milestones is reached.
    pub fn build_all(&self) -> usize {
        let has_status = |(transaction, until)| {
            let status = self.rows.status(hash(transaction));
            let Some(status) = black_box(status) else { return false };
            assert!(!satisfies(until, &status.status), "{transaction} until {until}");
            true
        };
        self.crowd.requests().filter(|request| has_status(*request)).count()
    }

    fn follow(&mut self) {
        self.crowd.take_messages().iter().for_each(|message| self.rows.take_in(message));
    }
}

#[cfg(test)]
mod tests {
    use milepost::facts::drive;
    use milepost::status::StatusQuestion;
    use serde_json::Value;

    use super::*;
    use crate::response;

    #[test]
    fn a_node_would_answer_the_crowd_the_same() {
        let mut both = CrowdBesideANode::new(200, 6);
        both.with_crowd(Crowd::time_answer);
        assert_eq!(both.build_all(), 150);
        let mut compared = 0;
        for (transaction, _) in both.crowd.requests() {
            let mut question = StatusQuestion::new(transaction, 1_000);
            let standing = drive(&mut question, both.crowd.storage()).unwrap();
            let status = both.rows.status(hash(transaction));
            assert_eq!(standing.is_some(), status.is_some());
            let (Some(standing), Some(status)) = (standing, status) else { continue };
            let mut ours = Vec::new();
            standing.write(true, &mut ours).unwrap();
            let node = response(1.into(), status);
            let [ours, mut node] =
                [&ours, &node].map(|text| serde_json::from_slice::<Value>(text).unwrap());
            // The feed makes up the hashes of transactions, and a node finds the real one in its row.
            node["result"]["transaction"]["hash"] = ours["transaction"]["hash"].clone();
            assert_eq!(ours, node["result"]);
            compared += 1;
        }
        assert_eq!(compared, 150);
    }
}
