//! The page at `GET /`, which draws a transaction: static files that are embedded at build time.
//!
//! The content security policy allows only the page's own files and scripts, so text from the chain
//! cannot become code. Files whose name contains a hash are cached forever, all others are
//! revalidated by their entity tag.

use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

use super::response::HttpResponse;
use super::response_body::HttpBody;

/// A file of the page
pub(super) struct StaticFile {
    path: &'static str,
    media_type: &'static str,
    etag: &'static str,
    /// The name changes with the bytes
    is_hashed: bool,
    bytes: &'static [u8],
}

/// Written by `build.rs`
const FILES: &[StaticFile] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The content security policy; `wasm-unsafe-eval` allows only to compile WebAssembly
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl StaticFile {
    /// The file at this URL path
    pub(super) fn at(path: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.path == path)
    }

    /// Whether it is the page itself
    pub(super) fn is_at_base(&self) -> bool {
        self.path == "/"
    }

    /// The response with this file
    pub(super) fn respond(&self) -> HttpResponse {
        let mut response = Response::new(HttpBody::from(Bytes::from_static(self.bytes)));
        for (name, value) in self.headers() {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    fn headers(&self) -> [(HeaderName, &'static str); 6] {
        let caching =
            if self.is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
        [
            (CONTENT_TYPE, self.media_type),
            (ETAG, self.etag),
            (CACHE_CONTROL, caching),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
        ]
    }
}
