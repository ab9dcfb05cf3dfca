//! Entity tags: whether a client has the current representation already.
//!
//! RFC 9110, section 13.1.2: `If-None-Match` compares weakly, and `*` matches any representation.
//! All tags are weak: a body and its compressed form have the same one.

use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue};
use milepost::primitives::CryptoHash;

use super::response::HttpResponse;
use super::response_body::HttpBody;

/// The tag of a body: a digest of its bytes, so every server with the same state gives the same one
pub(super) fn of(body: &[u8]) -> HeaderValue {
    let tag = format!("W/\"{}\"", &CryptoHash::digest(body).to_string()[..22]);
    // Base58 in quotes is valid in a header.
    HeaderValue::try_from(tag).unwrap_or_else(|_| HeaderValue::from_static("W/\"\""))
}

/// Turns a response into 304 if its tag is in the header of the request; whether it did
pub(super) fn revalidate(response: &mut HttpResponse, if_none_match: Option<&HeaderValue>) -> bool {
    let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
    let tags = if_none_match.and_then(|tags| tags.to_str().ok());
    let (Some(tag), Some(tags)) = (tag, tags) else { return false };
    if !is_match(tags, tag) {
        return false;
    }
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().remove(CONTENT_TYPE);
    response.headers_mut().remove(CONTENT_ENCODING);
    *response.body_mut() = HttpBody::default();
    true
}

/// Whether a tag is in a list
fn is_match(tags: &str, tag: &str) -> bool {
    tags.trim() == "*" || tags.split(',').any(|one| opaque(one) == opaque(tag))
}

/// The part of a tag that is compared
fn opaque(tag: &str) -> &str {
    tag.trim().trim_start_matches("W/")
}

#[cfg(test)]
mod tests {
    use hyper::body::Body as _;
    use hyper::header::{CACHE_CONTROL, HeaderName};

    use super::super::response::json_bytes;
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let tag = of(b"a body");
        let tag = tag.to_str().unwrap();
        assert_eq!((tag.len(), &tag[..3]), (26, "W/\""));
        assert_ne!(of(b"another"), tag);
        for (tags, expected) in [
            (tag, true),
            (&tag[2..], true),
            (&format!("\"x\", {tag}"), true),
            (" * ", true),
            ("\"x\"", false),
            ("", false),
            (&tag.replace('"', ""), false),
        ] {
            assert_eq!(is_match(tags, tag), expected, "{tags}");
        }
    }

    #[test]
    fn a_response_that_the_client_has_is_304_without_a_body() {
        let response = |tag: Option<HeaderValue>| {
            let mut response = json_bytes(StatusCode::OK, b"a body".to_vec());
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response.headers_mut().extend(tag.map(|tag| (ETAG, tag)));
            response
        };
        let tag = of(b"a body");
        let any = HeaderValue::from_static("*");
        for (own, if_none_match) in
            [(Some(&tag), None), (Some(&tag), Some(of(b"x"))), (None, Some(any))]
        {
            let mut response = response(own.cloned());
            assert!(!revalidate(&mut response, if_none_match.as_ref()), "{if_none_match:?}");
            assert_eq!(
                (response.status().as_u16(), response.headers().contains_key(CONTENT_TYPE)),
                (200, true)
            );
        }
        let mut response = response(Some(tag.clone()));
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(revalidate(&mut response, Some(&tag)));
        assert!(response.status() == 304 && response.body().is_end_stream());
        let mut names: Vec<_> = response.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["cache-control", "etag"]);
    }
}
