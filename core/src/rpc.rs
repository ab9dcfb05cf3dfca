//! The JSON-RPC envelope: from the bytes of a request to a validated method call, and from a result
//! to the bytes of a response.
//!
//! All bytes get a response: nothing here panics, no generic JSON tree is built, and the size of an
//! error is bounded by limits, not by the request. The id of a request is kept whenever it can be
//! read, also if everything else is wrong. Methods are executed and signatures verified elsewhere.

mod error;
mod fast_path;
mod id;
mod method;
mod outcome;
mod params;
mod read;
mod request;
mod response;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::slice;

pub use error::{
    ErrorDetails, InvalidRequest, InvalidTransaction, ResponseKind, RpcError, TimeoutCause,
};
pub use id::RequestId;
pub use method::{Method, OtherMethod, method_names};
pub use outcome::{CallOutcome, Outcomes, write_error, write_result};
pub(crate) use outcome::{write_error_text, write_shared_error};
pub use params::{StatusRequest, TransactionRef};
pub(crate) use response::{RESULT_PREFIX, response_suffix};

use crate::{Error, ErrorKind};
use fast_path::REQUEST_MEMBERS;
use read::{JsonType, Members, RawValue, items, skip_space};
use request::{parse_call, parse_call_fast, type_error, unreadable};

/// Limits of a request body
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of requests in a batch; default 50
    pub max_batch: usize,
    /// Maximum length of a request id in bytes, with its quotes; default 1024, as the longest ids
    /// in use are UUIDs of 36 bytes
    pub max_id_bytes: usize,
}

impl Limits {
    /// Maximum nesting depth of a request id, so that parsers with a limit of 128 levels can read
    /// the response
    pub const MAX_ID_DEPTH: usize = 64;
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_batch: 50, max_id_bytes: 1024 }
    }
}

/// A request whose envelope and params are valid
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an id and a method")]
pub struct MethodCall {
    /// The id that the response repeats
    pub id: RequestId,
    /// The name of the method as the request gives it, if it is one of [`method_names`]
    pub method_name: Option<&'static str>,
    /// The method and its params
    pub method: Method,
}

impl MethodCall {
    /// Answers the call by the host: with the JSON of its result, or with an error
    ///
    /// The engine writes the response with it, in its place in the batch.
    pub fn answer(&mut self, answer: Result<Arc<[u8]>, RpcError>) {
        self.method = Method::Answered(answer);
    }
}

/// A parsed request body
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "one request, many, or none")]
pub enum Request {
    /// One request, whose response is one object
    Single(Result<MethodCall, InvalidRequest>),
    /// A batch, whose response is an array with one response per item, in this order
    Batch(Vec<Result<MethodCall, InvalidRequest>>),
    /// Not JSON, no request, or a batch that is empty or too long: the response is one object
    Invalid(InvalidRequest),
}

impl Request {
    /// The valid calls, in their order, for a host that answers some of them itself
    ///
    /// The params of a call are read from the body, at the place that the call names; the id, the
    /// batch and the errors of other calls are left to the engine.
    ///
    /// ```
    /// use milepost::endpoint::{Engine, RequestState};
    /// use milepost::rpc::Method;
    /// use milepost::storage::MemoryStorage;
    ///
    /// let engine = Engine::default();
    /// let body = br#"[{"id":1,"method":"echo","params":[7]},{"id":2,"method":"nope"}]"#;
    /// let mut request = engine.parse(body, None);
    /// for call in request.calls_mut() {
    ///     if let Method::Other(other) = &call.method
    ///         && other.name == "echo"
    ///         && let Some(params) = other.params.clone()
    ///     {
    ///         call.answer(Ok(body[params].into()));
    ///     }
    /// }
    /// let state = engine.respond(request, &MemoryStorage::new());
    /// let RequestState::Ready(response) = state else { panic!("it waits") };
    /// assert!(response.body.starts_with(br#"[{"jsonrpc":"2.0","result":[7],"id":1},{"#));
    /// assert_eq!(response.outcomes.errors().count(), 1);
    /// ```
    pub fn calls_mut(&mut self) -> impl Iterator<Item = &mut MethodCall> {
        let calls = match self {
            Self::Single(call) => slice::from_mut(call),
            Self::Batch(calls) => calls,
            Self::Invalid(_) => &mut [],
        };
        calls.iter_mut().filter_map(|call| call.as_mut().ok())
    }

