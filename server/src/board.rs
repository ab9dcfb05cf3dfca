//! What stands at each milestone of the practice chain at this moment.
//!
//! A transaction passes its milestones within seconds, so a request that was printed at the start
//! soon shows only `FINAL`. The board holds the newest practice transactions; asked for a milestone, it
//! looks for one that stands there now, and waits for the next block if there is none. It exists
//! only while the practice chain is played.

use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};

use milepost::engine::Answer;
use milepost::status::Milestone;
use tokio::time::{self, Instant};

use crate::node::Node;
use crate::scan;

/// The requests that the practice feed has put on the board, newest first
#[derive(Default)]
pub(crate) struct Board(Mutex<Arc<Vec<String>>>);

impl Board {
    /// Puts up requests for the status of the newest transactions
    pub(crate) fn put_up(&self, requests: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(requests);
    }

    fn requests(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
            let requests = self.requests();
            let found = node.beside(move |node| {
                let answers = requests.iter().map(|request| node.ask_now(request.as_bytes()));
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
