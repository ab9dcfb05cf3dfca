//! Routes: which path serves what, and the HTTP status of each response.
//!
//! `POST /` and `POST /<method>` are JSON-RPC, as is `/ws`. `/tx/<hash>`, `/tx/<hash>/events`,
//! `/tx/recent`, `/events` and `/receipt/<id>` are about transactions. `/health`, `/ready`,
//! `/status` and `/metrics` serve operators, `/practice/<milestone>` and `/practice/recent` the
//! practice chain, `GET /` the page, `/blocks/<hashes>` its script, `/openrpc.json` and
//! `/openapi.json` generators of clients. Any other path is 404. All are below the base path.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt::Display;
use core::num::NonZero;
use core::pin::Pin;
use core::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION, ORIGIN,
    RETRY_AFTER,
};
use hyper::{Method, Request, Response, StatusCode, Version};
use milepost::endpoint::ChainStatus;
use milepost::primitives::BlockHeight;
use milepost::status::Milestone;
use milepost::storage::BlockPoint;
use serde_json::{Value, json};
use tokio::task;
use tracing::{Instrument as _, debug};

use super::base_path::BasePath;
use super::client::Client;
use super::cors::Cors;
use super::discovery::Documents;
use super::feed;
use super::memory_budget::{MemoryBudget, MemoryPermit};
use super::page::StaticFile;
use super::query_string::QueryString;
use super::request_body::HttpError;
use super::response_body::HttpBody;
use super::rpc::{self, RpcRequest, StatusMode};
use super::{blocks, events, head, transaction, websocket};
use crate::chain::Phase;
use crate::errors::QueryError;
use crate::feed::DemoIndex;
use crate::feed::FeedStatus;
use crate::metrics::process;
use crate::metrics::{MethodLabel, family, sample};
use crate::queries::Queries;
use crate::request_context::{RequestContext, own_value};
use crate::upstream::Upstreams;

pub(super) type HttpResponse = Response<HttpBody>;

/// Options of the HTTP server
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The path below which everything is served
    pub(crate) base_path: BasePath,
    /// Which web pages may read responses
    pub(crate) cors: Cors,
    /// How response kinds map to HTTP status codes
    pub(crate) statuses: StatusMode,
    /// Maximum size of a request body
    pub(crate) body_limit: usize,
    /// Maximum memory of bodies that clients send or read slowly
    pub(crate) max_buffered: usize,
    /// Maximum number of open connections
    pub(crate) max_connections: usize,
    /// Maximum number of open connections of one address; `None` for no limit of its own
    pub(crate) address_connections: Option<NonZero<usize>>,
    /// Maximum number of requests and watched transactions of one address at a time
    pub(crate) address_requests: Option<NonZero<usize>>,
    /// Maximum time that a request may choose to wait
    pub(crate) max_wait: Duration,
}

/// Shared by all requests
pub(super) struct HttpContext {
    pub(super) queries: Arc<Queries>,
    /// Present while the practice chain runs
    pub(super) demo_index: Option<Arc<DemoIndex>>,
    /// Present while a feed is followed
    pub(super) feed_status: Option<Arc<FeedStatus>>,
    /// Present while requests are forwarded
    pub(super) upstreams: Option<Arc<Upstreams>>,
    pub(super) options: Options,
    pub(super) memory: MemoryBudget,
    /// The headers of every JSON-RPC response
    pub(super) rpc_headers: HeaderMap,
    pub(super) documents: Documents,
}

/// The handler of a request, chosen by its head
///
/// The head is dropped afterwards, so a pending request does not keep it.
enum Handler {
    /// A JSON-RPC request
    Rpc(RpcRequest),
    /// Any other request; boxed, so that it does not enlarge the future of JSON-RPC requests
    Other(Pin<Box<dyn Future<Output = HttpResponse> + Send>>),
}

