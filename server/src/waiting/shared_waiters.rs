//! The waiter map, shared by the threads that answer requests and the one that imports blocks.
//!
//! The handshake that loses no wake-up: a block is committed to the store first, and its changes
//! are passed here afterwards; a request reads the store first, and is inserted here afterwards,
//! with the generation that it read. So whichever comes second sees the first.
//! `tests/wait_handshake.rs` checks every interleaving of this file with a model checker. Wake-ups
//! are returned to the caller, who delivers them outside of the lock.

use milepost::import::ChainUpdate;
use milepost::waiting::{self, RequestHandle, WaitKey, WaiterMap, Wakeup};

use super::sync::{Mutex, MutexGuard, PoisonError};

/// A [`WaiterMap`] behind a lock
pub(crate) struct SharedWaiters<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    waiters: WaiterMap<T>,
    shut_down: bool,
}

/// Why a request was not inserted
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum InsertError {
    /// A block was imported in between; run the query again
    Stale,
    /// Too many calls are waiting
    Full { waiting: usize, limit: usize },
    /// Its deadline has passed
    Expired,
    /// The service shuts down
    Shutdown,
}

/// A request that was inserted
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inserted {
    pub(crate) handle: RequestHandle,
    /// Whether the next timeout is earlier than before
    pub(crate) is_earliest: bool,
}

impl<T> SharedWaiters<T> {
    pub(crate) fn new(limit: usize, hash_seed: u64) -> Self {
        let waiters = WaiterMap::new(limit, hash_seed);
        Self { state: Mutex::new(State { waiters, shut_down: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // A poisoned lock is harmless: no code of callers runs while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inserts a request, or reinserts the one with this handle; its deadline then stays unchanged
    pub(crate) fn insert(
        &self,
        handle: Option<RequestHandle>,
        waker: T,
        calls: usize,
        key: WaitKey,
        deadline: u64,
    ) -> Result<Inserted, InsertError> {
        let mut state = self.state();
        if state.shut_down {
            return Err(InsertError::Shutdown);
        }
        let waiters = &mut state.waiters;
        let previous_timeout = waiters.next_timeout();
        let inserted = match handle {
            None => waiters.insert(waker, calls, key, deadline),
            Some(handle) => waiters.reinsert(handle, waker, key).map(|()| handle),
        };
        match inserted {
            Ok(handle) => {
                let is_earliest =
                    previous_timeout.is_none() || waiters.next_timeout() < previous_timeout;
                Ok(Inserted { handle, is_earliest })
            }
            Err(error) => Err(match error.kind {
                waiting::InsertErrorKind::Stale => InsertError::Stale,
                waiting::InsertErrorKind::Full => {
                    InsertError::Full { waiting: waiters.len(), limit: waiters.limit() }
                }
                // Only the request itself removes its entry, so it is not cancelled but expired.
                _ => InsertError::Expired,
            }),
        }
    }

    /// Removes a request
    pub(crate) fn remove(&self, handle: RequestHandle) {
        self.state().waiters.remove(handle);
    }

    /// Passes the changes of a commit and returns the requests to wake; call before the next commit
    pub(crate) fn handle_chain_update(&self, update: &ChainUpdate) -> Vec<Wakeup<T>> {
        let mut state = self.state();
        state.waiters.handle_chain_update(update);
        state.wakeups()
    }

    /// Passes the time and returns the expired requests
    pub(crate) fn handle_timeout(&self, now: u64) -> Vec<Wakeup<T>> {
        let mut state = self.state();
        state.waiters.handle_timeout(now);
        state.wakeups()
    }

    /// Returns all requests, and rejects any that are inserted later
    pub(crate) fn shutdown(&self) -> Vec<Wakeup<T>> {
        let mut state = self.state();
        state.shut_down = true;
        state.waiters.wake_all();
        state.wakeups()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout)
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.state().waiters.next_timeout()
    }
}

impl<T> State<T> {
    fn wakeups(&mut self) -> Vec<Wakeup<T>> {
        core::iter::from_fn(|| self.waiters.poll_wakeup()).collect()
    }
}
