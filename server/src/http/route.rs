//! Routes: which path serves what, and the HTTP status of each response.
//!
//! `POST /` and `POST /<method>` go to the engine, whose responses are sent unchanged; their kind
//! decides the status. `/health`, `/ready`, `/status` and `/metrics` serve operators,
//! `/practice/<milestone>` and `/practice/recent` the practice chain, `GET /` the page, and
//! `/blocks/<hashes>` its script. Any other path is 404. All are below the base path.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt::Display;
use core::pin::Pin;
use core::str::FromStr;

use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{
    ALLOW, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION,
    ORIGIN,
};
use hyper::{Method, Request, Response, StatusCode};
use milepost::endpoint::{ChainStatus, ResponseBody};
use milepost::rpc::ResponseKind;
use milepost::status::Milestone;
use milepost::storage::BlockPoint;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::debug;

use super::base_path::BasePath;
use super::blocks;
use super::cors::Cors;
use super::feed;
use super::page::StaticFile;
use super::request_body::{self, HttpError};
use super::response_body::HttpBody;
use crate::demo_index::DemoIndex;
use crate::feed_status::FeedStatus;
use crate::metrics::MethodLabel;
use crate::service::{QueryError, Service};
use crate::waiting;

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
    /// Maximum number of open connections
    pub(crate) max_connections: usize,
}

/// Shared by all requests
pub(super) struct HttpContext {
    pub(super) service: Arc<Service>,
    /// Present while the practice chain runs
    pub(super) demo_index: Option<Arc<DemoIndex>>,
    /// Present while a feed is followed
    pub(super) feed_status: Option<Arc<FeedStatus>>,
    pub(super) options: Options,
    /// The headers of every JSON-RPC response
    pub(super) rpc_headers: HeaderMap,
}

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

impl FromStr for StatusMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "node" => Ok(Self::Node),
            "always-200" => Ok(Self::Always200),
            _ => Err(format!("`{text}` is neither node nor always-200")),
        }
    }
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

/// A JSON-RPC request whose body is not read yet
struct RpcRequest {
    body: Incoming,
    /// The method in the path
    url_method: Option<Cow<'static, str>>,
    /// Why the request is rejected, by its headers
    error: Option<HttpError>,
    /// The client sends the body only after a response to `Expect`
    expects_continue: bool,
    /// The `Origin` of the request, if the response depends on it
    origin: Option<HeaderValue>,
}

/// Answers an HTTP request
pub(super) fn respond(
    context: &Arc<HttpContext>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<HttpResponse, Infallible>> + Send + 'static + use<> {
    debug!("{} {}", request.method(), request.uri().path());
    let handler = handler(context, request);
    let context = Arc::clone(context);
    async move {
        Ok(match handler {
            Handler::Rpc(request) => respond_rpc(&context, request).await,
            Handler::Other(response) => response.await,
        })
    }
}

