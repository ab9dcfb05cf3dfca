//! How long requests may wait at an endpoint, and how many of them.

/// How long requests may wait, and how many of them
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WaitConfig {
    /// Time from a request to its deadline, in the host's unit; default 10,000, the ten seconds of
    /// a node for hosts that count milliseconds
    pub timeout: u64,
    /// Maximum number of pending calls, and of watches; default 100,000, which take some 25 MiB
    ///
    /// In addition each call keeps the id of its request, of up to
    /// [`Limits::max_id_bytes`](crate::rpc::Limits::max_id_bytes), and a batch its invalid calls.
    pub max_waiting: usize,
    /// Seed of the hash function of the wait index; default 0. Hosts that serve strangers pass a
    /// number that these cannot know; see
    /// [`WaiterMap::new`](crate::waiting::WaiterMap::new)
    pub hash_seed: u64,
}

impl Default for WaitConfig {
    fn default() -> Self {
        Self { timeout: 10_000, max_waiting: 100_000, hash_seed: 0 }
    }
}

impl WaitConfig {
    /// This configuration with another time from a request to its deadline
    #[must_use]
    pub const fn with_timeout(mut self, timeout: u64) -> Self {
        self.timeout = timeout;
        self
    }

    /// This configuration with another maximum number of pending calls
    #[must_use]
    pub const fn with_max_waiting(mut self, max_waiting: usize) -> Self {
        self.max_waiting = max_waiting;
        self
    }

    /// This configuration with another seed of the hash function
    #[must_use]
    pub const fn with_hash_seed(mut self, hash_seed: u64) -> Self {
        self.hash_seed = hash_seed;
        self
    }
}
