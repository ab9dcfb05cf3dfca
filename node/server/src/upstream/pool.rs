//! The upstreams: one exchange with the first of them that responds.
//!
//! A response is believed when it is JSON-RPC with the id of the request. Up to 64 KiB are read
//! before anything is passed on, so that the next upstream is asked if one breaks off; of a longer
//! response only the beginning can be checked, and it counts for the upstream when it ends. Each
//! upstream has a circuit breaker. Errors name an upstream by its number on the command line,
//! because its address may hold a key. Each kind of fault is logged once.

use alloc::sync::Arc;
use core::time::Duration;
use std::io;

use hyper::body::Bytes;
use milepost::rpc::{RequestId, ResponseKind, RpcError};
use milepost_feeds::{RpcClient, RpcResponse};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time;
use tracing::{info, warn};

use super::circuit_breaker::{Admission, CircuitBreaker};
use super::error_log::{ErrorLog, UpstreamErrorKind};
use crate::metrics::family;
use crate::request::RequestContext;

/// Responses up to this size are read and checked as a whole
pub(super) const MAX_WHOLE: usize = 64 << 10;
/// Maximum size of a response, and of those of a batch together
pub(super) const MAX_RESPONSE: usize = 64 << 20;
/// The pause after a 429 that names none
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

/// The values of the label `result`
const RESULTS: [&str; 4] = ["response", "refused", "limited", "failed"];
const RESPONSE: usize = 0;
const REFUSED: usize = 1;
const LIMITED: usize = 2;
const FAILED: usize = 3;

/// The upstreams of the command line, in its order
#[derive(Clone, Debug)]
pub(super) struct Pool {
    nodes: Arc<[UpstreamNode]>,
    timeout: Duration,
}

#[derive(Debug)]
struct UpstreamNode {
    client: RpcClient,
    breaker: CircuitBreaker,
    /// By [`Topic`]
    faults: [ErrorLog; 3],
    results: [Counter; RESULTS.len()],
}

/// The responses of an upstream whose faults are logged apart
#[derive(Clone, Copy, Debug)]
pub(super) enum Topic {
    /// All of them
    All,
    /// Replies to submitted transactions
    Submission,
    /// Results of old transactions
    History,
}

/// A response of an upstream
#[derive(Debug)]
pub(super) struct UpstreamResponse {
    pub(super) status: u16,
    /// The whole body, or its beginning
    pub(super) first: Vec<u8>,
    /// What is left of it
    pub(super) rest: Option<ResponseRest>,
}

/// What is left of a response; the request counts once this ends or breaks off
#[derive(Debug)]
pub(super) struct ResponseRest {
    response: RpcResponse,
    /// Length of what was read, with the beginning
    length: usize,
    pool: Pool,
    index: usize,
    admission: Admission,
    status: u16,
}

/// Why no upstream responded
#[derive(Clone, Debug)]
pub(super) struct UpstreamError {
    pub(super) fault: UpstreamErrorKind,
    pub(super) detail: String,
    /// When a retry may succeed, if that is known
    pub(super) retry_after: Option<Duration>,
}

/// A response of JSON-RPC
#[derive(Deserialize)]
pub(super) struct Envelope<'text> {
    id: Value,
    /// Present also if it is `null`, as that of `health` is
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) result: Option<&'text RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'text RawValue>,
}

fn present<'text, D: Deserializer<'text>>(value: D) -> Result<Option<&'text RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

impl<'text> Envelope<'text> {
    /// Reads a response to a request with this id
    pub(super) fn read(body: &'text [u8], id: &RequestId) -> Result<Self, &'static str> {
        let envelope: Self =
            serde_json::from_slice(body).map_err(|_| "the response is no JSON-RPC")?;
        let sent: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
        match (&envelope.result, &envelope.error) {
            (Some(_), None) if envelope.id == sent => Ok(envelope),
            // A request that could not be read has no id.
            (None, Some(_)) if envelope.id == sent || envelope.id.is_null() => Ok(envelope),
            (Some(_), Some(_)) | (None, None) => Err("the response has no result or error"),
            _ => Err("the response is that of another request"),
        }
    }

    /// The result or the error in a response with this HTTP status, to a request with this id
    pub(super) fn value(
        body: &'text [u8],
        id: &RequestId,
        status: u16,
    ) -> Result<&'text str, RpcError> {
        match Self::read(body, id) {
            Ok(Self { result: Some(result), .. }) => Ok(result.get()),
            Ok(Self { error, .. }) => Err(RpcError::Host {
                json: error.map_or("null", RawValue::get).to_owned(),
                kind: kind_of_status(status, true),
                unreached: None,
            }),
            Err(detail) => {
                Err(RpcError::Unavailable { message: detail.to_owned(), unreached: None })
            }
        }
    }
}

