//! Who sent a request, the id of the request, and the trace that it is part of.
//!
//! A request may bring both: `x-request-id`, and `traceparent` of the W3C recommendation Trace
//! Context. The response has the same id, or a new one, and the trace with a span of this server;
//! so have the requests that are sent to upstreams for it, and what is logged as JSON. A value that
//! is no id, or no trace, is ignored. Messages of a WebSocket have no headers: their ids are made
//! from that of its upgrade, and their spans are of its trace.

use core::hash::BuildHasher as _;
use core::net::IpAddr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::hash::RandomState;
use std::sync::OnceLock;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tracing::{Span, error_span};

use crate::log;

/// The id of a request, which logs of several programs share
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The trace and the span that a request belongs to
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Maximum length of an id that a client chooses
const MAX_ID_BYTES: usize = 128;
/// `00-`, the trace, `-`, the span, `-`, the flags
const TRACEPARENT_BYTES: usize = 55;

/// The identity of a request and of its sender
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    /// The address of the client, with its network
    pub(crate) network: IpAddr,
    id: HeaderValue,
    traceparent: Option<HeaderValue>,
}

impl RequestContext {
    /// That of a request with these headers, from an address of this network
    pub(crate) fn of(headers: &HeaderMap, network: IpAddr) -> Self {
        let id = headers.get(REQUEST_ID).filter(|id| is_id(id.as_bytes()));
        let id = id.map(own_value);
        let traceparent = headers.get(TRACEPARENT).and_then(|text| span_of(text.as_bytes()));
        Self { network, id: id.unwrap_or_else(new_id), traceparent }
    }

    /// That of a message of the WebSocket which a request upgraded to, by the number of the message
    pub(crate) fn of_message(&self, number: u64) -> Self {
        let id = [self.id.as_bytes(), b"/", number.to_string().as_bytes()].concat();
        // An id with a slash and digits is a value too.
        let id = HeaderValue::try_from(id).unwrap_or_else(|_| self.id.clone());
        let traceparent = self.traceparent.as_ref().and_then(|text| span_of(text.as_bytes()));
        Self { network: self.network, id, traceparent }
    }

    /// The headers of the response, and of requests that are made for it
    pub(crate) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
        let traceparent = self.traceparent.clone().map(|value| (TRACEPARENT, value));
        [(REQUEST_ID, self.id.clone())].into_iter().chain(traceparent)
    }

    /// The span of what is logged about the request; none unless logs are JSON, since it costs time
    pub(crate) fn span(&self) -> Span {
        if !log::is_json() {
            return Span::none();
        }
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let id = text(&self.id);
        match &self.traceparent {
            Some(value) => error_span!("request", request_id = id, traceparent = text(value)),
            None => error_span!("request", request_id = id),
        }
    }
}

/// A copy of a header's value; a clone keeps the whole head, which may have 16 KiB
pub(crate) fn own_value(value: &HeaderValue) -> HeaderValue {
    // What was a value once is one.
    HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Whether a client may choose this id: letters, digits and marks without spaces or quotes
fn is_id(id: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@~".contains(byte);
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.iter().all(is_plain)
}

/// A span of this server in the trace of a `traceparent`; `None` if it is none
fn span_of(parent: &[u8]) -> Option<HeaderValue> {
    let (known, rest) = parent.split_at_checked(TRACEPARENT_BYTES)?;
    let [version, trace, span, flags] = [0..2, 3..35, 36..52, 53..55].map(|range| &known[range]);
    let is_hex = |part: &[u8]| part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_zero = |part: &[u8]| part.iter().all(|byte| *byte == b'0');
    let is_separated = [2, 35, 52].into_iter().all(|at| known[at] == b'-');
    let is_version = match version {
        b"00" => rest.is_empty(),
        b"ff" => false,
        // A later version may have more, after a separator.
        _ => rest.is_empty() || rest.starts_with(b"-"),
    };
    let all_hex = [version, trace, span, flags].into_iter().all(is_hex);
    if !(is_separated && is_version && all_hex) || is_zero(trace) || is_zero(span) {
        return None;
    }
    let text = |part| str::from_utf8(part).unwrap_or_default();
    let value = format!("00-{}-{:016x}-{}", text(trace), random(), text(flags));
    HeaderValue::try_from(value).ok()
}

fn new_id() -> HeaderValue {
    // Sixteen digits are a valid value.
    HeaderValue::try_from(format!("{:016x}", random()))
        .unwrap_or_else(|_| HeaderValue::from_static("none"))
}

/// A number that no other request of any server is likely to have; not zero
fn random() -> u64 {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Relaxed);
    STATE.get_or_init(RandomState::new).hash_one(number).max(1)
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers_of(sent: &[(HeaderName, &str)]) -> HeaderMap {
        let sent = sent.iter().cloned().map(|(name, value)| (name, value.parse().unwrap()));
        RequestContext::of(&sent.collect(), Ipv4Addr::LOCALHOST.into()).headers().collect()
    }

    #[test]
    fn an_id_is_kept_or_made() {
        assert_eq!(headers_of(&[(REQUEST_ID, "a-7/B_c")])[REQUEST_ID], "a-7/B_c");
        let mut made = Vec::new();
        let long = "x".repeat(MAX_ID_BYTES + 1);
        for sent in ["", "two words", "quote\"", &long] {
            let headers = headers_of(&[(REQUEST_ID, sent)]);
            assert_eq!(headers[REQUEST_ID].len(), 16, "{sent}");
            assert!(headers.get(TRACEPARENT).is_none());
            made.push(headers[REQUEST_ID].clone());
        }
        made.push(headers_of(&[])[REQUEST_ID].clone());
        let count = made.len();
        made.sort_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
        made.dedup();
        assert_eq!(made.len(), count, "{made:?}");
    }

    #[test]
    fn a_trace_goes_on_with_a_span_of_this_server() {
        let later = format!("{}-more", TRACE.replacen("00", "cc", 1));
        let mut spans = vec![TRACE[36..52].to_owned()];
        for sent in [TRACE, TRACE, &later] {
            let headers = headers_of(&[(TRACEPARENT, sent)]);
            let text = headers[TRACEPARENT].to_str().unwrap();
            assert_eq!(text.len(), TRACEPARENT_BYTES);
            assert_eq!((&text[..36], &text[52..]), (&TRACE[..36], "-01"));
            spans.push(text[36..52].to_owned());
        }
        spans.sort_unstable();
        spans.dedup();
        assert_eq!(spans.len(), 4);
    }

    #[test]
    fn what_is_no_trace_is_ignored() {
        for wrong in [
            "",
            &TRACE[..54],
            &format!("{TRACE}-more"),
            &TRACE.replacen("00", "ff", 1),
            &TRACE.replace("af", "AF"),
            &TRACE.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &TRACE.replace("b7ad6b7169203331", &"0".repeat(16)),
            &TRACE.replace('-', "_"),
        ] {
            assert!(headers_of(&[(TRACEPARENT, wrong)]).get(TRACEPARENT).is_none(), "{wrong}");
        }
    }
}
