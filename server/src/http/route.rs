//! What lives at which address, and which HTTP status an answer has.
//!
//! `POST /` and `POST /<method>` go to the engine; `/health`, `/status` and `/metrics` are for people
//! and their monitoring, `/practice/<milestone>` for those who try the practice chain; anything else is
//! not here. Whatever the engine answers is sent as it is:
//! only its class is looked at, for the status.

use core::fmt::Display;
use core::str::FromStr;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use milepost::engine::ChainStatus;
use milepost::facts::record::BlockPoint;
use milepost::rpc::AnswerClass;
use milepost::status::Milestone;
use serde_json::{Value, json};
use tracing::debug;

use super::Service;
use super::body::{self, Refusal};
use crate::board::Board;
use crate::metrics::MethodLabel;
use crate::{scan, waiting};

type Answer = Response<Full<Bytes>>;

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

/// Answers a request
pub(super) async fn answer(service: &Service, request: Request<Incoming>) -> Answer {
    let cors = &service.options.cors;
    let origin = request.headers().get(ORIGIN).cloned();
    debug!("{} {}", request.method(), request.uri().path());
    if cors.is_on() && request.method() == Method::OPTIONS {
        let mut answer = empty(StatusCode::OK);
        cors.permit(origin.as_ref(), answer.headers_mut());
        return answer;
    }
    let mut answer = route(service, request).await;
    cors.mark(origin.as_ref(), answer.headers_mut());
    answer
}

async fn route(service: &Service, request: Request<Incoming>) -> Answer {
    let verb = request.method().clone();
    let path = request.uri().path().to_owned();
    let page: fn(&Service, &ChainStatus) -> Answer = match path.as_str() {
        "/" if verb == Method::POST => return call(service, request, None).await,
        "/" => return wrong_verb(service, "POST"),
        "/health" => health,
        "/status" => status,
        "/metrics" => metrics,
        _ => match (&service.board, path.strip_prefix("/practice/")) {
            (Some(board), Some(name)) => return practice(service, board, &verb, name).await,
            _ => {
                return named(service, request, &verb, path.trim_start_matches('/'), &path).await;
            }
        },
    };
    if verb != Method::GET && verb != Method::HEAD {
        return wrong_verb(service, "GET,HEAD");
    }
    let whole = match service.node.chain().await {
        Ok(chain) => page(service, &chain),
        Err(error) => unavailable(error),
    };
    if verb == Method::GET {
        return whole;
    }
    // The same head as GET would have, length included, and no body.
    let (mut head, body) = whole.into_parts();
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.size_hint().lower()));
    Response::from_parts(head, Full::default())
}

/// An address that may be that of a method
async fn named(
    service: &Service,
    request: Request<Incoming>,
    verb: &Method,
    name: &str,
    path: &str,
) -> Answer {
    let is_name = !name.is_empty() && !name.contains('/') && path.len() == name.len() + 1;
    if is_name && *verb == Method::POST {
        // Also a name that no method has: the engine says so, in the words of JSON-RPC.
        let name = name.to_owned();
        return call(service, request, Some(name)).await;
    }
    if is_name && MethodLabel::of(name).is_known() {
        return wrong_verb(service, "POST");
    }
    service.node.metrics.refused(404);
    empty(StatusCode::NOT_FOUND)
}

/// A practice transaction that stands at this milestone now
async fn practice(service: &Service, board: &Board, verb: &Method, name: &str) -> Answer {
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

/// A JSON-RPC request
async fn call(
    service: &Service,
    request: Request<Incoming>,
    path_method: Option<String>,
) -> Answer {
    let body = match body::check_type(request.headers()) {
        Ok(()) => body::read(request, service.options.body_limit).await,
        Err(refusal) => Err(refusal),
    };
    let body = match body {
        Ok(body) => body,
        Err(refusal) => return refused(service, &refusal),
    };
    let start = Instant::now();
    let label = label(&body, path_method.as_deref());
    let answered = waiting::answer(&service.node, body, path_method).await;
    let bytes = answered.body.len();
    service.node.metrics.answered(label, answered.class, bytes, start.elapsed());
    json_bytes(service.options.statuses.of(answered.class), answered.body)
}

/// The method of a request, as far as its address or body name one
fn label(body: &[u8], path_method: Option<&str>) -> MethodLabel {
    if body.trim_ascii_start().starts_with(b"[") {
        return MethodLabel::BATCH;
    }
    if let Some(name) = path_method {
        return MethodLabel::of(name);
    }
    // Reading from memory cannot fail.
    let name = scan::scalar_at(body, &["method"]).ok().flatten().unwrap_or_default();
    MethodLabel::of(&name)
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
fn refused(service: &Service, refusal: &Refusal) -> Answer {
    service.node.metrics.refused(refusal.status.as_u16());
    let message = Value::from(refusal.message.as_str());
    // In the order in which a node writes these members, which `json!` would sort.
    let body = format!(
        r#"{{"jsonrpc":"2.0","error":{{"name":"REQUEST_VALIDATION_ERROR","cause":{{"name":"PARSE_ERROR","info":{{"error_message":{message}}}}},"code":-32700,"message":"Parse error","data":{message}}},"id":null}}"#
    );
    json_bytes(refusal.status, body.into_bytes())
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
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}
