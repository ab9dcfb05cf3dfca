//! The errors of requests, and their bytes on the wire.
//!
//! The bodies are those of NEAR node 2.14 byte for byte, with `code`, `message` and `data` next to
//! the `name` and `cause` of the interface, because published clients read them. Two bodies differ
//! on purpose: `INTERNAL_ERROR` has the actual message, where the node writes the constant
//! "InternalError happened during serializing InternalError"; and `TIMEOUT_ERROR` without a cause
//! has no `info`, as in the interface and in nodes before 2.14, where 2.14 can write `null`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::RequestId;
use super::response::{write_string, write_suffix};
use crate::primitives::{CryptoHash, ShardId};
use crate::{Error, ErrorKind};

/// The kind of a response, from which a host chooses an HTTP status without reading the body
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResponseKind {
    /// A result, or the response to a batch
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
    /// `INTERNAL_ERROR` of a service that is at a limit or shutting down: a retry may succeed
    Unavailable,
}

impl ResponseKind {
    /// The HTTP status that a node sends with such a response
    ///
    /// Results, and handler errors of every other kind, have 200. A service that is at a limit has
    /// 503, which a node does not send.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Result | Self::Handler => 200,
            Self::RequestValidation => 400,
            Self::Timeout => 408,
            Self::SkippedBlock => 422,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }
}

/// An invalid request, whose response is an error
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct InvalidRequest {
    /// The id of the request, `null` if it could not be read
    pub id: RequestId,
    /// The name of its method, if it could be read and is one of
    /// [`method_names`](super::method_names)
    pub method_name: Option<&'static str>,
    /// Whether it is a batch that is rejected as a whole
    pub is_batch: bool,
    /// The error as the response reports it
    pub rpc_error: RpcError,
    /// The error with its path, which starts with `request` or `params`, and its offset
    pub error: Error,
}

impl InvalidRequest {
    /// The error of a body or an envelope
    pub(super) fn of_request(id: RequestId, error: Error) -> Self {
        let error = error.at("request");
        Self::new(id, RpcError::Parse { message: error.to_string() }, error)
    }

    /// The error of params
    pub(super) fn of_params(id: RequestId, error: Error) -> Self {
        let error = error.at("params");
        let message = alloc::format!("Failed parsing args: {error}");
        Self::new(id, RpcError::Parse { message }, error)
    }

    /// The error of a method that is not served
    pub(super) fn of_method(id: RequestId, method: String) -> Self {
        let detail = format_args!("unknown method {method}");
        let error = Error::new(ErrorKind::Value, detail).at("request.method");
        Self::new(id, RpcError::MethodNotFound { method }, error)
    }

    const fn new(id: RequestId, rpc_error: RpcError, error: Error) -> Self {
        Self { id, method_name: None, is_batch: false, rpc_error, error }
    }

    /// Appends the whole response to `out`
    pub fn write(&self, out: &mut Vec<u8>) {
        self.rpc_error.write(&self.id, out);
    }
}

/// The error of a request, by its cause
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RpcError {
    /// The body, the envelope or the params cannot be read
    Parse {
        /// What is wrong and where
        message: String,
    },
    /// No method has this name
    MethodNotFound {
        /// The name
        method: String,
    },
    /// The transaction in the request can never be executed
    InvalidTransaction {
        /// The `InvalidTxError`, as compact JSON with sorted keys
        error: String,
    },
    /// The shard of the sender is not tracked
    DoesNotTrackShard,
    /// The transaction was forwarded to another node
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
        /// The reason, if the response reports one
        cause: Option<TimeoutCause>,
    },
    /// The block is not known
    UnknownBlock {
        /// The block, as a NEAR node writes it: `BLOCK HEIGHT: 5`
        message: String,
        /// Whether it was given by a height below the head, so it was skipped or removed
        skipped: bool,
    },
    /// No protocol configuration is in force at a known block
    ///
    /// On the wire it is `INTERNAL_ERROR` as well, but trying again does not help.
    NoConfig {
        /// What is missing, and what to do
        message: String,
    },
    /// The storage failed or has a corrupt row
    Internal {
        /// The error
        message: String,
    },
    /// The service is at a limit or shutting down
    ///
    /// On the wire it is the same as [`Internal`](Self::Internal), the one error that every client
    /// of the interface takes as "try again later".
    Unavailable {
        /// The reason
        message: String,
    },
}

/// Why a milestone was not reached in time
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TimeoutCause {
    /// The transaction was not included in a block
    NotObserved,
    /// The transaction is included and the milestone not reached
    Pending {
        /// The status so far, as compact JSON with sorted keys
        status: String,
    },
    /// The shard of the sender is not tracked
    DoesNotTrackShard {
        /// The shard
        shard_id: ShardId,
    },
    /// The status could not be determined
    Error {
        /// The error
        message: String,
    },
}

impl RpcError {
    /// The internal error with this message
    pub(crate) fn internal(error: &Error) -> Self {
        Self::Internal { message: error.to_string() }
    }

    /// The kind of a response with this error
    pub const fn kind(&self) -> ResponseKind {
        match self {
            Self::Parse { .. } | Self::MethodNotFound { .. } => ResponseKind::RequestValidation,
            Self::Timeout { .. } => ResponseKind::Timeout,
            Self::UnknownBlock { skipped: true, .. } => ResponseKind::SkippedBlock,
            Self::NoConfig { .. } | Self::Internal { .. } => ResponseKind::Internal,
            Self::Unavailable { .. } => ResponseKind::Unavailable,
            _ => ResponseKind::Handler,
        }
    }

    /// Appends the whole response with this error to `out`
    ///
    /// ```
    /// use milepost::rpc::{RpcError, RequestId};
    ///
    /// let mut body = Vec::new();
    /// RpcError::Timeout { cause: None }.write(&RequestId::default(), &mut body);
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
            Self::NoConfig { .. } | Self::Internal { .. } | Self::Unavailable { .. } => {
                ("INTERNAL_ERROR", "-32000", "Server error")
            }
            _ => ("HANDLER_ERROR", "-32000", "Server error"),
        };
        put(out, &[r#"{"jsonrpc":"2.0","error":{"name":""#, name, r#"","cause":"#]);
        self.write_cause(out);
        put(out, &[r#","code":"#, code, r#","message":""#, message, r#"","data":"#]);
        self.write_data(out);
        out.push(b'}');
        write_suffix(id, out);
    }

    /// Writes `name` before `info` for errors of the request itself and after it for all others: a
    /// NEAR node sorts the members of the latter only
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
            Self::NoConfig { message }
            | Self::Internal { message }
            | Self::Unavailable { message } => {
                put(out, &[r#"{"info":{"error_message":"#]);
                write_string(message, out);
                put(out, &[r#"},"name":"INTERNAL_ERROR"}"#]);
            }
        }
    }

    fn write_data(&self, out: &mut Vec<u8>) {
        match self {
            Self::Parse { message: text } | Self::NoConfig { message: text } => {
                write_string(text, out);
            }
            Self::MethodNotFound { method } => {
                let is_light = matches!(
                    method.as_str(),
                    "EXPERIMENTAL_light_client_proof" | "light_client_proof"
                );
                let why = if is_light { NO_BLOCK_PROOF } else { "" };
                write_string(&[method, why].concat(), out);
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

/// Why the proofs of a node's light clients cannot be made
const NO_BLOCK_PROOF: &str = ": its block_proof needs the hashes of all blocks since the genesis, \
    and only those of imported blocks are known";

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
}
