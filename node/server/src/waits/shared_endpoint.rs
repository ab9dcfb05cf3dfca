//! The endpoint, shared by the threads that answer requests and the one that imports blocks.
//!
//! The lock is held while requests are inserted, woken and removed, never while one is evaluated:
//! a call returns the requests that it woke, and they run without the lock, on snapshots of the
//! store. No wake-up is lost, because a block is committed before its changes are handed in, and a
//! request is handed in after it was evaluated, with the generation that it read: whichever comes
//! second sees the first. `tests/interleavings` checks every interleaving of this file.

use milepost::endpoint::{Endpoint, Evaluation, Output};

use super::sync::{Mutex, PoisonError};

/// An [`Endpoint`] behind a lock, for requests that the host evaluates
pub(crate) struct SharedEndpoint<T>(Mutex<Endpoint<T>>);

/// What a call of the endpoint put out
pub(crate) struct Outputs<T> {
    /// The evaluations of the requests that it woke, with their tags
    pub(crate) wakeups: Vec<(Evaluation, T)>,
    /// Whether the next timeout is earlier than before the call
    pub(crate) is_earlier: bool,
}

impl<T> SharedEndpoint<T> {
    pub(crate) fn new(endpoint: Endpoint<T>) -> Self {
        Self(Mutex::new(endpoint))
    }

    /// Calls the endpoint under the lock; returns the result of the call, and what it put out
    pub(crate) fn call<R>(&self, call: impl FnOnce(&mut Endpoint<T>) -> R) -> (R, Outputs<T>) {
        // What a call that panicked had put out goes to the next call.
        let mut endpoint = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = endpoint.next_timeout();
        let result = call(&mut endpoint);
        let mut wakeups = Vec::new();
        let next = loop {
            match endpoint.poll_output() {
                Output::Wakeup { evaluation, tag, .. } => wakeups.push((evaluation, tag)),
                Output::Timeout(next) => break next,
                // Nothing here has the endpoint evaluate a request or import a block.
                _ => {}
            }
        };
        let is_earlier = next.is_some_and(|next| before.is_none_or(|before| next < before));
        (result, Outputs { wakeups, is_earlier })
    }
}