/// The kind of a response, by its HTTP status
pub(super) const fn kind_of_status(status: u16, is_error: bool) -> ResponseKind {
    match status {
        400 => ResponseKind::RequestValidation,
        408 => ResponseKind::Timeout,
        422 => ResponseKind::SkippedBlock,
        500 => ResponseKind::Internal,
        _ if is_error => ResponseKind::Handler,
        _ => ResponseKind::Result,
    }
}

impl UpstreamError {
    /// Of a request that was sent to no upstream
    pub(super) const fn not_asked(detail: String, retry_after: Option<Duration>) -> Self {
        Self { fault: UpstreamErrorKind::NotAsked, detail, retry_after }
    }
}

impl UpstreamResponse {
    /// The whole body, if it is no longer than this
    pub(super) async fn into_whole(self, limit: usize) -> Option<Vec<u8>> {
        let (mut body, mut rest) = (self.first, self.rest);
        while let Some(response) = &mut rest {
            match response.chunk().await {
                Some(Ok(chunk)) if chunk.len() <= limit.saturating_sub(body.len()) => {
                    body.extend_from_slice(&chunk);
                }
                Some(_) => return None,
                None => rest = None,
            }
        }
        Some(body)
    }
}

impl ResponseRest {
    /// The next bytes; `None` at the end
    pub(super) async fn chunk(&mut self) -> Option<io::Result<Bytes>> {
        let (fault, detail) = match self.response.chunk().await {
            Ok(Some(chunk)) if chunk.len() <= MAX_RESPONSE.saturating_sub(self.length) => {
                self.length += chunk.len();
                return Some(Ok(chunk));
            }
            Ok(None) => {
                self.pool.ended(self.index, self.admission, Ok(self.status));
                return None;
            }
            Ok(Some(_)) => {
                let detail = "the response of the upstream is too large".to_owned();
                (UpstreamErrorKind::Malformed, detail)
            }
            Err(error) => (UpstreamErrorKind::Connection, error.detail),
        };
        let error = UpstreamError { fault, detail, retry_after: None };
        self.pool.ended(self.index, self.admission, Err(&error));
        Some(Err(io::Error::other(error.detail)))
    }
}

impl Pool {
    pub(super) fn new(clients: Vec<RpcClient>, timeout: Duration) -> Self {
        let node = |client| UpstreamNode {
            client,
            breaker: CircuitBreaker::default(),
            faults: Default::default(),
            results: Default::default(),
        };
        Self { nodes: clients.into_iter().map(node).collect(), timeout }
    }

    /// Number of upstreams
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The response of the first upstream that responds to this request
    pub(super) async fn exchange(
        &self,
        body: &Bytes,
        id: &RequestId,
        context: &RequestContext,
    ) -> Result<UpstreamResponse, UpstreamError> {
        let mut last: Option<UpstreamError> = None;
        for index in 0..self.nodes.len() {
            match self.exchange_with(index, body, id, context).await {
                Ok(exchange) => return Ok(exchange),
                Err(error) => {
                    let sooner = |last: &UpstreamError| match (last.retry_after, error.retry_after)
                    {
                        (Some(one), Some(other)) => Some(one.min(other)),
                        (one, other) => one.or(other),
                    };
                    let retry_after = last.as_ref().map_or(error.retry_after, sooner);
                    let detail = match last {
                        Some(last) => format!("{}; {}", last.detail, error.detail),
                        None => error.detail,
                    };
                    last = Some(UpstreamError { detail, retry_after, ..error });
                }
            }
        }
        // There is at least one upstream.
        Err(last.unwrap_or_else(|| UpstreamError::not_asked("no upstream".to_owned(), None)))
    }

