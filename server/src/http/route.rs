//! What lives at which address, and which HTTP status an answer has.
//!
//! `POST /` and `POST /<method>` go to the engine; `/health`, `/status` and `/metrics` are for people
//! and their monitoring, `/practice/<milestone>` and `/practice/recent` for those who try the practice
//! chain; `GET /` is the page, and `/blocks/<hashes>` is there for it; anything else is not here.
//! Whatever the engine answers is sent as it is: only its class is looked at, for the status.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt::Display;
use core::pin::Pin;
use core::str::FromStr;

use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{
    ALLOW, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue, IF_NONE_MATCH, ORIGIN,
};
use hyper::{Method, Request, Response, StatusCode};
use milepost::engine::ChainStatus;
use milepost::facts::record::BlockPoint;
use milepost::rpc::AnswerClass;
use milepost::status::Milestone;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::debug;

use super::body::{self, Refusal};
use super::outgoing::Outgoing;
use super::page::File;
use super::{Cors, Service, blocks, label};
use crate::board::Board;
use crate::metrics::MethodLabel;
use crate::waiting::{self, Answered};

type Answer = Response<Outgoing>;

/// How classes of answers become HTTP statuses
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StatusMode {
    /// As a node does it: 400, 408, 422 and 500 say in short what the body says at length
    Node,
    /// 200 for whatever is a JSON-RPC answer
    Always200,
}

impl StatusMode {
    fn of(self, class: AnswerClass) -> StatusCode {
        if self == Self::Always200 {
            return StatusCode::OK;
        }
        match class {
            AnswerClass::RequestValidation => StatusCode::BAD_REQUEST,
            AnswerClass::Timeout => StatusCode::REQUEST_TIMEOUT,
            AnswerClass::SkippedBlock => StatusCode::UNPROCESSABLE_ENTITY,
            AnswerClass::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            AnswerClass::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            // Results, and handler errors of every other kind.
            _ => StatusCode::OK,
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

/// What a request asks for, once its head was looked at
///
/// The head is dropped with this: what waits keeps nothing of it.
enum Plan {
    /// A JSON-RPC request
    Call(Posted),
    /// Anything else; boxed, so that it takes no room in the future of every call
    Rare(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

/// A JSON-RPC request whose body is still to come
struct Posted {
    body: Incoming,
    /// The method that the address names
    path_method: Option<Cow<'static, str>>,
    /// It is refused for its label
    refusal: Option<Refusal>,
    /// The client sends its body only after a word from us
    asks_first: bool,
    /// Where the page comes from that asks, if that matters
    origin: Option<HeaderValue>,
}

/// Answers a request
pub(super) fn answer(
    service: &Arc<Service>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Answer, Infallible>> + Send + 'static + use<> {
    debug!("{} {}", request.method(), request.uri().path());
    let plan = plan(service, request);
    let service = Arc::clone(service);
    async move {
        Ok(match plan {
            Plan::Call(posted) => call(&service, posted).await,
            Plan::Rare(answer) => answer.await,
        })
    }
}

fn plan(service: &Arc<Service>, request: Request<Incoming>) -> Plan {
    let cors = &service.options.cors;
    let origin = if cors.looks_at_origins() { request.headers().get(ORIGIN) } else { None };
    let path = request.uri().path();
    if request.method() == Method::POST
        && let Some(path_method) = method_at(path)
    {
        let headers = request.headers();
        let refusal = body::check_type(headers).err();
        let (asks_first, origin) = (headers.contains_key(EXPECT), origin.cloned());
        let body = request.into_body();
        return Plan::Call(Posted { body, path_method, refusal, asks_first, origin });
    }
    let (verb, path, origin) = (request.method().clone(), path.to_owned(), origin.cloned());
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let service = Arc::clone(service);
    Plan::Rare(Box::pin(async move {
        let cors = &service.options.cors;
        if cors.is_on() && verb == Method::OPTIONS {
            let mut answer = empty(StatusCode::OK);
            cors.permit(origin.as_ref(), answer.headers_mut());
            return answer;
        }
        let mut answer = match (File::at(&path), verb.as_str()) {
            (Some(file), "GET") => file.answer(known.as_ref()),
            (Some(file), "HEAD") => without_body(file.answer(known.as_ref())),
            // Calls have been told apart already, but an answer to any other verb names theirs, too.
            (Some(_), _) if path == "/" => wrong_verb(&service, "GET,HEAD,POST"),
            (Some(_), _) => wrong_verb(&service, "GET,HEAD"),
            (None, _) => route(&service, &verb, &path).await,
        };
        cors.mark(origin.as_ref(), answer.headers_mut());
        answer
    }))
}

/// The method that an address names; `None` where none can be called
fn method_at(path: &str) -> Option<Option<Cow<'static, str>>> {
    match path {
        "/" => Some(None),
        "/health" | "/status" | "/metrics" => None,
        // Also a name that no method has: the engine says so, in the words of JSON-RPC.
        _ => method_name(path).map(|name| Some(MethodLabel::name_of(name))),
    }
}

/// The name in an address of one step
fn method_name(path: &str) -> Option<&str> {
    path.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains('/'))
}

/// Answers whatever is no call
async fn route(service: &Service, verb: &Method, path: &str) -> Answer {
    let page: fn(&Service, &ChainStatus) -> Answer = match path {
        "/health" => health,
        "/status" => status,
        "/metrics" => metrics,
        _ => match (&service.board, path.strip_prefix("/practice/")) {
            (Some(board), Some(name)) => return practice(service, board, verb, name).await,
            _ if let Some(names) = path.strip_prefix("/blocks/") => {
                return heights(service, verb, names).await;
            }
            _ if method_name(path).is_some_and(|name| MethodLabel::of(name).is_known()) => {
                return wrong_verb(service, "POST");
            }
            _ => {
                service.node.metrics.refused(404);
                return empty(StatusCode::NOT_FOUND);
            }
        },
    };
    if *verb != Method::GET && *verb != Method::HEAD {
        return wrong_verb(service, "GET,HEAD");
    }
    let whole = match service.node.chain().await {
        Ok(chain) => page(service, &chain),
        Err(error) => unavailable(error),
    };
    if *verb == Method::GET { whole } else { without_body(whole) }
}

/// The same head as GET would have, length included, and no body
fn without_body(whole: Answer) -> Answer {
    if whole.body().is_end_stream() {
        return whole;
    }
    let (mut head, body) = whole.into_parts();
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.size_hint().lower()));
    Response::from_parts(head, Outgoing::default())
}

/// The heights of the blocks that the address names
async fn heights(service: &Service, verb: &Method, names: &str) -> Answer {
    if *verb != Method::GET {
        return wrong_verb(service, "GET");
    }
    let (status, body) = blocks::heights(&service.node, names).await;
    if status != StatusCode::OK {
        service.node.metrics.refused(status.as_u16());
    }
    json_value(status, &body)
}

/// A practice transaction that stands at this milestone now, or the recent ones
async fn practice(service: &Service, board: &Board, verb: &Method, name: &str) -> Answer {
    if name == "recent" {
        return match *verb {
            Method::GET => json_value(StatusCode::OK, &board.listing()),
            _ => wrong_verb(service, "GET"),
        };
    }
    // Nothing ever stands at `NONE`: a chain has taken in what it knows.
    let known = Milestone::from_name(name).filter(|milestone| *milestone != Milestone::None);
    let Some(milestone) = known else {
        service.node.metrics.refused(404);
        return empty(StatusCode::NOT_FOUND);
    };
    if *verb != Method::GET {
        return wrong_verb(service, "GET");
    }
    match board.standing_at(milestone, &service.node).await {
        Some(answer) => json_bytes(StatusCode::OK, answer.body),
        None => {
            service.node.metrics.refused(404);
            empty(StatusCode::NOT_FOUND)
        }
    }
}

/// Answers a JSON-RPC request
async fn call(service: &Service, posted: Posted) -> Answer {
    let Posted { body, path_method, refusal, asks_first, origin } = posted;
    let (status, body) = match refusal {
        Some(refusal) => refused(service, &refusal),
        None => match body::read(body, asks_first, service.options.body_limit).await {
            Ok(body) => ask(service, body, path_method).await,
            Err(refusal) => refused(service, &refusal),
        },
    };
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = service.headers.clone();
    if let Some(origin) = origin {
        service.options.cors.mark(Some(&origin), answer.headers_mut());
    }
    answer
}

/// The headers of every answer to a call
pub(super) fn headers(cors: &Cors) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    cors.mark(None, &mut headers);
    headers
}

