//! A small HTTP client: one POST to one address, for the commands that query a node.
//!
//! Plain `http://` only: the node that is queried is on this machine or near it.

use core::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time;

/// Maximum size of a response body
const MAX_RESPONSE_LEN: usize = 512 << 20;
/// Maximum time of a request: nodes wait 10 s for a milestone, some are configured to wait longer
const TIMEOUT: Duration = Duration::from_secs(120);

/// Posts a JSON body and returns the response body, whatever its HTTP status
pub(crate) async fn post(url: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let seconds = TIMEOUT.as_secs();
    time::timeout(TIMEOUT, send(url, body))
        .await
        .unwrap_or_else(|_| Err(format!("no response within {seconds} s")))
        .map_err(|error| format!("{url}: {error}"))
}

async fn send(url: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let uri: Uri = url.parse().map_err(|error| format!("invalid URL: {error}"))?;
    if uri.scheme_str() != Some("http") {
        return Err("only http:// URLs are supported".to_owned());
    }
    let authority = uri.authority().ok_or("no host in the URL")?;
    let (host, port) = (authority.host(), authority.port_u16().unwrap_or(80));
    // A URL writes an IPv6 address in brackets, which `connect` does not accept.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // Ends with the sender, which gets its errors as well.
    tokio::spawn(connection);
    let request = Request::builder()
        .method(Method::POST)
        .uri(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header(HOST, authority.as_str())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_RESPONSE_LEN).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    if body.is_empty() {
        return Err(format!("HTTP status {status} with an empty body"));
    }
    Ok(body.into())
}