/// Answers an HTTP request
pub(super) fn respond(
    context: &Arc<HttpContext>,
    request: Request<Incoming>,
    client: &Arc<Client>,
) -> impl Future<Output = Result<HttpResponse, Infallible>> + Send + 'static + use<> {
    let request_context = RequestContext::of(request.headers(), client.network());
    let (own_headers, span) = (request_context.headers(), request_context.span());
    span.in_scope(|| debug!("{} {}", request.method(), request.uri().path()));
    // A connection of HTTP/1 has one request at a time, which is part of what it takes itself.
    let is_counted = request.version() == Version::HTTP_2;
    let counted = is_counted.then(|| client.memory().request()).transpose();
    let handler = handler(context, request, client, &request_context);
    let context = Arc::clone(context);
    let respond = async move {
        let (mut response, permit) = match (handler, counted) {
            (Handler::Rpc(request), Ok(permit)) => {
                (rpc::respond(&context, &request_context, request).await, permit)
            }
            (Handler::Other(response), Ok(permit)) => (response.await, permit),
            (Handler::Rpc(_), Err(error)) => (rpc::rejected(&context, &error), None),
            (Handler::Other(_), Err(error)) => (unaffordable(&context, &error), None),
        };
        if let Some(permit) = permit {
            response = response.map(|body| body.counted(permit));
        }
        head::add_header(&context.queries.chain, response.headers_mut());
        response.headers_mut().extend(own_headers);
        debug!("answered with {}", response.status());
        Ok(response)
    };
    respond.instrument(span)
}

fn handler(
    context: &Arc<HttpContext>,
    request: Request<Incoming>,
    client: &Arc<Client>,
    request_context: &RequestContext,
) -> Handler {
    let cors = &context.options.cors;
    let origin = if cors.depends_on_origin() { request.headers().get(ORIGIN) } else { None };
    let path = context.options.base_path.strip(request.uri().path());
    if request.method() == Method::POST
        && let Some(url_method) = path.and_then(rpc_path)
    {
        let origin = origin.map(own_value);
        return Handler::Rpc(RpcRequest::new(request, url_method, origin, client));
    }
    if path == Some("/ws") && request.method() != Method::OPTIONS {
        let (context, client) = (Arc::clone(context), Arc::clone(client));
        let request_context = request_context.clone();
        return Handler::Other(Box::pin(async move {
            websocket::upgrade(&context, request, client, request_context)
        }));
    }
    let header = |name: &str| request.headers().get(name).map(own_value);
    let lengths = [path.map_or(0, str::len), request.uri().query().map_or(0, str::len)];
    let values = [IF_NONE_MATCH.as_str(), "last-event-id"].map(|name| request.headers().get(name));
    let values = values.into_iter().flatten().map(HeaderValue::len);
    let permit = match client.memory().acquire(lengths.into_iter().chain(values).sum()) {
        Ok(permit) => permit,
        Err(error) => {
            let context = Arc::clone(context);
            return Handler::Other(Box::pin(async move { unaffordable(&context, &error) }));
        }
    };
    let request = RequestHead {
        _permit: permit,
        verb: request.method().clone(),
        path: path.map(str::to_owned),
        query: request.uri().query().map(str::to_owned),
        origin: origin.map(own_value),
        if_none_match: header(IF_NONE_MATCH.as_str()),
        last_event_id: header("last-event-id"),
        accepts_gzip: feed::accepts_gzip(request.headers()),
        min_height: head::min_height(request.headers()),
        client: Arc::clone(client),
    };
    let context = Arc::clone(context);
    Handler::Other(Box::pin(async move { respond_other(&context, &request).await }))
}

/// What a request other than JSON-RPC is answered by
struct RequestHead {
    /// What all of this counts
    _permit: MemoryPermit,
    verb: Method,
    /// The path below the base path, if it is there
    path: Option<String>,
    query: Option<String>,
    /// The `Origin`, if the response depends on it
    origin: Option<HeaderValue>,
    if_none_match: Option<HeaderValue>,
    last_event_id: Option<HeaderValue>,
    accepts_gzip: bool,
    min_height: Result<Option<BlockHeight>, String>,
    client: Arc<Client>,
}

/// Answers a request that is not JSON-RPC
async fn respond_other(context: &HttpContext, request: &RequestHead) -> HttpResponse {
    let RequestHead { verb, path, query, origin, if_none_match, .. } = request;
    let cors = &context.options.cors;
    if cors.is_enabled() && *verb == Method::OPTIONS {
        let mut response = empty(StatusCode::OK);
        cors.add_preflight_headers(origin.as_ref(), response.headers_mut());
        return response;
    }
    let is_read = is_read(verb);
    let mut response = match path.as_deref() {
        None => nothing_here(context),
        Some("") if is_read => with_slash(&context.options.base_path, query.as_deref()),
        // `POST /` is handled above, and listed for all other verbs.
        Some("" | "/") if !is_read => method_not_allowed(context, "GET,HEAD,POST"),
        Some(path) => match StaticFile::at(path) {
            Some(file) if is_read => file.respond(if_none_match.as_ref()),
            Some(_) => method_not_allowed(context, "GET,HEAD"),
            None => match feed_response(context, path, request.accepts_gzip).await {
                Some(response) if is_read => response,
                Some(_) => method_not_allowed(context, "GET,HEAD"),
                None => route_at_height(context, request, path).await,
            },
        },
    };
    if *verb == Method::HEAD {
        response = without_body(response);
    }
    let counted = request.client.memory().count(response);
    response = counted.unwrap_or_else(|error| unaffordable(context, &error));
    cors.add_headers(origin.as_ref(), response.headers_mut());
    response
}

