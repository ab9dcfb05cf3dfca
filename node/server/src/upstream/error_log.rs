//! The log lines about an upstream that fails: each kind of fault once, and the recovery.
//!
//! A success ends the faults before it, after which a kind is logged again if it comes back, but
//! only once a minute: an upstream that fails now and then must not fill the log.

use core::time::Duration;
use std::sync::Mutex;

use tokio::time::Instant;

use crate::locks::lock;

/// The minimum time between two lines about faults of one kind
const PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of kinds that are logged: an upstream chooses its HTTP statuses
const MAX_KINDS: usize = 32;

/// A kind of fault of an upstream
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum UpstreamErrorKind {
    /// It was not asked: its circuit breaker is open, or a limit of this server is reached
    NotAsked,
    /// It refuses this client
    Denied,
    /// It has had too many requests
    Limited,
    /// This HTTP status
    Status(u16),
    /// No connection, or one that broke off
    Connection,
    /// No response in time
    Silence,
    /// A response that is no JSON-RPC, that of another request, or above the limit
    Malformed,
    /// An error of JSON-RPC that says nothing about a transaction
    NoAnswer,
    /// A refusal of a transaction that the blocks here contradict
    Contradicted,
    /// A result about another transaction
    OtherTransaction,
    /// A result without the outcomes that it claims
    Incomplete,
}

/// Which faults of an upstream were logged
#[derive(Debug, Default)]
pub(super) struct ErrorLog(Mutex<Vec<Logged>>);

/// A kind of fault that was logged
#[derive(Debug)]
struct Logged {
    fault: UpstreamErrorKind,
    at: Instant,
    /// Whether the upstream has not succeeded since
    lasts: bool,
}

impl ErrorLog {
    /// Notes a fault; returns whether it is to be logged
    pub(super) fn failed(&self, fault: UpstreamErrorKind) -> bool {
        let mut logged = lock(&self.0);
        let now = Instant::now();
        let new = Logged { fault, at: now, lasts: true };
        if let Some(known) = logged.iter_mut().find(|logged| logged.fault == fault) {
            let is_due = !known.lasts && now - known.at >= PAUSE;
            if is_due {
                *known = new;
            }
            return is_due;
        }
        let has_room = logged.len() < MAX_KINDS;
        if has_room {
            logged.push(new);
        }
        has_room
    }

    /// Notes a success; returns whether the recovery is to be logged
    pub(super) fn succeeded(&self) -> bool {
        let mut logged = lock(&self.0);
        let was_ill = logged.iter().any(|logged| logged.lasts);
        logged.iter_mut().for_each(|logged| logged.lasts = false);
        was_ill
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_kind_is_logged_once_until_the_upstream_recovers() {
        let log = ErrorLog::default();
        assert!(!log.succeeded(), "no fault was logged");
        assert!(
            log.failed(UpstreamErrorKind::Silence) && log.failed(UpstreamErrorKind::Status(500))
        );
        tokio::time::advance(PAUSE * 10).await;
        assert!(
            !log.failed(UpstreamErrorKind::Silence) && !log.failed(UpstreamErrorKind::Status(500))
        );
        assert!(log.failed(UpstreamErrorKind::Status(502)));
        assert!(log.succeeded());
        assert!(!log.succeeded(), "the recovery was logged");
        assert!(log.failed(UpstreamErrorKind::Silence));
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_comes_and_goes_is_logged_once_a_minute() {
        let log = ErrorLog::default();
        let mut lines = 0;
        for _ in 0..600 {
            lines += u32::from(log.failed(UpstreamErrorKind::Limited)) + u32::from(log.succeeded());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(lines, 2 * 10);
        // A fault that lasts is logged once the minute is over.
        assert!(
            log.failed(UpstreamErrorKind::Limited)
                && log.succeeded()
                && !log.failed(UpstreamErrorKind::Limited)
        );
        tokio::time::advance(PAUSE).await;
        assert!(log.failed(UpstreamErrorKind::Limited));
    }

    #[test]
    fn the_number_of_kinds_is_limited() {
        let log = ErrorLog::default();
        let logged =
            (500..999).filter(|status| log.failed(UpstreamErrorKind::Status(*status))).count();
        assert_eq!(logged, MAX_KINDS);
    }
}
