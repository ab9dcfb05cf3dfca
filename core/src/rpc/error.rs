//! The errors of requests, and their bytes on the wire.
//!
//! The bodies are those of NEAR node 2.14 byte for byte, with `code`, `message` and `data` next to
//! the `name` and `cause` of the interface, because published clients read them. Two bodies differ
//! on purpose: `INTERNAL_ERROR` has the actual message, where the node writes the constant
//! "InternalError happened during serializing InternalError"; and `TIMEOUT_ERROR` without a cause
//! has no `info`, as in the interface and in nodes before 2.14, where 2.14 can write `null`.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::RequestId;
use super::response::write_string;
use crate::Error;
use crate::config::BlockReference;
use crate::primitives::{BlockHeight, CryptoHash, Nonce, ShardId};

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
    /// The error
    pub rpc_error: RpcError,
}

impl InvalidRequest {
    /// The error of a body or an envelope
    pub(super) fn of_request(id: RequestId, error: Error) -> Self {
        Self::new(id, RpcError::Parse { error: error.at("request") })
    }

    /// The error of params
    pub(super) fn of_params(id: RequestId, error: Error) -> Self {
        Self::new(id, RpcError::Parse { error: error.at(PARAMS) })
    }

    /// The error of a method that is not served
    pub(super) const fn of_method(id: RequestId, method: String) -> Self {
        Self::new(id, RpcError::MethodNotFound { method })
    }

    const fn new(id: RequestId, rpc_error: RpcError) -> Self {
        Self { id, method_name: None, is_batch: false, rpc_error }
    }
}

/// The path of errors in params
pub(super) const PARAMS: &str = "params";

/// The error of a request, by its cause, with the values that it is about
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RpcError {
    /// The body, the envelope or the params cannot be read
    Parse {
        /// The error, whose path starts with `request` or `params`
        error: Error,
    },
    /// No method has this name
    MethodNotFound {
        /// The name
        method: String,
    },
    /// The transaction in the request can never be executed
    InvalidTransaction {
        /// Its hash
        hash: CryptoHash,
        /// The reason
        reason: InvalidTransaction,
    },
    /// The shard of the sender is not tracked
    DoesNotTrackShard {
        /// The shard
        shard_id: ShardId,
    },
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
        /// The hash of the transaction
        hash: CryptoHash,
        /// The reason, if the response reports one
        cause: Option<TimeoutCause>,
    },
    /// The block is not known
    UnknownBlock {
        /// The block
        block: BlockReference,
        /// Whether it was given by a height below the head, so it was skipped or removed
        skipped: bool,
    },
    /// No protocol configuration is in force at a known block
    ///
    /// On the wire it is `INTERNAL_ERROR` as well, but trying again does not help.
    NoConfig {
        /// The height of the block
        height: BlockHeight,
        /// The first height at which a configuration is in force, if there is one
        first: Option<BlockHeight>,
    },
    /// The storage failed or has a corrupt row
    Internal {
        /// The error
        error: Error,
    },
    /// The milestone is not reached, and too many calls wait already
    ///
    /// On the wire this and the two variants below are the same as [`Internal`](Self::Internal),
    /// the one error that every client of the interface takes as "try again later".
    OverLimit {
        /// The hash of the transaction
        hash: CryptoHash,
        /// Number of calls that wait
        pending: usize,
        /// Maximum number of calls that wait
        limit: usize,
        /// Number of calls of the request
        calls: usize,
    },
    /// The milestone is not reached, and the service stops
    Stopping {
        /// The hash of the transaction
        hash: CryptoHash,
    },
    /// The host is at a limit, or cannot answer for another reason that may pass
    Unavailable {
        /// The reason
        message: String,
        /// The transaction whose milestone is not reached, if this ends a wait
        unreached: Option<CryptoHash>,
    },
    /// An error that the host answers a call with: its own, or that of a node which it asked
    Host {
        /// The error object, as JSON
        json: String,
        /// The kind of the response
        kind: ResponseKind,
        /// The transaction whose milestone is not reached, if this ends a wait
        unreached: Option<CryptoHash>,
    },
}

/// The values that an error is about, as far as it names them
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ErrorDetails {
    /// The hash of the transaction or of the block
    pub hash: Option<CryptoHash>,
    /// The height of the block
    pub height: Option<BlockHeight>,
    /// The shard that is not tracked
    pub shard_id: Option<ShardId>,
    /// The limit that is reached
    pub limit: Option<u64>,
}

