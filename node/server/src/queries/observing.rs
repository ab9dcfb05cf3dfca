//! The task that observes watched transactions after each block that may have changed them.

use alloc::sync::Arc;

use super::Queries;

/// Observes transactions and publishes their states, until the service shuts down
pub(crate) async fn run(queries: Arc<Queries>) {
    let watching = &queries.chain.waits.watching;
    while !queries.chain.is_shut_down() {
        let transactions = watching.poll_observations();
        if transactions.is_empty() {
            tokio::select! {
                biased;
                // A notification since the poll is stored, so it is not missed.
                () = watching.work.notified() => {}
                () = queries.chain.shutdown_signal() => break,
            }
            continue;
        }
        let observed = queries.observe_at(transactions).await;
        watching.publish(observed);
    }
    watching.close();
}
