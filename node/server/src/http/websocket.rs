//! JSON-RPC over WebSocket at `/ws`: all methods as over HTTP, and subscriptions.
//!
//! One task serves a connection: it reads messages, sends responses and events, and waits for each
//! to be written before the next. A client that does not read therefore holds up itself alone: its
//! events are coalesced, its requests are limited, and its connection ends by the timeout of the
//! socket. Every close by the server says why, and how to continue.

use alloc::sync::Arc;
use core::time::Duration;
use std::io;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use milepost::endpoint::Response;
use milepost::rpc::{RequestId, RpcError};
use tokio::task::JoinSet;
use tokio::time::{self, Instant};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tracing::{Instrument as _, debug};

use super::client::Client;
use super::counted_input::{BUFFER, CountedInput};
use super::respond::HttpContext;
use super::response::{HttpResponse, empty, rejected};
use super::rpc::answer;
use super::subscriptions::Subscriptions;
use crate::queries::waiting::WaitOptions;
use crate::queries::{ParsedRequest, requests};
use crate::request::{MemoryPermit, RequestBody, RequestContext};

/// Maximum number of requests of a connection that are answered at a time
pub(super) const MAX_RUNNING: usize = 64;
/// Maximum size of a message: above the largest signed transaction in base64
const MAX_MESSAGE: usize = 4 << 20;
/// Maximum size of a frame that is sent: the library keeps a buffer of the longest one
const MAX_SENT_FRAME: usize = 16 << 10;
/// Interval of pings
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Time after which a client that sent nothing, not even a pong, is disconnected
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time for the last frames to be written and for the close of the client
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers the request for an upgrade, after which a task of its own serves the connection
pub(super) fn upgrade(
    context: &Arc<HttpContext>,
    mut request: Request<Incoming>,
    client: Arc<Client>,
    request_context: RequestContext,
) -> HttpResponse {
    let key = match check(request.method(), request.headers()) {
        Ok(key) => key,
        Err(text) => {
            let mut response = rejected(&context.queries, StatusCode::UPGRADE_REQUIRED, &text);
            for (name, value) in
                [(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_VERSION, "13")]
            {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            return response;
        }
    };
    let headers = request.headers();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    if !context.options.cors.allows(headers.get(ORIGIN), host) {
        let text = "pages of this origin may not read responses";
        return rejected(&context.queries, StatusCode::FORBIDDEN, text);
    }
    let on_upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(serve(Arc::clone(context), on_upgrade, client, request_context));
    let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.extend(HeaderValue::try_from(key).ok().map(|key| (SEC_WEBSOCKET_ACCEPT, key)));
    response
}

/// The key of the response to an upgrade (RFC 6455, section 4.2)
fn check(method: &Method, headers: &HeaderMap) -> Result<String, String> {
    let has = |name: HeaderName, token: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case(token))
    };
    let is_upgrade = *method == Method::GET
        && has(CONNECTION, "upgrade")
        && has(UPGRADE, "websocket")
        && has(SEC_WEBSOCKET_VERSION, "13");
    match headers.get(SEC_WEBSOCKET_KEY) {
        Some(key) if is_upgrade => Ok(derive_accept_key(key.as_bytes())),
        _ => Err("expected the upgrade to a WebSocket of version 13".to_owned()),
    }
}

async fn serve(
    context: Arc<HttpContext>,
    on_upgrade: OnUpgrade,
    client: Arc<Client>,
    request_context: RequestContext,
) {
    let upgraded = match on_upgrade.await {
        Ok(upgraded) => TokioIo::new(upgraded),
        Err(error) => return debug!("no upgrade: {error}"),
    };
    let limit = context.options.body_limit.min(MAX_MESSAGE);
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit));
    let upgraded = CountedInput::new(upgraded, client.memory().begin());
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, Some(config)).await;
    let subscriptions =
        Subscriptions::new(&context.queries, client.network(), context.options.max_wait);
    let running = JoinSet::new();
    let mut connection = Connection {
        context,
        client,
        request_context,
        messages: 0,
        socket,
        subscriptions,
        running,
    };
    let close = connection.run().await;
    connection.running.shutdown().await;
    drop(connection.subscriptions);
    if let Some(close) = close {
        let mut socket = connection.socket;
        let closing = async {
            if socket.close(Some(close)).await.is_ok() {
                while let Some(Ok(_)) = socket.next().await {}
            }
        };
        // After the timeout the connection closes although the client has not.
        let _ = time::timeout(CLOSE_TIMEOUT, closing).await;
    }
    drop(connection.client);
}

/// A WebSocket
struct Connection {
    context: Arc<HttpContext>,
    client: Arc<Client>,
    /// That of the request for the upgrade
    request_context: RequestContext,
    /// How many messages were received, pings and pongs left out
    messages: u64,
    socket: WebSocketStream<CountedInput<TokioIo<Upgraded>>>,
    subscriptions: Subscriptions,
    /// The requests that are answered
    running: JoinSet<(Message, MemoryPermit)>,
}