    /// The response of one upstream, unless its circuit breaker is open
    pub(super) async fn exchange_with(
        &self,
        index: usize,
        body: &Bytes,
        id: &RequestId,
        context: &RequestContext,
    ) -> Result<UpstreamResponse, UpstreamError> {
        let name = |detail: &str| format!("upstream {}: {detail}", index + 1);
        let Some(node) = self.nodes.get(index) else {
            return Err(UpstreamError::not_asked(name("there is none"), None));
        };
        let admission = node.breaker.admit().map_err(|pause| {
            UpstreamError::not_asked(name("not asked after it failed"), Some(pause))
        })?;
        let exchange = time::timeout(self.timeout, node.exchange(body, id, context)).await;
        let exchange = exchange.unwrap_or_else(|_| {
            let detail = format!("no response within {} s", self.timeout.as_secs_f32());
            Err(UpstreamError { fault: UpstreamErrorKind::Silence, detail, retry_after: None })
        });
        match exchange {
            Ok((status, first, response)) => {
                let rest = response.map(|response| {
                    let (pool, length) = (self.clone(), first.len());
                    ResponseRest { response, length, pool, index, admission, status }
                });
                if rest.is_none() {
                    self.ended(index, admission, Ok(status));
                }
                Ok(UpstreamResponse { status, first, rest })
            }
            Err(error) => {
                self.ended(index, admission, Err(&error));
                Err(UpstreamError { detail: name(&error.detail), ..error })
            }
        }
    }

    /// Notes the end of a request: the HTTP status of a response, or why there is none
    fn ended(&self, index: usize, admission: Admission, end: Result<u16, &UpstreamError>) {
        let Some(node) = self.nodes.get(index) else { return };
        let (result, fault) = match end {
            Ok(status) => {
                node.breaker.succeeded(admission);
                // An error of JSON-RPC, which is passed on.
                let fault = (UpstreamErrorKind::Status(500), "HTTP 500");
                (RESPONSE, (status == 500).then_some(fault))
            }
            Err(error) => {
                node.breaker.failed(admission, error.retry_after);
                (result_of(error.fault), Some((error.fault, error.detail.as_str())))
            }
        };
        node.results[result].inc();
        self.note(index, Topic::All, fault);
    }

    /// Logs a fault of an upstream, or that there is none any more
    pub(super) fn note(
        &self,
        index: usize,
        topic: Topic,
        fault: Option<(UpstreamErrorKind, &str)>,
    ) {
        let Some(node) = self.nodes.get(index) else { return };
        let (number, faults) = (index + 1, &node.faults[topic as usize]);
        match fault {
            Some((fault, text)) if faults.failed(fault) => match topic {
                Topic::All => warn!("upstream {number}: {text}"),
                Topic::Submission => {
                    warn!("upstream {number}: its reply to a transaction does not count: {text}");
                }
                Topic::History => warn!(
                    "upstream {number}: its result of an old transaction does not count: {text}"
                ),
            },
            None if faults.succeeded() => match topic {
                Topic::All => info!("upstream {number}: answers again"),
                Topic::Submission => info!("upstream {number}: takes transactions again"),
                Topic::History => {
                    info!("upstream {number}: its results of old transactions count again");
                }
            },
            _ => {}
        }
    }

    /// Registers the metrics of each upstream; the label is its number on the command line
    pub(super) fn register(&self, registry: &mut Registry) {
        let numbered = || self.nodes.iter().enumerate().map(|(index, node)| (index + 1, node));
        let requests = numbered().flat_map(|(number, node)| {
            let results = RESULTS.iter().zip(&node.results);
            results.map(move |(result, count)| {
                (([("upstream", number)], [("result", *result)]), count.clone())
            })
        });
        let help = "Requests sent to upstreams, by what came of them";
        family(registry, "upstream_requests", help, requests);
        let open = numbered().map(|(number, node)| {
            ([("upstream", number)], ConstGauge::new(u32::from(node.breaker.is_open())))
        });
        let help = "Whether the circuit breaker of an upstream is open";
        family(registry, "upstream_circuit_open", help, open);
    }
}