fn handler(context: &Arc<HttpContext>, request: Request<Incoming>) -> Handler {
    let cors = &context.options.cors;
    let origin = if cors.depends_on_origin() { request.headers().get(ORIGIN) } else { None };
    let path = context.options.base_path.strip(request.uri().path());
    if request.method() == Method::POST
        && let Some(url_method) = path.and_then(rpc_path)
    {
        let headers = request.headers();
        let error = request_body::check_headers(headers).err();
        let (expects_continue, origin) = (headers.contains_key(EXPECT), origin.cloned());
        let body = request.into_body();
        return Handler::Rpc(RpcRequest { body, url_method, error, expects_continue, origin });
    }
    let path = path.map(str::to_owned);
    let (verb, query, origin) =
        (request.method().clone(), request.uri().query().map(str::to_owned), origin.cloned());
    let if_none_match = request.headers().get(IF_NONE_MATCH).cloned();
    let accepts_gzip = feed::accepts_gzip(request.headers());
    let context = Arc::clone(context);
    Handler::Other(Box::pin(async move {
        let cors = &context.options.cors;
        if cors.is_enabled() && verb == Method::OPTIONS {
            let mut response = empty(StatusCode::OK);
            cors.add_preflight_headers(origin.as_ref(), response.headers_mut());
            return response;
        }
        let is_read = verb == Method::GET || verb == Method::HEAD;
        let mut response = match path.as_deref() {
            None => nothing_here(&context),
            Some("") if is_read => with_slash(&context.options.base_path, query.as_deref()),
            // `POST /` is handled above, and listed for all other verbs.
            Some("" | "/") if !is_read => method_not_allowed(&context, "GET,HEAD,POST"),
            Some(path) => match StaticFile::at(path) {
                Some(file) if is_read => file.respond(if_none_match.as_ref()),
                Some(_) => method_not_allowed(&context, "GET,HEAD"),
                None => match feed_response(&context, path, accepts_gzip).await {
                    Some(response) if is_read => response,
                    Some(_) => method_not_allowed(&context, "GET,HEAD"),
                    None => route(&context, &verb, path).await,
                },
            },
        };
        if verb == Method::HEAD {
            response = without_body(response);
        }
        cors.add_headers(origin.as_ref(), response.headers_mut());
        response
    }))
}

/// The JSON-RPC method in a path below the base path (`None` for `/`); `None` if JSON-RPC requests
/// are not served there
fn rpc_path(path: &str) -> Option<Option<Cow<'static, str>>> {
    match path {
        "" | "/" => Some(None),
        "/health" | "/ready" | "/status" | "/metrics" => None,
        // Includes unknown methods, which the engine rejects.
        _ => method_name(path).map(|name| Some(MethodLabel::name_of(name))),
    }
}

/// The name in a path of one segment
fn method_name(path: &str) -> Option<&str> {
    path.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains('/'))
}

