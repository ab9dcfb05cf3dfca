//! Why a request that waits is evaluated once more.
//!
//! Either for the last time, and then it gets a response whatever the rows are, or because its rows
//! were older than a block that was handed in.

/// Why a request stops waiting
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EndReason {
    /// Its deadline has passed
    Timeout,
    /// Too many requests are pending
    OverLimit {
        /// Number of pending calls
        pending: usize,
        /// Maximum number of pending calls
        limit: usize,
        /// Number of calls of this request
        calls: usize,
    },
    /// The endpoint was shut down
    Shutdown,
}

/// Why a watch ends when the endpoint is shut down
#[cfg(feature = "watch")]
pub(super) const STOPPING: &str = "the service stops";

/// Rows that were older than the newest block that the waiters know of
#[derive(Clone, Copy, Debug)]
pub(super) struct StaleRows {
    /// The generation of the rows
    pub(super) rows: u64,
    /// The generation of the waiters
    pub(super) waiters: u64,
}