/// Answers once the head is as high as the request demands
async fn route_at_height(context: &HttpContext, request: &RequestHead, path: &str) -> HttpResponse {
    let min_height = match &request.min_height {
        Ok(min_height) => *min_height,
        Err(text) => {
            return transaction::rejected(&context.queries, StatusCode::BAD_REQUEST, text);
        }
    };
    match head::reach(&context.queries.chain, min_height).await {
        Ok(()) => route(context, request, path).await,
        Err(text) => json_value(StatusCode::SERVICE_UNAVAILABLE, &failed(text)),
    }
}

/// The JSON-RPC method in a path below the base path (`None` for `/`); `None` if JSON-RPC requests
/// are not served there
fn rpc_path(path: &str) -> Option<Option<Cow<'static, str>>> {
    match path {
        "" | "/" => Some(None),
        "/health" | "/ready" | "/status" | "/metrics" | "/events" | "/ws" | "/openrpc.json"
        | "/openapi.json" => None,
        // Includes unknown methods, which the engine rejects.
        _ => method_name(path).map(|name| Some(MethodLabel::name_of(name))),
    }
}

/// The name in a path of one segment
fn method_name(path: &str) -> Option<&str> {
    path.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains('/'))
}

/// Answers a request by its path
async fn route(context: &HttpContext, request: &RequestHead, path: &str) -> HttpResponse {
    let verb = &request.verb;
    let page: fn(&HttpContext, &ChainStatus) -> HttpResponse = match path {
        "/health" => health,
        "/ready" => ready,
        "/status" | "/metrics" => {
            return match is_read(verb) {
                true if path == "/status" => status(context).await,
                true => metrics(context).await,
                false => method_not_allowed(context, "GET,HEAD"),
            };
        }
        "/events" => return events(context, request, None).await,
        _ => match (&context.demo_index, path.strip_prefix("/practice/")) {
            (Some(demo_index), Some(name)) => {
                return practice(context, demo_index, verb, name).await;
            }
            _ if let Some(list) = path.strip_prefix("/blocks/") => {
                return heights(context, request, list).await;
            }
            _ if let Some(path) = path.strip_prefix("/tx/")
                && let Some(hash) = path.strip_suffix("/events") =>
            {
                return events(context, request, Some(hash)).await;
            }
            _ if path == "/tx/recent" => return recent(context, verb).await,
            _ if let Some(hash) = path.strip_prefix("/tx/") => {
                return transaction_status(context, request, hash).await;
            }
            _ if let Some(id) = path.strip_prefix("/receipt/") => {
                return match is_read(verb) {
                    true => {
                        transaction::of_receipt(&context.queries, request.client.network(), id)
                            .await
                    }
                    false => method_not_allowed(context, "GET,HEAD"),
                };
            }
            _ if let Some(document) = context.documents.at(path) => {
                return match is_read(verb) {
                    true => document.respond(request.if_none_match.as_ref(), request.accepts_gzip),
                    false => method_not_allowed(context, "GET,HEAD"),
                };
            }
            _ if method_name(path).is_some_and(|name| MethodLabel::of(name).is_known()) => {
                return method_not_allowed(context, "POST");
            }
            _ => return nothing_here(context),
        },
    };
    if !is_read(verb) {
        return method_not_allowed(context, "GET,HEAD");
    }
    match context.queries.chain_status().await {
        Ok(chain) => page(context, &chain),
        Err(error) => query_failed(&error),
    }
}

/// The response of the feed that is served, if there is one and the path is one of it
async fn feed_response(
    context: &HttpContext,
    path: &str,
    accepts_gzip: bool,
) -> Option<HttpResponse> {
    let served = context.feed_status.as_ref()?.served.as_ref()?;
    let path = path.strip_prefix("/v0/")?;
    tokio::select! {
        response = feed::respond(served, &context.options.base_path, path, accepts_gzip) => response,
        () = context.queries.chain.shutdown_signal() => Some(empty(StatusCode::SERVICE_UNAVAILABLE)),
    }
}

