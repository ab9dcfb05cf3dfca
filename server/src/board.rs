//! What stands at each milestone of the practice chain at this moment.
//!
//! A transaction passes its milestones within seconds, so a request that was printed at the start
//! soon shows only `FINAL`. The board holds the newest practice transactions; asked for a milestone, it
//! looks for one that stands there now, and waits for the next block if there is none. It exists
//! only while the practice chain is played, and lists what is on it for those who want to pick.

use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};

use milepost::engine::Answer;
use milepost::primitives::{AccountId, BlockHeight, CryptoHash};
use milepost::status::Milestone;
use serde_json::{Value, json};
use tokio::time::{self, Instant};

use crate::node::Node;
use crate::scan;

/// The notices that the practice feed has put on the board, newest first
#[derive(Default)]
pub(crate) struct Board(Mutex<Arc<Vec<Notice>>>);

/// A practice transaction on the board
pub(crate) struct Notice {
    /// The request for its status as it is now
    pub(crate) request: String,
    pub(crate) hash: CryptoHash,
    pub(crate) signer_id: AccountId,
    pub(crate) receiver_id: AccountId,
    /// What it is an example of
    pub(crate) kind: &'static str,
    /// What it does
    pub(crate) label: &'static str,
    /// Height of the block that includes it
    pub(crate) height: BlockHeight,
}

impl Board {
    /// Puts up the newest transactions
    pub(crate) fn put_up(&self, notices: Vec<Notice>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(notices);
    }

    fn notices(&self) -> Arc<Vec<Notice>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is on the board, newest first
    pub(crate) fn listing(&self) -> Value {
        let listed = |notice: &Notice| {
            json!({
                "tx_hash": notice.hash.to_string(),
                "signer_id": notice.signer_id.to_string(),
                "receiver_id": notice.receiver_id.to_string(),
                "kind": notice.kind,
                "label": notice.label,
                "height": notice.height,
            })
        };
        self.notices().iter().map(listed).collect()
    }

    /// The status of a transaction that stands at this milestone now; `None` when none came to
    /// stand there within the wait timeout
    pub(crate) async fn standing_at(
        &self,
        milestone: Milestone,
        node: &Arc<Node>,
    ) -> Option<Answer> {
        let deadline = Instant::now() + node.wait_timeout;
        let mut commits = node.commits();
        loop {
            let notices = self.notices();
            let found = node.beside(move |node| {
                let requests = notices.iter().map(|notice| notice.request.as_bytes());
                let answers = requests.map(|request| node.ask_now(request));
                answers
                    .into_iter()
                    .find(|answer| reached(answer).as_deref() == Some(milestone.name()))
            });
            if let Some(answer) = found.await.flatten() {
                return Some(answer);
            }
            tokio::select! {
                () = node.stopping() => return None,
                () = time::sleep_until(deadline) => return None,
                _ = commits.changed() => {}
            }
        }
    }
}

/// The milestone that an answer reports
pub(crate) fn reached(answer: &Answer) -> Option<String> {
    // Reading from memory cannot fail.
    scan::scalar_at(answer.body.as_slice(), &["result", "final_execution_status"]).ok().flatten()
}
