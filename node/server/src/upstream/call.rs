//! A call that the engine does not answer: its id, method and params, and what is sent upstream.
//!
//! What is sent has only these parts, in the form that every node reads, so nothing else that a
//! client sent reaches an upstream.

use alloc::sync::Arc;
use core::time::Duration;

use hyper::body::Bytes;
use milepost::primitives::CryptoHash;
use milepost::rpc::{MethodCall, RequestId, RpcError};

use super::methods::{Route, route};
use super::pool::UpstreamError;
use crate::metrics::MethodLabel;
use crate::queries::requests::other_method;
use crate::queries::waiting::Answer;
use crate::request::{BodyPermit, RequestBody};

/// A call of a method that is forwarded or submits a transaction
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) route: Route,
    /// JSON, if the request has some
    pub(super) params: Option<Arc<str>>,
    /// What the body that it came in counts
    pub(super) permit: BodyPermit,
}

impl Call {
    /// A call in this body; `None` if it is for the engine, or of a method that is not served
    pub(super) fn new(call: &MethodCall, body: &RequestBody) -> Option<Self> {
        let (id, method, params) = other_method(call, body)?;
        let (id, route, params) = (id.clone(), route(method)?, params.map(Arc::from));
        Some(Self { id, method: method.to_owned(), route, params, permit: body.permit() })
    }

    /// The request that is sent upstream
    pub(super) fn request(&self) -> Bytes {
        request(&self.id, &self.method, self.params.as_deref().unwrap_or("null"))
    }
}

/// A request with these params
pub(super) fn request(id: &RequestId, method: &str, params: &str) -> Bytes {
    let id = id.as_json();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into()
}

/// The answer when no upstream responded, with the transaction that was waited for meanwhile
pub(super) fn unavailable(
    id: &RequestId,
    error: UpstreamError,
    unreached: Option<CryptoHash>,
) -> Answer {
    let UpstreamError { detail: message, retry_after, .. } = error;
    // At least a second, the unit of the header.
    let retry_after = retry_after.map(|pause| pause.max(Duration::from_secs(1)));
    let error = RpcError::Unavailable { message, unreached };
    Answer { retry_after, ..Answer::error(MethodLabel::OTHER, id, error) }
}

#[cfg(test)]
mod tests {
    use milepost::rpc::{Limits, Request, parse};

    use super::*;

    fn read(body: &'static str, url_method: Option<&str>) -> Option<Call> {
        match parse(body.as_bytes(), url_method, &Limits::default()) {
            Request::Single(Ok(call)) => Call::new(&call, &RequestBody::of_static(body)),
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
