//! The discovery documents: OpenRPC at `/openrpc.json` and by `rpc.discover`, OpenAPI at
//! `/openapi.json`.
//!
//! `cargo xtask types` generates them from the schemas of the wire types; only `servers` is added
//! here, because it depends on the base path. A document is made when it is first asked for.
//! Knows nothing of the methods: the engine rejects `rpc.discover` as unknown, and that response is
//! replaced, so other requests cost nothing more.

use std::io::Write as _;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderValue, VARY};
use milepost::endpoint::Response;
use milepost::rpc::{RequestId, ResponseKind, RpcError, write_result};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::base_path::BasePath;
use super::entity_tag;
use super::response_body::HttpBody;
use super::route::{HttpResponse, empty, json_bytes};

const DISCOVER: &str = "rpc.discover";

/// The documents of a server
pub(super) struct Documents {
    base_path: BasePath,
    openrpc: OnceLock<Document>,
    openapi: OnceLock<Document>,
}

/// A document in both codings
pub(super) struct Document {
    json: Bytes,
    gzip: Bytes,
    /// A weak tag, which both codings share
    tag: HeaderValue,
}

impl Documents {
    /// The documents of a server below this path; none is made yet
    pub(super) fn new(base_path: &BasePath) -> Self {
        let (openrpc, openapi) = Default::default();
        Self { base_path: base_path.clone(), openrpc, openapi }
    }

    /// The document at a path below the base path
    pub(super) fn at(&self, path: &str) -> Option<&Document> {
        match path {
            "/openrpc.json" => Some(self.openrpc()),
            "/openapi.json" => Some(self.openapi.get_or_init(|| {
                // Paths are appended to it, and start with a slash; an empty URL would be that of
                // the document.
                let base = self.base_path.to_string();
                let servers = json!([{ "url": if base.is_empty() { "/" } else { &base } }]);
                Document::new(include_str!("discovery/openapi.json"), servers)
            })),
            _ => None,
        }
    }

    fn openrpc(&self) -> &Document {
        self.openrpc.get_or_init(|| {
            let servers = json!([{ "name": "milepost", "url": format!("{}/", self.base_path) }]);
            Document::new(include_str!("discovery/openrpc.json"), servers)
        })
    }

    /// Replaces a response that rejects `rpc.discover` by one with the OpenRPC document
    pub(super) fn discover(&self, response: &mut Response) {
        if response.kind != ResponseKind::RequestValidation {
            return;
        }
        let mut rejection = Vec::new();
        let error = RpcError::MethodNotFound { method: DISCOVER.to_owned() };
        error.write(&RequestId::null(), &mut rejection);
        let rejection = rejection.strip_suffix(b"null}").unwrap_or(&rejection);
        let Some(id) = response.body.strip_prefix(rejection) else { return };
        let mut body = Vec::new();
        let result = |out: &mut Vec<u8>| out.extend_from_slice(&self.openrpc().json);
        write_result(&RequestId::null(), result, &mut body);
        body.truncate(body.len() - b"null}".len());
        body.extend_from_slice(id);
        *response = Response { body, kind: ResponseKind::Result };
    }

    /// The same for each response to a batch
    pub(super) fn discover_in_batch(&self, response: &mut Response) {
        let Ok(items) = serde_json::from_slice::<Vec<&RawValue>>(&response.body) else { return };
        let mut body = Vec::new();
        for item in items {
            body.push(if body.is_empty() { b'[' } else { b',' });
            let text = item.get().as_bytes().to_vec();
            let mut item = Response { body: text, kind: ResponseKind::RequestValidation };
            self.discover(&mut item);
            body.extend_from_slice(&item.body);
        }
        body.push(b']');
        response.body = body;
    }
}

/// Whether a request body is a batch that may contain `rpc.discover`
pub(super) fn is_in_batch(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"[")
        && body.windows(DISCOVER.len()).any(|text| text == DISCOVER.as_bytes())
}

impl Document {
    fn new(generated: &str, servers: Value) -> Self {
        // A test reads the documents; they are part of the program.
        let mut document: Value = serde_json::from_str(generated).unwrap_or_default();
        if let Some(document) = document.as_object_mut() {
            document.insert("servers".to_owned(), servers);
        }
        let json = document.to_string();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(json.as_bytes());
        let gzip = encoder.finish().unwrap_or_default().into();
        let tag = format!("W/{}", entity_tag::of(json.as_bytes()));
        // Base58 in quotes is valid in a header.
        let tag = HeaderValue::try_from(tag).unwrap_or_else(|_| HeaderValue::from_static(""));
        Self { json: json.into(), gzip, tag }
    }

    /// The response with this document; 304 if its tag is in `if_none_match`
    pub(super) fn respond(
        &self,
        if_none_match: Option<&HeaderValue>,
        accepts_gzip: bool,
    ) -> HttpResponse {
        let tag = self.tag.to_str().unwrap_or_default().trim_start_matches("W/");
        let mut response = if entity_tag::is_match(if_none_match, tag) {
            empty(StatusCode::NOT_MODIFIED)
        } else {
            let mut response = json_bytes(StatusCode::OK, Vec::new());
            let body = if accepts_gzip { &self.gzip } else { &self.json };
            *response.body_mut() = HttpBody::from(body.clone());
            if accepts_gzip {
                let gzip = HeaderValue::from_static("gzip");
                response.headers_mut().insert(CONTENT_ENCODING, gzip);
            }
            response
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        response
    }
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::{Engine, RequestState};
    use milepost::storage::MemoryStorage;

    use super::*;

    fn respond(request: &str) -> Response {
        let engine = Engine::default();
        match engine.respond(engine.parse(request.as_bytes(), None), &MemoryStorage::new()) {
            RequestState::Ready(response) => response,
            RequestState::Pending(_) => panic!("nothing waits here"),
        }
    }

    #[test]
    fn discover_has_the_document_and_the_id_of_the_request() {
        let documents = Documents::new(&"/near".parse().unwrap());
        for id in ["7", "null", r#""a}""#, r#"{"b":[1.50]}"#] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"rpc.discover"}}"#);
            let mut response = respond(&request);
            documents.discover(&mut response);
            assert_eq!(response.kind, ResponseKind::Result);
            let text = String::from_utf8(response.body).unwrap();
            assert!(text.ends_with(&format!(",\"id\":{id}}}")), "{id}");
            let response: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(response["result"]["info"]["version"], "1.2.11");
            assert_eq!(response["result"]["servers"][0]["url"], "/near/");
        }
    }

    #[test]
    fn other_rejections_stay() {
        let documents = Documents::new(&BasePath::default());
        for method in ["rpc.discovery", "rpc", ""] {
            let request = format!(r#"{{"id":1,"method":"{method}"}}"#);
            let (mut one, other) = (respond(&request), respond(&request));
            documents.discover(&mut one);
            assert_eq!(one, other);
        }
        assert!(documents.at("/openrpc").is_none());
    }
}
