//! The page at `GET /`, as files that were embedded when the program was built.
//!
//! Either the page that draws a transaction's road, or a plain one that says what the node is. A
//! browser is told to take nothing from elsewhere and to run nothing but the page's own scripts, so text
//! from the chain cannot become code. Files whose name has a hash in it are kept by browsers for good,
//! all others are asked for again by their tag.

use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::outgoing::Outgoing;

/// A file of the page
pub(super) struct File {
    path: &'static str,
    media_type: &'static str,
    tag: &'static str,
    /// The name changes with the bytes
    is_hashed: bool,
    bytes: &'static [u8],
}

/// Written by `build.rs`
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// What a browser lets the page do: `wasm-unsafe-eval` compiles WebAssembly and evaluates nothing else
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl File {
    /// The file at this address
    pub(super) fn at(path: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.path == path)
    }

    /// The answer with this file, or the word that the client has it; `known` are the tags of what
    /// the client has
    pub(super) fn answer(&self, known: Option<&HeaderValue>) -> Response<Outgoing> {
        let is_known = known.and_then(|known| known.to_str().ok()).is_some_and(|known| {
            known.split(',').map(str::trim).any(|tag| tag.trim_start_matches("W/") == self.tag)
        });
        let body = if is_known { Bytes::new() } else { Bytes::from_static(self.bytes) };
        let mut answer = Response::new(Outgoing::from(body));
        if is_known {
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
        }
        for (name, value) in self.headers() {
            answer.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        answer
    }

    fn headers(&self) -> [(HeaderName, &'static str); 6] {
        let keep = if self.is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
        [
            (CONTENT_TYPE, self.media_type),
            (ETAG, self.tag),
            (CACHE_CONTROL, keep),
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
    fn a_file_that_a_client_has_is_not_sent_again() {
        let file = File::at("/").expect("there is a page");
        let other = HeaderValue::from_static("\"other\"");
        for tag in [None, Some(&other)] {
            let answer = file.answer(tag);
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.body().size_hint().exact(), Some(file.bytes.len() as u64));
        }
        let listed = format!("\"other\", W/{}", file.tag);
        for tags in [file.tag, &listed] {
            let known = HeaderValue::from_str(tags).expect("tags are plain");
            let answer = file.answer(Some(&known));
            assert_eq!(answer.status(), 304);
            assert_eq!(answer.headers()[ETAG], file.tag);
            assert!(answer.body().is_end_stream());
        }
    }
}