/// The compact status of the transaction in the path
async fn transaction_status(
    context: &HttpContext,
    request: &RequestHead,
    hash: &str,
) -> HttpResponse {
    if !is_read(&request.verb) {
        return method_not_allowed(context, "GET,HEAD");
    }
    let query = QueryString::parse(request.query.as_deref().unwrap_or_default());
    let (queries, client) = (&context.queries, request.client.network());
    transaction::status(queries, client, hash, &query, request.if_none_match.as_ref()).await
}

/// The events of the transaction in the path, or of those in the query
async fn events(context: &HttpContext, request: &RequestHead, hash: Option<&str>) -> HttpResponse {
    if request.verb != Method::GET {
        return method_not_allowed(context, "GET");
    }
    let query = QueryString::parse(request.query.as_deref().unwrap_or_default());
    let last_event_id = request.last_event_id.as_ref().and_then(|id| id.to_str().ok());
    let (queries, client, max_wait) = (&context.queries, &request.client, context.options.max_wait);
    match hash {
        Some(hash) => events::of_one(queries, client, hash, &query, last_event_id, max_wait).await,
        None => events::of_many(queries, client, &query, last_event_id, max_wait),
    }
}

fn is_read(verb: &Method) -> bool {
    *verb == Method::GET || *verb == Method::HEAD
}

/// The response to HEAD: the head of the response to GET, including its length
fn without_body(response: HttpResponse) -> HttpResponse {
    if response.body().is_end_stream() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.size_hint().lower()));
    Response::from_parts(head, HttpBody::default())
}

/// The heights of the blocks in the path
async fn heights(context: &HttpContext, request: &RequestHead, list: &str) -> HttpResponse {
    if request.verb != Method::GET {
        return method_not_allowed(context, "GET");
    }
    let query = QueryString::parse(request.query.as_deref().unwrap_or_default());
    let response = blocks::heights(&context.queries, request.client.network(), list, &query).await;
    if response.status() != StatusCode::OK {
        context.queries.chain.metrics.request_rejected(response.status().as_u16());
    }
    response
}

/// The newest transactions in blocks
async fn recent(context: &HttpContext, verb: &Method) -> HttpResponse {
    if !is_read(verb) {
        return method_not_allowed(context, "GET,HEAD");
    }
    match context.queries.recent_transactions().await {
        Ok(list) => json_value(StatusCode::OK, &list),
        Err(error) => query_failed(&error),
    }
}

/// A practice transaction that is at the milestone in the path, or the list of recent ones
async fn practice(
    context: &HttpContext,
    demo_index: &DemoIndex,
    verb: &Method,
    name: &str,
) -> HttpResponse {
    if name == "recent" {
        return match *verb {
            Method::GET => json_value(StatusCode::OK, &demo_index.to_json()),
            _ => method_not_allowed(context, "GET"),
        };
    }
    // An imported transaction is never at `NONE`.
    let milestone = Milestone::from_name(name).filter(|milestone| *milestone != Milestone::None);
    let Some(milestone) = milestone else {
        return not_found(context, "the path names no milestone, such as /practice/FINAL");
    };
    if *verb != Method::GET {
        return method_not_allowed(context, "GET");
    }
    match demo_index.find_at_milestone(milestone, &context.queries.chain).await {
        Some(response) => json_bytes(StatusCode::OK, response.body),
        None => not_found(context, "no practice transaction is at this milestone"),
    }
}

fn health(context: &HttpContext, chain: &ChainStatus) -> HttpResponse {
    let head = chain.head.map(|head| head.height);
    let Some(feed) = &context.feed_status else {
        return json_value(StatusCode::OK, &json!({ "status": "ok", "head": head }));
    };
    let (status, word) = match feed.is_up_to_date() {
        true => (StatusCode::OK, "ok"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "behind"),
    };
    let age = feed.age().map(|age| age.as_secs());
    json_value(status, &json!({ "status": word, "head": head, "age_seconds": age }))
}

/// As [`health`], and not ready from the first signal on; without a feed, a server that serves is
fn ready(context: &HttpContext, chain: &ChainStatus) -> HttpResponse {
    if context.queries.chain.phase() < Phase::Draining {
        return health(context, chain);
    }
    let head = chain.head.map(|head| head.height);
    let body = json!({ "status": "stopping", "head": head });
    json_value(StatusCode::SERVICE_UNAVAILABLE, &body)
}

