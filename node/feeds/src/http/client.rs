//! HTTP requests of a feed: redirects, the token, bounds.
//!
//! Redirects of a GET are followed here, at most five, so that the token goes along to the feed's
//! own hosts and to no other. A body is read up to its bound, whatever its length claims. No error
//! and no log has the token or the query of a URL.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::fs;
use std::path::Path;

use alloc::sync::Arc;
use reqwest::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, RequestBuilder, Response, Url};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time;

use milepost_follow::{SourceError, SourceErrorKind};

use super::address::{Address, is_loopback};
use crate::source::Pace;

/// Maximum size of a body after decompression: recent messages have some 2 MB
const MAX_BODY: usize = 64 << 20;
/// Maximum number of redirects, as in the clients of the feed
const MAX_REDIRECTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time without a byte: longer than the ten seconds that a feed may hold back a response
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum time from a request to the end of its response
const TIMEOUT: Duration = Duration::from_secs(60);
/// The pause after a `Retry-After` with a date, which is not read
const DATE_PAUSE: Duration = Duration::from_secs(60);
/// Maximum pause that a feed can ask for
const MAX_PAUSE: Duration = Duration::from_secs(3600);
/// Maximum length of a token
const MAX_TOKEN: usize = 4096;

/// The token of a feed; never shown
#[derive(Clone)]
pub struct Token(HeaderValue);

impl Token {
    /// A token in text, without surrounding white space
    ///
    /// # Errors
    ///
    /// It is empty, longer than 4096 bytes, or has characters that a header cannot have.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_TOKEN {
            return Err(format!("the token of a feed has 1 to {MAX_TOKEN} bytes"));
        }
        let mut value = HeaderValue::try_from(format!("Bearer {text}"))
            .map_err(|_| "the token of a feed has characters that a header cannot have")?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    /// The token in a file
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds no token.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
        Self::new(&text?).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Token {
    /// The value of the header that carries it
    pub(super) const fn header(&self) -> &HeaderValue {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(..)")
    }
}

/// Sends the requests of a feed
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: Address,
    token: Option<Token>,
    requests: AtomicU64,
}

/// A response after all redirects
#[derive(Clone, Debug)]
pub(crate) struct HttpResponse {
    /// The HTTP status
    pub(crate) status: u16,
    /// The whole body, at most 64 MiB
    pub(crate) body: Vec<u8>,
    /// How long the server asks to be left alone
    pub(crate) retry_after: Option<Duration>,
}

pub(super) fn temporary(detail: impl fmt::Display) -> SourceError {
    SourceError::new(SourceErrorKind::Temporary, detail)
}

