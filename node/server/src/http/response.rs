//! Responses of one kind each: JSON, an error, an empty body; and the status of a failed query.

use core::fmt::Display;
use core::time::Duration;

use hyper::body::Body as _;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::response_body::HttpBody;
use crate::errors::QueryError;
use crate::queries::Queries;
use crate::request::{HttpError, MemoryBudget};

/// When a retry may succeed if nothing else is known: another server answers, or this one again
pub(super) const RETRY: Duration = Duration::from_secs(1);

pub(super) type HttpResponse = Response<HttpBody>;

/// The response to a query without a result
pub(super) fn query_failed(error: &QueryError) -> HttpResponse {
    let mut response = json_value(error_status(error), &failed(error));
    if let QueryError::Unavailable(_, pause) = error {
        response.headers_mut().insert(RETRY_AFTER, seconds(*pause));
    }
    response
}

/// A pause as the value of `Retry-After`
pub(super) fn seconds(pause: Duration) -> HeaderValue {
    HeaderValue::from(pause.as_secs().saturating_add(u64::from(pause.subsec_nanos() > 0)))
}

fn error_status(error: &QueryError) -> StatusCode {
    match error {
        QueryError::Failed(_) | QueryError::Unavailable(..) => StatusCode::SERVICE_UNAVAILABLE,
        QueryError::InvalidBlock(_) => StatusCode::BAD_REQUEST,
        QueryError::NotProvable(_) => StatusCode::NOT_IMPLEMENTED,
        QueryError::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A rejection, which is counted
pub(super) fn rejected(queries: &Queries, status: StatusCode, text: &str) -> HttpResponse {
    queries.chain.metrics.request_rejected(status.as_u16());
    match status {
        StatusCode::SERVICE_UNAVAILABLE => unavailable(text),
        _ => json_value(status, &failed(text)),
    }
}

/// The response to a request that may succeed when it is sent again
pub(super) fn unavailable(error: impl Display) -> HttpResponse {
    let mut response = json_value(StatusCode::SERVICE_UNAVAILABLE, &failed(error));
    response.headers_mut().insert(RETRY_AFTER, seconds(RETRY));
    response
}

/// The response to HEAD: the head of the response to GET, including its length
pub(super) fn without_body(response: HttpResponse) -> HttpResponse {
    if response.body().is_end_stream() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.size_hint().lower()));
    Response::from_parts(head, HttpBody::default())
}

/// The body of an error that is no response to a JSON-RPC request
pub(super) fn failed(error: impl Display) -> Value {
    json!({ "status": "failed", "error": error.to_string() })
}

pub(super) fn json_value(status: StatusCode, value: &Value) -> HttpResponse {
    json_bytes(status, value.to_string().into_bytes())
}

pub(super) fn json_bytes(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    with_type(status, "application/json", body)
}

pub(super) fn with_type(
    status: StatusCode,
    media_type: &'static str,
    body: Vec<u8>,
) -> HttpResponse {
    let mut response = Response::new(HttpBody::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

pub(super) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(HttpBody::default());
    *response.status_mut() = status;
    response
}

/// Counts the body of a response until it is sent
pub(super) fn counted(
    memory: &MemoryBudget,
    response: HttpResponse,
) -> Result<HttpResponse, HttpError> {
    // A body in memory is never longer than `usize::MAX`.
    let length = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
    let permit = memory.acquire(length)?;
    // Most bodies count nothing.
    Ok(if permit.is_empty() { response } else { response.map(|body| body.counted(permit)) })
}
