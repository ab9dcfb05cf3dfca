//! Cross-origin resource sharing (CORS): which web pages may read responses.
//!
//! Open to every origin by default, as a node is: a preflight request is answered on any path,
//! existing or not, and every other response carries the permission. Headers are listed by their
//! names, because a wildcard does not cover `authorization`. CORS restricts browsers only; it does
//! not protect the server from other clients.

use core::str::FromStr;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderMap, HeaderValue,
};

use super::compression::add_vary;

const VARY_BY: &str = "origin, access-control-request-method, access-control-request-headers";

/// The headers of requests that a page may send: those that a node allows, and ours
const ALLOWED_HEADERS: &str = "authorization,accept,content-type,api-version,if-none-match,last-event-id,prefer,traceparent,\
     x-milepost-min-height,x-request-id";
/// The headers of responses that a page may read
const EXPOSED_HEADERS: &str = "etag,preference-applied,retry-after,traceparent,\
     x-milepost-complete-heights,x-milepost-head,x-milepost-transaction,x-request-id";

/// Which web pages may read responses
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Cors {
    /// Pages of any origin
    AnyOrigin,
    /// Pages of these origins
    Origins(Vec<HeaderValue>),
    /// None; a preflight is handled like any other request
    Disabled,
}

impl Cors {
    /// Whether preflight requests are answered
    pub(super) const fn is_enabled(&self) -> bool {
        !matches!(self, Self::Disabled)
    }

    /// Whether responses depend on the `Origin` of the request
    pub(super) const fn depends_on_origin(&self) -> bool {
        matches!(self, Self::Origins(_))
    }

    /// Whether a page of this origin may open a WebSocket, which browsers leave to the server to
    /// decide; `host` is that of the request, whose own page always may
    pub(super) fn allows(&self, origin: Option<&HeaderValue>, host: Option<&str>) -> bool {
        let Some(origin) = origin else { return true };
        let origin_host = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let is_own = host.is_some() && origin_host.map(|(_, host)| host) == host;
        is_own
            || match self {
                Self::AnyOrigin => true,
                Self::Origins(origins) => origins.contains(origin),
                Self::Disabled => false,
            }
    }

    /// Adds the headers of the response to a preflight request
    pub(super) fn add_preflight_headers(
        &self,
        origin: Option<&HeaderValue>,
        headers: &mut HeaderMap,
    ) {
        if *self == Self::Disabled {
            return;
        }
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET,POST"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
        self.add_allowed_origin(origin, headers);
    }

    /// Adds the headers of every other response
    pub(super) fn add_headers(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        if *self == Self::Disabled {
            return;
        }
        let exposed = HeaderValue::from_static(EXPOSED_HEADERS);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        self.add_allowed_origin(origin, headers);
    }

    fn add_allowed_origin(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        let allowed = match self {
            Self::AnyOrigin => Some(HeaderValue::from_static("*")),
            Self::Origins(origins) => origin.filter(|origin| origins.contains(origin)).cloned(),
            Self::Disabled => return,
        };
        add_vary(headers, VARY_BY);
        if let Some(allowed) = allowed {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        }
    }
}

impl FromStr for Cors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "*" => Ok(Self::AnyOrigin),
            "none" => Ok(Self::Disabled),
            _ => text.split(',').map(|origin| parse_origin(origin.trim())).collect(),
        }
    }
}

impl FromIterator<HeaderValue> for Cors {
    fn from_iter<I: IntoIterator<Item = HeaderValue>>(origins: I) -> Self {
        Self::Origins(origins.into_iter().collect())
    }
}

/// Parses an origin as browsers send it: scheme, host and port, without a path
fn parse_origin(origin: &str) -> Result<HeaderValue, String> {
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let invalid = || {
        format!("`{origin}` is not an origin: expected `*`, `none`, or `https://host[:port]`, ...")
    };
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', ' ', '*']) => {
            HeaderValue::from_str(origin).map_err(|_| invalid())
        }
        _ => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::VARY;

    use super::*;

    #[test]
    fn origins_are_parsed_as_browsers_send_them() {
        assert_eq!("*".parse(), Ok(Cors::AnyOrigin));
        assert_eq!("none".parse(), Ok(Cors::Disabled));
        let cors: Cors = "https://a.example, http://localhost:8080".parse().unwrap();
        let Cors::Origins(origins) = cors else { panic!("not a list of origins") };
        assert_eq!(origins, ["https://a.example", "http://localhost:8080"]);
        for invalid in
            ["", "a.example", "https://", "https://a.example/", "https://*.example", "*,*"]
        {
            assert!(invalid.parse::<Cors>().is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_web_socket_is_for_the_pages_that_may_read_responses() {
        let (own, listed, other) = (
            HeaderValue::from_static("http://localhost:3030"),
            HeaderValue::from_static("https://a.example"),
            HeaderValue::from_static("https://b.example"),
        );
        for (cors, expected) in [
            ("*", [true, true, true, true]),
            ("https://a.example", [true, true, true, false]),
            ("none", [true, true, false, false]),
        ] {
            let cors: Cors = cors.parse().unwrap();
            let origins = [None, Some(&own), Some(&listed), Some(&other)];
            let allowed = origins.map(|origin| cors.allows(origin, Some("localhost:3030")));
            assert_eq!(allowed, expected, "{cors:?}");
        }
        assert!(!Cors::Disabled.allows(Some(&own), None));
    }

    #[test]
    fn only_listed_origins_are_allowed() {
        let cors: Cors = "https://a.example".parse().unwrap();
        let (listed, other) = (
            HeaderValue::from_static("https://a.example"),
            HeaderValue::from_static("https://b.example"),
        );
        let cases = [(Some(&listed), Some(&listed)), (Some(&other), None), (None, None)];
        for (origin, expected) in cases {
            let mut headers = HeaderMap::new();
            cors.add_headers(origin, &mut headers);
            assert_eq!(headers.get(ACCESS_CONTROL_ALLOW_ORIGIN), expected);
            assert_eq!(headers.get(VARY).unwrap(), VARY_BY);
        }
    }
}
