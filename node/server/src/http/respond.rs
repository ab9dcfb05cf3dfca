//! A request from its head to its response: JSON-RPC with its body, anything else by its route.
//!
//! The head is dropped once it is read, so that a request that waits does not keep it.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::pin::Pin;
use core::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION, ORIGIN};
use hyper::{Method, Request, StatusCode, Version};
use milepost::primitives::BlockHeight;
use milepost::status::Milestone;
use percent_encoding::percent_decode_str;
use tracing::{Instrument as _, debug};

use super::base_path::BasePath;
use super::client::Client;
use super::cors::Cors;
use super::discovery::Documents;
use super::query_string::QueryString;
use super::response::{
    HttpResponse, counted, empty, json_bytes, json_value, query_failed, rejected, unavailable,
    without_body,
};
use super::route::{self, Route};
use super::rpc::{self, RpcRequest, StatusMode};
use super::{
    blocks, compression, entity_tag, events, feed, head, operators, request_body, transaction,
    websocket,
};
use crate::chain::STOPPING;
use crate::feed::{DemoIndex, FeedStatus, ServedFeed};
use crate::metrics::MethodLabel;
use crate::queries::Queries;
use crate::request::{HttpError, MemoryBudget, MemoryPermit, RequestContext, own_value};
use crate::upstream::Upstreams;

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

