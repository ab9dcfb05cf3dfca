//! Connections: pipelined requests of HTTP/1, concurrent ones of HTTP/2, small responses, and
//! responses that fill every buffer.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::fixture;
use crate::support::{Server, post, request};

/// Larger than the initial socket buffers and HTTP/2 windows of 64 KiB
const LARGE: usize = 1 << 20;

/// A request for an unknown transaction
fn unknown(wait_until: &str) -> String {
    let params = json!({
        "tx_hash": "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T",
        "sender_account_id": "alice.near",
        "wait_until": wait_until,
    });
    request("EXPERIMENTAL_tx_status", &params)
}

/// The server sends results of this size and more in chunks, if their transaction is final
const MIN_CHUNKED_RESPONSE: usize = 16 << 10;

/// A batch of the maximum length, and its response, joined from the responses to single requests
fn large_batch(server: &Server) -> (String, String) {
    let status = |number: usize, hash: &str, signer: &str| {
        let params =
            json!({ "tx_hash": hash, "sender_account_id": signer, "wait_until": "INCLUDED" });
        request("EXPERIMENTAL_tx_status", &params).replace("\"t\"", &number.to_string())
    };
    let known = fixture::transactions().map(|transaction| {
        let (hash, signer) = (transaction.hash.to_string(), transaction.signer_id.to_string());
        (server.post("/", &status(0, &hash, &signer)).body.len(), hash, signer)
    });
    let (_, hash, signer) = known.max().expect("there are transactions");
    let requests: Vec<_> = (0..50).map(|number| status(number, &hash, &signer)).collect();
    let responses: Vec<_> =
        requests.iter().map(|request| server.post("/", request).text()).collect();
    assert!(responses.iter().all(|response| response.len() > MIN_CHUNKED_RESPONSE));
    (format!("[{}]", requests.join(",")), format!("[{}]", responses.join(",")))
}

/// Batches with responses of at least [`LARGE`] bytes in total, and these responses
fn batches(server: &Server) -> (Vec<String>, Vec<String>) {
    let (batch, response) = large_batch(server);
    let count = LARGE.div_ceil(response.len());
    (vec![batch; count], vec![response; count])
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::with_blocks(&["--finality", "all", "--timeout", "100ms"]);
    let (batch, batch_response) = large_batch(&server);
    let mut client = server.connect();
    // The first request waits, and delays the others.
    let bodies = [unknown("FINAL"), batch, unknown("NONE"), "{".to_owned()];
    client.send(&bodies.each_ref().map(|body| post("/", body)).concat());
    let (waited, large) = (client.response(), client.response());
    assert_eq!((waited.status, waited.cause().as_str()), (408, "TIMEOUT_ERROR"));
    assert_eq!((large.status, large.text() == batch_response), (200, true));
    assert_eq!(client.response().cause(), "UNKNOWN_TRANSACTION");
    assert_eq!(client.response().cause(), "PARSE_ERROR");
}

#[test]
fn a_client_that_reads_late_gets_complete_responses() {
    let server = Server::with_blocks(&["--finality", "all"]);
    let (batches, responses) = batches(&server);
    let mut client = server.connect();
    let pipelined: String = batches.iter().map(|batch| post("/", batch)).collect();
    // All requests are sent before anything is read; by then the responses fill the buffers.
    client.send(&pipelined);
    let answered = "milepost_requests_total{method=\"batch\",kind=\"result\"}";
    server.until("the first response", || server.metric(answered).is_some_and(|count| count > 0));
    for response in responses {
        assert!(client.response().text() == response);
    }
    client.send(&post("/", &unknown("NONE")));
    assert_eq!(client.response().cause(), "UNKNOWN_TRANSACTION");
}

#[test]
fn connection_close_ends_the_connection() {
    let server = Server::with_blocks(&[]);
    let mut client = server.connect();
    let last = post("/", &unknown("NONE")).replace("host: x", "host: x\r\nconnection: close");
    client.send(&last);
    assert_eq!(client.response().cause(), "UNKNOWN_TRANSACTION");
    assert_eq!(client.rest(), "");
}

