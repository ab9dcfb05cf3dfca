//! The result of a request: a response, or a pending request.
//!
//! A response is the body of a JSON-RPC response together with the outcome of each call, so that no
//! host has to read the body. Large results can be sent from the row that holds them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::ops::{Deref, Range};

use super::PendingRequest;
use crate::rpc::{self, Outcomes, RequestId, ResponseKind, RpcError};
use crate::storage::Row;

/// The state of a request: answered, or waiting for its milestone
///
/// `R` is the response in the form that the host asked for, `P` what represents the request while
/// it waits: the [`PendingRequest`] itself, or its handle in an [`Endpoint`](super::Endpoint).
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request is answered or it waits")]
pub enum RequestState<R = Response, P = PendingRequest> {
    /// It is answered
    Ready(R),
    /// Its milestone is not reached yet
    Pending(P),
}

impl<R, P> RequestState<R, P> {
    /// The state with the response in another form
    pub(super) fn map<T>(self, form: impl FnOnce(R) -> T) -> RequestState<T, P> {
        match self {
            Self::Ready(response) => RequestState::Ready(form(response)),
            Self::Pending(pending) => RequestState::Pending(pending),
        }
    }
}

/// A finished response: the body of a JSON-RPC response, and its outcomes as data
///
/// ```
/// use milepost::endpoint::Response;
/// use milepost::rpc::{RequestId, ResponseKind, RpcError};
///
/// let id = RequestId::default();
/// let error = RpcError::MethodNotFound { method: "nope".to_owned() };
/// let responses = [Response::result(&id, |out| out.push(b'7')), Response::error(&id, error)];
/// let batch = Response::batch(responses).unwrap();
/// assert!(batch.body.starts_with(br#"[{"jsonrpc":"2.0","result":7,"id":"dontcare"},{"#));
/// assert_eq!(batch.kind(), ResponseKind::Result);
/// assert_eq!(batch.outcomes.errors().count(), 1);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "bytes and their outcomes")]
pub struct Response {
    /// The response, as compact JSON
    pub body: Vec<u8>,
    /// The outcome of each call, with its place in the body
    pub outcomes: Outcomes,
}

impl Response {
    /// The response with this result; `result` appends exactly one JSON value
    pub fn result(id: &RequestId, result: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut body = Vec::new();
        let outcome = rpc::write_result(id, result, &mut body);
        Self { body, outcomes: Outcomes::one(outcome) }
    }

    /// The response with this error
    pub fn error(id: &RequestId, error: RpcError) -> Self {
        Self::shared_error(id, Arc::new(error))
    }

    pub(super) fn shared_error(id: &RequestId, error: Arc<RpcError>) -> Self {
        let mut body = Vec::new();
        let outcome = rpc::write_shared_error(id, error, &mut body);
        Self { body, outcomes: Outcomes::one(outcome) }
    }

    /// The response to a batch: the array of these responses to its calls; `None` if there is none
    pub fn batch(responses: impl IntoIterator<Item = Self>) -> Option<Self> {
        let (mut body, mut outcomes) = (Vec::from(*b"["), Vec::new());
        for response in responses {
            if body.len() > 1 {
                body.push(b',');
            }
            let offset = body.len();
            body.extend_from_slice(&response.body);
            outcomes.extend(response.outcomes.iter().map(|outcome| outcome.moved(offset)));
        }
        body.push(b']');
        Outcomes::batch(outcomes).map(|outcomes| Self { body, outcomes })
    }

    /// The response to the call of this index alone, copied; `None` if there is none
    pub fn item(&self, index: usize) -> Option<Self> {
        let outcome = self.outcomes.iter().nth(index)?;
        let body = self.body.get(outcome.response.clone())?.to_vec();
        Some(Self { body, outcomes: Outcomes::one(outcome.alone()) })
    }

    /// The kind of the response; that to a batch is a [`ResponseKind::Result`], whatever it contains
    pub fn kind(&self) -> ResponseKind {
        self.outcomes.kind()
    }
}

/// A response that may consist of chunks
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "the body is contiguous or it is not")]
pub enum ResponseBody {
    /// The response in bytes of its own
    Contiguous(Response),
    /// A result: these chunks one after the other, which share the bytes of the stored row
    Chunks([ResponseChunk; 4]),
}

impl ResponseBody {
    /// The kind of the response
    pub fn kind(&self) -> ResponseKind {
        match self {
            Self::Contiguous(response) => response.kind(),
            Self::Chunks(_) => ResponseKind::Result,
        }
    }

    /// The errors in the response, in the order of the calls
    pub fn errors(&self) -> impl Iterator<Item = &RpcError> {
        let outcomes = match self {
            Self::Contiguous(response) => Some(&response.outcomes),
            Self::Chunks(_) => None,
        };
        outcomes.into_iter().flat_map(Outcomes::errors)
    }
}

/// A part of a response, which shares the bytes of the row that it was read from
#[derive(Clone, Debug)]
pub struct ResponseChunk(pub(super) Bytes);

#[derive(Clone, Debug)]
pub(super) enum Bytes {
    /// A part of a row
    Row(Row, Range<usize>),
    /// A part that is the same in every response
    Static(&'static [u8]),
    /// The end of a response with a short id, stored inline with its length
    Inline(u8, [u8; MAX_INLINE_LEN]),
}

/// Maximum number of bytes that are stored inline: with their length they are as large as a row and
/// a range
const MAX_INLINE_LEN: usize = 31;

impl Bytes {
    /// The concatenation of these parts, allocated if it is longer than [`MAX_INLINE_LEN`]
    pub(super) fn concat(parts: [&[u8]; 3]) -> Self {
        let mut bytes = [0; MAX_INLINE_LEN];
        let mut len = 0;
        for part in parts {
            let Some(target) = bytes.get_mut(len..len + part.len()) else {
                let concatenated = parts.concat();
                return Self::Row(Row::from(&concatenated[..]), 0..concatenated.len());
            };
            target.copy_from_slice(part);
            len += part.len();
        }
        // At most `MAX_INLINE_LEN`.
        Self::Inline(len as u8, bytes)
    }
}

impl Deref for ResponseChunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // The range is valid by construction; an invalid one would give no bytes.
        match &self.0 {
            Bytes::Row(row, range) => row.get(range.clone()).unwrap_or_default(),
            Bytes::Static(bytes) => bytes,
            Bytes::Inline(len, bytes) => bytes.get(..usize::from(*len)).unwrap_or_default(),
        }
    }
}

impl AsRef<[u8]> for ResponseChunk {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for ResponseChunk {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for ResponseChunk {
    fn from(bytes: &[u8]) -> Self {
        Self(Bytes::concat([bytes, &[], &[]]))
    }
}
