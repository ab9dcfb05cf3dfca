//! The URLs of a feed of neardata, and the meaning of its responses.
//!
//! Maps a question to the paths that answer it, and a status to its meaning. A host sends the
//! requests, and gives each that bypasses caches a URL of its own.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Display;
use core::time::Duration;

use crate::request::{Ask, BlockRequest, Finality, Response, SourceError, SourceErrorKind};

/// Maximum number of characters of a body in an error
const MAX_TEXT: usize = 200;
/// Maximum number of bytes of a body that an error is read from
const MAX_LOOK: usize = 4 * MAX_TEXT;

/// GET requests for a question, of which one answers it
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Get {
    /// The paths, at least one; each is requested if the one before has status 404
    pub paths: Vec<String>,
    /// Whether caches must not answer
    pub bypass_caches: bool,
}

impl Get {
    /// The requests for a question; `None` for archives, which are at hosts of their own, and for
    /// what these feeds do not say
    pub fn new(ask: Ask) -> Option<Self> {
        let (paths, bypass_caches) = match ask {
            Ask::Block(BlockRequest { height, finality, bypass_caches }) => {
                let name = match finality {
                    Finality::Optimistic => "block_opt",
                    Finality::Final => "block",
                };
                (Vec::from([format!("/v0/{name}/{height}")]), bypass_caches)
            }
            // The redirect to the block is cached for a day by some caches.
            Ask::LastFinal => (Vec::from(["/v0/last_block/final".to_string()]), true),
            Ask::Head(finality) => {
                let name = match finality {
                    Finality::Optimistic => "optimistic",
                    Finality::Final => "final",
                };
                let path = format!("/v0/last_block/{name}");
                // A server with these URLs need not have the first one.
                (Vec::from([format!("{path}/headers"), path]), true)
            }
            Ask::Archive(_) | Ask::BlockByHash(_) | Ask::ChainId => return None,
        };
        Some(Self { paths, bypass_caches })
    }
}

/// The meaning of a response to a GET request of this path
///
/// # Errors
///
/// The failure of the feed, with the path.
pub fn interpret(
    path: &str,
    status: u16,
    body: Vec<u8>,
    retry_after: Option<Duration>,
) -> Result<Response, SourceError> {
    use SourceErrorKind::{PermissionDenied, Temporary, TooHigh, TooLow};

    let failed = |kind, detail: &dyn Display| {
        let error = SourceError::new(kind, format_args!("{path}: {detail}"));
        Err(error.with_status(status).with_retry_after(retry_after))
    };
    // The type of a 404, or another text that explains the status.
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_LOOK)]);
    let text: String = text.chars().filter(|mark| !mark.is_control()).take(MAX_TEXT).collect();
    match status {
        200 if body.trim_ascii() == b"null" => Ok(Response::Absent { newest: None }),
        200 if body.trim_ascii_start().starts_with(b"<") => {
            failed(Temporary, &"HTML in place of a block")
        }
        200 => Ok(Response::Message(body)),
        401 => failed(PermissionDenied, &"the feed refuses the token (HTTP 401)"),
        403 => failed(PermissionDenied, &"the feed refuses this client (HTTP 403)"),
        // neardata calls a block that is more than ten heights above the newest nonexistent.
        404 if text.contains("BLOCK_HEIGHT_TOO_HIGH") || text.contains("BLOCK_DOES_NOT_EXIST") => {
            failed(TooHigh, &"above the newest block of the feed")
        }
        404 if text.contains("BLOCK_HEIGHT_TOO_LOW") => {
            failed(TooLow, &"below the first block of the feed")
        }
        _ => failed(Temporary, &format!("HTTP {status} {text}").trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Result<Response, SourceErrorKind> {
        interpret("/v0/block/7", status, body.into(), None).map_err(|error| {
            assert!(error.detail.starts_with("/v0/block/7: "), "{error}");
            assert_eq!(error.status, Some(status));
            error.kind
        })
    }

    #[test]
    fn a_status_decides_what_is_done() {
        let typed = |name| format!(r#"{{"error":"x","type":"{name}"}}"#);
        assert_eq!(of(200, " null\n"), Ok(Response::Absent { newest: None }));
        assert_eq!(of(200, "{}"), Ok(Response::Message(b"{}".to_vec())));
        assert_eq!(of(404, &typed("BLOCK_HEIGHT_TOO_HIGH")), Err(SourceErrorKind::TooHigh));
        assert_eq!(of(404, &typed("BLOCK_HEIGHT_TOO_LOW")), Err(SourceErrorKind::TooLow));
        assert_eq!(of(404, &typed("BLOCK_DOES_NOT_EXIST")), Err(SourceErrorKind::TooHigh));
        assert_eq!(of(404, "<html>"), Err(SourceErrorKind::Temporary));
        assert_eq!(of(200, "\n<!doctype html>"), Err(SourceErrorKind::Temporary));
        for status in [401, 403] {
            assert_eq!(of(status, ""), Err(SourceErrorKind::PermissionDenied));
        }
        for status in [400, 429, 500, 502, 503] {
            assert_eq!(of(status, ""), Err(SourceErrorKind::Temporary));
        }
    }

    #[test]
    fn an_error_has_the_start_of_the_body_and_no_control_characters() {
        let body = format!("slow\n down{}", "\u{e9}".repeat(100_000)).into_bytes();
        let error = interpret("/v0/block/7", 429, body, None).unwrap_err();
        assert!(error.detail.starts_with("/v0/block/7: HTTP 429 slow down\u{e9}"), "{error}");
        assert!(error.detail.chars().count() < 250, "{error}");
    }

    #[test]
    fn an_error_does_not_end_with_a_blank() {
        for (status, body, expected) in
            [(404, "", "HTTP 404"), (502, " \n", "HTTP 502"), (500, "down ", "HTTP 500 down")]
        {
            let error = interpret("/v0/block/7", status, body.into(), None).unwrap_err();
            assert_eq!(error.detail, format!("/v0/block/7: {expected}"));
        }
    }

    #[test]
    fn the_newest_block_is_asked_for_by_its_header_first() {
        let get = Get::new(Ask::Head(Finality::Final)).unwrap();
        assert_eq!(get.paths, ["/v0/last_block/final/headers", "/v0/last_block/final"]);
        assert!(get.bypass_caches);
        let block = BlockRequest::new(7, Finality::Optimistic);
        let get = Get::new(Ask::Block(block)).unwrap();
        assert_eq!((get.paths, get.bypass_caches), (Vec::from(["/v0/block_opt/7".into()]), false));
        assert!(Get::new(Ask::Block(block.past_caches())).unwrap().bypass_caches);
        assert_eq!(Get::new(Ask::Archive(10)), None);
    }
}
