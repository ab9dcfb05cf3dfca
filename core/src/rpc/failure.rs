//! Every way in which a request can fail, and its bytes on the wire.
//!
//! The bodies are those of node 2.14 byte for byte, with `code`, `message` and `data` beside the
//! `name` and `cause` of the interface, because published clients read them. Two bodies differ on
//! purpose: `INTERNAL_ERROR` carries the real message, where the node puts the constant "InternalError
//! happened during serializing InternalError"; and `TIMEOUT_ERROR` without a cause has no `info`
//! at all, as the interface says and nodes before 2.14 had it, where 2.14 can write `null`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::RequestId;
use super::answer::{write_id, write_string};
use crate::primitives::{CryptoHash, ShardId};
use crate::{Error, ErrorKind};

/// The class of an answer: what a host needs to choose an HTTP status without reading the body
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AnswerClass {
    /// A result, or a batch of any answers
    Result,
    /// `REQUEST_VALIDATION_ERROR`
    RequestValidation,
    /// `HANDLER_ERROR` with `TIMEOUT_ERROR`
    Timeout,
    /// `HANDLER_ERROR` with `UNKNOWN_BLOCK` for a height below the head: skipped or removed
    SkippedBlock,
    /// Any other `HANDLER_ERROR`
    Handler,
    /// `INTERNAL_ERROR`
    Internal,
    /// `INTERNAL_ERROR` of a service that has no place for the request now, and may have later
    Unavailable,
}

/// A request that is answered by an error
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an id, what went wrong, and where")]
pub struct Refusal {
    /// The id of the request, `null` if it could not be read
    pub id: RequestId,
    /// What went wrong, as the answer says it
    pub failure: Failure,
    /// What went wrong, for hosts that show the place; its path starts with `request` or `params`
    pub error: Error,
}

impl Refusal {
    /// The refusal of a body or an envelope that cannot be read
    pub(super) fn of_request(id: RequestId, error: Error) -> Self {
        let error = error.at("request");
        Self { id, failure: Failure::parse_request(&error), error }
    }

    /// The refusal of params that cannot be read
    pub(super) fn of_params(id: RequestId, error: Error) -> Self {
        let error = error.at("params");
        Self { id, failure: Failure::parse_params(&error), error }
    }

    /// The refusal of a method that is not served
    pub(super) fn of_method(id: RequestId, method: String) -> Self {
        let detail = format_args!("no method is called {method}");
        let error = Error::new(ErrorKind::Value, detail).at("request.method");
        Self { id, failure: Failure::MethodNotFound { method }, error }
    }

    /// Appends the whole answer to `out`
    pub fn write(&self, out: &mut Vec<u8>) {
        self.failure.write(&self.id, out);
    }
}

/// What went wrong with a request
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The body, the envelope or the params cannot be read
    Parse {
        /// What is wrong, and where
        message: String,
    },
    /// No method has this name
    MethodNotFound {
        /// The name
        method: String,
    },
    /// The transaction that was sent can never be executed
    InvalidTransaction {
        /// The `InvalidTxError`, as compact JSON with sorted keys
        error: String,
    },
    /// The shard of the sender is not known here
    DoesNotTrackShard,
    /// The transaction was sent on to another node
    RequestRouted {
        /// Its hash
        hash: CryptoHash,
    },
    /// No transaction of this hash is known
    UnknownTransaction {
        /// The hash
        hash: CryptoHash,
    },
    /// The milestone was not reached in time
    Timeout {
        /// Why, if the answer shall say so
        cause: Option<TimeoutCause>,
    },
    /// The block that was asked for is not known
    UnknownBlock {
        /// Which block, in the words of a node: `BLOCK HEIGHT: 5`
        message: String,
        /// Whether it was named by a height below the head, so that it was skipped or removed
        skipped: bool,
    },
    /// The storage failed or holds something that the engine did not write
    Internal {
        /// What happened
        message: String,
    },
    /// There is no place for the request now: it has the form of [`Internal`](Self::Internal), the
    /// one error that every client of the interface reads as "try again later"
    Unavailable {
        /// Why
        message: String,
    },
}

