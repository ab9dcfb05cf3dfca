//! The discovery documents: OpenRPC at `/openrpc.json` and by `rpc.discover`, OpenAPI at
//! `/openapi.json`.
//!
//! `cargo xtask types` generates them from the schemas of the wire types; only `servers` is added
//! here to the second, because it depends on the base path. The first has none: it would have to be
//! a whole URL, which depends on how the server is reached. A document is made when it is first
//! asked for.

use std::io::Write as _;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderValue, VARY};
use milepost::rpc::{Method, Request};
use serde_json::{Value, json};

use super::base_path::BasePath;
use super::entity_tag;
use super::response::{HttpResponse, json_bytes};
use super::response_body::HttpBody;

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
                Document::new(include_str!("discovery/openapi.json"), Some(servers))
            })),
            _ => None,
        }
    }

    fn openrpc(&self) -> &Document {
        self.openrpc.get_or_init(|| Document::new(include_str!("discovery/openrpc.json"), None))
    }

    /// Answers the calls of `rpc.discover` in a request with the OpenRPC document
    pub(super) fn discover(&self, request: &mut Request) {
        for call in request.calls_mut() {
            if matches!(&call.method, Method::Other(other) if other.name == DISCOVER) {
                call.answer(Ok((*self.openrpc().json).into()));
            }
        }
    }
}

impl Document {
    fn new(generated: &str, servers: Option<Value>) -> Self {
        // A test reads the documents; they are part of the program.
        let mut document: Value = serde_json::from_str(generated).unwrap_or_default();
        if let (Some(document), Some(servers)) = (document.as_object_mut(), servers) {
            document.insert("servers".to_owned(), servers);
        }
        let json = document.to_string();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(json.as_bytes());
        let gzip = encoder.finish().unwrap_or_default().into();
        let tag = entity_tag::of(json.as_bytes());
        Self { json: json.into(), gzip, tag }
    }

    /// The response with this document
    pub(super) fn respond(&self, accepts_gzip: bool) -> HttpResponse {
        let mut response = json_bytes(StatusCode::OK, Vec::new());
        let body = if accepts_gzip { &self.gzip } else { &self.json };
        *response.body_mut() = HttpBody::from(body.clone());
        let headers = response.headers_mut();
        if accepts_gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        response
    }
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::{Engine, RequestState, Response};
    use milepost::rpc::ResponseKind;
    use milepost::storage::MemoryStorage;

    use super::*;

    /// The response to this request, in which calls of `rpc.discover` are answered
    fn respond(documents: &Documents, body: &str) -> Response {
        let engine = Engine::default();
        let mut request = engine.parse(body.as_bytes(), None);
        documents.discover(&mut request);
        match engine.respond(request, &MemoryStorage::new()) {
            RequestState::Ready(response) => response,
            RequestState::Pending(_) => panic!("nothing waits here"),
        }
    }

    #[test]
    fn discover_has_the_document_and_the_id_of_the_request() {
        let documents = Documents::new(&"/near".parse().unwrap());
        for id in ["7", "null", r#""a}""#, r#"{"b":[1.50]}"#] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"rpc.discover"}}"#);
            let response = respond(&documents, &request);
            assert_eq!(response.outcomes.errors().next(), None);
            let text = String::from_utf8(response.body).unwrap();
            assert!(text.ends_with(&format!(",\"id\":{id}}}")), "{id}");
            let batch = respond(&documents, &format!("[{request}, {request}]"));
            assert_eq!(batch.body, format!("[{text},{text}]").as_bytes());
            let response: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(response["result"]["info"]["version"], "1.2.11");
            assert_eq!(response["result"].get("servers"), None);
        }
    }

    #[test]
    fn other_methods_are_left_to_the_engine() {
        let documents = Documents::new(&BasePath::default());
        for method in ["rpc.discovery", "rpc", ""] {
            let response = respond(&documents, &format!(r#"{{"id":1,"method":"{method}"}}"#));
            assert_eq!(response.kind(), ResponseKind::RequestValidation);
        }
        assert!(documents.at("/openrpc").is_none());
    }
}