impl Connection {
    /// Serves until the connection ends; returns what to close it with, unless the client has
    async fn run(&mut self) -> Option<CloseFrame> {
        let queries = Arc::clone(&self.context.queries);
        let mut pings = time::interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
        let mut last_received = Instant::now();
        loop {
            // What a response counts is held until it is sent.
            let mut _held = None;
            let message = tokio::select! {
                message = self.socket.next() => {
                    last_received = Instant::now();
                    match self.received(message?) {
                        Ok(Some(message)) => message,
                        Ok(None) => continue,
                        Err(close) => return close,
                    }
                }
                Some(response) = self.running.join_next() => match response {
                    Ok((response, permit)) => {
                        _held = Some(permit);
                        response
                    }
                    Err(error) => return Some(close(CloseCode::Error, &error.to_string())),
                },
                event = core::future::poll_fn(|context| self.subscriptions.poll(context)) => {
                    match event {
                        Some(text) => Message::from(text),
                        None => return Some(stopping()),
                    }
                }
                _ = pings.tick() => {
                    if last_received.elapsed() >= IDLE_TIMEOUT {
                        let seconds = IDLE_TIMEOUT.as_secs();
                        let text = format!("no pong for {seconds} s; connect and subscribe again");
                        return Some(close(CloseCode::Policy, &text));
                    }
                    Message::Ping(Default::default())
                }
                () = queries.chain.shutdown_signal() => return Some(stopping()),
            };
            if self.send(message).await.is_err() {
                return None;
            }
        }
    }

    /// Sends a message, a long one in several frames
    async fn send(&mut self, message: Message) -> Result<(), Error> {
        let mut text = match message {
            Message::Text(text) if text.len() > MAX_SENT_FRAME => Bytes::from(text),
            message => return self.socket.send(message).await,
        };
        let mut kind = Data::Text;
        while !text.is_empty() {
            let payload = text.split_to(text.len().min(MAX_SENT_FRAME));
            let frame = Frame::message(payload, OpCode::Data(kind), text.is_empty());
            self.socket.send(Message::Frame(frame)).await?;
            kind = Data::Continue;
        }
        Ok(())
    }

    /// Handles a message; returns what to send at once, or what to close with
    fn received(
        &mut self,
        message: Result<Message, Error>,
    ) -> Result<Option<Message>, Option<CloseFrame>> {
        let text = match message {
            Ok(Message::Text(text)) => text,
            Ok(Message::Binary(_)) => {
                let text = "expected text messages of JSON; connect and subscribe again";
                return Err(Some(close(CloseCode::Unsupported, text)));
            }
            // The library answers pings and a close by itself.
            Ok(control) => {
                self.socket.get_mut().control_received(control.len());
                return Ok(None);
            }
            Err(Error::Capacity(error)) => {
                let text = format!("{error}; connect and subscribe again");
                return Err(Some(close(CloseCode::Size, &text)));
            }
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::QuotaExceeded => {
                return Err(Some(close(CloseCode::Again, &error.to_string())));
            }
            Err(error) => {
                debug!("WebSocket ended: {error}");
                return Err(Some(close(CloseCode::Protocol, "the frame is not of RFC 6455")));
            }
        };
        self.socket.get_mut().message_received();
        self.messages += 1;
        let body = RequestBody::new(text.into(), self.client.memory().begin());
        let mut parsed = requests::parse_inline(&self.context.queries, body, None);
        if let Some((id, method, params)) = parsed.other_method()
            && let Some(response) = self.subscriptions.respond(id, method, params)
        {
            return Ok(Some(response.into()));
        }
        let id = parsed.id();
        let error = match self.begin(&mut parsed.body) {
            Ok(permit) => {
                let context = Arc::clone(&self.context);
                let request_context = self.request_context.of_message(self.messages);
                let span = request_context.span();
                let running = async move {
                    debug!("a message of a WebSocket");
                    respond(&context, &request_context, parsed, &id, permit).await
                };
                self.running.spawn(running.instrument(span));
                return Ok(None);
            }
            Err(error) => error,
        };
        Ok(Some(unavailable(&id, error)))
    }

    /// What a request has to hold until it is answered; an error at a limit
    fn begin(&self, body: &mut RequestBody) -> Result<MemoryPermit, String> {
        if self.running.len() >= MAX_RUNNING {
            return Err(format!("{MAX_RUNNING} requests of this connection are not answered yet"));
        }
        let memory = self.client.memory();
        let counted = memory.request().and_then(|permit| {
            memory.count_body(body)?;
            Ok(permit)
        });
        counted.map_err(|error| error.message)
    }
}

/// The response to a request, and what it counts until it is sent
async fn respond(
    context: &HttpContext,
    request_context: &RequestContext,
    parsed: ParsedRequest,
    id: &RequestId,
    mut permit: MemoryPermit,
) -> (Message, MemoryPermit) {
    let options = WaitOptions {
        context: request_context,
        since: Instant::now(),
        timeout: None,
        is_request: true,
    };
    let answer = answer(context, parsed, options).await;
    let message = match answer.body.into_bytes(|length| permit.count(length)).await {
        Ok(body) => message_of(body),
        Err(error) => unavailable(id, error.to_string()),
    };
    (message, permit)
}

fn unavailable(id: &RequestId, message: String) -> Message {
    let error = RpcError::Unavailable { message, unreached: None };
    message_of(Response::error(id, error).body)
}

fn message_of(body: Vec<u8>) -> Message {
    // A response is JSON, so it is UTF-8; a row that is not would be replaced.
    Message::from(
        String::from_utf8(body)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

fn stopping() -> CloseFrame {
    close(CloseCode::Restart, "the service stops; connect again later and subscribe again")
}

fn close(code: CloseCode, reason: &str) -> CloseFrame {
    // RFC 6455, section 5.5: at most 125 bytes with the code.
    let fits = |(index, char): &(usize, char)| index + char.len_utf8() <= 123;
    let reason: String = reason.char_indices().take_while(fits).map(|(_, char)| char).collect();
    CloseFrame { code, reason: reason.into() }
}
