//! Pending requests, indexed by the condition that each waits for and by its deadline.
//!
//! A sans-IO state machine: requests are inserted and removed, chain updates and the time are
//! handed in, and the requests to be evaluated again are polled. A block wakes the requests that
//! wait for what it changed and no others, each once; every request that is inserted is woken or
//! removed in the end. What a request is and how it is answered is not known here.

mod index;
mod slab;
#[cfg(test)]
mod tests;
mod timing_wheel;
mod waiter_map;

pub use waiter_map::{InsertError, InsertErrorKind, RequestHandle, WaitKey, WaiterMap, Wakeup};