/// Why a transaction can never be executed: an `InvalidTxError`
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InvalidTransaction {
    /// Its base block is too old
    Expired,
    /// Its signature is not that of its public key
    InvalidSignature,
    /// Its access key has used this nonce or a greater one
    InvalidNonce {
        /// The nonce that the access key has used
        access_key: Nonce,
        /// The nonce of the transaction
        transaction: Nonce,
    },
    /// It violates a rule of the protocol configuration
    Rule {
        /// The error as compact JSON with sorted keys
        json: String,
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
    /// The kind of a response with this error
    pub const fn kind(&self) -> ResponseKind {
        match self {
            Self::Parse { .. } | Self::MethodNotFound { .. } => ResponseKind::RequestValidation,
            Self::Timeout { .. } => ResponseKind::Timeout,
            Self::UnknownBlock { skipped: true, .. } => ResponseKind::SkippedBlock,
            Self::NoConfig { .. } | Self::Internal { .. } => ResponseKind::Internal,
            Self::OverLimit { .. } | Self::Stopping { .. } | Self::Unavailable { .. } => {
                ResponseKind::Unavailable
            }
            Self::Host { kind, .. } => *kind,
            _ => ResponseKind::Handler,
        }
    }

    /// `name` of the error on the wire
    pub const fn name(&self) -> &'static str {
        match self.kind() {
            ResponseKind::RequestValidation => "REQUEST_VALIDATION_ERROR",
            ResponseKind::Internal | ResponseKind::Unavailable => "INTERNAL_ERROR",
            _ => "HANDLER_ERROR",
        }
    }

    /// `name` of its cause on the wire; `None` of an error of the host
    pub const fn cause_name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Parse { .. } => "PARSE_ERROR",
            Self::MethodNotFound { .. } => "METHOD_NOT_FOUND",
            Self::InvalidTransaction { .. } => "INVALID_TRANSACTION",
            Self::DoesNotTrackShard { .. } => "DOES_NOT_TRACK_SHARD",
            Self::RequestRouted { .. } => "REQUEST_ROUTED",
            Self::UnknownTransaction { .. } => "UNKNOWN_TRANSACTION",
            Self::Timeout { .. } => "TIMEOUT_ERROR",
            Self::UnknownBlock { .. } => "UNKNOWN_BLOCK",
            Self::NoConfig { .. }
            | Self::Internal { .. }
            | Self::OverLimit { .. }
            | Self::Stopping { .. }
            | Self::Unavailable { .. } => "INTERNAL_ERROR",
            Self::Host { .. } => return None,
        })
    }

    /// `info` of its cause on the wire, as JSON; `None` if it has none
    pub fn info(&self) -> Option<String> {
        let has_info = self.has_info() && self.cause_name().is_some();
        has_info.then(|| {
            let mut out = Vec::new();
            self.write_info(&mut out);
            String::from_utf8(out).unwrap_or_default()
        })
    }

    /// The values that it is about, for interfaces without variants
    pub fn details(&self) -> ErrorDetails {
        let mut details = ErrorDetails::default();
        match self {
            Self::InvalidTransaction { hash, .. }
            | Self::RequestRouted { hash }
            | Self::UnknownTransaction { hash }
            | Self::Stopping { hash } => details.hash = Some(*hash),
            Self::Timeout { hash, cause } => {
                details.hash = Some(*hash);
                if let Some(TimeoutCause::DoesNotTrackShard { shard_id }) = cause {
                    details.shard_id = Some(*shard_id);
                }
            }
            Self::OverLimit { hash, limit, .. } => {
                details.hash = Some(*hash);
                details.limit = Some(*limit as u64);
            }
            Self::DoesNotTrackShard { shard_id } => details.shard_id = Some(*shard_id),
            Self::UnknownBlock { block: BlockReference::Height(height), .. }
            | Self::NoConfig { height, .. } => details.height = Some(*height),
            Self::UnknownBlock { block: BlockReference::Hash(hash), .. } => {
                details.hash = Some(*hash);
            }
            Self::Unavailable { unreached, .. } | Self::Host { unreached, .. } => {
                details.hash = *unreached;
            }
            Self::Parse { .. }
            | Self::MethodNotFound { .. }
            | Self::UnknownBlock { .. }
            | Self::Internal { .. } => {}
        }
        details
    }

    /// The transaction whose milestone is not reached, of an error that ends a wait for it
    pub const fn unreached(&self) -> Option<CryptoHash> {
        match self {
            Self::Timeout { hash, .. } | Self::OverLimit { hash, .. } | Self::Stopping { hash } => {
                Some(*hash)
            }
            Self::Unavailable { unreached, .. } | Self::Host { unreached, .. } => *unreached,
            _ => None,
        }
    }

    /// Appends the error object
    ///
    /// `cause` has `name` before `info` for errors of the request itself and after it for all
    /// others: a NEAR node sorts the members of the latter only.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Self::Host { json, .. } = self {
            return put(out, &[json]);
        }
        let (code, message) = match self {
            Self::Parse { .. } => ("-32700", "Parse error"),
            Self::MethodNotFound { .. } => ("-32601", "Method not found"),
            _ => ("-32000", "Server error"),
        };
        let cause = self.cause_name().unwrap_or_default();
        put(out, &[r#"{"name":""#, self.name(), r#"","cause":{"#]);
        if self.kind() == ResponseKind::RequestValidation {
            put(out, &[r#""name":""#, cause, r#"","info":"#]);
            self.write_info(out);
        } else {
            if self.has_info() {
                put(out, &[r#""info":"#]);
                self.write_info(out);
                out.push(b',');
            }
            put(out, &[r#""name":""#, cause, "\""]);
        }
        put(out, &[r#"},"code":"#, code, r#","message":""#, message, r#"","data":"#]);
        self.write_data(out);
        out.push(b'}');
    }

    const fn has_info(&self) -> bool {
        !matches!(self, Self::DoesNotTrackShard { .. } | Self::Timeout { cause: None, .. })
    }

    fn write_info(&self, out: &mut Vec<u8>) {
        let mut member = |name: &str, text: &str| {
            put(out, &["{\"", name, "\":"]);
            write_string(text, out);
            out.push(b'}');
        };
        match self {
            Self::MethodNotFound { method } => member("method_name", method),
            Self::RequestRouted { hash } => member("transaction_hash", &hash.to_string()),
            Self::UnknownTransaction { hash } => {
                member("requested_transaction_hash", &hash.to_string());
            }
            Self::Timeout { cause: Some(cause), .. } => cause.write(out),
            Self::InvalidTransaction { .. }
            | Self::UnknownBlock { .. }
            | Self::DoesNotTrackShard { .. }
            | Self::Timeout { cause: None, .. } => put(out, &["{}"]),
            Self::Parse { .. }
            | Self::NoConfig { .. }
            | Self::Internal { .. }
            | Self::OverLimit { .. }
            | Self::Stopping { .. }
            | Self::Unavailable { .. }
            | Self::Host { .. } => member("error_message", &self.message()),
        }
    }

    /// The text of an error that has one
    fn message(&self) -> String {
        match self {
            Self::Parse { error } if error.path().starts_with(PARAMS) => {
                format!("Failed parsing args: {error}")
            }
            Self::Parse { error } | Self::Internal { error } => error.to_string(),
            Self::NoConfig { height, first } => {
                let from = first.map(|first| format!(", the first one starts at {first}"));
                let from = from.unwrap_or_default();
                format!(
                    "no protocol configuration is in force at height {height}{from}: import the \
                     one of this height"
                )
            }
            Self::OverLimit { pending, limit, calls, .. } => format!(
                "too many pending requests: {pending} of {limit}, and this one needs {calls}"
            ),
            Self::Stopping { .. } => "the service stops".into(),
            Self::Unavailable { message, .. } => message.clone(),
            _ => String::new(),
        }
    }

    fn write_data(&self, out: &mut Vec<u8>) {
        let text = match self {
            Self::InvalidTransaction { reason, .. } => {
                put(out, &[r#"{"TxExecutionError":{"InvalidTxError":"#]);
                reason.write(out);
                return put(out, &["}}"]);
            }
            Self::Parse { .. } | Self::NoConfig { .. } => self.message(),
            Self::MethodNotFound { method } => match method.as_str() {
                "EXPERIMENTAL_light_client_proof" | "light_client_proof" => {
                    [method, NO_BLOCK_PROOF].concat()
                }
                _ => method.clone(),
            },
            Self::DoesNotTrackShard { .. } => "Node doesn't track this shard. Cannot determine \
                                               whether the transaction is valid"
                .into(),
            Self::RequestRouted { hash } => format!("Transaction with hash {hash} was routed"),
            Self::UnknownTransaction { hash } => format!("Transaction {hash} doesn't exist"),
            Self::Timeout { .. } => "Timeout".into(),
            Self::UnknownBlock { block, .. } => {
                ["Block Not Found: ", &block.unknown_text()].concat()
            }
            Self::Internal { .. }
            | Self::OverLimit { .. }
            | Self::Stopping { .. }
            | Self::Unavailable { .. }
            | Self::Host { .. } => {
                let text = "The node reached its limits. Try again later. More details: ";
                [text, &self.message()].concat()
            }
        };
        write_string(&text, out);
    }
}

impl InvalidTransaction {
    /// Appends the `InvalidTxError` as compact JSON with sorted keys
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Expired => put(out, &["\"Expired\""]),
            Self::InvalidSignature => put(out, &["\"InvalidSignature\""]),
            Self::InvalidNonce { access_key, transaction } => {
                let (used, own) = (access_key.to_string(), transaction.to_string());
                put(
                    out,
                    &[r#"{"InvalidNonce":{"ak_nonce":"#, &used, r#","tx_nonce":"#, &own, "}}"],
                );
            }
            Self::Rule { json } => put(out, &[json]),
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