async fn metrics(context: &HttpContext) -> HttpResponse {
    let chain = match context.queries.chain_status().await {
        Ok(chain) => chain,
        Err(error) => return query_failed(&error),
    };
    let mut text = context.queries.chain.metrics.text(&chain);
    family(&mut text, "buffered_bytes", "gauge", "Bytes that count towards --max-buffered");
    sample(&mut text, "buffered_bytes", "", context.memory.used());
    context.queries.failed.text(&mut text);
    let (open, transactions) = context.queries.chain.waits.watching.counts();
    family(&mut text, "watches_open", "gauge", "Transactions watched, counted for each watcher");
    sample(&mut text, "watches_open", "", open);
    family(&mut text, "transactions_watched", "gauge", "Transactions that have a watcher");
    sample(&mut text, "transactions_watched", "", transactions);
    if let Some(archive) = context.queries.chain.archive() {
        archive.text(&mut text);
    }
    if let Some(feed) = &context.feed_status {
        feed.text(&mut text);
    }
    if let Some(upstreams) = &context.upstreams {
        upstreams.text(&mut text);
    }
    // Empty if it panicked, which is logged.
    text += &task::spawn_blocking(process::text).await.unwrap_or_default();
    with_type(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.into())
}

async fn status(context: &HttpContext) -> HttpResponse {
    let state = async {
        Ok((context.queries.chain_status().await?, context.queries.protocol_version().await?))
    };
    let (chain, protocol_version) = match state.await {
        Ok(state) => state,
        Err(error) => return query_failed(&error),
    };
    let point = |point: Option<BlockPoint>| {
        point.map(|point| json!({ "height": point.height, "hash": point.hash.to_string() }))
    };
    let delay = context.feed_status.as_ref().and_then(|feed| feed.commit_delay());
    let mut body = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "chain_id": chain.chain_id,
        "protocol_version": protocol_version,
        "latest_protocol_version": chain.latest_protocol_version,
        "head": point(chain.head),
        "final": point(chain.last_final),
        "earliest": point(chain.earliest),
        "complete_from": chain.complete_from,
        "blocks": chain.blocks,
        "waiting": context.queries.chain.metrics.pending_count(),
        "store_verified": context.queries.chain.store().is_verified(),
        "feed": feed_state(context),
        "block_commit_delay_seconds": delay.map(|delay| delay.as_secs_f64()),
        "config_missing_since":
            point(context.feed_status.as_ref().and_then(|feed| feed.config_missing_since())),
    });
    if let Some(archive) = context.queries.chain.archive() {
        let heights = archive.heights();
        let ranges = heights.archived.iter();
        let ranges: Vec<_> = ranges.map(|range| [*range.start(), *range.end()]).collect();
        body["archive"] = json!({ "complete": ranges });
    }
    json_value(StatusCode::OK, &body)
}

/// Whether blocks come in: `none`, the `practice` chain, or a feed that is `followed` or `behind`
fn feed_state(context: &HttpContext) -> &'static str {
    match (&context.feed_status, &context.demo_index) {
        (Some(feed), _) if feed.is_complete() => "none",
        (Some(feed), _) if feed.is_up_to_date() => "followed",
        (Some(_), _) => "behind",
        (None, Some(_)) => "practice",
        (None, None) => "none",
    }
}

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

/// The redirection from the base path to the page, whose links are relative
fn with_slash(base_path: &BasePath, query: Option<&str>) -> HttpResponse {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let mut response = empty(StatusCode::PERMANENT_REDIRECT);
    // A query that was parsed is valid in a header.
    if let Ok(location) = HeaderValue::try_from(format!("{base_path}/{query}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// The response when the budget of memory is used up
fn unaffordable(context: &HttpContext, error: &HttpError) -> HttpResponse {
    context.queries.chain.metrics.request_rejected(error.status.as_u16());
    json_value(error.status, &failed(&error.message))
}

fn nothing_here(context: &HttpContext) -> HttpResponse {
    let base = &context.options.base_path;
    let text = format!("nothing is served here; JSON-RPC is at {base}/ and {base}/<method>");
    not_found(context, &text)
}

fn not_found(context: &HttpContext, text: &str) -> HttpResponse {
    context.queries.chain.metrics.request_rejected(404);
    json_value(StatusCode::NOT_FOUND, &failed(text))
}

fn method_not_allowed(context: &HttpContext, allowed: &'static str) -> HttpResponse {
    context.queries.chain.metrics.request_rejected(405);
    let text = format!("the HTTP method is not allowed here, only {allowed}");
    let mut response = json_value(StatusCode::METHOD_NOT_ALLOWED, &failed(text));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
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

fn with_type(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> HttpResponse {
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
