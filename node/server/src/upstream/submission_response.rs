//! The meaning of one reply of one upstream to `send_tx`.
//!
//! A table, which `docs/HTTP.md` has as well and a test compares. A reply counts as a refusal only
//! for a reason of the transaction: one that the upstream cannot read, or does not answer in time,
//! is a fault of the upstream.

use alloc::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::error_log::UpstreamErrorKind;
use super::pool::UpstreamError;

/// The meaning of a reply
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Meaning {
    /// The upstream has the transaction
    Accepted,
    /// It calls the transaction invalid
    Rejected(Grounds),
    /// It takes no transaction of this shard, or no request at all, for a while
    Busy,
    /// It says nothing about the transaction
    Failed,
}

/// The grounds of a refusal, by the evidence that the blocks here may have
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Grounds {
    /// The age of the base block, which may be recent: an upstream that is behind does not know it
    BaseBlock,
    /// A used nonce, maybe by the transaction itself, in a block that comes in here a moment later
    Nonce,
    /// The state, or a rule: the blocks here show nothing of it
    Other,
}

/// Fits every cause or reason
const ANY: &str = "*";

/// The meaning of an error by the name of its cause and of the reason in it: the first row that
/// fits
const MEANINGS: [(&str, &str, Meaning); 9] = [
    ("TIMEOUT_ERROR", ANY, Meaning::Accepted),
    ("REQUEST_ROUTED", ANY, Meaning::Accepted),
    ("INVALID_TRANSACTION", "ShardCongested", Meaning::Busy),
    ("INVALID_TRANSACTION", "ShardStuck", Meaning::Busy),
    ("INVALID_TRANSACTION", "StorageError", Meaning::Failed),
    ("INVALID_TRANSACTION", "Expired", Meaning::Rejected(Grounds::BaseBlock)),
    ("INVALID_TRANSACTION", "InvalidNonce", Meaning::Rejected(Grounds::Nonce)),
    ("INVALID_TRANSACTION", ANY, Meaning::Rejected(Grounds::Other)),
    (ANY, ANY, Meaning::Failed),
];

/// Maximum length of the names in the text of a reply, which an upstream chooses
const MAX_NAME: usize = 64;

/// A reply
#[derive(Clone, Debug)]
pub(super) struct SubmissionResponse {
    pub(super) meaning: Meaning,
    /// Its causes and reasons, by name, or the failure of the transport
    pub(super) text: String,
    /// Its `error`, if it is a response of JSON-RPC with one
    pub(super) error: Option<Arc<str>>,
}

/// The error of an upstream
#[derive(Default, Deserialize)]
struct NodeError {
    #[serde(default)]
    cause: Cause,
    #[serde(default)]
    data: Value,
}

#[derive(Default, Deserialize)]
struct Cause {
    #[serde(default)]
    name: String,
}

impl SubmissionResponse {
    /// A result
    pub(super) fn accepted() -> Self {
        Self { meaning: Meaning::Accepted, text: "accepted".to_owned(), error: None }
    }

