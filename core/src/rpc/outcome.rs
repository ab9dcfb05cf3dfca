//! The outcome of each call of a request: a result or an error, as data and with its place in the
//! body.
//!
//! A host chooses a status, counts and logs by these values and never reads the body. An outcome
//! is made where the response is written, so the two cannot differ.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use core::slice;

use super::response::{RESULT_PREFIX, write_suffix};
use super::{RequestId, ResponseKind, RpcError};

/// The bytes of a response before its error
pub(super) const ERROR_PREFIX: &str = r#"{"jsonrpc":"2.0","error":"#;

/// The outcome of a call, and its place in the body of the response
///
/// ```
/// use milepost::rpc::{RequestId, RpcError, write_error};
///
/// let mut body = Vec::new();
/// let error = RpcError::MethodNotFound { method: "nope".to_owned() };
/// let outcome = write_error(&RequestId::null(), error, &mut body);
/// assert_eq!(outcome.response, 0..body.len());
/// assert!(body[outcome.value.clone()].starts_with(b"{\"name\":\"REQUEST_VALIDATION_ERROR\""));
/// assert!(matches!(outcome.error.as_deref(), Some(RpcError::MethodNotFound { .. })));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CallOutcome {
    /// The place of its response in the body: all of it, unless it is one of a batch
    pub response: Range<usize>,
    /// The place of its result, or of its error, in the body
    pub value: Range<usize>,
    /// The error, if there is no result
    pub error: Option<Arc<RpcError>>,
}

impl CallOutcome {
    /// Of a response of this length, whose result or error ends here
    #[inline]
    pub(crate) const fn new(len: usize, value_end: usize, error: Option<Arc<RpcError>>) -> Self {
        let start = if error.is_some() { ERROR_PREFIX.len() } else { RESULT_PREFIX.len() };
        Self { response: 0..len, value: start..value_end, error }
    }

    /// The kind of the response to this call alone
    pub fn kind(&self) -> ResponseKind {
        self.error.as_deref().map_or(ResponseKind::Result, RpcError::kind)
    }

    /// The same in a body that is this response alone
    pub(crate) fn alone(&self) -> Self {
        let start = self.response.start;
        let moved = |range: &Range<usize>| range.start - start..range.end - start;
        let error = self.error.clone();
        Self { response: moved(&self.response), value: moved(&self.value), error }
    }

    /// The same in a body in which the response begins at this offset
    pub(crate) fn moved(&self, offset: usize) -> Self {
        let moved = |range: &Range<usize>| range.start + offset..range.end + offset;
        let error = self.error.clone();
        Self { response: moved(&self.response), value: moved(&self.value), error }
    }
}

/// The outcomes of all calls of a request: of one, or of each of a batch
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcomes {
    first: CallOutcome,
    /// Those of the other calls, if the body is an array; shared, because that is dropped at the
    /// least cost where there are none
    others: Option<Arc<[CallOutcome]>>,
}

impl Outcomes {
    /// Of a body that is one response: to a call, or to an invalid request
    #[inline]
    pub(crate) const fn one(outcome: CallOutcome) -> Self {
        Self { first: outcome, others: None }
    }

    /// Of a body that is an array of these responses; `None` if there is none
    pub(crate) fn batch(outcomes: impl IntoIterator<Item = CallOutcome>) -> Option<Self> {
        let mut outcomes = outcomes.into_iter();
        let first = outcomes.next()?;
        Some(Self { first, others: Some(outcomes.collect()) })
    }

    /// The only outcome; `None` if the body is an array of one response per call
    pub const fn only(&self) -> Option<&CallOutcome> {
        if self.is_batch() { None } else { Some(&self.first) }
    }

    /// Whether the body is an array of one response per call
    pub const fn is_batch(&self) -> bool {
        self.others.is_some()
    }

    /// The outcomes, in the order of the calls
    pub fn iter(&self) -> impl Iterator<Item = &CallOutcome> {
        slice::from_ref(&self.first).iter().chain(self.others.as_deref().unwrap_or_default())
    }

    /// The errors, in the order of the calls
    pub fn errors(&self) -> impl Iterator<Item = &RpcError> {
        self.iter().filter_map(|outcome| outcome.error.as_deref())
    }

    /// The kind of the response; that to a batch is a [`ResponseKind::Result`], whatever it contains
    pub fn kind(&self) -> ResponseKind {
        self.only().map_or(ResponseKind::Result, CallOutcome::kind)
    }
}

/// Appends the response with this result to `out`
///
/// `result` appends exactly one JSON value. Places in the outcome count from where the response
/// begins.
///
/// ```
/// use milepost::rpc::{RequestId, write_result};
///
/// let mut body = Vec::new();
/// let outcome =
///     write_result(&RequestId::default(), |out| out.extend_from_slice(b"{}"), &mut body);
/// assert_eq!(body, br#"{"jsonrpc":"2.0","result":{},"id":"dontcare"}"#);
/// assert_eq!(&body[outcome.value], b"{}");
/// ```
pub fn write_result(
    id: &RequestId,
    result: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) -> CallOutcome {
    let start = out.len();
    out.extend_from_slice(RESULT_PREFIX);
    result(out);
    let value_end = out.len() - start;
    write_suffix(id, out);
    CallOutcome::new(out.len() - start, value_end, None)
}

/// Appends the response with this error to `out`
///
/// Places in the outcome count from where the response begins.
///
/// ```
/// use milepost::primitives::CryptoHash;
/// use milepost::rpc::{RequestId, RpcError, write_error};
///
/// let mut body = Vec::new();
/// let error = RpcError::Timeout { hash: CryptoHash::ZERO, cause: None };
/// write_error(&RequestId::default(), error, &mut body);
/// assert_eq!(
///     String::from_utf8(body).unwrap(),
///     r#"{"jsonrpc":"2.0","error":{"name":"HANDLER_ERROR","cause":{"name":"TIMEOUT_ERROR"},"#
///         .to_string()
///         + r#""code":-32000,"message":"Server error","data":"Timeout"},"id":"dontcare"}"#,
/// );
/// ```
pub fn write_error(id: &RequestId, error: RpcError, out: &mut Vec<u8>) -> CallOutcome {
    write_shared_error(id, Arc::new(error), out)
}

/// The same with an error that others have too
pub(crate) fn write_shared_error(
    id: &RequestId,
    error: Arc<RpcError>,
    out: &mut Vec<u8>,
) -> CallOutcome {
    let start = out.len();
    let value_end = write_error_text(id, &error, out) - start;
    CallOutcome::new(out.len() - start, value_end, Some(error))
}

/// Appends the response with this error to `out`, and returns where the error ends
pub(crate) fn write_error_text(id: &RequestId, error: &RpcError, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(ERROR_PREFIX.as_bytes());
    error.write(out);
    let end = out.len();
    write_suffix(id, out);
    end
}
