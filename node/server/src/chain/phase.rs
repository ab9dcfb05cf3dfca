//! How far a server is, from its start to its stop; it never goes back.

use core::time::Duration;

/// How far a server is
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Phase {
    /// It takes blocks in and accepts no connections yet
    Starting,
    /// It accepts connections; for so long it still does after a signal
    Serving {
        /// `--drain`
        drain: Duration,
    },
    /// It has got a signal, and does all as before, but says that it is not ready
    Draining,
    /// It ends what it has begun
    Stopping,
}