impl UpstreamNode {
    /// The HTTP status of a response, its beginning, and what is left of it
    async fn exchange(
        &self,
        body: &Bytes,
        id: &RequestId,
        context: &RequestContext,
    ) -> Result<(u16, Vec<u8>, Option<RpcResponse>), UpstreamError> {
        let failed =
            |fault, detail: String, retry_after| Err(UpstreamError { fault, detail, retry_after });
        let headers = context.headers().collect();
        let mut response = match self.client.post(body.clone(), headers).await {
            Ok(response) => response,
            Err(error) => return failed(UpstreamErrorKind::Connection, error.detail, None),
        };
        let (status, retry_after) = (response.status(), response.retry_after());
        match status {
            200 | 400 | 408 | 422 | 500 => {}
            401 | 403 => {
                return failed(UpstreamErrorKind::Denied, format!("refused (HTTP {status})"), None);
            }
            429 => {
                let pause = retry_after.unwrap_or(DEFAULT_PAUSE);
                let detail = "too many requests (HTTP 429)".to_owned();
                return failed(UpstreamErrorKind::Limited, detail, Some(pause));
            }
            _ => {
                return failed(
                    UpstreamErrorKind::Status(status),
                    format!("HTTP {status}"),
                    retry_after,
                );
            }
        }
        let mut first = Vec::new();
        let is_whole = loop {
            match response.chunk().await {
                Ok(None) => break true,
                Ok(Some(chunk)) => first.extend_from_slice(&chunk),
                Err(error) => return failed(UpstreamErrorKind::Connection, error.detail, None),
            }
            if first.len() > MAX_WHOLE {
                break false;
            }
        };
        let checked = match is_whole {
            true => Envelope::read(&first, id).map(|_| ()),
            false if first.trim_ascii_start().starts_with(b"{") => Ok(()),
            false => Err("the response is no JSON-RPC"),
        };
        match checked {
            Ok(()) => Ok((status, first, (!is_whole).then_some(response))),
            Err(detail) => {
                let fault = if status == 200 {
                    UpstreamErrorKind::Malformed
                } else {
                    UpstreamErrorKind::Status(status)
                };
                failed(fault, format!("{detail} (HTTP {status})"), None)
            }
        }
    }
}

/// The place of a fault in the label `result`
const fn result_of(fault: UpstreamErrorKind) -> usize {
    match fault {
        UpstreamErrorKind::Denied => REFUSED,
        UpstreamErrorKind::Limited => LIMITED,
        _ => FAILED,
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::super::circuit_breaker::MAX_FAILURES;
    use super::*;

    /// A pool of one upstream that breaks off each of its responses, which are long
    fn breaking_off() -> Pool {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("node+http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
                let body = format!("{{{}", " ".repeat(2 * MAX_WHOLE));
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {MAX_RESPONSE}\r\n\r\n");
                // The client may be gone.
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        let client = RpcClient::new(&url.parse().unwrap(), None).unwrap();
        Pool::new(vec![client], Duration::from_secs(60))
    }

    async fn rest_of_a_response(pool: &Pool) -> ResponseRest {
        let context = RequestContext::of(&Default::default(), Ipv4Addr::LOCALHOST.into());
        let request = Bytes::from_static(b"{}");
        let response = pool.exchange(&request, &RequestId::default(), &context).await;
        response.unwrap().rest.unwrap()
    }

    fn counts(pool: &Pool) -> (u64, u64) {
        let results = &pool.nodes[0].results;
        (results[RESPONSE].get(), results[FAILED].get())
    }

    #[tokio::test]
    async fn an_upstream_that_breaks_off_long_responses_fails() {
        let pool = breaking_off();
        for _ in 0..MAX_FAILURES {
            let mut rest = rest_of_a_response(&pool).await;
            while rest.chunk().await.unwrap().is_ok() {}
        }
        assert_eq!(counts(&pool), (0, MAX_FAILURES.into()));
        assert!(pool.nodes[0].breaker.is_open());
        let log = &pool.nodes[0].faults[Topic::All as usize];
        assert!(!log.failed(UpstreamErrorKind::Connection), "it was not logged");
    }

    #[tokio::test]
    async fn a_response_fails_if_it_is_too_large_and_not_if_the_client_goes_away() {
        let pool = breaking_off();
        let mut rest = rest_of_a_response(&pool).await;
        rest.length = MAX_RESPONSE;
        assert!(rest.chunk().await.unwrap().is_err());
        assert_eq!(counts(&pool), (0, 1));
        drop(rest_of_a_response(&pool).await);
        assert_eq!(counts(&pool), (0, 1));
    }

    #[test]
    fn a_response_has_one_result_and_the_id_of_its_request() {
        let id = RequestId::default();
        let read = |body: &str| Envelope::read(body.as_bytes(), &id).map(|it| it.result.is_some());
        assert_eq!(read(r#"{"jsonrpc":"2.0","result":1,"id":"dontcare"}"#), Ok(true));
        assert_eq!(read(r#"{"jsonrpc":"2.0","result":null,"id":"dontcare"}"#), Ok(true));
        assert_eq!(read(r#"{"jsonrpc":"2.0","error":{},"id":"dontcare"}"#), Ok(false));
        assert_eq!(read(r#"{"jsonrpc":"2.0","error":{},"id":null}"#), Ok(false));
        for wrong in [
            r#"{"result":1,"id":"other"}"#,
            r#"{"result":1,"id":null}"#,
            r#"{"error":{},"id":"other"}"#,
            r#"{"result":1,"error":{},"id":"dontcare"}"#,
            r#"{"id":"dontcare"}"#,
            "<html>",
            "",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
