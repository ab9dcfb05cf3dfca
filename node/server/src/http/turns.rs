//! Turns of connections that are new, always have more to read, or have ended: few at a time, and
//! one client after the other.
//!
//! A task that wakes itself goes to the queue of its thread, which overflows into the queue of all
//! threads; threads rarely look there while they have tasks of their own. With hundreds of such
//! connections, the tasks of all others waited there for seconds. Here the former wait in queues of
//! their own, and the others run between two turns. However many connections a client has there,
//! another one is next after one of them.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::future::Future as _;
use core::mem;
use core::net::IpAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;

use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::locks::lock;

/// Connections of each queue that have a turn at a time: each may start some requests, and the
/// queue of a thread takes 256 tasks
const AT_A_TIME: usize = 8;
/// A client whose oldest new connection has waited this long opens connections faster than the
/// server starts them: some hundreds in this time
const LATE: Duration = Duration::from_millis(20);

/// The queues of a server's connections
#[derive(Clone)]
pub(super) struct Turns {
    waiting: Arc<Mutex<Waiting>>,
    /// Wakes the task that gives turns, which ends with the last clone of this
    wake: mpsc::Sender<()>,
}

/// The place of a connection in the queue of its client; its turn passes unused if this is dropped
#[derive(Debug)]
pub(super) struct Turn(oneshot::Receiver<()>);

/// Starts a new connection, or closes it when it is dropped
type Start = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Waiting {
    /// Connections that have not started, and when they were accepted
    new: Queues<(Instant, Start)>,
    /// Connections that have more to read, or have ended
    open: Queues<oneshot::Sender<()>>,
}

/// A queue for each client
struct Queues<T> {
    /// Those whose queue is not empty, in the order of their turns
    clients: VecDeque<IpAddr>,
    queues: HashMap<IpAddr, VecDeque<T>>,
}

impl Turns {
    /// Empty queues, and a task that gives turns
    pub(super) fn new() -> Self {
        let waiting = Arc::<Mutex<Waiting>>::default();
        let (wake, woken) = mpsc::channel(1);
        tokio::spawn(grant(EmptyOnDrop(Arc::clone(&waiting)), woken));
        Self { waiting, wake }
    }

    /// Starts a new connection of this client in its turn
    pub(super) fn start(&self, client: IpAddr, start: impl FnOnce() + Send + 'static) {
        lock(&self.waiting).new.push(client, (Instant::now(), Box::new(start)));
        self.wake();
    }

    /// Takes the client with the most connections that have not started, and closes the newest of
    /// these if the oldest has waited for [`LATE`]
    pub(super) fn close_late(&self) {
        let start = lock(&self.waiting).new.pop_longest(|(since, _)| since.elapsed() >= LATE);
        drop(start);
    }

    /// A place at the end of the queue of this client, of which an open connection has at most one
    pub(super) fn queue(&self, client: IpAddr) -> Turn {
        let (sender, receiver) = oneshot::channel();
        lock(&self.waiting).open.push(client, sender);
        self.wake();
        Turn(receiver)
    }

    fn wake(&self) {
        // If a message is there already, the task looks at the queues after it.
        let _ = self.wake.try_send(());
    }
}

impl Turn {
    /// Ready when it is the connection's turn
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // If the runtime has dropped the task, the turn comes at once.
        Pin::new(&mut self.0).poll(context).map(|_| ())
    }
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self { clients: VecDeque::new(), queues: HashMap::new() }
    }
}

impl<T> Queues<T> {
    fn push(&mut self, client: IpAddr, item: T) {
        let queue = self.queues.entry(client).or_default();
        if queue.is_empty() {
            self.clients.push_back(client);
        }
        queue.push_back(item);
    }

    fn pop(&mut self) -> Option<T> {
        let client = self.clients.pop_front()?;
        let Entry::Occupied(mut queue) = self.queues.entry(client) else { return None };
        let item = queue.get_mut().pop_front();
        if queue.get().is_empty() {
            queue.remove();
        } else {
            self.clients.push_back(client);
        }
        item
    }