/// A client with TLS by `ring` and the certificates of the system, or without any for plain HTTP
pub(crate) fn with_tls(
    builder: ClientBuilder,
    is_plain: bool,
) -> Result<reqwest::Client, SourceError> {
    let failed = |error: &dyn fmt::Display| {
        let detail = format!("cannot set up TLS: {error}");
        SourceError::new(SourceErrorKind::PermissionDenied, detail)
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let config = if is_plain {
        // Nothing is sent over TLS; a machine without certificates can follow its own feed.
        config.with_root_certificates(RootCertStore::empty())
    } else {
        config.with_platform_verifier().map_err(|error| failed(&error))?
    };
    builder
        .user_agent(concat!("milepost/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(config.with_no_client_auth())
        .build()
        .map_err(|error| failed(&error))
}

/// A client for the requests to an address, which follows no redirects
pub(super) fn new_http(
    builder: ClientBuilder,
    address: &Address,
) -> Result<reqwest::Client, SourceError> {
    let builder = builder.redirect(Policy::none()).connect_timeout(CONNECT_TIMEOUT);
    let builder = if address.is_loopback() { builder.no_proxy() } else { builder };
    with_tls(builder, address.is_plain())
}

impl Client {
    pub(crate) fn new(address: &Address, token: Option<Token>) -> Result<Self, SourceError> {
        let http = new_http(reqwest::Client::builder().read_timeout(READ_TIMEOUT), address)?;
        let requests = AtomicU64::new(0);
        Ok(Self { http, address: address.clone(), token, requests })
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// The response to a GET of this path, after redirects
    pub(crate) async fn fetch(
        &self,
        path: &str,
        bypass_caches: bool,
        pace: &Pace,
    ) -> Result<HttpResponse, SourceError> {
        self.fetch_from(self.address.join(path), path, bypass_caches, pace).await
    }

    /// The response to a POST of this body, declared as JSON; redirects are not followed
    pub(crate) async fn post(
        &self,
        path: &str,
        body: Vec<u8>,
        pace: &Pace,
    ) -> Result<HttpResponse, SourceError> {
        let address = Url::parse(&self.address.join(path)).map_err(temporary)?;
        let request = self.http.post(address.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        self.send(request, &address, pace).await.map(|(_, response)| response)
    }

    /// The response to a GET of this address, after redirects; errors name the path
    pub(crate) async fn fetch_from(
        &self,
        address: String,
        path: &str,
        bypass_caches: bool,
        pace: &Pace,
    ) -> Result<HttpResponse, SourceError> {
        let mut address = Url::parse(&address).map_err(temporary)?;
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.http.get(address.clone());
            if bypass_caches {
                request = request.header(CACHE_CONTROL, "no-cache");
            }
            let (location, response) = self.send(request, &address, pace).await?;
            match location {
                Some(location) => address = self.redirect(&address, location.as_ref())?,
                None => return Ok(response),
            }
        }
        // The query is there for caches only.
        let path = path.split('?').next().unwrap_or_default();
        Err(temporary(format!("{path}: more than {MAX_REDIRECTS} redirects")))
    }

    /// One request within the budget; the location of a redirect, or the response
    async fn send(
        &self,
        mut request: RequestBuilder,
        address: &Url,
        pace: &Pace,
    ) -> Result<(Option<Option<HeaderValue>>, HttpResponse), SourceError> {
        if let Some(Token(token)) = self.token.as_ref().filter(|_| self.address.trusts(address)) {
            request = request.header(AUTHORIZATION, token.clone());
        }
        pace.acquire().await;
        self.requests.fetch_add(1, Relaxed);
        let exchange = time::timeout(TIMEOUT, exchange(request));
        exchange.await.map_err(|_| temporary("timeout"))?
    }

    /// The address that a redirect leads to
    fn redirect(&self, from: &Url, location: Option<&HeaderValue>) -> Result<Url, SourceError> {
        let location = location.and_then(|location| location.to_str().ok());
        let location = location.ok_or_else(|| temporary("a redirect without a location"))?;
        let next = from.join(location).map_err(|error| temporary(format!("redirect: {error}")))?;
        // What keeps the configured address to TLS keeps a redirect to it as well.
        let is_allowed = match next.scheme() {
            "https" => !self.address.is_plain(),
            "http" => self.address.is_plain() && is_loopback(&next),
            _ => false,
        };
        if is_allowed { Ok(next) } else { Err(temporary("a redirect out of the feed's scheme")) }
    }
}

async fn exchange(
    request: RequestBuilder,
) -> Result<(Option<Option<HeaderValue>>, HttpResponse), SourceError> {
    let response = request.send().await.map_err(|error| http_error(&error))?;
    let (status, retry_after) = (response.status(), retry_after(response.headers()));
    if status.is_redirection() {
        let location = response.headers().get(LOCATION).cloned();
        let response = HttpResponse { status: status.as_u16(), body: Vec::new(), retry_after };
        return Ok((Some(location), response));
    }
    let body = read_body(response).await?;
    Ok((None, HttpResponse { status: status.as_u16(), body, retry_after }))
}

async fn read_body(mut response: Response) -> Result<Vec<u8>, SourceError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| http_error(&error))? {
        if chunk.len() > MAX_BODY - body.len() {
            return Err(temporary(format!("a body of more than {MAX_BODY} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The pause that a response asks for
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?;
    let seconds = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    Some(seconds.map_or(DATE_PAUSE, Duration::from_secs).min(MAX_PAUSE))
}

/// An error of the transport, without the URL
pub(super) fn http_error(error: &reqwest::Error) -> SourceError {
    let mut detail = if error.is_timeout() {
        "timeout".to_owned()
    } else if error.is_connect() {
        "cannot connect".to_owned()
    } else {
        "the response broke off".to_owned()
    };
    // The cause at the end of the chain says what happened; those before it may name the URL.
    let mut cause = core::error::Error::source(error);
    while let Some(next) = cause.and_then(|cause| cause.source()) {
        cause = Some(next);
    }
    if let Some(cause) = cause {
        detail = format!("{detail}: {cause}");
    }
    temporary(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::new(" secret-key\n").unwrap();
        assert_eq!(token.0, "Bearer secret-key");
        let address = Address::parse("https://feed.example").unwrap();
        let client = Client::new(&address, Some(token.clone())).unwrap();
        for text in [format!("{token:?}"), format!("{:?}", token.0), format!("{client:?}")] {
            assert!(!text.contains("secret"), "{text}");
        }
        for text in ["", " \n", "a\nb", &"x".repeat(MAX_TOKEN + 1)] {
            assert!(Token::new(text).is_err());
        }
    }
}
