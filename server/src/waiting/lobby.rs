//! The waiting room, shared by the threads that ask and the one that takes in blocks.
//!
//! The handshake that loses no wake-up: a block is committed to the store first and its changes are
//! handed in here afterwards; a request looks at the store first and lies down here afterwards, with the
//! generation it has seen. Whichever of the two comes here first, the other one is noticed. Every
//! interleaving of this file is checked by a model (`server/tests/handshake.rs`). Whoever is woken is
//! handed to the caller, who wakes outside of the lock.

use milepost::ingest::Changes;
use milepost::waiting::{self, Refused, Room, Sleep, Ticket, Woken};

use super::sync::{Mutex, MutexGuard, PoisonError};

/// The shared room
pub(crate) struct Lobby<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    room: Room<T>,
    stopped: bool,
}

/// Why a request was not let in
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// A block came in between: to be asked again
    Stale,
    /// So many places are taken
    Full { open: usize, limit: usize },
    /// Its time is up
    Expired,
    /// The service stops
    Stopped,
}

/// A place in the room
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) ticket: Ticket,
    /// The next deadline is earlier than it was, so whoever keeps the time must hear of it
    pub(crate) is_next: bool,
}

impl<T> Lobby<T> {
    pub(crate) fn new(limit: usize, seed: u64) -> Self {
        Self { state: Mutex::new(State { room: Room::new(limit, seed), stopped: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // The room is not changed by a panic of whoever holds the lock: nothing in here calls out.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request sleep, in the place it has or in a new one
    pub(crate) fn sleep(
        &self,
        ticket: Option<Ticket>,
        waker: T,
        places: usize,
        sleep: Sleep,
        deadline: u64,
    ) -> Result<Place, Refusal> {
        let mut state = self.state();
        if state.stopped {
            return Err(Refusal::Stopped);
        }
        let room = &mut state.room;
        let before = room.next_deadline();
        let admitted = match ticket {
            None => room.admit(waker, places, sleep, deadline),
            Some(ticket) => room.readmit(ticket, waker, sleep).map(|()| ticket),
        };
        match admitted {
            Ok(ticket) => {
                let is_next = before.is_none() || room.next_deadline() < before;
                Ok(Place { ticket, is_next })
            }
            Err(Refused { why, .. }) => Err(match why {
                waiting::Refusal::Stale => Refusal::Stale,
                waiting::Refusal::Full => Refusal::Full { open: room.open(), limit: room.limit() },
                // Nobody takes a place from a request but itself, so its time is all that can be up.
                _ => Refusal::Expired,
            }),
        }
    }

    /// Gives a place back
    pub(crate) fn leave(&self, ticket: Ticket) {
        self.state().room.leave(ticket);
    }

    /// Takes in what a commit changed; to be called before the next commit, by whoever commits
    pub(crate) fn committed(&self, changes: &Changes) -> Vec<Woken<T>> {
        let mut state = self.state();
        state.room.handle_changes(changes);
        state.woken()
    }

    /// Takes in the time
    pub(crate) fn time(&self, now: u64) -> Vec<Woken<T>> {
        let mut state = self.state();
        state.room.handle_time(now);
        state.woken()
    }

    /// Takes in that the service stops: everyone is woken, and nobody sleeps from now on
    pub(crate) fn stop(&self) -> Vec<Woken<T>> {
        let mut state = self.state();
        state.stopped = true;
        state.room.wake_all();
        state.woken()
    }

    /// When somebody's time may be up
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.state().room.next_deadline()
    }
}

impl<T> State<T> {
    fn woken(&mut self) -> Vec<Woken<T>> {
        core::iter::from_fn(|| self.room.poll_woken()).collect()
    }
}
