//! JSON-RPC over HTTP: from the head and the body of a POST to the response.
//!
//! Headers say how long the request may wait (`Prefer`) and which head it demands
//! (`x-milepost-min-height`). The response has the bytes of the engine; its kind decides the
//! status. A request that ended without its milestone names its transactions in a header, because
//! the body of a time-out names none, and typed clients refuse one with more members.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::fmt::Write as _;
use core::mem;
use core::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, EXPECT, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use milepost::endpoint::ResponseBody;
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::rpc::{ResponseKind, RpcError};
use serde_json::Value;
use tokio::time::Instant;

use super::client::Client;
use super::complete_heights::CompleteHeights;
use super::cors::Cors;
use super::request_body;
use super::respond::HttpContext;
use super::response::{HttpResponse, RETRY, counted, seconds};
use super::response_body::HttpBody;
use super::{compression, head, prefer};
use crate::queries::waiting::{self, Answer, AnswerBody, WaitOptions};
use crate::queries::{ParsedRequest, requests};
use crate::request::{HttpError, MemoryBudget, MemoryPermit, RequestBody, RequestContext};

/// The transactions of a request that ended before their milestones were reached
const TRANSACTION: HeaderName = HeaderName::from_static("x-milepost-transaction");

/// How response kinds map to HTTP status codes
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StatusMode {
    /// As a node does: 400, 408, 422, 500 and 503 for errors of these kinds
    Node,
    /// 200 for every JSON-RPC response
    Always200,
}

impl StatusMode {
    fn status(self, kind: ResponseKind) -> StatusCode {
        match self {
            Self::Always200 => StatusCode::OK,
            Self::Node => StatusCode::from_u16(kind.http_status()).unwrap_or_default(),
        }
    }
}

/// A JSON-RPC request whose body is not read yet
pub(super) struct RpcRequest {
    body: Incoming,
    /// The method in the path
    url_method: Option<Cow<'static, str>>,
    /// Why the request is rejected, by its headers; boxed, because most are not
    error: Option<Box<HttpError>>,
    /// The client sends the body only after a response to `Expect`
    expects_continue: bool,
    /// The `Origin` of the request, if the response depends on it
    origin: Option<HeaderValue>,
    accepts_gzip: bool,
    /// How long the client prefers to wait
    wait: Option<Duration>,
    /// The head that it demands
    min_height: Option<BlockHeight>,
    client: Arc<Client>,
}

impl RpcRequest {
    pub(super) fn new(
        request: Request<Incoming>,
        url_method: Option<Cow<'static, str>>,
        origin: Option<HeaderValue>,
        client: &Arc<Client>,
    ) -> Self {
        let headers = request.headers();
        let (min_height, error) = match head::min_height(headers) {
            Ok(min_height) => {
                (min_height, request_body::check_headers(headers).err().map(Box::new))
            }
            Err(text) => (None, Some(Box::new(HttpError::new(StatusCode::BAD_REQUEST, text)))),
        };
        Self {
            url_method,
            error,
            expects_continue: headers.contains_key(EXPECT),
            origin,
            accepts_gzip: compression::accepts_gzip(headers),
            wait: prefer::wait(headers),
            min_height,
            client: Arc::clone(client),
            body: request.into_body(),
        }
    }
}

/// Answers a JSON-RPC request
pub(super) async fn respond(
    context: &HttpContext,
    request_context: &RequestContext,
    mut request: RpcRequest,
) -> HttpResponse {
    let memory = request.client.memory();
    let limit = context.options.body_limit;
    let accepted = request.error.as_ref().and_then(|error| error.accepted.clone());
    let wait = request.wait.map(|wait| wait.min(context.options.max_wait));
    let (expects_continue, url_method) = (request.expects_continue, request.url_method);
    let mut response = match request.error {
        Some(error) => {
            if !expects_continue {
                Box::pin(request_body::discard(&mut request.body, limit)).await;
            }
            rejected(context, &error)
        }
        None => {
            let body = read(memory, request.body, expects_continue, url_method.as_deref(), limit);
            match body.await {
                Ok((body, _method)) => {
                    let min_height = request.min_height;
                    let response =
                        run(context, request_context, body, url_method, wait, min_height).await;
                    let counted = counted(memory, response);
                    counted.unwrap_or_else(|error| rejected(context, &error))
                }
                Err(error) => rejected(context, &error),
            }
        }
    };
    // In this order, because most responses have no headers of their own.
    let own = mem::replace(response.headers_mut(), context.rpc_headers.clone());
    response.headers_mut().extend(own);
    if let Some((name, value)) = accepted {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(origin) = request.origin {
        context.options.cors.add_headers(Some(&origin), response.headers_mut());
    }
    if compression::is_offered(&mut response) && request.accepts_gzip {
        // Boxed, because most responses are short.
        response = Box::pin(compression::compressed(response, memory)).await;
    }
    response
}

/// Reads the body of a request; the permit is for its method in the URL
async fn read(
    memory: &MemoryBudget,
    body: Incoming,
    expects_continue: bool,
    url_method: Option<&str>,
    limit: usize,
) -> Result<(RequestBody, MemoryPermit), HttpError> {
    let permit = memory.acquire(url_method.map_or(0, str::len))?;
    let body = request_body::read(body, expects_continue, limit, memory).await?;
    Ok((body, permit))
}

/// The headers of every JSON-RPC response
pub(super) fn rpc_headers(cors: &Cors) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    cors.add_headers(None, &mut headers);
    headers
}

