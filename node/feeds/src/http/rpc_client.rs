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
use tokio::time;

use super::client::{READ_TIMEOUT, Token, http_error, new_http, retry_after, temporary};
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
        let http = new_http(reqwest::Client::builder(), address)?;
        let unsupported = |error: &dyn fmt::Display| {
            SourceError::new(SourceErrorKind::Unsupported, format!("the address: {error}"))
        };
        let address = Url::parse(&address.join("")).map_err(|error| unsupported(&error))?;
        Ok(Self { http, address, token })
    }

    /// Sends a request with these headers besides its own; returns once the head of the response is
    /// there
    ///
    /// A connection has 10 s to open; how long the head takes is not bounded here.
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
    /// The body broke off, or nothing of it came for 20 s.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, SourceError> {
        let chunk = time::timeout(READ_TIMEOUT, self.response.chunk()).await;
        let silence = |_| temporary(format!("no byte within {} s", READ_TIMEOUT.as_secs()));
        chunk.map_err(silence)?.map_err(|error| http_error(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_head_may_take_longer_than_the_next_bytes_of_the_body() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("node+http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = stream.into_std().unwrap();
            stream.set_nonblocking(false).unwrap();
            let pieces = ["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", "a", "b", "c"];
            for (piece, seconds) in pieces.into_iter().zip([59, 19, 19, 21]) {
                time::sleep(Duration::from_secs(seconds)).await;
                stream.write_all(piece.as_bytes()).unwrap();
            }
        });
        let client = RpcClient::new(&url.parse().unwrap(), None).unwrap();
        let mut response = client.post(Bytes::new(), HeaderMap::new()).await.unwrap();
        for piece in ["a", "b"] {
            assert_eq!(response.chunk().await.unwrap().unwrap(), piece);
        }
        assert_eq!(response.chunk().await.unwrap_err().detail, "no byte within 20 s");
    }
}
