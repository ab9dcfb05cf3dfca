//! The header `Prefer` of RFC 7240: how long a client is willing to wait.
//!
//! A list of preferences, each a token with an optional value and optional parameters; a value is a
//! token or a quoted string. Only `wait` is known here. Of a repeated preference the first counts.
//! A header that does not match the grammar is no preference: what is preferred is never required.

use core::time::Duration;

use hyper::header::{HeaderMap, HeaderName};

/// `Prefer`
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
/// `Preference-Applied`
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The value of `wait` in the headers of a request
pub(super) fn wait(headers: &HeaderMap) -> Option<Duration> {
    let texts = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let value = texts.filter_map(parse_list).find_map(|list| {
        let wait = list.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("wait"));
        wait.map(|(_, value)| value)
    })?;
    // RFC 7240, section 4.3: a number of seconds.
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Duration::from_secs(value.parse().unwrap_or(u64::MAX)))
}

/// The preferences of a header, each with its value; `None` if it does not match the grammar
fn parse_list(text: &str) -> Option<Vec<(String, String)>> {
    let (mut rest, mut list) = (text, Vec::new());
    loop {
        // A list may have empty elements (RFC 9110, section 5.6.1.2).
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return Some(list);
        }
        list.push(parse_pair(&mut rest)?);
        loop {
            rest = rest.trim_start_matches([' ', '\t']);
            let Some(after) = rest.strip_prefix(';') else { break };
            rest = after.trim_start_matches([' ', '\t']);
            // A parameter may be empty.
            if !rest.starts_with([';', ',']) && !rest.is_empty() {
                parse_pair(&mut rest)?;
            }
        }
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
}

/// A token with an optional value
fn parse_pair(rest: &mut &str) -> Option<(String, String)> {
    let name = token(rest)?;
    let after = rest.trim_start_matches([' ', '\t']);
    let Some(value) = after.strip_prefix('=') else { return Some((name, String::new())) };
    *rest = value.trim_start_matches([' ', '\t']);
    let value = if rest.starts_with('"') { quoted(rest)? } else { token(rest)? };
    Some((name, value))
}

fn token(rest: &mut &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = rest.bytes().position(|byte| !is_token(byte)).unwrap_or(rest.len());
    let (token, after) = rest.split_at(end);
    *rest = after;
    (!token.is_empty()).then(|| token.to_owned())
}

fn quoted(rest: &mut &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((index, char)) = chars.next() {
        match char {
            '"' => {
                *rest = &rest[index + 1..];
                return Some(text);
            }
            '\\' => text.push(chars.next()?.1),
            char => text.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_wait_is_found_by_the_grammar() {
        for (lines, expected) in [
            (&["wait=5"][..], Some(5)),
            (&["Wait = 5"], Some(5)),
            (&["wait=\"5\""], Some(5)),
            (&["wait=0"], Some(0)),
            (&["respond-async, wait=10"], Some(10)),
            (&["respond-async;x=\"a,\\\"wait=7\" ; y;; , , wait=10;z=1"], Some(10)),
            (&["wait=3, wait=4"], Some(3)),
            (&["return=minimal", "wait=6"], Some(6)),
            (&["wait=99999999999999999999999"], Some(u64::MAX)),
            (&["a=b;", "wait=6"], Some(6)),
            (&["wait"], None),
            (&["wait="], None),
            (&["wait=-1"], None),
            (&["wait=+1"], None),
            (&["wait=1.5"], None),
            (&["wait=five"], None),
            (&["waiting=5"], None),
            (&["x=\"wait=5\""], None),
            (&["x;wait=5"], None),
            (&["x y, wait=5"], None),
            (&["x=\"open, wait=5"], None),
            (&["=, wait=5"], None),
            (&[""], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(PREFER, HeaderValue::from_str(line).unwrap());
            }
            assert_eq!(wait(&headers), expected.map(Duration::from_secs), "{lines:?}");
        }
    }
}