/// Answers a request: `rpc.discover` here, what the engine does not have by the upstreams if
/// requests are forwarded, and all others by the engine
pub(super) async fn answer(
    context: &HttpContext,
    mut parsed: ParsedRequest,
    options: WaitOptions<'_>,
) -> Answer {
    context.documents.discover(&mut parsed.request);
    match &context.upstreams {
        // Boxed, so that a server which forwards nothing has smaller futures.
        Some(upstreams) => {
            let memory = context.memory.begin();
            Box::pin(upstreams.respond(&context.queries, parsed, options, memory)).await
        }
        None => waiting::respond(&context.queries, parsed, options).await,
    }
}

async fn run(
    context: &HttpContext,
    request_context: &RequestContext,
    body: RequestBody,
    url_method: Option<Cow<'static, str>>,
    wait: Option<Duration>,
    min_height: Option<BlockHeight>,
) -> HttpResponse {
    let (queries, start) = (&context.queries, Instant::now());
    let reached = head::reach(&queries.chain, min_height).await;
    let parsed = requests::parse(queries, body, url_method).await;
    let heights = CompleteHeights::note(queries);
    let answer = match reached {
        Ok(()) => {
            let options = WaitOptions {
                context: request_context,
                since: start,
                timeout: wait,
                is_request: true,
            };
            answer(context, parsed, options).await
        }
        Err(text) => waiting::unavailable(parsed.label, &parsed.id(), text),
    };
    let Answer { label, body, retry_after } = answer;
    let (kind, has_unknown) = (body.kind(), body.has_unknown_transaction());
    let unreached = transactions(body.errors().filter_map(RpcError::unreached));
    let body = match body {
        AnswerBody::Whole(ResponseBody::Contiguous(response)) => HttpBody::from(response.body),
        AnswerBody::Whole(ResponseBody::Chunks(chunks)) => HttpBody::from(chunks),
        AnswerBody::Upstream(body) => HttpBody::Upstream(body.first.into(), body.rest),
    };
    // A body in memory is never longer than `usize::MAX`.
    let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    queries.chain.metrics.request_answered(label, kind, length, start.elapsed());
    let mut response = Response::new(body);
    *response.status_mut() = context.options.statuses.status(kind);
    if let Some(wait) = wait {
        let applied = HeaderValue::try_from(format!("wait={}", wait.as_secs()));
        response
            .headers_mut()
            .extend(applied.ok().map(|value| (prefer::PREFERENCE_APPLIED, value)));
    }
    let is_unavailable = kind == ResponseKind::Unavailable;
    if let Some(pause) = retry_after.or_else(|| is_unavailable.then_some(RETRY)) {
        response.headers_mut().insert(RETRY_AFTER, seconds(pause));
    }
    if has_unknown {
        // Boxed, because most requests are about transactions that are known.
        Box::pin(heights.add_header(queries, response.headers_mut())).await;
    }
    response.headers_mut().extend(unreached.map(|value| (TRANSACTION, value)));
    response
}

/// The hashes as the value of a header, if there are any
fn transactions(mut hashes: impl Iterator<Item = CryptoHash>) -> Option<HeaderValue> {
    let mut text = hashes.next()?.to_string();
    for hash in hashes {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {hash}");
    }
    HeaderValue::try_from(text).ok()
}

/// A rejection as a JSON-RPC error; the request is not parsed, so its id is `null`
pub(super) fn rejected(context: &HttpContext, error: &HttpError) -> HttpResponse {
    context.queries.chain.metrics.request_rejected(error.status.as_u16());
    let message = Value::from(error.message.as_str());
    // The order of members is that of a node; `json!` would sort them.
    let body = format!(
        r#"{{"jsonrpc":"2.0","error":{{"name":"REQUEST_VALIDATION_ERROR","cause":{{"name":"PARSE_ERROR","info":{{"error_message":{message}}}}},"code":-32700,"message":"Parse error","data":{message}}},"id":null}}"#
    );
    let mut response = Response::new(HttpBody::from(body.into_bytes()));
    *response.status_mut() = error.status;
    if error.status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, seconds(RETRY));
    }
    response
}
