//! A request that waits: what it is, what it waits for, and the ways in which it goes on.
//!
//! It remembers of the request only what an answer needs, so that many can wait at a time; a
//! submitted transaction is not kept. Where it sleeps meanwhile is the host's choice: in a
//! [`Desk`](super::Desk), in a [`Room`](crate::waiting::Room) of its own, or nowhere.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::call::{Asked, Call, Look, Open};
use super::{Answer, Exchange, Reply, Settings};
use crate::facts::Rows;
use crate::primitives::CryptoHash;
use crate::rpc::Failure;
use crate::status::Blocker;
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
    blockers: Vec<Blocker>,
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
    /// A batch, with the answers that are ready
    Batch(Box<[Call]>),
}

impl Wait {
    /// A request of which at least one call is open
    pub(super) fn new(
        settings: Settings,
        mut calls: Vec<Call>,
        batch: bool,
        behind: Option<(u64, u64)>,
    ) -> Self {
        let open = |call: &Call| match call {
            Call::Open(Open { blocker, generation, .. }) => Some((*blocker, *generation)),
            Call::Asking(_) | Call::Answered(_) => None,
        };
        let blockers = calls.iter().filter_map(open).map(|(blocker, _)| blocker).collect();
        let generation = calls.iter().filter_map(open).map(|(_, generation)| generation).min();
        let calls = match calls.pop() {
            Some(Call::Open(Open { asked, .. })) if !batch => Calls::One(asked),
            last => {
                calls.extend(last);
                Calls::Batch(calls.into())
            }
        };
        let generation = generation.unwrap_or_default();
        Self { held: Held { settings, calls }, blockers, generation, behind }
    }

    /// How many calls are open
    pub const fn open_calls(&self) -> usize {
        self.blockers.len()
    }

    /// The transactions that the open calls wait for, in the order of the calls
    pub fn transactions(&self) -> impl Iterator<Item = CryptoHash> {
        let (one, batch) = match &self.held.calls {
            Calls::One(asked) => (Some(asked), &[][..]),
            Calls::Batch(calls) => (None, &calls[..]),
        };
        let open = batch.iter().filter_map(|call| match call {
            Call::Open(open) => Some(&open.asked),
            Call::Asking(_) | Call::Answered(_) => None,
        });
        one.into_iter().chain(open).map(Asked::hash)
    }

    /// For each open call a fact that it cannot do without: while none of them changes, no milestone
    /// is reached
    ///
    /// An error can be the answer earlier: more receipts than the limit, or a corrupt row. Whoever
    /// sleeps on these facts hears of it when woken, at the latest when the time is up.
    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// The generation of the chain at which these facts were found missing
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
        self.blockers.clear();
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

    /// Ends the wait because it cannot go on: an error for what is open, with this reason and of the
    /// class [`Unavailable`](crate::rpc::AnswerClass::Unavailable)
    pub fn refuse(self, reason: &str) -> Answer {
        self.held.refuse(reason)
    }

    /// What sleeps in a room of this generation, what it sleeps on, and at which generation that
    /// was found out
    pub(super) fn into_parts(mut self, room: u64) -> (Held, Vec<Blocker>, u64) {
        // Rows no newer than before cannot be waited for: they are behind what was handed in. Until
        // the next block brings both together, anything may be what is missing. Only the room that
        // turned it away is meant: one that has heard of a block since would forget that block.
        if self.behind.is_some_and(|behind| self.generation <= behind.0 && room == behind.1) {
            self.blockers.fill(Blocker::Anything);
        }
        (self.held, self.blockers, self.generation)
    }
}

impl Held {
    pub(super) fn resume(self) -> Exchange {
        self.ask(false)
    }

    pub(super) fn resume_last(self) -> Exchange {
        self.ask(true)
    }

    pub(super) fn refuse(self, reason: &str) -> Answer {
        self.resume().end(&Failure::Unavailable { message: reason.into() })
    }

    fn ask(self, last: bool) -> Exchange {
        let Self { settings, calls } = self;
        match calls {
            Calls::One(asked) => {
                let look = if last { Look::Last } else { Look::Again };
                Exchange::of(settings, [asked.ask(&settings, look)].into(), false)
            }
            Calls::Batch(calls) => {
                let mut calls = calls.into_vec();
                calls.iter_mut().for_each(|call| call.ask_again(&settings, last));
                Exchange::of(settings, calls, true)
            }
        }
    }
}
