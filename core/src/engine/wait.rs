//! A request that waits: what it is, what it waits for, and the ways in which it goes on.
//!
//! It remembers of the request only what an answer needs, so that many can wait at a time; a
//! submitted transaction is not kept, and of a batch no answer that is ready: it is answered when all
//! its calls can be, from one look. Where it sleeps meanwhile is the host's choice: in a
//! [`Desk`](super::Desk), in a [`Room`](crate::waiting::Room) of its own, or nowhere.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::mem;

use super::call::{Asked, Call, End, Kept, Open};
use super::{Answer, Exchange, Reply, Settings};
use crate::facts::Rows;
use crate::primitives::CryptoHash;
use crate::status::Blocker;
use crate::waiting::Sleep;
use crate::{Error, ErrorKind};

/// A request that waits for a milestone (of a batch: at least one of its calls does)
///
/// Ask [`again`](Self::again) when the storage has changed, and let it [`expire`](Self::expire) when
/// its time is up. Dropping it is how a client that went away is forgotten.
///
/// ```
/// use milepost::engine::{Engine, Reply};
/// use milepost::facts::MemoryStorage;
/// use milepost::rpc::AnswerClass;
///
/// let (engine, storage) = (Engine::default(), MemoryStorage::new());
/// let body = br#"{"method":"tx_status","params":{"tx_hash":"11111111111111111111111111111112",
///     "sender_account_id":"alice.near","wait_until":"INCLUDED"}}"#;
/// let Reply::Wait(mut wait) = engine.ask(body, None, &storage) else { panic!("it is answered") };
/// assert_eq!(wait.transactions().count(), 1);
///
/// // After each block that came in:
/// assert!(wait.again(&storage).is_none());
/// // When its time is up:
/// assert_eq!(wait.expire(&storage).class, AnswerClass::Timeout);
/// ```
#[derive(Debug)]
pub struct Wait {
    held: Held,
    blocker: Blocker,
    generation: u64,
    behind: Option<(u64, u64)>,
}

/// What is kept of a request while it sleeps
#[derive(Debug)]
pub(super) struct Held {
    settings: Settings,
    calls: Calls,
}

#[derive(Debug)]
enum Calls {
    /// A request that is one call, which is open
    One(Asked),
    /// A batch, at least one call of which is open
    Batch(Box<[Part]>),
}

/// A call of a batch
#[derive(Debug)]
enum Part {
    /// Its milestone is not reached
    Open(Asked),
    /// It could be answered, and is asked again with the others
    Ready(Kept),
    /// It is answered whatever the rows say
    Refused(Answer),
}

impl Wait {
    /// A request of which at least one call is open
    pub(super) fn new(
        settings: Settings,
        mut calls: Vec<Call>,
        batch: bool,
        behind: Option<(u64, u64)>,
    ) -> Self {
        // The last of those that are open: as good as any other, for all have to be met.
        let open = calls.iter().rev().find_map(|call| match call {
            Call::Open(Open { blocker, generation, .. }) => Some((*blocker, *generation)),
            Call::Asking(_) | Call::Answered(..) => None,
        });
        let (blocker, generation) = open.unwrap_or((Blocker::Anything, 0));
        let calls = match calls.pop() {
            Some(Call::Open(Open { asked, .. })) if !batch => Calls::One(asked),
            last => Calls::Batch(calls.into_iter().chain(last).filter_map(Part::of).collect()),
        };
        Self { held: Held { settings, calls }, blocker, generation, behind }
    }

    /// How many calls the request has, open or not: each takes a place while it waits
    pub const fn calls(&self) -> usize {
        self.held.calls()
    }

    /// How many calls are open
    pub fn open_calls(&self) -> usize {
        self.transactions().count()
    }

    /// The transactions that the open calls wait for, in the order of the calls
    pub fn transactions(&self) -> impl Iterator<Item = CryptoHash> {
        let (one, batch) = match &self.held.calls {
            Calls::One(asked) => (Some(asked), &[][..]),
            Calls::Batch(calls) => (None, &calls[..]),
        };
        let open = batch.iter().filter_map(|call| match call {
            Part::Open(asked) => Some(asked),
            Part::Ready(_) | Part::Refused(_) => None,
        });
        one.into_iter().chain(open).map(Asked::hash)
    }

    /// A fact that the request cannot do without: while it does not change, it waits
    ///
    /// An error can be the answer earlier: more receipts than the limit, or a corrupt row. Whoever
    /// sleeps on this fact hears of it when woken, at the latest when the time is up.
    pub const fn blocker(&self) -> Blocker {
        self.blocker
    }

