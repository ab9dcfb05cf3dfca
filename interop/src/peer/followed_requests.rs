//! Open requests, and a node that follows the same chain.

use core::hint::black_box;

use milepost_benches::OpenRequests;

use super::{Node, hash, satisfies};

/// Open requests, and the rows of a node that imports the same blocks
#[derive(Debug)]
pub struct FollowedRequests {
    open_requests: OpenRequests,
    node: Node,
}

impl FollowedRequests {
    /// This number of open requests, as in [`OpenRequests::with_long_outcomes`]
    ///
    /// # Panics
    ///
    /// When the engine answers a request that has to wait, or the node cannot read a block.
    pub fn new(open: usize, seed: u64) -> Self {
        let open_requests = OpenRequests::with_long_outcomes(open, seed);
        let mut followed = Self { open_requests, node: Node::new() };
        followed.follow();
        followed
    }

    /// Calls `work` with the open requests; the node imports the new blocks afterwards
    ///
    /// # Panics
    ///
    /// When the node cannot read a block.
    pub fn with_requests<T>(&mut self, work: impl FnOnce(&mut OpenRequests) -> T) -> T {
        let result = work(&mut self.open_requests);
        self.follow();
        result
    }

    /// Builds the status of every open request with the node's types, as a node does on each block;
    /// returns how many have a status
    ///
    /// # Panics
    ///
    /// When one of the milestones is reached.
    pub fn build_all(&self) -> usize {
        let has_status = |(transaction, milestone)| {
            let status = self.node.status(hash(transaction));
            let Some(status) = black_box(status) else { return false };
            assert!(!satisfies(milestone, &status.status), "{transaction} until {milestone}");
            true
        };
        self.open_requests.requests().filter(|request| has_status(*request)).count()
    }

    fn follow(&mut self) {
        let messages = self.open_requests.take_messages();
        messages.iter().for_each(|message| self.node.import(message));
    }
}

#[cfg(test)]
mod tests {
    use milepost::status::StatusQuery;
    use milepost::storage::run;
    use serde_json::Value;

    use super::*;
    use crate::peer::write_response;

    #[test]
    fn engine_and_node_have_the_same_status_of_each_request() {
        let mut followed = FollowedRequests::new(200, 6);
        followed.with_requests(OpenRequests::time_respond);
        assert_eq!(followed.build_all(), 150);
        let mut compared = 0;
        for (transaction, _) in followed.open_requests.requests() {
            let mut query = StatusQuery::new(transaction, 1_000);
            let ours = run(&mut query, followed.open_requests.storage()).unwrap();
            let status = followed.node.status(hash(transaction));
            assert_eq!(ours.is_some(), status.is_some());
            let (Some(ours), Some(status)) = (ours, status) else { continue };
            let mut text = Vec::new();
            ours.write(true, &mut text).unwrap();
            let node = write_response(1.into(), status);
            let [ours, mut node] =
                [&text, &node].map(|text| serde_json::from_slice::<Value>(text).unwrap());
            // Hashes of transactions are random in the feed, and a node computes them from its row.
            node["result"]["transaction"]["hash"] = ours["transaction"]["hash"].clone();
            assert_eq!(ours, node["result"]);
            compared += 1;
        }
        assert_eq!(compared, 150);
    }
}
