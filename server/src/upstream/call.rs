//! A call that the engine does not answer: its id, method and params, and what is sent upstream.
//!
//! What is sent has only these parts, in the form that every node reads, so nothing else that a
//! client sent reaches an upstream.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::time::Duration;

use hyper::body::Bytes;
use milepost::endpoint::{Response, ResponseBody};
use milepost::rpc::{InvalidRequest, RequestId, ResponseKind, RpcError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::methods::{Route, route};
use super::pool::UpstreamError;
use crate::http::BodyPermit;
use crate::metrics::MethodLabel;
use crate::waiting::Answer;

/// A call of a method that is forwarded or submits a transaction
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) route: Route,
    /// JSON; `null` if the request has none
    pub(super) params: Arc<str>,
    /// What the body that it came in counts
    pub(super) permit: BodyPermit,
}

#[derive(Deserialize)]
struct Members<'text> {
    #[serde(borrow)]
    method: Option<Cow<'text, str>>,
    #[serde(borrow)]
    params: Option<&'text RawValue>,
}

impl Call {
    /// The call in a request that the engine refused for its method; `None` if it is not served
    pub(super) fn read(
        invalid: &InvalidRequest,
        text: &[u8],
        url_method: Option<&str>,
        permit: BodyPermit,
    ) -> Option<Self> {
        let RpcError::MethodNotFound { method } = &invalid.rpc_error else { return None };
        let route = route(method)?;
        let members: Members<'_> = serde_json::from_slice(text).ok()?;
        // The method of the URL is looked at first, and the body may name another.
        if members.method.as_deref().or(url_method)? != method {
            return None;
        }
        let params = members.params.map_or("null", RawValue::get).into();
        Some(Self { id: invalid.id.clone(), method: method.clone(), route, params, permit })
    }

    /// The request that is sent upstream
    pub(super) fn request(&self) -> Bytes {
        request(&self.id, &self.method, &self.params)
    }
}

/// A request with these params
pub(super) fn request(id: &RequestId, method: &str, params: &str) -> Bytes {
    let id = id.as_json();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into()
}

/// A response to the request with this id: `member` is `result` or `error`, `value` its JSON
pub(super) fn response(id: &RequestId, member: &str, value: &str, kind: ResponseKind) -> Answer {
    let id = id.as_json();
    let body = format!(r#"{{"jsonrpc":"2.0","{member}":{value},"id":{id}}}"#).into_bytes();
    let body = ResponseBody::Contiguous(Response { body, kind });
    Answer::new(MethodLabel::OTHER, body, Vec::new())
}

/// The answer when no upstream responded
pub(super) fn unavailable(id: &RequestId, error: UpstreamError) -> Answer {
    let UpstreamError { detail: message, retry_after } = error;
    // At least a second, the unit of the header.
    let retry_after = retry_after.map(|pause| pause.max(Duration::from_secs(1)));
    let answer = Answer::error(MethodLabel::OTHER, id, &RpcError::Unavailable { message });
    Answer { retry_after, ..answer }
}

#[cfg(test)]
mod tests {
    use milepost::rpc::{Limits, Request, parse};

    use super::*;

    fn read(body: &str, url_method: Option<&str>) -> Option<Call> {
        match parse(body.as_bytes(), url_method, &Limits::default()) {
            Request::Single(Err(invalid)) => {
                Call::read(&invalid, body.as_bytes(), url_method, BodyPermit::default())
            }
            _ => None,
        }
    }

    #[test]
    fn a_call_keeps_its_id_and_params_and_nothing_else() {
        let call = read(r#"{"id":{"a":[1]},"method":"query","params":{"x": 1e3}}"#, None).unwrap();
        assert_eq!(
            call.request(),
            r#"{"jsonrpc":"2.0","id":{"a":[1]},"method":"query","params":{"x": 1e3}}"#
        );
        let call = read(r#"{"method":"\u0073tatus"}"#, Some("status")).unwrap();
        assert_eq!(
            call.request(),
            r#"{"jsonrpc":"2.0","id":"dontcare","method":"status","params":null}"#
        );
    }

    #[test]
    fn other_methods_and_contradictions_are_not_forwarded() {
        assert!(read(r#"{"method":"tx"}"#, None).is_none());
        assert!(read(r#"{"method":"sandbox_patch_state"}"#, None).is_none());
        assert!(read(r#"{"method":"block"}"#, Some("query")).is_none());
        assert!(read(r#"{"method":"block","more":1}"#, None).is_none());
        assert!(read(r#"{"params":{}}"#, Some("query")).is_some());
    }
}
