//! The task that observes watched transactions after each block that may have changed them.

use alloc::sync::Arc;

use crate::service::Service;

/// Observes transactions and publishes their states, until the service shuts down
pub(crate) async fn run(service: Arc<Service>) {
    let watching = &service.watching;
    while !service.is_shut_down() {
        let transactions = watching.poll_observations();
        if transactions.is_empty() {
            tokio::select! {
                biased;
                // A notification since the poll is stored, so it is not missed.
                () = watching.work.notified() => {}
                () = service.shutdown_signal() => break,
            }
            continue;
        }
        let observed = service.observe_at(transactions).await;
        watching.publish(observed);
    }
    watching.close();
}