    /// The generation of the chain at which this fact was found missing
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The question whether the milestones are reached now
    #[must_use]
    pub fn resume(self) -> Exchange {
        self.held.resume()
    }

    /// The question whether the milestones are reached at the very last moment; it always ends in
    /// an answer, `TIMEOUT_ERROR` for those that are not
    #[must_use]
    pub fn resume_last(self) -> Exchange {
        self.held.resume_last()
    }

    /// Asks again, after the storage has changed; `Some` ends the wait, and there is no other
    /// answer after it
    pub fn again(&mut self, rows: &(impl Rows + ?Sized)) -> Option<Answer> {
        let over = Calls::Batch(Box::default());
        let held =
            Held { settings: self.held.settings, calls: mem::replace(&mut self.held.calls, over) };
        match held.resume().drive(rows) {
            Reply::Answer(answer) => Some(answer),
            Reply::Wait(wait) => {
                *self = wait;
                None
            }
        }
    }

    /// Ends the wait because its time is up: a last look, then `TIMEOUT_ERROR` for what is open
    pub fn expire(self, rows: &(impl Rows + ?Sized)) -> Answer {
        match self.held.resume_last().drive(rows) {
            Reply::Answer(answer) => answer,
            // Asked for the last time, no call stays open.
            Reply::Wait(wait) => {
                let error = Error::new(ErrorKind::Usage, "a call outlived its wait");
                wait.held.resume().fail(&error)
            }
        }
    }

    /// The question whether the milestones are reached now that the wait cannot go on; it always ends
    /// in an answer, with this reason and of the class
    /// [`Unavailable`](crate::rpc::AnswerClass::Unavailable) for those that are not
    #[must_use]
    pub fn resume_refused(self, reason: &str) -> Exchange {
        self.held.resume_refused(reason)
    }

    /// The same, because of `limit` places in all so many are taken that there is none for this request
    #[must_use]
    pub fn resume_crowded_out(self, taken: usize, limit: usize) -> Exchange {
        self.held.resume_crowded_out(taken, limit)
    }

    /// What sleeps in a room of this generation, and on what
    pub(super) fn into_parts(self, room: u64) -> (Held, Sleep) {
        // Rows no newer than before cannot be waited for: they are behind what was handed in. Until
        // the next block brings both together, anything may be what is missing. Only the room that
        // turned it away is meant: one that has heard of a block since would forget that block.
        let behind = |behind: (u64, u64)| self.generation <= behind.0 && room == behind.1;
        let blocker =
            if self.behind.is_some_and(behind) { Blocker::Anything } else { self.blocker };
        (self.held, Sleep { generation: self.generation, blocker })
    }
}

impl Part {
    fn of(call: Call) -> Option<Self> {
        Some(match call {
            Call::Open(open) => Self::Open(open.asked),
            Call::Answered(_, Some(kept)) => Self::Ready(kept),
            Call::Answered(answer, None) => Self::Refused(answer),
            // No call waits for rows while another one waits for blocks.
            Call::Asking(_) => return None,
        })
    }

    fn ask(self, settings: &Settings, end: Option<End>) -> Call {
        match self {
            Self::Open(asked) => asked.ask_again(settings, end),
            Self::Ready(kept) => kept.ask(settings, end),
            Self::Refused(answer) => Call::Answered(answer, None),
        }
    }
}

impl Held {
    /// How many calls the request has
    pub(super) const fn calls(&self) -> usize {
        match &self.calls {
            Calls::One(_) => 1,
            Calls::Batch(calls) => calls.len(),
        }
    }

    pub(super) fn resume(self) -> Exchange {
        self.ask(None)
    }

    pub(super) fn resume_last(self) -> Exchange {
        self.ask(Some(End::Expired))
    }

    pub(super) fn resume_refused(self, reason: &str) -> Exchange {
        self.ask(Some(End::Refused(reason.into())))
    }

    pub(super) fn resume_crowded_out(self, taken: usize, limit: usize) -> Exchange {
        let wanted = self.calls();
        self.resume_refused(&format!(
            "no place to wait: {taken} of {limit} are taken, and the request needs {wanted}"
        ))
    }

    fn ask(self, end: Option<End>) -> Exchange {
        let Self { settings, calls } = self;
        match calls {
            Calls::One(asked) => {
                Exchange::of(settings, [asked.ask_again(&settings, end)].into(), false)
            }
            Calls::Batch(calls) => {
                let calls = calls.into_iter().map(|call| call.ask(&settings, end.clone()));
                Exchange::of(settings, calls.collect(), true)
            }
        }
    }
}