/// Why a milestone was not reached in time
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TimeoutCause {
    /// The transaction never appeared
    NotObserved,
    /// The transaction is on its way
    Pending {
        /// The last answer, as compact JSON with sorted keys
        status: String,
    },
    /// The shard of the sender is not known here
    DoesNotTrackShard {
        /// The shard
        shard_id: ShardId,
    },
    /// Looking kept failing
    Error {
        /// How
        message: String,
    },
}

impl Failure {
    /// The failure to answer for this reason, which is the node's own
    pub(crate) fn of(error: &Error) -> Self {
        Self::Internal { message: error.to_string() }
    }

    /// The failure of a request whose params cannot be read; a path in `error` starts with
    /// `params`
    ///
    /// ```
    /// use milepost::rpc::Failure;
    /// use milepost::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Value, "unknown version 7").with_offset(0);
    /// let failure = Failure::parse_params(&error.at("params.signed_tx_base64"));
    /// let message = "Failed parsing args: params.signed_tx_base64: unknown version 7 (byte 0)";
    /// assert_eq!(failure, Failure::Parse { message: message.to_string() });
    /// ```
    pub fn parse_params(error: &Error) -> Self {
        Self::Parse { message: alloc::format!("Failed parsing args: {error}") }
    }

    /// The failure of a body or an envelope that cannot be read
    pub(super) fn parse_request(error: &Error) -> Self {
        Self::Parse { message: error.to_string() }
    }

    /// What kind of answer this failure makes
    pub const fn class(&self) -> AnswerClass {
        match self {
            Self::Parse { .. } | Self::MethodNotFound { .. } => AnswerClass::RequestValidation,
            Self::Timeout { .. } => AnswerClass::Timeout,
            Self::UnknownBlock { skipped: true, .. } => AnswerClass::SkippedBlock,
            Self::Internal { .. } => AnswerClass::Internal,
            Self::Unavailable { .. } => AnswerClass::Unavailable,
            _ => AnswerClass::Handler,
        }
    }