async fn ask(
    service: &Service,
    body: Bytes,
    path_method: Option<Cow<'static, str>>,
) -> (StatusCode, Outgoing) {
    let (node, start) = (&service.node, Instant::now());
    let label = label::of(&body, path_method.as_deref());
    let (class, body) = match waiting::answer(node, body, path_method, start).await {
        Answered::Whole(answer) => (answer.class, Outgoing::from(answer.body)),
        Answered::Pieces(pieces) => (AnswerClass::Result, Outgoing::from(pieces)),
    };
    // No body is longer than memory.
    let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    node.metrics.answered(label, class, length, start.elapsed());
    (service.options.statuses.of(class), body)
}

fn health(_: &Service, chain: &ChainStatus) -> Answer {
    let head = chain.head.map(|head| head.height);
    json_value(StatusCode::OK, &json!({ "status": "ok", "head": head }))
}

fn metrics(service: &Service, chain: &ChainStatus) -> Answer {
    let text = service.node.metrics.text(chain);
    with_type(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.into())
}

fn status(service: &Service, chain: &ChainStatus) -> Answer {
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
        "waiting": service.node.metrics.waiting(),
    });
    json_value(StatusCode::OK, &body)
}

fn unavailable(error: impl Display) -> Answer {
    let body = json!({ "status": "failed", "error": error.to_string() });
    json_value(StatusCode::SERVICE_UNAVAILABLE, &body)
}

/// A refusal in the shape of a JSON-RPC error; the identifier of the request is not known
fn refused(service: &Service, refusal: &Refusal) -> (StatusCode, Outgoing) {
    service.node.metrics.refused(refusal.status.as_u16());
    let message = Value::from(refusal.message.as_str());
    // In the order in which a node writes these members, which `json!` would sort.
    let body = format!(
        r#"{{"jsonrpc":"2.0","error":{{"name":"REQUEST_VALIDATION_ERROR","cause":{{"name":"PARSE_ERROR","info":{{"error_message":{message}}}}},"code":-32700,"message":"Parse error","data":{message}}},"id":null}}"#
    );
    (refusal.status, body.into_bytes().into())
}

fn wrong_verb(service: &Service, allowed: &'static str) -> Answer {
    service.node.metrics.refused(405);
    let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn json_value(status: StatusCode, value: &Value) -> Answer {
    json_bytes(status, value.to_string().into_bytes())
}

fn json_bytes(status: StatusCode, body: Vec<u8>) -> Answer {
    with_type(status, "application/json", body)
}

fn with_type(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Outgoing::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Outgoing::default());
    *answer.status_mut() = status;
    answer
}