impl HttpContext {
    /// The feed that is served, if there is one
    pub(super) fn served_feed(&self) -> Option<&ServedFeed> {
        self.feed_status.as_ref()?.served.as_ref()
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
    let counted = request_body::check_head(request.version(), request.headers())
        .and_then(|()| is_counted.then(|| client.memory().request()).transpose());
    let handler = handler(context, request, client, &request_context);
    let context = Arc::clone(context);
    let respond = async move {
        let (mut response, permit) = match (handler, counted) {
            (Handler::Rpc(request), Ok(permit)) => {
                (rpc::respond(&context, &request_context, request).await, permit)
            }
            (Handler::Other(response), Ok(permit)) => (response.await, permit),
            (Handler::Rpc(_), Err(error)) => (rpc::rejected(&context, &error), None),
            (Handler::Other(_), Err(error)) => (refused(&context, &error), None),
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
        && let Some(Ok(method)) = path.map(|path| route::method_of_post(context, path))
    {
        let (method, origin) = (method.map(MethodLabel::name_of), origin.map(own_value));
        return Handler::Rpc(RpcRequest::new(request, method, origin, client));
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
            return Handler::Other(Box::pin(async move { refused(&context, &error) }));
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
        accepts_gzip: compression::accepts_gzip(request.headers()),
        min_height: head::min_height(request.headers()),
        client: Arc::clone(client),
    };
    let context = Arc::clone(context);
    Handler::Other(Box::pin(async move { respond_other(&context, &request).await }))
}

/// The parts of a head that the response to a request other than JSON-RPC needs
struct RequestHead {
    /// The memory that all of this counts
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
    let (cors, origin) = (&context.options.cors, request.origin.as_ref());
    if cors.is_enabled() && request.verb == Method::OPTIONS {
        let mut response = empty(StatusCode::OK);
        cors.add_preflight_headers(origin, response.headers_mut());
        return response;
    }
    let route = request.path.as_deref().and_then(|path| Route::of(context, path));
    let mut response = match route {
        None => nothing_here(context),
        Some(route) if route.verbs().split(',').all(|verb| verb != request.verb.as_str()) => {
            method_not_allowed(context, route.verbs())
        }
        Some(route) => match reach(context, request, route).await {
            Ok(()) => respond_at(context, request, route).await,
            Err(response) => response,
        },
    };
    let memory = request.client.memory();
    response = counted(memory, response).unwrap_or_else(|error| refused(context, &error));
    let is_offered = compression::is_offered(&mut response);
    if !entity_tag::revalidate(&mut response, request.if_none_match.as_ref())
        && is_offered
        && request.accepts_gzip
    {
        response = compression::compressed(response, memory).await;
    }
    if request.verb == Method::HEAD {
        response = without_body(response);
    }
    cors.add_headers(origin, response.headers_mut());
    response
}

/// Waits for the head that a request demands, if its response depends on the head
async fn reach(
    context: &HttpContext,
    request: &RequestHead,
    route: Route<'_>,
) -> Result<(), HttpResponse> {
    if !route.is_of_chain() {
        return Ok(());
    }
    let chain = &context.queries.chain;
    let min_height = match &request.min_height {
        Ok(min_height) => *min_height,
        Err(text) => return Err(rejected(&context.queries, StatusCode::BAD_REQUEST, text)),
    };
    head::reach(chain, min_height).await.map_err(unavailable)
}

/// Answers a request whose route has its verb
async fn respond_at(
    context: &HttpContext,
    request: &RequestHead,
    route: Route<'_>,
) -> HttpResponse {
    let (queries, client) = (&context.queries, &request.client);
    let query = || QueryString::parse(request.query.as_deref().unwrap_or_default());
    match route {
        Route::Base => with_slash(&context.options.base_path, request.query.as_deref()),
        Route::Page(file) => file.respond(),
        Route::Document(document) => document.respond(request.accepts_gzip),
        Route::Feed(path) => feed_response(context, path, request.accepts_gzip).await,
        Route::Health => operators::health(context).await,
        Route::Ready => operators::ready(context).await,
        Route::Status => operators::status(context).await,
        Route::Metrics => operators::metrics(context).await,
        Route::Practice(name) => practice(context, name).await,
        Route::Blocks(list) => {
            blocks::heights(queries, client.network(), &decoded(list), &query()).await
        }
        Route::Events(hash) => {
            let last_event_id = request.last_event_id.as_ref().and_then(|id| id.to_str().ok());
            let (query, max_wait) = (query(), context.options.max_wait);
            match hash {
                Some(hash) => {
                    let (client, hash) = (client.network(), decoded(hash));
                    events::of_one(queries, client, &hash, &query, last_event_id, max_wait).await
                }
                None => events::of_many(queries, client.network(), &query, last_event_id, max_wait),
            }
        }
        Route::RecentTransactions => match queries.recent_transactions().await {
            Ok(list) => json_value(StatusCode::OK, &list),
            Err(error) => query_failed(&error),
        },
        Route::Transaction(hash) => {
            transaction::status(queries, client.network(), &decoded(hash), &query()).await
        }
        Route::Receipt(id) => {
            transaction::of_receipt(queries, client.network(), &decoded(id)).await
        }
        // Both are answered before, by their verbs.
        Route::WebSocket | Route::Method => nothing_here(context),
    }
}

/// A segment of a path, of which browsers encode what a library took for special, such as commas
fn decoded(segment: &str) -> Cow<'_, str> {
    percent_decode_str(segment).decode_utf8_lossy()
}

/// The response of the feed that is served
async fn feed_response(context: &HttpContext, path: &str, accepts_gzip: bool) -> HttpResponse {
    let Some(served) = context.served_feed() else { return nothing_here(context) };
    let respond = feed::respond(served, &context.options.base_path, path, accepts_gzip);
    let response = tokio::select! {
        response = respond => response,
        () = context.queries.chain.shutdown_signal() => Some(unavailable(STOPPING)),
    };
    response.unwrap_or_else(|| nothing_here(context))
}

/// A practice transaction that is at the milestone of this name, or the list of recent ones
async fn practice(context: &HttpContext, name: &str) -> HttpResponse {
    let Some(demo_index) = &context.demo_index else { return nothing_here(context) };
    if name == "recent" {
        return json_value(StatusCode::OK, &demo_index.to_json());
    }
    // An imported transaction is never at `NONE`.
    let milestone = Milestone::from_name(name).filter(|milestone| *milestone != Milestone::None);
    let Some(milestone) = milestone else {
        return not_found(context, "the path names no milestone, such as /practice/FINAL");
    };
    match demo_index.find_at_milestone(milestone, &context.queries.chain).await {
        Some(response) => json_bytes(StatusCode::OK, response.body),
        None => not_found(context, "no practice transaction is at this milestone"),
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

/// The response to a head that is rejected, or when the budget of memory is used up
fn refused(context: &HttpContext, error: &HttpError) -> HttpResponse {
    rejected(&context.queries, error.status, &error.message)
}

fn nothing_here(context: &HttpContext) -> HttpResponse {
    let base = &context.options.base_path;
    let text = format!("nothing is served here; JSON-RPC is at {base}/ and {base}/<method>");
    not_found(context, &text)
}

fn not_found(context: &HttpContext, text: &str) -> HttpResponse {
    rejected(&context.queries, StatusCode::NOT_FOUND, text)
}

fn method_not_allowed(context: &HttpContext, allowed: &'static str) -> HttpResponse {
    let text = format!("the HTTP method is not allowed here, only {allowed}");
    let mut response = rejected(&context.queries, StatusCode::METHOD_NOT_ALLOWED, &text);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
