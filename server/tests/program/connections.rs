//! What a connection carries: one request after the other, ahead of their answers, or side by side
//! as HTTP/2 has it; answers of a few bytes and answers that fill every buffer on the way.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::fixture;
use crate::support::{Server, post, request};

/// More than the buffers of sockets and the windows of HTTP/2 hold, which begin with 64 KiB
const LARGE: usize = 1 << 20;

/// A request about a transaction that nobody knows
fn unknown(wait_until: &str) -> String {
    let params = json!({
        "tx_hash": "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T",
        "sender_account_id": "alice.near",
        "wait_until": wait_until,
    });
    request("EXPERIMENTAL_tx_status", &params)
}

/// Results from this size on are sent out of the row that holds them, if their transaction is final
const IN_PIECES: usize = 16 << 10;

/// A batch of as many requests as may be, each for a status with receipts; and its answer, put
/// together from those to its requests
fn large(server: &Server) -> (String, String) {
    let ask = |number: usize, hash: &str, signer: &str| {
        let params =
            json!({ "tx_hash": hash, "sender_account_id": signer, "wait_until": "INCLUDED" });
        request("EXPERIMENTAL_tx_status", &params).replace("\"t\"", &number.to_string())
    };
    let known = fixture::transactions().map(|transaction| {
        let (hash, signer) = (transaction.hash.to_string(), transaction.signer_id.to_string());
        (server.post("/", &ask(0, &hash, &signer)).body.len(), hash, signer)
    });
    let (_, hash, signer) = known.max().expect("there are transactions");
    let requests: Vec<_> = (0..50).map(|number| ask(number, &hash, &signer)).collect();
    let answers: Vec<_> = requests.iter().map(|one| server.post("/", one).text()).collect();
    assert!(answers.iter().all(|answer| answer.len() > IN_PIECES));
    (format!("[{}]", requests.join(",")), format!("[{}]", answers.join(",")))
}

/// A batch that is answered with at least so many bytes, from batches that are
fn batches(server: &Server) -> (Vec<String>, Vec<String>) {
    let (batch, answer) = large(server);
    let count = LARGE.div_ceil(answer.len());
    (vec![batch; count], vec![answer; count])
}

#[test]
fn requests_in_one_write_are_answered_in_their_order() {
    let server = Server::quiet(&["--finality", "final", "--wait-timeout", "100ms"]);
    let (batch, whole) = large(&server);
    let mut client = server.connect();
    // The first has to wait, and the others wait behind it.
    let bodies = [unknown("FINAL"), batch, unknown("NONE"), "{".to_owned()];
    client.send(&bodies.each_ref().map(|body| post("/", body)).concat());
    let (waited, large) = (client.answer(), client.answer());
    assert_eq!((waited.status, waited.cause().as_str()), (408, "TIMEOUT_ERROR"));
    assert_eq!((large.status, large.text() == whole), (200, true));
    assert_eq!(client.answer().cause(), "UNKNOWN_TRANSACTION");
    assert_eq!(client.answer().cause(), "PARSE_ERROR");
}

#[test]
fn a_client_that_reads_late_gets_every_byte() {
    let server = Server::quiet(&["--finality", "final"]);
    let (batches, answers) = batches(&server);
    let mut client = server.connect();
    let ahead: String = batches.iter().map(|batch| post("/", batch)).collect();
    // All of it is sent before anything is read: by then the answers have filled the buffers.
    client.send(&ahead);
    let answered = "milepost_requests_total{method=\"batch\",class=\"result\"}";
    server.until("the first answer", || server.metric(answered).is_some_and(|count| count > 0));
    for answer in answers {
        assert!(client.answer().text() == answer);
    }
    client.send(&post("/", &unknown("NONE")));
    assert_eq!(client.answer().cause(), "UNKNOWN_TRANSACTION");
}

#[test]
fn a_request_that_asks_to_close_is_the_last() {
    let server = Server::quiet(&[]);
    let mut client = server.connect();
    let last = post("/", &unknown("NONE")).replace("host: x", "host: x\r\nconnection: close");
    client.send(&last);
    assert_eq!(client.answer().cause(), "UNKNOWN_TRANSACTION");
    assert_eq!(client.rest(), "");
}

/// A client of HTTP/2 that knows that the server speaks it
async fn http_2(server: &Server) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address).await.expect("the server accepts");
    let connecting = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = connecting.expect("the server speaks HTTP/2");
    tokio::spawn(connection);
    sender
}

/// Sends a request; the answer is read by whoever awaits it
fn send(
    sender: &mut SendRequest<Full<Bytes>>,
    server: &Server,
    body: String,
) -> impl Future<Output = (StatusCode, Bytes)> + use<> {
    let request = Request::post(server.url())
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let answer = sender.send_request(request);
    async move {
        let answer = answer.await.expect("the server answers");
        let status = answer.status();
        let body = answer.into_body().collect().await.expect("the whole body comes");
        (status, body.to_bytes())
    }
}

fn cause(body: &[u8]) -> Value {
    let answer: Value = serde_json::from_slice(body).expect("the body is JSON");
    answer["error"]["cause"]["name"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_go_side_by_side_over_http_2() {
    let server = Server::quiet(&["--finality", "final", "--wait-timeout", "1h"]);
    let (batches, answers) = batches(&server);
    let mut sender = http_2(&server).await;
    let waiting = tokio::spawn(send(&mut sender, &server, unknown("FINAL")));
    server.until_metric("milepost_waits_open", 1);
    // Neither the one that waits nor the large ones are in the way of the small ones.
    let large: Vec<_> =
        batches.into_iter().map(|batch| send(&mut sender, &server, batch)).collect();
    for _ in 0..3 {
        let (status, body) = send(&mut sender, &server, unknown("NONE")).await;
        assert_eq!((status.as_u16(), cause(&body)), (200, "UNKNOWN_TRANSACTION".into()));
    }
    for (answer, expected) in large.into_iter().zip(answers) {
        let (status, body) = answer.await;
        assert_eq!((status.as_u16(), body == expected), (200, true));
    }
    // A request that is given up gives its place back, and the connection serves on.
    assert_eq!(server.metric("milepost_waits_open"), Some(1));
    waiting.abort();
    server.until_metric("milepost_waits_open", 0);
    let (status, body) = send(&mut sender, &server, "{".to_owned()).await;
    assert_eq!((status.as_u16(), cause(&body)), (400, "PARSE_ERROR".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_over_http_2_waits_like_any_other() {
    let server = Server::quiet(&["--wait-timeout", "50ms"]);
    let mut sender = http_2(&server).await;
    let answers: Vec<_> = (0..10).map(|_| send(&mut sender, &server, unknown("FINAL"))).collect();
    for answer in answers {
        let (status, body) = answer.await;
        assert_eq!((status.as_u16(), cause(&body)), (408, "TIMEOUT_ERROR".into()));
    }
    assert_eq!(server.metric("milepost_waits_total{end=\"timeout\"}"), Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_over_http_2_is_kept_to_its_limit() {
    let server = Server::quiet(&["--body-limit", "1KiB"]);
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
async fn a_stop_answers_what_waits_over_http_2() {
    let server = Server::quiet(&["--wait-timeout", "1h"]);
    let mut sender = http_2(&server).await;
    let waiting = tokio::spawn(send(&mut sender, &server, unknown("FINAL")));
    server.until_metric("milepost_waits_open", 1);
    server.signal("TERM");
    let (status, body) = waiting.await.expect("it is answered");
    assert_eq!((status.as_u16(), cause(&body)), (503, "INTERNAL_ERROR".into()));
    assert_eq!(server.ended().code(), Some(0));
}
