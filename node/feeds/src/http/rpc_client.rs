//! Sends JSON-RPC requests to a node, and reads the responses piece by piece.
//!
//! Unlike [`Node`](crate::Node) it looks at neither: a server that forwards requests decides what a
//! response is worth. Redirects are not followed. No error and no log has the token or the URL.

use core::fmt;
use core::time::Duration;

use bytes::Bytes;
use milepost_follow::{SourceError, SourceErrorKind};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};

use super::client::{Token, http_error, new_http, retry_after};
use crate::url::FeedUrl;

/// A node that JSON-RPC requests are forwarded to
#[derive(Debug)]
pub struct RpcClient {
    http: reqwest::Client,
    address: Url,
    token: Option<Token>,
}

/// The head of a response, and what is left of its body
#[derive(Debug)]
pub struct RpcResponse {
    response: reqwest::Response,
}

impl RpcClient {
    /// A client of the node at this address
    ///
    /// # Errors
    ///
    /// The address is that of another kind of feed, a token would be sent in clear text, or TLS
    /// cannot be set up on this machine.
    pub fn new(url: &FeedUrl, token: Option<Token>) -> Result<Self, SourceError> {
        let address = url.node_address(token.is_some())?;
        let http = new_http(address)?;
        let unsupported = |error: &dyn fmt::Display| {
            SourceError::new(SourceErrorKind::Unsupported, format!("the address: {error}"))
        };
        let address = Url::parse(&address.join("")).map_err(|error| unsupported(&error))?;
        Ok(Self { http, address, token })
    }

    /// Sends a request with these headers besides its own; returns once the head of the response is
    /// there
    ///
    /// A connection has 10 s to open, and a response 20 s between two of its bytes; the whole is
    /// not bounded here.
    ///
    /// # Errors
    ///
    /// Why there is no response. A second attempt is made if the first one breaks off before the
    /// head of the response, unless no connection could be opened or the time was over.
    pub async fn post(&self, json: Bytes, headers: HeaderMap) -> Result<RpcResponse, SourceError> {
        let mut request = self.http.post(self.address.clone()).headers(headers);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.header().clone());
        }
        let request = request.header(CONTENT_TYPE, "application/json").body(json);
        let again = request.try_clone();
        let response = match (request.send().await, again) {
            // A node may close a kept connection while the request is on its way. A second attempt
            // is safe, because no method changes the chain twice (RFC 9110, section 9.2.2).
            (Err(error), Some(again)) if !error.is_timeout() && !error.is_connect() => {
                again.send().await
            }
            (response, _) => response,
        };
        Ok(RpcResponse { response: response.map_err(|error| http_error(&error))? })
    }
}

impl RpcResponse {
    /// The HTTP status
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The pause that the node asks for, at most an hour
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.response.headers())
    }

    /// The next bytes of the body, decompressed; `None` at its end
    ///
    /// # Errors
    ///
    /// The body broke off, or its next byte took too long.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, SourceError> {
        self.response.chunk().await.map_err(|error| http_error(&error))
    }
}