    /// The `error` of a response
    pub(super) fn of_error(json: &str) -> Self {
        let error: NodeError = serde_json::from_str(json).unwrap_or_default();
        let reason = match error.data.pointer("/TxExecutionError/InvalidTxError") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Object(variant)) => variant.keys().next().map_or("", String::as_str),
            _ => "",
        };
        let cause = error.cause.name.as_str();
        let fits = |row: &str, name: &str| row == ANY || row == name;
        let row = MEANINGS.iter().find(|row| fits(row.0, cause) && fits(row.1, reason));
        let meaning = row.map_or(Meaning::Failed, |row| row.2);
        let names = [cause, reason].map(|name| {
            let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '_';
            name.chars().filter(|char| is_plain(*char)).take(MAX_NAME).collect::<String>()
        });
        let text = match (names[0].as_str(), names[1].as_str()) {
            ("", _) => "an error without a cause".to_owned(),
            (cause, "") => cause.to_owned(),
            (cause, reason) => format!("{cause} {reason}"),
        };
        Self { meaning, text, error: Some(json.into()) }
    }

    /// A request without a response; `None` if it was not sent
    pub(super) fn of_failure(failure: &UpstreamError) -> Option<Self> {
        let meaning = match failure.fault {
            UpstreamErrorKind::NotAsked => return None,
            UpstreamErrorKind::Limited => Meaning::Busy,
            _ => Meaning::Failed,
        };
        // The number of the upstream is said beside it.
        let text = failure.detail.split_once(": ").map_or("", |(_, text)| text).to_owned();
        Some(Self { meaning, text, error: None })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn invalid(reason: &Value) -> String {
        let data = json!({ "TxExecutionError": { "InvalidTxError": reason } });
        json!({ "cause": { "name": "INVALID_TRANSACTION" }, "data": data }).to_string()
    }

    #[test]
    fn an_error_has_the_meaning_of_its_cause_and_reason() {
        let cause = |name: &str| json!({ "cause": { "name": name }, "data": "text" }).to_string();
        let refused = Meaning::Rejected(Grounds::Other);
        for (error, meaning, text) in [
            (cause("TIMEOUT_ERROR"), Meaning::Accepted, "TIMEOUT_ERROR"),
            (cause("REQUEST_ROUTED"), Meaning::Accepted, "REQUEST_ROUTED"),
            (cause("PARSE_ERROR"), Meaning::Failed, "PARSE_ERROR"),
            (cause("METHOD_NOT_FOUND"), Meaning::Failed, "METHOD_NOT_FOUND"),
            (cause("INTERNAL_ERROR"), Meaning::Failed, "INTERNAL_ERROR"),
            (cause("DOES_NOT_TRACK_SHARD"), Meaning::Failed, "DOES_NOT_TRACK_SHARD"),
            (cause("INVALID_TRANSACTION"), refused, "INVALID_TRANSACTION"),
            ("7".to_owned(), Meaning::Failed, "an error without a cause"),
            (json!({ "message": "x" }).to_string(), Meaning::Failed, "an error without a cause"),
            (cause("A \u{1b}[1m\nB"), Meaning::Failed, "A1mB"),
        ] {
            let reply = SubmissionResponse::of_error(&error);
            assert_eq!((reply.meaning, reply.text.as_str()), (meaning, text), "{error}");
            assert_eq!(reply.error.as_deref(), Some(error.as_str()));
        }
        for (reason, meaning, name) in [
            (json!({ "ShardCongested": { "shard_id": 0 } }), Meaning::Busy, "ShardCongested"),
            (json!({ "ShardStuck": { "missed_chunks": 9 } }), Meaning::Busy, "ShardStuck"),
            (json!({ "StorageError": "a disk" }), Meaning::Failed, "StorageError"),
            (json!("Expired"), Meaning::Rejected(Grounds::BaseBlock), "Expired"),
            (json!({ "InvalidNonce": {} }), Meaning::Rejected(Grounds::Nonce), "InvalidNonce"),
            (json!({ "NotEnoughBalance": {} }), refused, "NotEnoughBalance"),
            (json!("InvalidChain"), refused, "InvalidChain"),
        ] {
            let reply = SubmissionResponse::of_error(&invalid(&reason));
            let text = format!("INVALID_TRANSACTION {name}");
            assert_eq!((reply.meaning, reply.text), (meaning, text), "{reason}");
        }
    }

    #[test]
    fn a_failure_is_a_fault_of_the_upstream_unless_it_asks_for_a_pause() {
        let of = |fault| {
            let detail = "upstream 2: a: b".to_owned();
            SubmissionResponse::of_failure(&UpstreamError { fault, detail, retry_after: None })
        };
        assert!(of(UpstreamErrorKind::NotAsked).is_none());
        let busy = of(UpstreamErrorKind::Limited).unwrap();
        assert_eq!((busy.meaning, busy.text.as_str()), (Meaning::Busy, "a: b"));
        for fault in [
            UpstreamErrorKind::Denied,
            UpstreamErrorKind::Status(502),
            UpstreamErrorKind::Connection,
            UpstreamErrorKind::Silence,
            UpstreamErrorKind::Malformed,
        ] {
            assert_eq!(of(fault).unwrap().meaning, Meaning::Failed, "{fault:?}");
        }
    }

    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../../../../docs/HTTP.md");
        let (_, table) = page.split_once("| reply of one upstream | meaning |").unwrap();
        let table = table.split_once("\n\n").unwrap().0;
        for (cause, reason, meaning) in MEANINGS {
            let word = match meaning {
                Meaning::Accepted => "accepted",
                Meaning::Rejected(_) => "refused",
                Meaning::Busy => "busy",
                Meaning::Failed => "failed",
            };
            let row = table.lines().find(|line| line.contains(&format!("| {word}"))).unwrap();
            for name in [cause, reason].into_iter().filter(|name| *name != ANY) {
                assert!(row.contains(&format!("`{name}`")), "{word}: {name}");
            }
        }
    }
}
