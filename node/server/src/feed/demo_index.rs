//! The newest practice transactions, to find one that is at a given milestone now.
//!
//! A transaction passes its milestones within seconds, so a request that was printed at the start
//! soon shows only `FINAL`. A lookup by milestone runs the statuses of the newest transactions, and
//! waits for the next block if none matches. The index exists only while the practice chain runs.

use alloc::sync::Arc;
use std::sync::Mutex;

use milepost::endpoint::{RequestState, Response};
use milepost::primitives::{AccountId, BlockHeight, CryptoHash};
use milepost::status::Milestone;
use serde_json::{Value, json};
use tokio::time::{self, Instant};

use crate::chain::Chain;
use crate::locks::lock;

/// The newest practice transactions, newest first
#[derive(Default)]
pub(crate) struct DemoIndex(Mutex<Arc<Vec<DemoTransaction>>>);

/// A practice transaction
pub(crate) struct DemoTransaction {
    /// The request for its current status
    pub(crate) request: String,
    pub(crate) hash: CryptoHash,
    pub(crate) signer_id: AccountId,
    pub(crate) receiver_id: AccountId,
    /// The name of its [`milepost_practice::Kind`]
    pub(crate) kind: &'static str,
    /// What it does
    pub(crate) label: &'static str,
    /// Height of the block that includes it
    pub(crate) height: BlockHeight,
}

impl DemoIndex {
    /// Replaces the transactions by the newest ones
    pub(crate) fn replace(&self, transactions: Vec<DemoTransaction>) {
        *lock(&self.0) = Arc::new(transactions);
    }

    fn transactions(&self) -> Arc<Vec<DemoTransaction>> {
        Arc::clone(&lock(&self.0))
    }

    /// All transactions as JSON, newest first
    pub(crate) fn to_json(&self) -> Value {
        let entry = |transaction: &DemoTransaction| {
            json!({
                "tx_hash": transaction.hash.to_string(),
                "signer_id": transaction.signer_id.to_string(),
                "receiver_id": transaction.receiver_id.to_string(),
                "kind": transaction.kind,
                "label": transaction.label,
                "height": transaction.height,
            })
        };
        self.transactions().iter().map(entry).collect()
    }

    /// The status of a transaction that is at this milestone now; `None` if none gets there within
    /// the wait timeout
    pub(crate) async fn find_at_milestone(
        &self,
        milestone: Milestone,
        chain: &Arc<Chain>,
    ) -> Option<Response> {
        let deadline = Instant::now() + chain.waits.timeout;
        let mut commits = chain.commits();
        loop {
            let transactions = self.transactions();
            let found = chain.spawn_blocking(move |chain| {
                transactions.iter().find_map(|transaction| {
                    let request = transaction.request.as_bytes();
                    respond_at(chain, transaction.hash, milestone, request)
                })
            });
            if let Some(response) = found.await.flatten() {
                return Some(response);
            }
            tokio::select! {
                () = chain.shutdown_signal() => return None,
                () = time::sleep_until(deadline) => return None,
                _ = commits.changed() => {}
            }
        }
    }
}

/// Answers a request about a transaction in the store that is at this milestone now, without
/// waiting; `None` if it is at another, or cannot be read; may block the thread on I/O
pub(crate) fn respond_at(
    chain: &Chain,
    hash: CryptoHash,
    milestone: Milestone,
    body: &[u8],
) -> Option<Response> {
    let (engine, snapshot) = (chain.engine_of_store(), chain.store().snapshot());
    let summary = engine.observe(hash, &snapshot).ok()?.summary?;
    if summary.milestone != milestone {
        return None;
    }
    match engine.respond(engine.parse(body, None), &snapshot) {
        RequestState::Ready(response) => Some(response),
        RequestState::Pending(_) => None,
    }
}