    /// Appends the whole answer with this failure to `out`
    ///
    /// ```
    /// use milepost::rpc::{Failure, RequestId};
    ///
    /// let mut body = Vec::new();
    /// Failure::Timeout { cause: None }.write(&RequestId::default(), &mut body);
    /// assert_eq!(
    ///     String::from_utf8(body).unwrap(),
    ///     r#"{"jsonrpc":"2.0","error":{"name":"HANDLER_ERROR","cause":{"name":"TIMEOUT_ERROR"},"#
    ///         .to_string()
    ///         + r#""code":-32000,"message":"Server error","data":"Timeout"},"id":"dontcare"}"#,
    /// );
    /// ```
    pub fn write(&self, id: &RequestId, out: &mut Vec<u8>) {
        let (name, code, message) = match self {
            Self::Parse { .. } => ("REQUEST_VALIDATION_ERROR", "-32700", "Parse error"),
            Self::MethodNotFound { .. } => {
                ("REQUEST_VALIDATION_ERROR", "-32601", "Method not found")
            }
            Self::Internal { .. } | Self::Unavailable { .. } => {
                ("INTERNAL_ERROR", "-32000", "Server error")
            }
            _ => ("HANDLER_ERROR", "-32000", "Server error"),
        };
        put(out, &[r#"{"jsonrpc":"2.0","error":{"name":""#, name, r#"","cause":"#]);
        self.write_cause(out);
        put(out, &[r#","code":"#, code, r#","message":""#, message, r#"","data":"#]);
        self.write_data(out);
        out.push(b'}');
        write_id(id, out);
    }

    /// `name` before `info` in refusals of the request, the other way round in all others: a node
    /// sorts the members of the latter only
    fn write_cause(&self, out: &mut Vec<u8>) {
        match self {
            Self::Parse { message } => {
                put(out, &[r#"{"name":"PARSE_ERROR","info":{"error_message":"#]);
                write_string(message, out);
                put(out, &["}}"]);
            }
            Self::MethodNotFound { method } => {
                put(out, &[r#"{"name":"METHOD_NOT_FOUND","info":{"method_name":"#]);
                write_string(method, out);
                put(out, &["}}"]);
            }
            Self::InvalidTransaction { .. } => {
                put(out, &[r#"{"info":{},"name":"INVALID_TRANSACTION"}"#]);
            }
            Self::DoesNotTrackShard => put(out, &[r#"{"name":"DOES_NOT_TRACK_SHARD"}"#]),
            Self::RequestRouted { hash } => {
                let hash = hash.to_string();
                put(out, &[r#"{"info":{"transaction_hash":""#, &hash, r#""},"#]);
                put(out, &[r#""name":"REQUEST_ROUTED"}"#]);
            }
            Self::UnknownTransaction { hash } => {
                let hash = hash.to_string();
                put(out, &[r#"{"info":{"requested_transaction_hash":""#, &hash, r#""},"#]);
                put(out, &[r#""name":"UNKNOWN_TRANSACTION"}"#]);
            }
            Self::Timeout { cause: None } => put(out, &[r#"{"name":"TIMEOUT_ERROR"}"#]),
            Self::Timeout { cause: Some(cause) } => {
                put(out, &[r#"{"info":"#]);
                cause.write(out);
                put(out, &[r#","name":"TIMEOUT_ERROR"}"#]);
            }
            Self::UnknownBlock { .. } => put(out, &[r#"{"info":{},"name":"UNKNOWN_BLOCK"}"#]),
            Self::Internal { message } | Self::Unavailable { message } => {
                put(out, &[r#"{"info":{"error_message":"#]);
                write_string(message, out);
                put(out, &[r#"},"name":"INTERNAL_ERROR"}"#]);
            }
        }
    }

    fn write_data(&self, out: &mut Vec<u8>) {
        match self {
            Self::Parse { message: text } | Self::MethodNotFound { method: text } => {
                write_string(text, out);
            }
            Self::InvalidTransaction { error } => {
                put(out, &[r#"{"TxExecutionError":{"InvalidTxError":"#, error, "}}"]);
            }
            Self::DoesNotTrackShard => put(
                out,
                &[
                    r#""Node doesn't track this shard. Cannot determine whether the transaction is valid""#,
                ],
            ),
            Self::RequestRouted { hash } => {
                put(out, &[r#""Transaction with hash "#, &hash.to_string(), r#" was routed""#]);
            }
            Self::UnknownTransaction { hash } => {
                put(out, &[r#""Transaction "#, &hash.to_string(), r#" doesn't exist""#]);
            }
            Self::Timeout { .. } => put(out, &[r#""Timeout""#]),
            Self::UnknownBlock { message, .. } => {
                write_string(&["Block Not Found: ", message].concat(), out);
            }
            Self::Internal { message } | Self::Unavailable { message } => {
                let text = "The node reached its limits. Try again later. More details: ";
                write_string(&[text, message].concat(), out);
            }
        }
    }
}

impl TimeoutCause {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::NotObserved => put(out, &[r#"{"cause":"NOT_OBSERVED"}"#]),
            Self::Pending { status } => {
                put(out, &[r#"{"cause":"PENDING","status":"#, status, "}"]);
            }
            Self::DoesNotTrackShard { shard_id } => {
                let shard_id = shard_id.to_string();
                put(out, &[r#"{"cause":"DOES_NOT_TRACK_SHARD","shard_id":"#, &shard_id, "}"]);
            }
            Self::Error { message } => {
                put(out, &[r#"{"cause":"ERROR","debug_info":"#]);
                write_string(message, out);
                out.push(b'}');
            }
        }
    }
}

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
}
