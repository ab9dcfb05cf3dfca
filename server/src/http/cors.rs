//! Which web pages may read answers: cross-origin resource sharing.
//!
//! Open to every page by default, in the same words as a node: a preflight is answered on any
//! path, also on one that does not exist, and every other answer carries the permission. Nothing here
//! protects the service; it tells browsers what they may hand to a page.

use core::str::FromStr;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderMap, HeaderValue, VARY,
};

const VARY_BY: &str = "origin, access-control-request-method, access-control-request-headers";

/// Which web pages may read answers
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Cors {
    /// All of them
    Everyone,
    /// Those of these origins
    Listed(Vec<HeaderValue>),
    /// None, and a preflight is a request like any other
    Off,
}

impl Cors {
    /// Whether preflights are answered
    pub(super) const fn is_on(&self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether answers depend on where the page comes from that asks
    pub(super) const fn looks_at_origins(&self) -> bool {
        matches!(self, Self::Listed(_))
    }

    /// Adds what the answer to a preflight says
    pub(super) fn permit(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        let (methods, names) = match self {
            Self::Everyone => ("*", "*"),
            Self::Listed(_) => {
                headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
                ("GET,POST", "authorization,accept,content-type")
            }
            Self::Off => return,
        };
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
        self.name_origin(origin, headers);
    }

    /// Adds what every other answer says
    pub(super) fn mark(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        if *self == Self::Everyone {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
        }
        self.name_origin(origin, headers);
    }

    fn name_origin(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        let allowed = match self {
            Self::Everyone => Some(HeaderValue::from_static("*")),
            Self::Listed(origins) => origin.filter(|origin| origins.contains(origin)).cloned(),
            Self::Off => return,
        };
        headers.insert(VARY, HeaderValue::from_static(VARY_BY));
        if let Some(allowed) = allowed {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        }
    }
}

impl FromStr for Cors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "*" => Ok(Self::Everyone),
            "none" => Ok(Self::Off),
            _ => text.split(',').map(|origin| parse_origin(origin.trim())).collect(),
        }
    }
}

impl FromIterator<HeaderValue> for Cors {
    fn from_iter<I: IntoIterator<Item = HeaderValue>>(origins: I) -> Self {
        Self::Listed(origins.into_iter().collect())
    }
}

/// An origin as browsers send it: scheme, host and port, nothing behind
fn parse_origin(origin: &str) -> Result<HeaderValue, String> {
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let refusal =
        || format!("`{origin}` is no origin: expected `*`, `none`, or `https://host[:port]`, ...");
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', ' ', '*']) => {
            HeaderValue::from_str(origin).map_err(|_| refusal())
        }
        _ => Err(refusal()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_as_browsers_send_them() {
        assert_eq!("*".parse(), Ok(Cors::Everyone));
        assert_eq!("none".parse(), Ok(Cors::Off));
        let listed: Cors = "https://a.example, http://localhost:8080".parse().unwrap();
        let Cors::Listed(origins) = listed else { panic!("two origins are a list") };
        assert_eq!(origins, ["https://a.example", "http://localhost:8080"]);
        for wrong in ["", "a.example", "https://", "https://a.example/", "https://*.example", "*,*"]
        {
            assert!(wrong.parse::<Cors>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_listed_origin_is_named_and_no_other() {
        let cors: Cors = "https://a.example".parse().unwrap();
        let (mine, other) = (
            HeaderValue::from_static("https://a.example"),
            HeaderValue::from_static("https://b.example"),
        );
        for (origin, expected) in [(Some(&mine), Some(&mine)), (Some(&other), None), (None, None)] {
            let mut headers = HeaderMap::new();
            cors.mark(origin, &mut headers);
            assert_eq!(headers.get(ACCESS_CONTROL_ALLOW_ORIGIN), expected);
            assert_eq!(headers.get(VARY).unwrap(), VARY_BY);
        }
    }
}
