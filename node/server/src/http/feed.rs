//! The routes of `--serve-feed`, which are those of a neardata server.
//!
//! `/v0/block/HEIGHT`, `/v0/block_opt/HEIGHT`, `/v0/last_block/final`, `/v0/last_block/optimistic`
//! and `/v0/first_block`. A block that is not there yet is waited for. Only what cannot change is
//! cached: final blocks.

use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, HeaderName, HeaderValue, LOCATION, VARY};
use hyper::{Response, StatusCode};
use milepost::primitives::BlockHeight;
use milepost_feeds::Finality;
use serde_json::json;
use tokio::task;

use super::base_path::BasePath;
use super::response::{HttpResponse, json_bytes, json_value};
use super::response_body::HttpBody;
use crate::feed::served::{Message, Served, ServedFeed};

/// The response to a GET of a path below `/v0/`; `None` if it is none of a feed
pub(super) async fn respond(
    feed: &ServedFeed,
    base_path: &BasePath,
    path: &str,
    accepts_gzip: bool,
) -> Option<HttpResponse> {
    let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
    let to_block = |finality, height: Option<BlockHeight>| match height {
        Some(height) => redirect(&format!("{base_path}/v0/{}/{height}", name_of(finality))),
        None => json_value(StatusCode::INTERNAL_SERVER_ERROR, &json!("Cache error: no block")),
    };
    let last = |finality| to_block(finality, feed.range(finality).map(|(_, last)| last));
    match (kind, rest) {
        ("first_block", "") => {
            let first = feed.range(Finality::Final).map(|(first, _)| first);
            Some(to_block(Finality::Final, first))
        }
        ("last_block", "final") => Some(last(Finality::Final)),
        ("last_block", "optimistic") => Some(last(Finality::Optimistic)),
        ("block", height) => Some(block(feed, height, Finality::Final, accepts_gzip).await),
        ("block_opt", height) => {
            Some(block(feed, height, Finality::Optimistic, accepts_gzip).await)
        }
        _ => None,
    }
}

const fn name_of(finality: Finality) -> &'static str {
    match finality {
        Finality::Optimistic => "block_opt",
        Finality::Final => "block",
    }
}

async fn block(
    feed: &ServedFeed,
    height: &str,
    finality: Finality,
    accepts_gzip: bool,
) -> HttpResponse {
    let Ok(height) = height.parse() else {
        return json_value(StatusCode::BAD_REQUEST, &json!("Invalid argument"));
    };
    let (response, is_immutable) = match feed.block(height, finality).await {
        Served::Message(message) => {
            (message_response(message, accepts_gzip).await, finality == Finality::Final)
        }
        Served::Empty => {
            (json_bytes(StatusCode::OK, b"null".to_vec()), finality == Finality::Final)
        }
        Served::TooHigh => (missing("BLOCK_HEIGHT_TOO_HIGH", "above the newest block"), false),
        Served::TooLow => (missing("BLOCK_HEIGHT_TOO_LOW", "below the oldest block"), false),
    };
    let age = if is_immutable { "public, max-age=31536000, immutable" } else { "no-store" };
    with_header(response, CACHE_CONTROL, age)
}

async fn message_response(message: Message, accepts_gzip: bool) -> HttpResponse {
    let response = if accepts_gzip {
        let mut response = json_bytes(StatusCode::OK, Vec::new());
        *response.body_mut() = HttpBody::from(message.0);
        with_header(response, CONTENT_ENCODING, "gzip")
    } else {
        let text = task::spawn_blocking(move || message.text()).await;
        json_bytes(StatusCode::OK, text.unwrap_or_default())
    };
    with_header(response, VARY, "accept-encoding")
}

fn missing(kind: &str, text: &str) -> HttpResponse {
    json_value(StatusCode::NOT_FOUND, &json!({ "error": text, "type": kind }))
}

fn redirect(location: &str) -> HttpResponse {
    let mut response = Response::new(HttpBody::default());
    *response.status_mut() = StatusCode::FOUND;
    // A base path that was parsed, and a number, are valid in a header.
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    with_header(response, CACHE_CONTROL, "no-store")
}

fn with_header(mut response: HttpResponse, name: HeaderName, value: &'static str) -> HttpResponse {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}
