//! Requests that failed here: each is counted, each kind of failure is logged once.
//!
//! A request fails because a row cannot be read, the archive cannot be read or limits it, or a
//! query panicked; the panic itself is logged where it happens. A request that is invalid, or that
//! the service refuses at a limit or because it stops, has not failed. Clients choose which rows
//! are read, so the number of kinds that are logged is limited; all outages of the archive with one
//! reason are one kind.

use milepost::Error;
use milepost::rpc::RpcError;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tracing::error;

use super::{LoggedKinds, QueryError};

/// What errors of an archive begin with
pub(crate) const ARCHIVE_FAILED: &str = "the archive cannot be read";

/// The requests that failed
#[derive(Default)]
pub(crate) struct FailedRequests {
    count: Counter,
    logged: LoggedKinds,
}

impl FailedRequests {
    /// Notes a query that has no result, if it failed
    pub(crate) fn note_error(&self, error: &QueryError) {
        match error {
            QueryError::Failed(error) | QueryError::Unavailable(error, _) => {
                self.note(error);
            }
            QueryError::Panicked => {
                self.count.inc();
            }
            QueryError::InvalidBlock(_) | QueryError::NotProvable(_) => {}
        }
    }

    /// Notes the calls that failed, by the errors of a response
    pub(crate) fn note_errors<'a>(&self, errors: impl Iterator<Item = &'a RpcError>) {
        for error in errors {
            if let RpcError::Internal { error } = error {
                self.note(error);
            }
        }
    }

    fn note(&self, error: &Error) {
        self.count.inc();
        let text = error.to_string();
        // Whichever row was to be read.
        let is_archive = error.detail().starts_with(ARCHIVE_FAILED);
        if self.logged.insert(if is_archive { error.detail() } else { &text }) {
            error!("a request failed: {text}");
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Requests that failed: a row or the archive cannot be read, or a query panicked";
        registry.register("requests_failed", help, self.count.clone());
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use milepost::ErrorKind;

    use super::*;

    /// How many requests of these notes failed, and how many kinds were logged
    fn noted(note: impl FnOnce(&FailedRequests)) -> (u64, usize) {
        let failed = FailedRequests::default();
        note(&failed);
        (failed.count.get(), failed.logged.count())
    }

    #[test]
    fn a_call_that_failed_is_counted_and_its_kind_logged_once() {
        let row = || RpcError::Internal {
            error: Error::new(ErrorKind::Corrupt, "7 bytes do not match their checksum")
                .at("transactions[5]"),
        };
        let other = RpcError::Internal { error: Error::new(ErrorKind::Corrupt, "ends early") };
        let note = |errors: &[RpcError]| noted(|failed| failed.note_errors(errors.iter()));
        assert_eq!(note(&[row()]), (1, 1));
        assert_eq!(note(&[row(), row(), other]), (3, 2));
        let message = "64 requests are answered already".to_owned();
        assert_eq!(note(&[RpcError::Unavailable { message, unreached: None }]), (0, 0));
        assert_eq!(note(&[RpcError::NoConfig { height: 3, first: None }]), (0, 0));
    }

    #[test]
    fn outages_of_the_archive_are_one_kind_for_each_reason() {
        let error = |key: &str, why: &str| {
            Error::new(ErrorKind::Storage, format_args!("{ARCHIVE_FAILED}: {why}")).at(key)
        };
        let unavailable = |key, why| QueryError::Unavailable(error(key, why), Duration::ZERO);
        let noted = noted(|failed| {
            failed.note_error(&unavailable("a", "refused"));
            failed.note_error(&unavailable("b", "refused"));
            failed.note_error(&unavailable("b", "reset"));
            failed.note_error(&QueryError::Panicked);
            failed.note_error(&QueryError::NotProvable(error("c", "no proof")));
        });
        assert_eq!(noted, (4, 2));
    }
}
