//! The page at `GET /`, which draws a transaction: static files that are embedded at build time.
//!
//! The content security policy allows only the page's own files and scripts, so text from the chain
//! cannot become code. Files whose name contains a hash are cached forever, all others are
//! revalidated by their entity tag.

use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::entity_tag;
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

    /// The response with this file; 304 if its tag is in `if_none_match`
    pub(super) fn respond(&self, if_none_match: Option<&HeaderValue>) -> Response<HttpBody> {
        let is_cached = entity_tag::is_match(if_none_match, self.etag);
        let body = if is_cached { Bytes::new() } else { Bytes::from_static(self.bytes) };
        let mut response = Response::new(HttpBody::from(body));
        if is_cached {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
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

#[cfg(test)]
mod tests {
    use hyper::body::Body as _;

    use super::*;

    #[test]
    fn a_cached_file_is_not_sent_again() {
        let file = StaticFile::at("/").expect("the page exists");
        let other = HeaderValue::from_static("\"other\"");
        for if_none_match in [None, Some(&other)] {
            let response = file.respond(if_none_match);
            assert_eq!(response.status(), 200);
            assert_eq!(response.body().size_hint().exact(), Some(file.bytes.len() as u64));
        }
        let list = format!("\"other\", W/{}", file.etag);
        for tags in [file.etag, &list] {
            let if_none_match = HeaderValue::from_str(tags).expect("tags are ASCII");
            let response = file.respond(Some(&if_none_match));
            assert_eq!(response.status(), 304);
            assert_eq!(response.headers()[ETAG], file.etag);
            assert!(response.body().is_end_stream());
        }
    }
}