/// Answers a request that is not JSON-RPC
async fn route(context: &HttpContext, verb: &Method, path: &str) -> HttpResponse {
    let page: fn(&HttpContext, &ChainStatus) -> HttpResponse = match path {
        // Without a feed, a server that serves is ready.
        "/health" | "/ready" => health,
        "/status" => status,
        "/metrics" => metrics,
        _ => match (&context.demo_index, path.strip_prefix("/practice/")) {
            (Some(demo_index), Some(name)) => {
                return practice(context, demo_index, verb, name).await;
            }
            _ if let Some(list) = path.strip_prefix("/blocks/") => {
                return heights(context, verb, list).await;
            }
            _ if method_name(path).is_some_and(|name| MethodLabel::of(name).is_known()) => {
                return method_not_allowed(context, "POST");
            }
            _ => return nothing_here(context),
        },
    };
    if *verb != Method::GET && *verb != Method::HEAD {
        return method_not_allowed(context, "GET,HEAD");
    }
    match context.service.chain_status().await {
        Ok(chain) => page(context, &chain),
        Err(error) => json_value(error_status(&error), &failed(error)),
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
        () = context.service.shutdown_signal() => Some(empty(StatusCode::SERVICE_UNAVAILABLE)),
    }
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
async fn heights(context: &HttpContext, verb: &Method, list: &str) -> HttpResponse {
    if *verb != Method::GET {
        return method_not_allowed(context, "GET");
    }
    let (status, body) = blocks::heights(&context.service, list).await;
    if status != StatusCode::OK {
        context.service.metrics.request_rejected(status.as_u16());
    }
    json_value(status, &body)
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
    match demo_index.find_at_milestone(milestone, &context.service).await {
        Some(response) => json_bytes(StatusCode::OK, response.body),
        None => not_found(context, "no practice transaction is at this milestone"),
    }
}

/// Answers a JSON-RPC request
async fn respond_rpc(context: &HttpContext, request: RpcRequest) -> HttpResponse {
    let RpcRequest { mut body, url_method, error, expects_continue, origin } = request;
    let limit = context.options.body_limit;
    let accepted = error.as_ref().and_then(|error| error.accepted.clone());
    let (status, body) = match error {
        Some(error) => {
            if !expects_continue {
                Box::pin(request_body::discard(&mut body, limit)).await;
            }
            rejected(context, &error)
        }
        None => match request_body::read(body, expects_continue, limit).await {
            Ok(body) => run_rpc(context, body, url_method).await,
            Err(error) => rejected(context, &error),
        },
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = context.rpc_headers.clone();
    if let Some((name, value)) = accepted {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(origin) = origin {
        context.options.cors.add_headers(Some(&origin), response.headers_mut());
    }
    response
}

/// The headers of every JSON-RPC response
pub(super) fn rpc_headers(cors: &Cors) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    cors.add_headers(None, &mut headers);
    headers
}

async fn run_rpc(
    context: &HttpContext,
    body: Bytes,
    url_method: Option<Cow<'static, str>>,
) -> (StatusCode, HttpBody) {
    let (service, start) = (&context.service, Instant::now());
    let (label, body) = waiting::respond(service, body, url_method, start).await;
    let (kind, body) = match body {
        ResponseBody::Contiguous(response) => (response.kind, HttpBody::from(response.body)),
        ResponseBody::Chunks(chunks) => (ResponseKind::Result, HttpBody::from(chunks)),
    };
    // A body in memory is never longer than `usize::MAX`.
    let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    service.metrics.request_answered(label, kind, length, start.elapsed());
    (context.options.statuses.status(kind), body)
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

fn metrics(context: &HttpContext, chain: &ChainStatus) -> HttpResponse {
    let mut text = context.service.metrics.text(chain);
    if let Some(feed) = &context.feed_status {
        feed.text(&mut text);
    }
    with_type(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.into())
}

fn status(context: &HttpContext, chain: &ChainStatus) -> HttpResponse {
    let point = |point: Option<BlockPoint>| {
        point.map(|point| json!({ "height": point.height, "hash": point.hash.to_string() }))
    };
    let body = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "chain_id": chain.chain_id,
        "protocol_version": chain.protocol_version,
        "head": point(chain.head),
        "final": point(chain.last_final),
        "earliest": point(chain.earliest),
        "blocks": chain.blocks,
        "waiting": context.service.metrics.pending_count(),
    });
    json_value(StatusCode::OK, &body)
}

/// The status of a query without a result
pub(super) fn error_status(error: &QueryError) -> StatusCode {
    match error {
        QueryError::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
        QueryError::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A rejection as a JSON-RPC error; the request is not parsed, so its id is `null`
fn rejected(context: &HttpContext, error: &HttpError) -> (StatusCode, HttpBody) {
    context.service.metrics.request_rejected(error.status.as_u16());
    let message = Value::from(error.message.as_str());
    // The order of members is that of a node; `json!` would sort them.
    let body = format!(
        r#"{{"jsonrpc":"2.0","error":{{"name":"REQUEST_VALIDATION_ERROR","cause":{{"name":"PARSE_ERROR","info":{{"error_message":{message}}}}},"code":-32700,"message":"Parse error","data":{message}}},"id":null}}"#
    );
    (error.status, body.into_bytes().into())
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

fn nothing_here(context: &HttpContext) -> HttpResponse {
    let base = &context.options.base_path;
    let text = format!("nothing is served here; JSON-RPC is at {base}/ and {base}/<method>");
    not_found(context, &text)
}

fn not_found(context: &HttpContext, text: &str) -> HttpResponse {
    context.service.metrics.request_rejected(404);
    json_value(StatusCode::NOT_FOUND, &failed(text))
}

fn method_not_allowed(context: &HttpContext, allowed: &'static str) -> HttpResponse {
    context.service.metrics.request_rejected(405);
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

fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(HttpBody::default());
    *response.status_mut() = status;
    response
}
