//! A small HTTP client: one POST to one address, for the commands that ask a node.
//!
//! Plain `http://` only; a TLS library would be most of this program. Behind `https://` there is a
//! public node with its own tools, and answers of such nodes can be piped in from there.

use core::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time;

/// The largest answer that is read
const LARGEST_ANSWER: usize = 512 << 20;
/// How long an answer may take: nodes wait 10 s for a milestone, some are set to more
const TIMEOUT: Duration = Duration::from_secs(120);

/// Posts a JSON body and returns that of the answer, whatever its HTTP status
pub(crate) async fn post(url: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let seconds = TIMEOUT.as_secs();
    time::timeout(TIMEOUT, exchange(url, body))
        .await
        .unwrap_or_else(|_| Err(format!("no answer within {seconds} s")))
        .map_err(|error| format!("{url}: {error}"))
}

async fn exchange(url: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let uri: Uri = url.parse().map_err(|error| format!("no address: {error}"))?;
    if uri.scheme_str() != Some("http") {
        return Err("only http:// addresses are asked".to_owned());
    }
    let authority = uri.authority().ok_or("no host in the address")?;
    let (host, port) = (authority.host(), authority.port_u16().unwrap_or(80));
    // An IPv6 address stands in brackets in an address, and without them everywhere else.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // Ends with the sender; what goes wrong on the way is told to the sender as well.
    tokio::spawn(connection);
    let request = Request::builder()
        .method(Method::POST)
        .uri(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header(HOST, authority.as_str())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    if body.is_empty() {
        return Err(format!("HTTP status {status} and nothing else"));
    }
    Ok(body.into())
}
