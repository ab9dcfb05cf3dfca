//! Turns of connections that are new, always have more to read, or have ended: few at a time, and
//! one client after the other.
//!
//! A task that wakes itself goes to the queue of its thread, which overflows into the queue of all
//! threads; threads rarely look there while they have tasks of their own. With hundreds of such
//! connections, the tasks of all others waited there for seconds. Here the former wait in queues of
//! their own, and the others run between two turns. However many connections a client has there,
//! another one is next after one of them.

use alloc::collections::VecDeque;
use core::future::Future as _;
use core::net::IpAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;

/// Connections that have a turn at a time: each may start some requests, and the queue of a thread
/// takes 256 tasks
const AT_A_TIME: usize = 16;

/// The queues of a server's connections
#[derive(Clone, Debug)]
pub(super) struct ReadTurns(mpsc::UnboundedSender<(IpAddr, oneshot::Sender<()>)>);

/// The place of a connection in the queue of its client, which it leaves when this is dropped
#[derive(Debug)]
pub(super) struct Turn(oneshot::Receiver<()>);

impl ReadTurns {
    /// Empty queues, and a task that ends with the last clone of this
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(grant(receiver));
        Self(sender)
    }

    /// A place at the end of the queue of this client, of which a connection has at most one
    pub(super) fn queue(&self, client: IpAddr) -> Turn {
        let (sender, receiver) = oneshot::channel();
        // If the runtime has dropped the task, the sender is dropped, and the turn comes at once.
        let _ = self.0.send((client, sender));
        Turn(receiver)
    }
}

impl Turn {
    /// Ready when it is the connection's turn
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(|_| ())
    }
}

/// The connections that wait
#[derive(Default)]
struct Waiting {
    /// The clients of `connections`, in the order of their turns
    clients: VecDeque<IpAddr>,
    connections: HashMap<IpAddr, VecDeque<oneshot::Sender<()>>>,
}

impl Waiting {
    fn push(&mut self, client: IpAddr, turn: oneshot::Sender<()>) {
        let turns = self.connections.entry(client).or_default();
        if turns.is_empty() {
            self.clients.push_back(client);
        }
        turns.push_back(turn);
    }

    fn pop(&mut self) -> Option<oneshot::Sender<()>> {
        let client = self.clients.pop_front()?;
        let Entry::Occupied(mut turns) = self.connections.entry(client) else { return None };
        let turn = turns.get_mut().pop_front();
        if turns.get().is_empty() {
            turns.remove();
        } else {
            self.clients.push_back(client);
        }
        turn
    }
}

async fn grant(mut queue: mpsc::UnboundedReceiver<(IpAddr, oneshot::Sender<()>)>) {
    let mut waiting = Waiting::default();
    while let Some((client, turn)) = queue.recv().await {
        waiting.push(client, turn);
        while !waiting.clients.is_empty() {
            // The runtime wakes this after the sockets that are ready, and only when no task is
            // left or some have run.
            yield_now().await;
            while let Ok((client, turn)) = queue.try_recv() {
                waiting.push(client, turn);
            }
            for _ in 0..AT_A_TIME {
                let Some(turn) = waiting.pop() else { break };
                // The connection may have ended.
                let _ = turn.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use core::future::poll_fn;
    use core::net::Ipv4Addr;
    use core::sync::atomic::AtomicUsize;
    use core::sync::atomic::Ordering::SeqCst;

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn few_of_many_connections_have_a_turn_before_other_tasks() {
        let queue = ReadTurns::new();
        let counts: [_; 40] = core::array::from_fn(|_| Arc::new(AtomicUsize::new(0)));
        for count in counts.clone() {
            let queue = queue.clone();
            tokio::spawn(async move {
                loop {
                    let mut turn = queue.queue(CLIENT);
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
            drop(queue.queue(CLIENT));
        }
        let mut turn = queue.queue(CLIENT);
        poll_fn(|context| turn.poll(context)).await;
    }

    #[tokio::test]
    async fn a_client_does_not_wait_for_all_connections_of_another() {
        let queue = ReadTurns::new();
        let other = IpAddr::V4(Ipv4Addr::BROADCAST);
        let others: Vec<Turn> = (0..10 * AT_A_TIME).map(|_| queue.queue(other)).collect();
        let mut turn = queue.queue(CLIENT);
        poll_fn(|context| turn.poll(context)).await;
        let granted = others.into_iter().filter_map(|mut turn| turn.0.try_recv().ok()).count();
        assert!(granted < AT_A_TIME, "{granted} have had a turn before");
    }
}