/// An HTTP/2 client with prior knowledge
async fn http_2(server: &Server) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address).await.expect("the server accepts");
    let connecting = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = connecting.expect("the server speaks HTTP/2");
    tokio::spawn(connection);
    sender
}

/// Sends a request; the future reads the response
fn send(
    sender: &mut SendRequest<Full<Bytes>>,
    server: &Server,
    body: String,
) -> impl Future<Output = (StatusCode, Bytes)> + use<> {
    let request = Request::post(server.url())
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let response = sender.send_request(request);
    async move {
        let response = response.await.expect("the server responses");
        let status = response.status();
        let body = response.into_body().collect().await.expect("the whole body");
        (status, body.to_bytes())
    }
}

fn cause(body: &[u8]) -> Value {
    let response: Value = serde_json::from_slice(body).expect("the body is JSON");
    response["error"]["cause"]["name"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_requests_are_concurrent() {
    let server = Server::with_blocks(&["--finality", "all", "--timeout", "1h"]);
    let (batches, responses) = batches(&server);
    let mut sender = http_2(&server).await;
    let waiting = tokio::spawn(send(&mut sender, &server, unknown("FINAL")));
    server.until_metric("milepost_requests_pending", 1);
    // Neither the pending request nor the large ones block the small ones.
    let large: Vec<_> =
        batches.into_iter().map(|batch| send(&mut sender, &server, batch)).collect();
    for _ in 0..3 {
        let (status, body) = send(&mut sender, &server, unknown("NONE")).await;
        assert_eq!((status.as_u16(), cause(&body)), (200, "UNKNOWN_TRANSACTION".into()));
    }
    for (response, expected) in large.into_iter().zip(responses) {
        let (status, body) = response.await;
        assert_eq!((status.as_u16(), body == expected), (200, true));
    }
    // A cancelled request is no longer pending, and the connection stays open.
    assert_eq!(server.metric("milepost_requests_pending"), Some(1));
    waiting.abort();
    server.until_metric("milepost_requests_pending", 0);
    let (status, body) = send(&mut sender, &server, "{".to_owned()).await;
    assert_eq!((status.as_u16(), cause(&body)), (400, "PARSE_ERROR".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_requests_time_out() {
    let server = Server::with_blocks(&["--timeout", "50ms"]);
    let mut sender = http_2(&server).await;
    let responses: Vec<_> = (0..10).map(|_| send(&mut sender, &server, unknown("FINAL"))).collect();
    for response in responses {
        let (status, body) = response.await;
        assert_eq!((status.as_u16(), cause(&body)), (408, "TIMEOUT_ERROR".into()));
    }
    assert_eq!(server.metric("milepost_waits_total{end=\"timeout\"}"), Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_bodies_are_limited() {
    let server = Server::with_blocks(&["--body-limit", "1KiB"]);
    let mut sender = http_2(&server).await;
    for (length, expected) in [(1024, 200), (1025, 413), (100_000, 413), (1024, 200)] {
        let body = unknown("NONE");
        let padded = format!("{body}{}", " ".repeat(length - body.len()));
        let (status, _) = send(&mut sender, &server, padded).await;
        assert_eq!(status.as_u16(), expected, "{length} bytes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg(unix)]
async fn a_shutdown_answers_pending_http_2_requests() {
    let server = Server::with_blocks(&["--timeout", "1h"]);
    let mut sender = http_2(&server).await;
    let waiting = tokio::spawn(send(&mut sender, &server, unknown("FINAL")));
    server.until_metric("milepost_requests_pending", 1);
    server.signal("TERM");
    let (status, body) = waiting.await.expect("it is answered");
    assert_eq!((status.as_u16(), cause(&body)), (503, "INTERNAL_ERROR".into()));
    assert_eq!(server.ended().code(), Some(0));
}
