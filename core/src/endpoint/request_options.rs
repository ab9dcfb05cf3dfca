//! Options of a request that an endpoint evaluates.

/// Whether a request may wait
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum WaitMode {
    /// It waits for its milestone until its timeout
    #[default]
    UntilTimeout,
    /// It does not wait: if it would have to, it ends with
    /// [`Output::Pending`](super::Output::Pending)
    Never,
}

/// Options of a request
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RequestOptions {
    /// Time to its deadline, in the host's unit; `None` for that of the
    /// [`WaitConfig`](super::WaitConfig)
    pub timeout: Option<u64>,
    /// Whether it may wait; default until its timeout
    pub wait_mode: WaitMode,
}

impl RequestOptions {
    /// These options with another time to the deadline; `None` for that of the
    /// [`WaitConfig`](super::WaitConfig)
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Option<u64>) -> Self {
        self.timeout = timeout;
        self
    }

    /// These options with another wait mode
    #[must_use]
    pub const fn with_wait_mode(mut self, wait_mode: WaitMode) -> Self {
        self.wait_mode = wait_mode;
        self
    }
}
