//! Requests that wait: each sleeps in the lobby until a fact changes that it cannot do without, its
//! time is up, or the service stops.
//!
//! A request looks at the store, lies down, is woken and looks again, all in the task of its
//! connection; a client that goes away takes the task with it, and the place is free. No wake-up is
//! lost, because the lobby turns away whoever has seen less than it has. One task keeps the time
//! for all.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::time::Duration;

use hyper::body::Bytes;
use milepost::engine::{Answer, Delivery, Piece, Reply, Wait};
use milepost::status::Blocker;
use milepost::waiting::{Sleep, Ticket};
use tokio::sync::oneshot;
use tokio::time::{self, Instant};

use crate::metrics::{Commit, WaitEnd};
use crate::node::Node;
use lobby::{Place, Refusal};

pub(crate) mod lobby;

/// What the lobby is locked with; the model of the handshake puts its own here
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
}

/// Why a request is woken
pub(crate) enum Wake {
    /// A commit changed something that it waits for
    Changed(Arc<Commit>),
    /// Its time is up
    Expired,
    /// The service stops
    Stopped,
}

/// How a request is woken
pub(crate) type Waker = oneshot::Sender<Wake>;

/// The answer to a request body
pub(crate) enum Answered {
    /// In one piece
    Whole(Answer),
    /// A large result in its pieces
    Pieces([Piece; 4]),
}

/// Answers a request body that came in at `since`: at once or when its milestone is reached, at the
/// latest after the wait timeout or when the service stops
pub(crate) async fn answer(
    node: &Arc<Node>,
    body: Bytes,
    path_method: Option<Cow<'static, str>>,
    since: Instant,
) -> Answered {
    match node.ask(body, path_method).await {
        Delivery::Answer(answer) => Answered::Whole(answer),
        Delivery::Pieces(pieces) => Answered::Pieces(pieces),
        // Boxed, so that requests which need not wait carry no room for it.
        Delivery::Wait(wait) => {
            Answered::Whole(Box::pin(reach(node, wait, node.deadline(since))).await)
        }
    }
}

/// Answers a request that has to wait
async fn reach(node: &Arc<Node>, mut wait: Wait, deadline: u64) -> Answer {
    let mut stay = Stay { node, ticket: None, end: WaitEnd::Gone };
    // The generation at which it was turned away, while it could not be asked at a newer one
    let mut behind = None;
    loop {
        // Rows no newer than before would be turned away again; whatever the next block brings may
        // be what is missing. A store that shows its last commit never comes to this.
        let blocker = match behind {
            Some(generation) if wait.generation() <= generation => Blocker::Anything,
            _ => wait.blocker(),
        };
        let sleep = Sleep { generation: wait.generation(), blocker };
        let wake = match stay.sleep(wait.calls(), sleep, deadline) {
            Ok(woken) => Some(woken.await.unwrap_or(Wake::Stopped)),
            Err(Refusal::Stale) => {
                behind = Some(wait.generation());
                None
            }
            Err(Refusal::Full { open, limit }) => {
                return node.ask_end(wait.resume_crowded_out(open, limit)).await;
            }
            Err(Refusal::Expired) => Some(Wake::Expired),
            Err(Refusal::Stopped) => Some(Wake::Stopped),
        };
        match wake {
            Some(Wake::Expired) => {
                stay.end = WaitEnd::Timeout;
                return node.ask_end(wait.resume_last()).await;
            }
            Some(Wake::Stopped) => {
                stay.end = WaitEnd::Stopped;
                return node.ask_end(wait.resume_refused("the service stops")).await;
            }
            Some(Wake::Changed(_)) | None => {}
        }
        match node.ask_again(wait).await {
            Reply::Answer(answer) => {
                stay.end = WaitEnd::Reached;
                if let Some(Wake::Changed(commit)) = wake {
                    commit.answered();
                }
                return answer;
            }
            Reply::Wait(still) => wait = still,
        }
    }
}

/// The stay of a request in the lobby; its place is free again when this is dropped, for whatever
/// reason
struct Stay<'node> {
    node: &'node Node,
    ticket: Option<Ticket>,
    end: WaitEnd,
}

impl Stay<'_> {
    /// Lies down; the answer tells when to get up
    fn sleep(
        &mut self,
        places: usize,
        sleep: Sleep,
        deadline: u64,
    ) -> Result<oneshot::Receiver<Wake>, Refusal> {
        let (waker, woken) = oneshot::channel();
        let Place { ticket, is_next } =
            self.node.lobby.sleep(self.ticket, waker, places, sleep, deadline)?;
        if self.ticket.replace(ticket).is_none() {
            self.node.metrics.wait_began();
        }
        if is_next {
            self.node.deadline_came.notify_one();
        }
        Ok(woken)
    }
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.node.lobby.leave(ticket);
            self.node.metrics.wait_ended(self.end);
        }
    }
}

/// Wakes those whose time is up, until the service stops
pub(crate) async fn keep_time(node: Arc<Node>) {
    loop {
        let next = node.lobby.next_deadline();
        let due = async {
            match next {
                Some(at) => time::sleep_until(node.start + Duration::from_millis(at)).await,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {
                for woken in node.lobby.time(node.now()) {
                    // A request that is gone meanwhile does not listen, and need not.
                    let _ = woken.request.send(Wake::Expired);
                }
            }
            // One that came between the look above and here has left its notice.
            () = node.deadline_came.notified() => {}
            () = node.stopping() => return,
        }
    }
}
