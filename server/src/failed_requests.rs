//! Requests that failed here: each is counted, each kind of failure is logged once.
//!
//! A request fails because a row cannot be read, the archive cannot be read or limits it, or a
//! query panicked; the panic itself is logged where it happens. A request that is invalid, or that
//! the service refuses at a limit or because it stops, has not failed. Clients choose which rows
//! are read, so the number of kinds that are logged is limited; all outages of the archive with one
//! reason are one kind.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use milepost::endpoint::Response;
use milepost::rpc::ResponseKind;
use serde::Deserialize;
use tracing::error;

use crate::logged_kinds::LoggedKinds;
use crate::metrics::{family, sample};
use crate::query_error::{DEFECT, QueryError};

/// What the engine writes before the reason of an internal error, as a node does
const PREFIX: &str = "The node reached its limits. Try again later. More details: ";
/// What errors of an archive begin with, behind the key that was read
pub(crate) const ARCHIVE_FAILED: &str = "the archive cannot be read";

/// The requests that failed
#[derive(Default)]
pub(crate) struct FailedRequests {
    count: AtomicU64,
    logged: LoggedKinds,
}

/// A JSON-RPC response, as far as it says why a request failed
#[derive(Deserialize)]
struct Envelope {
    error: Option<RpcFailure>,
}

#[derive(Deserialize)]
struct RpcFailure {
    name: String,
    #[serde(default)]
    data: serde_json::Value,
}

impl FailedRequests {
    /// Notes a query that has no result, if it failed
    pub(crate) fn note_error(&self, error: &QueryError) {
        match error {
            QueryError::Failed(error) | QueryError::Unavailable(error, _) => {
                self.note(&error.to_string());
            }
            QueryError::Panicked => self.count(),
            QueryError::InvalidBlock(_) | QueryError::NotProvable(_) => {}
        }
    }

    /// Notes a response, if it or one in its batch says that the request failed
    ///
    /// The id of a request can have any text, so only the members of errors are looked at.
    pub(crate) fn note_response(&self, response: &Response) {
        let envelopes = match response.kind {
            ResponseKind::Internal => serde_json::from_slice(&response.body).map(|one| vec![one]),
            ResponseKind::Result
                if response.body.starts_with(b"[")
                    && str::from_utf8(&response.body).is_ok_and(|it| it.contains(PREFIX)) =>
            {
                serde_json::from_slice(&response.body)
            }
            _ => return,
        };
        // The engine writes what can be read.
        let envelopes: Vec<Envelope> = envelopes.unwrap_or_default();
        for failure in envelopes.into_iter().filter_map(|envelope| envelope.error) {
            let data = failure.data.as_str().unwrap_or_default();
            match data.strip_prefix(PREFIX) {
                Some(text) if failure.name == "INTERNAL_ERROR" => self.note(text),
                None if data == DEFECT => self.count(),
                // No configuration is in force at the block that the request names.
                _ => {}
            }
        }
    }

    fn note(&self, text: &str) {
        self.count();
        let kind = text.find(ARCHIVE_FAILED).and_then(|at| text.get(at..)).unwrap_or(text);
        if self.logged.insert(kind) {
            error!("a request failed: {text}");
        }
    }

    fn count(&self) {
        self.count.fetch_add(1, Relaxed);
    }

    /// Appends the metric
    pub(crate) fn text(&self, out: &mut String) {
        let help = "Requests that failed: a row or the archive cannot be read, or a query panicked";
        family(out, "requests_failed_total", "counter", help);
        sample(out, "requests_failed_total", "", self.count.load(Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use milepost::rpc::{RequestId, RpcError};
    use milepost::{Error, ErrorKind};

    use super::*;
    use crate::query_error::panic_response;

    /// How many requests of these notes failed, and how many kinds were logged
    fn noted(note: impl FnOnce(&FailedRequests)) -> (u64, usize) {
        let failed = FailedRequests::default();
        note(&failed);
        (failed.count.load(Relaxed), failed.logged.count())
    }

    fn response(error: &RpcError) -> Response {
        let mut body = Vec::new();
        error.write(&RequestId::null(), &mut body);
        Response { body, kind: error.kind() }
    }

    #[test]
    fn a_response_that_failed_is_counted_and_its_kind_logged_once() {
        let internal = |text: &str| response(&RpcError::Internal { message: text.to_owned() });
        let row = internal("transactions[5]: 7 bytes on disk do not match their checksum");
        let note = |response: &Response| noted(|failed| failed.note_response(response));
        assert_eq!(note(&row), (1, 1));
        assert_eq!(note(&panic_response()), (1, 0));
        let message = "no protocol configuration is in force at height 3".to_owned();
        assert_eq!(note(&response(&RpcError::NoConfig { message })), (0, 0));
        let message = "too many pending requests".to_owned();
        assert_eq!(note(&response(&RpcError::Unavailable { message })), (0, 0));

        let batch = |bodies: &[&[u8]]| Response {
            body: [b"[", &*bodies.join(&b',')].concat().into_iter().chain([b']']).collect(),
            kind: ResponseKind::Result,
        };
        let other = internal("blocks: the row ends early");
        assert_eq!(note(&batch(&[&row.body, &row.body, &other.body])), (3, 2));
        let forged = format!(r#"{{"result":1,"id":{{"error":{{"data":"{PREFIX}x"}}}}}}"#);
        assert_eq!(note(&batch(&[forged.as_bytes()])), (0, 0));
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
