//! Turns of connections that always have more to read, or have ended: few at a time, in the order
//! of their queue.
//!
//! A task that wakes itself goes to the queue of its thread, which overflows into the queue of all
//! threads; threads rarely look there while they have tasks of their own. With hundreds of such
//! connections, the tasks of all others waited there for seconds. Here the former wait in a queue
//! of their own, and the others run between two turns.

use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Poll};

use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;

/// Connections that have a turn at a time: each may start some requests, and the queue of a thread
/// takes 256 tasks
const AT_A_TIME: usize = 16;

/// The queue of a server's connections
#[derive(Clone, Debug)]
pub(super) struct ReadTurns(mpsc::UnboundedSender<oneshot::Sender<()>>);

/// The place of a connection in the queue, which it leaves when this is dropped
#[derive(Debug)]
pub(super) struct Turn(oneshot::Receiver<()>);

impl ReadTurns {
    /// An empty queue, and a task that ends with the last clone of it
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(grant(receiver));
        Self(sender)
    }

    /// A place at the end of the queue, of which a connection has at most one
    pub(super) fn queue(&self) -> Turn {
        let (sender, receiver) = oneshot::channel();
        // If the runtime has dropped the task, the sender is dropped, and the turn comes at once.
        let _ = self.0.send(sender);
        Turn(receiver)
    }
}

impl Turn {
    /// Ready when it is the connection's turn
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(|_| ())
    }
}

async fn grant(mut queue: mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
    let mut turns = Vec::with_capacity(AT_A_TIME);
    while queue.recv_many(&mut turns, AT_A_TIME).await > 0 {
        // The runtime wakes this after the sockets that are ready, and only when no task is left or
        // some have run.
        yield_now().await;
        for turn in turns.drain(..) {
            // The connection may have ended.
            let _ = turn.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use core::future::poll_fn;
    use core::sync::atomic::AtomicUsize;
    use core::sync::atomic::Ordering::SeqCst;

    use super::*;

    #[tokio::test]
    async fn few_of_many_connections_have_a_turn_before_other_tasks() {
        let queue = ReadTurns::new();
        let counts: [_; 40] = core::array::from_fn(|_| Arc::new(AtomicUsize::new(0)));
        for count in counts.clone() {
            let queue = queue.clone();
            tokio::spawn(async move {
                loop {
                    let mut turn = queue.queue();
                    poll_fn(|context| turn.poll(context)).await;
                    count.fetch_add(1, SeqCst);
                }
            });
        }
        let sum = || counts.iter().map(|count| count.load(SeqCst)).sum::<usize>();
        let mut before = 0;
        for _ in 0..1_000 {
            yield_now().await;
            let now = sum();
            assert!(now - before <= AT_A_TIME, "{} have had a turn", now - before);
            before = now;
        }
        let all = counts.iter().map(|count| count.load(SeqCst));
        let (least, most) = (all.clone().min(), all.max());
        assert!(least > Some(100) && most <= least.map(|it| it + 1), "{least:?} to {most:?}");
    }

    #[tokio::test]
    async fn a_connection_that_ended_holds_up_no_other() {
        let queue = ReadTurns::new();
        for _ in 0..3 * AT_A_TIME {
            drop(queue.queue());
        }
        let mut turn = queue.queue();
        poll_fn(|context| turn.poll(context)).await;
    }
}