    /// The newest item of the longest queue, if its oldest one is `late`
    fn pop_longest(&mut self, late: impl FnOnce(&T) -> bool) -> Option<T> {
        let (client, queue) = self.queues.iter_mut().max_by_key(|(_, queue)| queue.len())?;
        if !queue.front().is_some_and(late) {
            return None;
        }
        let (client, newest) = (*client, queue.pop_back());
        if queue.is_empty() {
            self.queues.remove(&client);
            self.clients.retain(|it| *it != client);
        }
        newest
    }
}

/// Empties the queues when the runtime ends: a connection in a queue holds the queues itself
struct EmptyOnDrop(Arc<Mutex<Waiting>>);

impl Drop for EmptyOnDrop {
    fn drop(&mut self) {
        let waiting = mem::take(&mut *lock(&self.0));
        drop(waiting);
    }
}

async fn grant(waiting: EmptyOnDrop, mut woken: mpsc::Receiver<()>) {
    while woken.recv().await.is_some() {
        loop {
            // The runtime wakes this after the sockets that are ready, and only when no task is
            // left or some have run.
            yield_now().await;
            if !(0..AT_A_TIME).all(|_| grant_next(&waiting.0)) {
                break;
            }
        }
    }
}

/// Gives a turn to a new connection and to an open one; returns whether there was one
fn grant_next(waiting: &Mutex<Waiting>) -> bool {
    let (new, open) = {
        let mut waiting = lock(waiting);
        (waiting.new.pop(), waiting.open.pop())
    };
    let is_granted = new.is_some() || open.is_some();
    if let Some((_, start)) = new {
        start();
    }
    if let Some(turn) = open {
        // The connection may have ended.
        let _ = turn.send(());
    }
    is_granted
}

#[cfg(test)]
mod tests {
    use core::future::poll_fn;
    use core::net::Ipv4Addr;
    use core::sync::atomic::AtomicUsize;
    use core::sync::atomic::Ordering::SeqCst;

    use tokio::time;

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn few_of_many_connections_have_a_turn_before_other_tasks() {
        let queue = Turns::new();
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
        let queue = Turns::new();
        for _ in 0..3 * AT_A_TIME {
            drop(queue.queue(CLIENT));
        }
        let mut turn = queue.queue(CLIENT);
        poll_fn(|context| turn.poll(context)).await;
    }

    #[tokio::test]
    async fn a_client_does_not_wait_for_all_connections_of_another() {
        let queue = Turns::new();
        let other = IpAddr::V4(Ipv4Addr::BROADCAST);
        let others: Vec<Turn> = (0..10 * AT_A_TIME).map(|_| queue.queue(other)).collect();
        let mut turn = queue.queue(CLIENT);
        poll_fn(|context| turn.poll(context)).await;
        let granted = others.into_iter().filter_map(|mut turn| turn.0.try_recv().ok()).count();
        assert!(granted < AT_A_TIME, "{granted} have had a turn before");
    }

    #[tokio::test(start_paused = true)]
    async fn late_connections_are_closed_from_the_newest_of_the_client_with_the_most() {
        let queue = Turns::new();
        let other = IpAddr::V4(Ipv4Addr::BROADCAST);
        let started = Arc::new(Mutex::new(Vec::new()));
        for (client, number) in [(other, 1), (CLIENT, 2), (other, 3), (other, 4)] {
            let started = Arc::clone(&started);
            queue.start(client, move || lock(&started).push(number));
        }
        queue.close_late();
        assert_eq!(Arc::strong_count(&started), 5, "none is late");
        time::advance(LATE).await;
        queue.close_late();
        queue.close_late();
        assert_eq!(Arc::strong_count(&started), 3);
        while lock(&started).len() < 2 {
            yield_now().await;
        }
        assert_eq!(*lock(&started), [1, 2]);
        queue.close_late();
    }

    #[test]
    fn the_end_of_the_runtime_closes_connections_that_have_not_started() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let connection = Arc::new(());
        let turn = runtime.block_on(async {
            let queue = Turns::new();
            let (held, turns) = (Arc::clone(&connection), queue.clone());
            queue.start(CLIENT, move || drop((held, turns)));
            queue.queue(CLIENT)
        });
        drop(runtime);
        assert_eq!(Arc::strong_count(&connection), 1);
        assert!(turn.0.blocking_recv().is_err(), "the turn comes at once");
    }
}
