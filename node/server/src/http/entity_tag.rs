//! Entity tags: whether a client has the current representation already.
//!
//! RFC 9110, section 13.1.2: `If-None-Match` compares weakly, and `*` matches any representation.

use hyper::header::HeaderValue;
use milepost::primitives::CryptoHash;

/// The tag of a body: a digest of its bytes, so every server with the same state gives the same one
pub(super) fn of(body: &[u8]) -> String {
    format!("\"{}\"", &CryptoHash::digest(body).to_string()[..22])
}

/// Whether a tag is in the header of a request
pub(super) fn is_match(if_none_match: Option<&HeaderValue>, tag: &str) -> bool {
    let tags = if_none_match.and_then(|tags| tags.to_str().ok());
    tags.is_some_and(|tags| {
        tags.trim() == "*"
            || tags.split(',').map(str::trim).any(|one| one.trim_start_matches("W/") == tag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let tag = of(b"a body");
        assert_eq!(tag.len(), 24);
        assert_ne!(tag, of(b"another"));
        assert!(!is_match(None, &tag));
        for (header, expected) in [
            (tag.clone(), true),
            (format!("W/{tag}"), true),
            (format!("\"x\", {tag}"), true),
            ("*".to_owned(), true),
            ("\"x\"".to_owned(), false),
            (tag.replace('"', ""), false),
        ] {
            let header = HeaderValue::try_from(header).unwrap();
            assert_eq!(is_match(Some(&header), &tag), expected, "{header:?}");
        }
    }
}