    /// Whether the body is a batch, valid or not
    ///
    /// ```
    /// use milepost::rpc::{Limits, parse};
    ///
    /// for body in ["[]", "[7]", "[{"] {
    ///     assert!(parse(body.as_bytes(), None, &Limits::default()).is_batch());
    /// }
    /// ```
    pub const fn is_batch(&self) -> bool {
        match self {
            Self::Single(_) => false,
            Self::Batch(_) => true,
            Self::Invalid(invalid) => invalid.is_batch,
        }
    }

    /// The name of the method, one of [`method_names`], also if the request is invalid for another
    /// reason; `None` for a batch, and if the name could not be read or is another
    ///
    /// ```
    /// use milepost::rpc::{Limits, parse};
    ///
    /// let body = br#"{"method":"tx","params":7,"id":"#;
    /// assert_eq!(parse(body, None, &Limits::default()).method_name(), Some("tx"));
    /// ```
    pub const fn method_name(&self) -> Option<&'static str> {
        match self {
            Self::Single(Ok(call)) => call.method_name,
            Self::Single(Err(invalid)) | Self::Invalid(invalid) => invalid.method_name,
            Self::Batch(_) => None,
        }
    }
}

/// Parses a request body
///
/// `url_method` is the method that the request's URL names, if it names one: a body that names
/// another is invalid. The time is linear in the length of the body. The result is owned; except
/// for a signed transaction, its size is bounded by the limits.
///
/// ```
/// use milepost::rpc::{Request, Limits, Method, parse};
///
/// let body = br#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"},"id":7}"#;
/// let Request::Single(Ok(call)) = parse(body, None, &Limits::default()) else { panic!() };
/// assert_eq!(call.id.as_json(), "7");
/// assert!(matches!(call.method, Method::ProtocolConfig(_)));
/// ```
pub fn parse(body: &[u8], url_method: Option<&str>, limits: &Limits) -> Request {
    let text = match core::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.valid_up_to();
            // The id may come before the invalid byte.
            let before = body.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let mut request = Members::new(REQUEST_MEMBERS);
            // Fails at the latest where the valid part ends.
            let _ = request.read(before);
            let error = Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(offset);
            let is_batch = skip_space(before).starts_with('[');
            return Request::Invalid(InvalidRequest {
                is_batch,
                ..unreadable(&request, error, limits)
            });
        }
    };
    match skip_space(text).as_bytes().first() {
        Some(b'{') => {
            if let Some(call) = parse_call_fast(text, url_method, limits) {
                return Request::Single(Ok(call));
            }
            let mut request = Members::new(REQUEST_MEMBERS);
            match request.read(text) {
                Ok(()) => Request::Single(parse_call(&request, text, url_method, limits)),
                Err(error) => Request::Invalid(unreadable(&request, error, limits)),
            }
        }
        Some(b'[') => parse_batch(text, url_method, limits),
        _ => {
            let error = read::value(text).map_or_else(|error| error, type_error);
            Request::Invalid(InvalidRequest::of_request(RequestId::null(), error))
        }
    }
}

fn parse_batch(text: &str, url_method: Option<&str>, limits: &Limits) -> Request {
    let (values, count) = match items(text, limits.max_batch) {
        Ok(items) => items,
        Err(error) => return invalid_batch(error),
    };
    if count == 0 {
        return invalid_batch(Error::new(ErrorKind::Schema, "batch of no requests"));
    }
    if count > limits.max_batch {
        let detail = alloc::format!("batch of {count} requests, the limit is {}", limits.max_batch);
        return invalid_batch(Error::new(ErrorKind::Limit, detail));
    }
    let parse_item = |value: RawValue<'_>| {
        if value.json_type() != JsonType::Object {
            return Err(InvalidRequest::of_request(RequestId::null(), type_error(value)));
        }
        if let Some(call) = parse_call_fast(value.text(), url_method, limits) {
            return Ok(call);
        }
        let mut request = Members::new(REQUEST_MEMBERS);
        match request.read_value(value) {
            Ok(()) => parse_call(&request, text, url_method, limits),
            Err(error) => Err(unreadable(&request, error, limits)),
        }
    };
    Request::Batch(values.into_iter().map(parse_item).collect())
}

fn invalid_batch(error: Error) -> Request {
    let invalid = InvalidRequest::of_request(RequestId::null(), error);
    Request::Invalid(InvalidRequest { is_batch: true, ..invalid })
}
